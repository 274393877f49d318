//! anvil, the node that most people would otherwise develop against, as another chain for tests and measurements.

use std::{path::PathBuf, process::Command};

/// Installs anvil where build products are, unless it is there; gives the program itself, not the script around it.
pub fn program() -> Result<PathBuf, String> {
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
