//! Purity is proved, not claimed: what the pure crates are built from cannot reach the outside world.

use std::process::Command;

/// The crates that take time and randomness as arguments and touch nothing.
const PURE: &[&str] = &[
    "types",
    "histogram",
    "precompiles",
    "ecrecover",
    "jam",
    "state",
    "service",
    "txpool",
    "bundler",
    "queue",
    "driver",
    "sender-model",
];

/// What would let a crate wait, listen, store or look at a clock.
const WORLDLY: &[&str] = &[
    "tokio",
    "mio",
    "socket2",
    "quinn",
    "hyper",
    "axum",
    "jsonrpsee",
    "redb",
    "redis",
    "async-std",
    "tempfile",
];

/// The names of all crates that a crate is built from, itself included.
fn dependencies(package: &str) -> Vec<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none", "-p", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.starts_with(package), "{tree}");
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn pure_crates_depend_on_nothing_that_reaches_the_world() {
    for package in PURE {
        let dependencies = dependencies(package);
        let reached = dependencies.iter().find(|name| WORLDLY.contains(&name.as_str()));
        assert_eq!(reached, None, "{package} depends on it");
    }
}

#[test]
fn the_driver_knows_no_store_no_network_and_no_rpc() {
    let dependencies = dependencies("driver");
    let known = dependencies
        .iter()
        .find(|name| ["store", "network", "rpc", "runtime", "node"].contains(&name.as_str()));
    assert_eq!(known, None, "the driver depends on it");
    // What it could not do without is found, so the names are read right.
    assert!(dependencies.iter().any(|name| name == "queue"), "{dependencies:?}");
}

/// The features of our crates that are for tests.
const TEST_ONLY: &[&str] = &["bugs", "faults", "model", "offline", "recorded", "sample"];

/// The features of our crates, such as `queue bugs`, that a crate turns on by itself.
fn test_features(package: &str) -> Vec<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-e", "normal,features", "--prefix", "none", "-p", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let feature = |line: &str| {
        let (package, rest) = line.split_once(" feature \"")?;
        let name = rest.split('"').next().filter(|name| TEST_ONLY.contains(name))?;
        // Other people's crates have features of these names too.
        root.join(package).join("Cargo.toml").is_file().then(|| format!("{package} {name}"))
    };
    tree.lines().filter_map(feature).collect()
}

#[test]
fn who_runs_the_product_turns_no_feature_for_tests_on() {
    for package in ["node", "harness", "blackbox"] {
        assert_eq!(test_features(package), [""; 0], "{package}");
    }
    // What must be there is found, so the names are read right.
    let simulated = test_features("simulators");
    for feature in ["queue bugs", "store faults", "jam sample"] {
        assert!(simulated.iter().any(|found| found == feature), "{feature}: {simulated:?}");
    }
}

#[test]
fn pure_crates_are_linted_by_the_ban() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let ban = std::fs::read_to_string(root.join("pure.clippy.toml")).unwrap();
    for package in PURE {
        assert_eq!(
            std::fs::read_to_string(root.join(package).join("clippy.toml")).unwrap(),
            ban,
            "{package}"
        );
    }
}
