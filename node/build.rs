//! Tells the binary which commit it was built from.

use std::{path::Path, process::Command};

/// What git says, in one line; `None` if there is no git, or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-env-changed=PECTIN_COMMIT");
    let given = std::env::var("PECTIN_COMMIT").ok();
    // A commit on a branch leaves HEAD as it is: the branch moves, and HEAD's log grows. Git knows where they are, also where
    // `.git` is a file. What is not there is not watched: cargo would take it as changed in every build.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let asked = || git(&["rev-parse", "--short=12", "HEAD"]);
    let commit = given.or_else(asked).unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rustc-env=PECTIN_COMMIT={commit}");
}
