//! What a network costs when nothing happens.

use std::process::Command;

#[test]
fn six_idle_validators_use_little_of_a_core() {
    let output = Command::new(env!("CARGO_BIN_EXE_validator")).args(["idle", "20"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    print!("{text}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("heights [0"), "they make blocks: {text}");
}
