//! Every command of the real binary explains itself, with an example.

use std::process::Command;

fn said(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pectin")).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let list =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Looks at a command and all below it; gives how many there were.
fn look(path: &[String]) -> usize {
    let arguments = path.iter().map(String::as_str).chain(["--help"]).collect::<Vec<_>>();
    let help = said(&arguments);
    let begins = |line: &str| line.starts_with("Example") || line.starts_with("Begin with");
    let example = help.lines().skip_while(|line| !begins(line)).nth(1).unwrap_or_default();
    assert!(example.starts_with("  pectin "), "{path:?} has no example: {help}");
    let below = listed(&help).into_iter().map(|name| look(&[path, &[name]].concat()));
    1 + below.sum::<usize>()
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands = look(&[]);
    assert!(commands >= 20, "only {commands} commands were found");
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
