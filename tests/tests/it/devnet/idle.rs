//! What a network costs when nothing happens.

use std::process::Command;

#[test]
fn six_idle_validators_use_little_of_a_core() {
    let output = Command::new(env!("CARGO_BIN_EXE_validator")).args(["idle", "20"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    print!("{text}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let percent = text.split(" % of one core").next().and_then(|head| head.rsplit(' ').next());
    let percent = percent.and_then(|number| number.parse::<f64>().ok()).unwrap();
    assert!(percent < 5.0, "{text}");
    assert!(!text.contains("heights [0"), "they make blocks: {text}");
}
