//! anvil, the node that most people would otherwise develop against, as another chain for tests and measurements.

use crate::child;
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A running anvil; ended with its owner.
#[derive(Debug)]
pub struct Anvil {
    child: Child,
    /// Where it listens, as `http://..`.
    pub url: String,
}

impl Anvil {
    /// Starts one with a block each second on a free port; with `more` arguments.
    pub fn start(chain_id: u64, more: &[&str]) -> Result<Self, String> {
        Self::start_with(chain_id, &[&["--block-time", "1"], more].concat())
    }

    /// Starts one that mines each transaction at once, as it does by default.
    pub fn start_mining_at_once(chain_id: u64) -> Result<Self, String> {
        Self::start_with(chain_id, &[])
    }

    fn start_with(chain_id: u64, more: &[&str]) -> Result<Self, String> {
        let mut command = child::command(program()?);
        command
            .args(["--port", "0", "--gas-limit", "120000000"])
            .args(["--chain-id", &chain_id.to_string()])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = child::spawn(command).map_err(|why| why.to_string())?;
        let output = BufReader::new(child.stdout.take().ok_or("anvil has no output")?);
        let mut lines = output.lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.strip_prefix("Listening on ")?.to_owned()));
        let url = format!("http://{}", address.ok_or("anvil does not say where it listens")?);
        // It must be able to go on writing.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url })
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Installs anvil where build products are, unless it is there; gives the program itself, not the script around it.
fn program() -> Result<PathBuf, String> {
    let mut directory = std::env::current_exe().map_err(|why| why.to_string())?;
    directory.pop();
    directory.push("anvil");
    let modules = directory.join("node_modules/@foundry-rs");
    let installed = || {
        let packages = std::fs::read_dir(&modules).ok()?.filter_map(Result::ok);
        packages.map(|package| package.path().join("bin/anvil")).find(|program| program.is_file())
    };
    if let Some(program) = installed() {
        return Ok(program);
    }
    std::fs::create_dir_all(&directory).map_err(|why| why.to_string())?;
    std::fs::write(directory.join("package.json"), "{ \"private\": true }\n")
        .map_err(|why| why.to_string())?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-progress", "@foundry-rs/anvil@1.7.1"]);
    let output = npm.current_dir(&directory).output().map_err(|why| format!("npm: {why}"))?;
    installed()
        .ok_or_else(|| format!("npm cannot install it: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
