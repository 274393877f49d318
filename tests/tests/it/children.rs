//! Child processes end with the process that started them, also when it is killed.

use harness::child;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Set for a run of this program that plays the parent.
const PARENT: &str = "PECTIN_TEST_PARENT";
/// A child that is still there after this time stays.
const END_MAX: Duration = Duration::from_secs(60);

/// Not a test: what the test below starts and kills. The thread that starts the child ends at once, the child does not.
#[test]
#[ignore = "another test runs it"]
fn a_parent() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let start = || {
        let mut command = child::command("sleep");
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        child::spawn(command).unwrap()
    };
    let mut child = std::thread::spawn(start).join().unwrap();
    // Before it has become the program, it has not asked the kernel yet.
    let name = format!("/proc/{}/comm", child.id());
    while std::fs::read_to_string(&name).unwrap() != "sleep\n" {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("child {}", child.id());
    child.wait().unwrap();
}

#[test]
fn a_child_ends_when_its_parent_is_killed() {
    if !child::has_setpriv() {
        println!("skipped: no setpriv");
        return;
    }
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "children::a_parent", "--ignored", "--nocapture"])
        .env(PARENT, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines().map(Result::unwrap);
    let child = lines.find_map(|line| Some(line.split_once("child ")?.1.to_owned())).unwrap();
    let process = Path::new("/proc").join(&child);
    assert!(process.exists(), "the thread that started it has ended, the process has not");
    parent.kill().unwrap();
    parent.wait().unwrap();
    let deadline = Instant::now() + END_MAX;
    while is_running(&process) {
        assert!(Instant::now() < deadline, "the child {child} goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether it is there and not only waits for its end to be noticed.
fn is_running(process: &Path) -> bool {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}
