//! Tells the binary which commit it was built from.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PECTIN_COMMIT");
    println!("cargo::rerun-if-changed=../.git/HEAD");
    let given = std::env::var("PECTIN_COMMIT").ok();
    let asked = || {
        let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = given.or_else(asked).unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rustc-env=PECTIN_COMMIT={commit}");
}
