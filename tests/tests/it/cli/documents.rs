//! What the documents tell a reader to do works.
//!
//! Convention: a fenced block of `sh` is run, all blocks of a document in order, in one fresh directory that stands for the
//! repository, by a shell that stops at the first failure. After `sh` may stand
//!
//! * `background`: the command goes on until the document ends; the next block waits until it is ready;
//! * `elsewhere`: it cannot be run here, and the table below says which test runs it instead.
//!
//! The port 8545 and the URL of a node are those of this test's own node. `cargo run --release --` is the binary under
//! test, since building it is what made this test.

use super::repository;
use harness::{ports, process::Pectin, product::binary};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

/// What cannot be run by a test, and what is run instead.
const ELSEWHERE: [(&str, &str); 13] = [
    ("bash scripts/test.sh", "it is what runs this test"),
    ("cargo bench", "the checks build it"),
    ("cast ", "tests/it/clients"),
    ("docker ", "cli::deploy runs the commands of the compose file"),
    ("systemctl ", "cli::deploy has the unit verified"),
    ("journalctl ", "it only shows what systemd kept"),
    ("cargo run --release -p tests --bin", "scripts/test.sh runs the judges"),
    ("pectin node --config pectin.toml --dry-run", "cli::dev makes a dry run; the port is taken on the page"),
    (
        "pectin node --config pectin.toml --sender-keystore",
        "rest::canaries opens keystores, for a second each",
    ),
    ("cargo install cargo-fuzz", "an installation"),
    ("just fuzz ", "it goes on until it is stopped; fuzz:: runs the same functions"),
    ("cargo nextest run -p tests --test it fuzz::", "it is among the tests that this one belongs to"),
    ("RUSTC_BOOTSTRAP=1 cargo fuzz tmin", "it needs a finding"),
];

/// A block of commands.
struct Block {
    line: usize,
    kind: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::<Block>::new();
    let mut open = false;
    for (index, line) in document.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                open = true;
                blocks.push(Block { line: index + 1, kind: info.trim().to_owned(), text: String::new() });
            }
            None if open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// Where a document's commands run.
struct Sandbox {
    directory: tempfile::TempDir,
    port: u16,
    background: Vec<Pectin>,
}

impl Sandbox {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        let release = directory.path().join("work/target/release");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&release).unwrap();
        symlink(binary().unwrap(), bin.join("pectin")).unwrap();
        symlink(binary().unwrap(), release.join("pectin")).unwrap();
        let cargo = bin.join("cargo");
        let shim = "#!/bin/sh\n[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"cargo $*: not in this test\" >&2; exit 1; }\n\
                    shift 3\nexec pectin \"$@\"\n";
        fs::write(&cargo, shim).unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        let port = ports::reserve().unwrap();
        Self { directory, port, background: vec![] }
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// The text with this test's node instead of the usual one.
    fn at_home(&self, text: &str) -> String {
        let text = text.replace("127.0.0.1:8545", &format!("127.0.0.1:{}", self.port));
        // The node's port is the first of a group that this test has for itself; its validators have the next ones.
        text.replace("--validator-port 40000", &format!("--validator-port {}", self.port + 1))
    }

    fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("bash");
        let path =
            format!("{}:{}", self.directory.path().join("bin").display(), std::env::var("PATH").unwrap());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PECTIN_"))
        {
            command.env_remove(name);
        }
        command.env("PATH", path).env("HOME", self.directory.path()).current_dir(self.work());
        command.env("PECTIN_HTTP_PORT", self.port.to_string());
        command.env("PECTIN_RPC_URL", format!("http://127.0.0.1:{}", self.port));
        command.args(["-euo", "pipefail", "-c", &self.at_home(text)]);
        command.stdin(std::process::Stdio::null());
        command
    }

    fn run(&mut self, path: &Path, block: &Block) {
        let place = format!("{}:{}", path.display(), block.line);
        match &*block.kind {
            "sh" => {
                let output = self.shell(&block.text).output().unwrap();
                let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (out, err) = (said(&output.stdout), said(&output.stderr));
                assert!(output.status.success(), "{place}\n{}\n{out}\n{err}", block.text);
                println!("{place}: ran\n{out}");
            }
            // Lines without a comment, each a program of its own.
            "sh background" => {
                for line in block.text.lines().map(|line| line.split(" # ").next().unwrap_or_default().trim())
                {
                    let mut pectin = Pectin::from(self.shell(&format!("exec {line}"))).unwrap();
                    let up = if line.contains("pectin validator") { "validator listens" } else { "ready in" };
                    pectin.wait_for(up).unwrap_or_else(|why| panic!("{place}: {line}: {why}"));
                    self.background.push(pectin);
                }
            }
            "sh elsewhere" => {
                for line in
                    block.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
                {
                    let known = ELSEWHERE.iter().any(|(command, _)| line.trim_start().starts_with(command));
                    assert!(known, "{place}: nobody runs {line:?}");
                }
            }
            other => assert!(
                !other.starts_with("sh") && other != "console" && other != "bash",
                "{place}: {other:?}"
            ),
        }
    }
}

/// Runs a document.
fn works(path: &str) {
    let path = repository().join(path);
    let document = fs::read_to_string(&path).unwrap();
    let mut sandbox = Sandbox::new();
    let blocks = blocks(&document);
    for block in &blocks {
        sandbox.run(&path, block);
    }
    assert!(blocks.iter().any(|block| block.kind == "sh"), "{}: nothing was run", path.display());
    // In reverse: who needs whom started after it.
    while sandbox.background.pop().is_some() {}
}

#[test]
fn the_readme() {
    works("README.md");
}

#[test]
fn the_operators_guide() {
    works("docs/operating.md");
}

#[test]
fn the_page_about_commands() {
    works("docs/commands.md");
}

#[test]
fn the_page_about_managed_accounts() {
    works("docs/sending.md");
}

#[test]
fn the_page_about_fuzzing() {
    // All of it is run elsewhere, and known to be.
    let path = repository().join("fuzz/README.md");
    let document = fs::read_to_string(&path).unwrap();
    let mut sandbox = Sandbox::new();
    for block in &blocks(&document) {
        assert_ne!(block.kind, "sh", "{}: {}", path.display(), block.text);
        sandbox.run(&path, block);
    }
}

/// Every document there is, wherever it lies.
fn documents(directory: &Path, all: &mut Vec<PathBuf>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            documents(&path, all);
        } else if name.ends_with(".md") {
            all.push(path);
        }
    }
}

/// A document that no test runs has no commands in it.
#[test]
fn no_document_is_left_out() {
    let known = ["README.md", "docs/operating.md", "docs/commands.md", "docs/sending.md", "fuzz/README.md"];
    let mut all = vec![];
    documents(&repository(), &mut all);
    assert!(all.len() > known.len(), "{all:?}");
    for path in all {
        let name = path.strip_prefix(repository()).unwrap();
        if !known.iter().any(|known| name == Path::new(known)) {
            let document = fs::read_to_string(&path).unwrap();
            let commands = blocks(&document).iter().filter(|block| block.kind.starts_with("sh")).count();
            assert_eq!(commands, 0, "{}: a test must run it", name.display());
        }
    }
}

/// Names of tests in backticks: words joined by at least three underscores.
fn named_tests(document: &str) -> impl Iterator<Item = &str> {
    let is_test = |name: &&str| {
        name.matches('_').count() >= 3 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    document.split('`').skip(1).step_by(2).filter(is_test)
}

fn sources(directory: &Path, all: &mut String) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            sources(&path, all);
        } else if name.ends_with(".rs") {
            all.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_tests_that_documents_name_are_there() {
    let mut all = String::new();
    sources(&repository(), &mut all);
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let security = fs::read_to_string(repository().join("SECURITY.md")).unwrap();
    let named = named_tests(&readme).chain(named_tests(&security)).collect::<Vec<_>>();
    assert!(named.len() >= 5, "{named:?}");
    for name in named {
        assert!(all.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}

/// The operator's guide explains every alarm that there is, and no other.
#[test]
fn every_alarm_is_explained() {
    let guide = fs::read_to_string(repository().join("docs/operating.md")).unwrap();
    let explained = guide.lines().filter_map(|line| line.strip_prefix("| `Pectin")?.split('`').next());
    let explained = explained.map(|name| format!("Pectin{name}")).collect::<BTreeSet<_>>();
    let rules = fs::read_to_string(repository().join("deploy/prometheus/alerts.yml")).unwrap();
    let rules = serde_yaml_ng::from_str::<serde_yaml_ng::Value>(&rules).unwrap();
    let groups = rules["groups"].as_sequence().unwrap().iter();
    let alarms = groups.flat_map(|group| group["rules"].as_sequence().unwrap());
    let alarms = alarms.map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(explained, alarms);
}

/// Every file that a document names is there.
#[test]
fn what_documents_name_is_there() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "docs/operating.md",
        "docs/commands.md",
        "docs/sending.md",
        "fuzz/README.md",
    ] {
        let path = repository().join(name);
        let document = fs::read_to_string(&path).unwrap();
        let links = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("http") && !link.starts_with('#')) {
            let target = path.parent().unwrap().join(link.split('#').next().unwrap_or_default());
            assert!(target.exists(), "{name}: {link}");
        }
    }
}
