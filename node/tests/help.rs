//! Every command explains itself, with an example.

use std::process::Command;

fn said(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pectin")).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands = [
        &["dev"][..],
        &["node"],
        &["validator"],
        &["chain-spec"],
        &["config", "print"],
        &["config", "check"],
    ];
    for command in commands {
        let help = said(&command.iter().copied().chain(["--help"]).collect::<Vec<_>>());
        assert!(help.contains("Example"), "{command:?}: {help}");
    }
    assert!(said(&["--version"]).starts_with("pectin 0.1.0 ("));
}

#[test]
fn the_reference_of_settings_is_a_configuration() {
    let directory = std::env::temp_dir().join(format!("pectin-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("there is a directory for temporary files");
    let file = directory.join("pectin.toml");
    std::fs::write(&file, said(&["config", "print"])).expect("it can be written to");
    let path = file.to_str().expect("its name is text");
    assert!(said(&["config", "check", path]).contains("can be used"));
    std::fs::remove_dir_all(&directory).expect("it can be removed");
}
