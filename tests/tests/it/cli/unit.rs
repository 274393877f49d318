//! The systemd unit forbids nothing that the node does.

use super::{repository, text};
use harness::{process::Pectin, product::binary};
use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
};

/// System calls that the node cannot do without, and what for: what was seen when it ran, for machines that cannot look.
const NEEDED: &[(&str, &[&str])] = &[
    ("threads", &["clone3", "futex", "gettid", "rseq", "set_robust_list", "prctl", "exit", "exit_group"]),
    ("calls have a lower priority than looking up", &["setpriority"]),
    ("as many threads as cores", &["sched_getaffinity", "sched_yield"]),
    ("memory", &["brk", "mmap", "munmap", "mprotect", "madvise", "sigaltstack"]),
    ("files", &["openat", "read", "write", "pread64", "pwrite64", "lseek", "statx", "ftruncate", "close"]),
    ("what is durable", &["fallocate", "fsync", "fdatasync", "flock", "rename", "mkdir", "unlink"]),
    ("copies of files", &["copy_file_range", "fchmod"]),
    ("sockets", &["socket", "bind", "listen", "accept4", "connect", "setsockopt", "getsockname"]),
    ("packets", &["sendmsg", "sendmmsg", "recvmmsg", "recvmsg", "sendto", "recvfrom", "writev", "shutdown"]),
    ("waiting", &["epoll_create1", "epoll_ctl", "epoll_wait", "eventfd2", "poll", "clock_nanosleep"]),
    ("signals", &["rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "socketpair"]),
    ("limits and room", &["prlimit64", "statfs", "sysinfo", "uname"]),
    ("randomness", &["getrandom"]),
];

/// What the sandbox of the virtual machine calls when it shuts itself in. Validators have one, and `pectin dev` has validators; the unit
/// is that of a builder, which has none.
const SANDBOX: &[&str] =
    &["capset", "mount", "pivot_root", "seccomp", "setdomainname", "sethostname", "umount2"];

fn unit() -> String {
    fs::read_to_string(repository().join("deploy/pectin.service")).unwrap()
}

/// The calls of a group, and of the groups in it; a call is its own group. `None` if nobody knows the groups here.
fn calls(name: &str) -> Option<BTreeSet<String>> {
    if !name.starts_with('@') {
        return Some([name.to_owned()].into());
    }
    let said = Command::new("systemd-analyze").args(["syscall-filter", name]).output().ok()?;
    assert!(said.status.success(), "{name}: {}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8(said.stdout).unwrap();
    let inside =
        said.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with('#'));
    inside.map(calls).try_fold(BTreeSet::new(), |mut all, more| {
        all.extend(more?);
        Some(all)
    })
}

/// The calls that a unit allows: the first line says whether it lists what is allowed, the next ones add and take away.
fn allowed(unit: &str) -> Option<BTreeSet<String>> {
    let mut allowed = BTreeSet::new();
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let taken = line.strip_prefix('~');
        for name in taken.unwrap_or(line).split_whitespace() {
            for call in calls(name)? {
                if taken.is_some() {
                    allowed.remove(&call);
                } else {
                    allowed.insert(call);
                }
            }
        }
    }
    Some(allowed)
}

/// What a real node calls until it is ready and stops; `None` if nobody can watch it here.
fn watched() -> Option<BTreeSet<String>> {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let probe =
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        println!("skipped: no strace");
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", text(&trace)]).arg(binary().unwrap());
    let data = directory.path().join("data");
    command.args(["dev", "--http-port", "0", "--slot-ms", "1000", "--data-dir", text(&data)]);
    let mut pectin = Pectin::from(command).unwrap();
    let ready = pectin.wait_for("ready in");
    // Who watches does not give signals on; the first word of what it has written is whom it watches.
    let first = fs::read_to_string(&trace).unwrap();
    let watched = first.split_whitespace().next().unwrap();
    assert!(Command::new("kill").args(["-TERM", watched]).status().unwrap().success());
    pectin.wait().unwrap();
    ready.unwrap();
    let trace = fs::read_to_string(&trace).unwrap();
    let call = |line: &str| {
        let (name, _) = line.split_once(' ')?.1.trim_start().split_once('(')?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_name && !name.is_empty()).then(|| name.to_owned())
    };
    let mut called = trace.lines().filter_map(call).collect::<BTreeSet<_>>();
    called.retain(|call| !SANDBOX.contains(&call.as_str()));
    assert!(called.contains("openat") && called.contains("epoll_wait"), "{called:?}");
    Some(called)
}

/// The needed calls that a unit forbids, each with what it is for.
fn forbidden(unit: &str, seen: &BTreeSet<String>) -> Option<Vec<String>> {
    let allowed = allowed(unit)?;
    let listed = NEEDED.iter().flat_map(|(why, calls)| calls.iter().map(move |call| (*call, *why)));
    let seen = seen.iter().map(|call| (call.as_str(), "it was seen"));
    let missing = listed.chain(seen).filter(|(call, _)| !allowed.contains(*call));
    Some(missing.map(|(call, why)| format!("{call}: {why}")).collect())
}

#[test]
fn the_unit_forbids_no_call_that_the_node_makes() {
    let seen = watched().unwrap_or_default();
    let Some(forbidden_now) = forbidden(&unit(), &seen) else {
        println!("skipped: no systemd-analyze");
        return;
    };
    assert_eq!(forbidden_now, [""; 0]);
    // The test would notice.
    let strict = unit().replace("=~@privileged", "=~@privileged @resources");
    let found = forbidden(&strict, &BTreeSet::new()).unwrap();
    assert_eq!(found, ["setpriority: calls have a lower priority than looking up"]);
}

#[test]
fn the_unit_does_not_give_up_and_does_not_kill() {
    let unit = unit();
    let (head, service) = unit.split_once("[Service]").unwrap();
    // A port that is taken for a while (exit code 3) ends by itself; settings (2) and data (4) do not.
    assert!(head.contains("\nStartLimitIntervalSec=0\n"), "{head}");
    assert!(
        service.contains("\nRestart=on-failure\n") && service.contains("\nRestartPreventExitStatus=2 4\n")
    );
    // A call that nobody thought of is an error that can be read, and not the end of the process.
    assert!(service.contains("\nSystemCallErrorNumber=EPERM\n"));
}
