//! The files that Pectin is installed with. There is no container engine here, but the commands in them are ours: they
//! are run, as processes on loopback.

use super::{Ran, repository, run, text};
use harness::{process::Pectin, product::binary};
use serde_yaml_ng::Value;
use std::{fs, path::Path, process::Command};

fn compose() -> Value {
    let file = fs::read_to_string(repository().join("deploy/compose.yaml")).unwrap();
    let mut compose = serde_yaml_ng::from_str::<Value>(&file).unwrap();
    compose.apply_merge().unwrap();
    compose
}

fn list(value: &Value) -> Vec<String> {
    value.as_sequence().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// The commands of the services that run our image, by name, on this machine: the containers' network becomes a part of
/// loopback, and their volumes become directories.
fn commands(directory: &Path) -> Vec<(String, Vec<String>)> {
    // Runs of this test at the same time do not meet.
    let network = format!("127.{}.", 32 + std::process::id() % 200);
    let services = compose()["services"].as_mapping().unwrap().clone();
    let ours = services.into_iter().filter(|(_, service)| service["image"].as_str() == Some("pectin"));
    let command = |(name, service): (Value, Value)| {
        let name = name.as_str().unwrap().to_owned();
        let at_home = |argument: String| {
            let data = directory.join(&name);
            let argument =
                argument.replace("172.30.", &network).replace("0.0.0.0", &format!("{network}0.20"));
            let shared = |argument: String, volume: &str| {
                argument.replace(&format!("=/{volume}"), &format!("={}/{volume}", text(directory)))
            };
            let argument = shared(shared(argument, "net"), "key");
            argument.replace("=/data", &format!("={}", text(&data)))
        };
        let arguments = list(&service["command"]).into_iter().map(at_home).collect();
        (name, arguments)
    };
    ours.map(command).collect()
}

#[test]
fn the_network_of_the_compose_file_finalizes_transactions() {
    let directory = tempfile::tempdir().unwrap();
    let commands = commands(directory.path());
    let named = |name: &'static str| {
        commands.iter().filter(move |(known, _)| known.starts_with(name)).map(|(_, command)| command)
    };
    let ran = |command: &Vec<String>| -> Ran { run(&command.iter().map(String::as_str).collect::<Vec<_>>()) };
    for chain in named("chain") {
        ran(chain).good();
        assert!(ran(chain).good().contains("there already"), "a second start changes nothing");
    }
    let quick = ["--slot-ms=400".to_owned()];
    let validators = named("validator-").map(|command| Pectin::start(command.iter().chain(&quick)).unwrap());
    let validators = validators.collect::<Vec<_>>();
    assert_eq!(validators.len(), 6);
    let more = ["--slot-ms=400".to_owned(), "--http-port=0".to_owned(), "--log-format=pretty".to_owned()];
    let builder = named("builder").next().unwrap().iter().filter(|flag| !flag.starts_with("--log-format"));
    let mut builder = Pectin::start(builder.chain(&more)).unwrap();
    let line = builder.wait_for("RPC on").unwrap();
    let url = line.split_whitespace().last().unwrap();
    let report =
        run(&["load", "--rpc-url", url, "--senders", "2", "--rate", "4", "--seconds", "1", "--json"]).json();
    assert!(report["final"]["count"].as_u64().unwrap() > 0, "{report}");
    drop(validators);
    let [net, key] = ["net", "key"].map(|name| directory.path().join(name));
    assert!(!net.join("builder.key").exists() && key.join("builder.key").exists(), "what validators see");
}

/// Whoever has the builder's key builds in its name: only who makes it and who uses it can see it.
#[test]
fn only_the_builder_sees_its_key() {
    let compose = compose();
    let sees = |service: &Value| {
        let volumes = service["volumes"].as_sequence().into_iter().flatten();
        volumes.into_iter().any(|volume| volume.as_str().unwrap().starts_with("key:"))
    };
    let services = compose["services"].as_mapping().unwrap().iter().filter(|(_, service)| sees(service));
    let names = services.map(|(name, _)| name.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(names, ["chain", "builder"]);
    assert!(compose["services"]["chain"]["build"]["args"]["PECTIN_COMMIT"].is_string(), "the commit is told");
}

#[test]
fn everything_that_the_compose_file_mounts_is_there() {
    let compose = compose();
    let deploy = repository().join("deploy");
    let volumes = compose["volumes"].as_mapping().unwrap();
    for (name, service) in compose["services"].as_mapping().unwrap() {
        for volume in
            service["volumes"].as_sequence().into_iter().flatten().map(|volume| volume.as_str().unwrap())
        {
            let source = volume.split(':').next().unwrap();
            match source.strip_prefix("./") {
                Some(path) => assert!(deploy.join(path).exists(), "{name:?}: {volume}"),
                None => assert!(volumes.contains_key(source), "{name:?}: {volume}"),
            }
        }
        // Nothing is open to other machines.
        for port in service["ports"].as_sequence().into_iter().flatten() {
            assert!(port.as_str().unwrap().starts_with("127.0.0.1:"), "{name:?}: {port:?}");
        }
    }
    for name in [
        "prometheus/prometheus.yml",
        "grafana/provisioning/datasources/prometheus.yaml",
        "grafana/provisioning/dashboards/pectin.yaml",
    ] {
        serde_yaml_ng::from_str::<Value>(&fs::read_to_string(deploy.join(name)).unwrap()).unwrap();
    }
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    let unit = fs::read_to_string(repository().join("deploy/pectin.service")).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("/usr/local/bin/pectin"));
    // With a directory of its own instead of the system's, the same command gets as far as the missing files.
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("pectin.toml");
    let settings = fs::read_to_string(repository().join("deploy/pectin.toml")).unwrap();
    assert!(settings.contains("data-dir = \"/var/lib/pectin\""), "where systemd has made a directory");
    fs::write(&config, settings.replace("/var/lib/pectin", text(directory.path()))).unwrap();
    run(&["config", "check", text(&config)]).refused(2, "chain-spec.json");
    let net = ["chain-spec", "--out", text(directory.path()), "--cores", "1"];
    run(&net).good();
    assert_eq!(
        run(&["config", "check", text(&config)]).good(),
        format!("{} can be used\n", config.display())
    );
    fs::remove_file(directory.path().join("chain-spec.json")).unwrap();
    let words = words.map(|word| match word {
        "/etc/pectin/pectin.toml" => text(&config).to_owned(),
        other => other.replace("/var/lib/pectin", text(directory.path())),
    });
    let words = words.collect::<Vec<_>>();
    run(&words.iter().map(String::as_str).collect::<Vec<_>>()).refused(2, "the chain specification");
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        println!("skipped: no systemd-analyze");
        return;
    }
    let here = directory.path().join("pectin.service");
    let binary = binary().unwrap();
    fs::write(&here, unit.replace("/usr/local/bin/pectin", text(&binary))).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", text(&here)]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
}

#[test]
fn the_image_starts_what_there_is() {
    let file = fs::read_to_string(repository().join("deploy/Dockerfile")).unwrap();
    assert_eq!(
        file.lines().filter(|line| line.starts_with("FROM ")).count(),
        2,
        "built apart from what runs"
    );
    assert!(file.contains("\nUSER pectin\n"), "not as root");
    let manifest = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let version = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(file.contains(&format!("FROM rust:{version}-")), "the compiler that the workspace needs");
    let command = file.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let command = serde_json::from_str::<Vec<String>>(command).unwrap();
    let command = command.iter().map(String::as_str).collect::<Vec<_>>();
    run(&command).refused(2, "/etc/pectin/pectin.toml");
}
