//! The configuration file.

use super::{Failure, Options};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What a builder must know of the network that it builds for.
#[derive(Clone, Debug, Default, Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Network {
    /// The chain specification (JIP-4) of the JAM network.
    #[arg(long, env = "PECTIN_CHAIN_SPEC", hide_env = true, value_name = "FILE", help_heading = "Network")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_spec: Option<PathBuf>,
    /// The first EVM block, as a genesis file. [default: the development genesis]
    #[arg(long, env = "PECTIN_GENESIS", hide_env = true, value_name = "FILE", help_heading = "Network")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genesis: Option<PathBuf>,
    /// The builder's Ed25519 seed: 64 hexadecimal digits. The service takes blocks of this key only.
    #[arg(long, env = "PECTIN_BUILDER_KEY", hide_env = true, value_name = "FILE", help_heading = "Network")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder_key: Option<PathBuf>,
    /// How long a slot of the network lasts. [default: 6000]
    #[arg(long, env = "PECTIN_SLOT_MS", hide_env = true, value_name = "MS", help_heading = "Network")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_ms: Option<u64>,
}

/// The keys of [`Network`], with an example and their meaning.
const NETWORK_KEYS: [(&str, &str, &str); 4] = [
    ("chain-spec", "net/chain-spec.json", "The chain specification (JIP-4) of the JAM network; needed."),
    (
        "genesis",
        "net/genesis.json",
        "The first EVM block, as a genesis file; by default the development genesis.",
    ),
    (
        "builder-key",
        "net/builder.key",
        "A file with the builder's Ed25519 seed, 64 hexadecimal digits; needed.",
    ),
    ("slot-ms", "6000", "Milliseconds that a slot of the network lasts."),
];

impl Network {
    /// What is set here, else what is set there.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            chain_spec: self.chain_spec.or(other.chain_spec),
            genesis: self.genesis.or(other.genesis),
            builder_key: self.builder_key.or(other.builder_key),
            slot_ms: self.slot_ms.or(other.slot_ms),
        }
    }
}

/// Reads a file as text, or says in one sentence why not.
pub(super) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|why| Failure::Usage(format!("{what} {}: {why}", path.display())))
}

/// Whether the sender's rows are in a server, and not in a file.
pub(super) fn is_redis(store: &str) -> bool {
    store.starts_with("redis://") || store.starts_with("rediss://")
}

/// Reads a configuration file. Paths in it are relative to it, whoever starts the node and where.
pub(super) fn load(path: &Path) -> Result<(Network, Options), Failure> {
    let text = read(path, "the configuration file")?;
    let (mut network, mut options) =
        parse(&text).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let of_network = [&mut network.chain_spec, &mut network.genesis, &mut network.builder_key];
    for file in of_network.into_iter().flatten().chain(options.paths_mut()) {
        *file = directory.join(&*file);
    }
    if let Some(store) = options.sender_store.as_mut().filter(|store| !is_redis(store)) {
        *store = directory.join(&*store).to_string_lossy().into_owned();
    }
    Ok((network, options))
}

/// Says whether the text of a configuration file can be used, or in one sentence why not.
pub fn check_config(text: &str) -> Result<(), String> {
    parse(text).map(drop)
}

/// Flags and environment over the file, if there is one.
pub(super) fn merged(
    config: Option<&Path>,
    network: Network,
    options: Options,
) -> Result<(Network, Options), Failure> {
    let (in_file, file_options) = match config {
        Some(path) => load(path)?,
        None => Default::default(),
    };
    Ok((network.or(in_file), options.or(file_options)))
}

/// Reads a configuration. What is wrong is told with its line and, where there is one, its key.
fn parse(text: &str) -> Result<(Network, Options), String> {
    let line = |span: Option<std::ops::Range<usize>>| {
        let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
        1 + before.bytes().filter(|byte| *byte == b'\n').count()
    };
    let settings = toml::from_str::<BTreeMap<String, toml::Spanned<toml::Value>>>(text)
        .map_err(|why| format!("line {}: {}", line(why.span()), why.message().replace('\n', " ")))?;
    let (mut network, mut options) = (Network::default(), Options::default());
    for (key, value) in settings {
        let place = line(Some(value.span()));
        if !known_keys().any(|known| known == key) {
            return Err(format!("line {place}: {}", unknown(&key)));
        }
        let wrong = |why: toml::de::Error| format!("line {place}: {key}: {}", why.message());
        let is_of_network = NETWORK_KEYS.iter().any(|(known, ..)| *known == key);
        let alone = toml::Table::from_iter([(key.clone(), value.into_inner())]);
        if is_of_network {
            network = network.or(alone.try_into().map_err(wrong)?);
        } else {
            options = options.or(alone.try_into().map_err(wrong)?);
        }
    }
    Ok((network, options))
}

/// Variables that are no settings: what tools are told, and what this repository's builds and tests are.
const OTHER_VARIABLES: [&str; 9] = [
    "PECTIN_CONFIG",
    "PECTIN_RPC_CA",
    "PECTIN_RPC_URL",
    "PECTIN_BINARY",
    "PECTIN_FIXTURES",
    "PECTIN_SIM_SEEDS",
    "PECTIN_ABUSE_BODIES",
    "PECTIN_BLESS",
    "PECTIN_COMMIT",
];

/// What to say about the variables `PECTIN_…` that nothing reads. They are not an error: whoever starts the node may have
/// variables of its own that begin like this (Kubernetes makes `PECTIN_SERVICE_HOST` and `PECTIN_PORT` for a service of
/// this name), and a node that does not start for one of them is worse than a line.
pub(super) fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let variable = |key: &str| format!("PECTIN_{}", key.replace('-', "_").to_uppercase());
    let known = known_keys().map(variable).chain(OTHER_VARIABLES.map(str::to_owned)).collect::<Vec<_>>();
    let mut said = names
        .filter(|name| name.starts_with("PECTIN_") && !known.contains(name))
        .map(|name| match nearest(&name, known.iter().map(String::as_str)) {
            Some(near) => format!("the variable {name} is not read by anything; did you mean {near}?"),
            None => format!("the variable {name} is not read by anything"),
        })
        .collect::<Vec<_>>();
    said.sort_unstable();
    said
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    NETWORK_KEYS.iter().map(|(key, ..)| *key).chain(Options::ALL.iter().map(|option| option.key))
}

/// No key is nearly as long.
const KEY_BYTES_COMPARED_MAX: usize = 64;

/// The known name that was probably meant.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time and memory by the length; nobody mistypes as much as that.
    if name.len() > KEY_BYTES_COMPARED_MAX {
        return None;
    }
    let near = known.map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
    near.filter(|(distance, known)| *distance <= 1 + known.len() / 4).map(|(_, known)| known)
}

/// Names the key that was probably meant.
fn unknown(key: &str) -> String {
    match nearest(&key.replace('_', "-"), known_keys()) {
        Some(known) => format!("there is no setting {key:?}; did you mean {known:?}?"),
        None => format!("there is no setting {key:?}; `pectin config print` shows all there are"),
    }
}

/// The reference: every setting with its meaning, its default and a value that it could have.
pub(super) fn reference() -> String {
    let mut text = String::from(
        "# Pectin's settings: everything there is, each line with its meaning. Take the # away to set one.\n\
         # Each can also be given as a flag (--http-port) or in the environment (PECTIN_HTTP_PORT).\n\
         # Flags win over the environment, the environment over this file, this file over the defaults.\n\
         # Relative paths in it begin where this file lies.\n",
    );
    text.push_str("\n# -- The network to build for\n");
    for (key, example, meaning) in NETWORK_KEYS {
        text.push_str(&format!("\n# {meaning}\n# {key} = {}\n", toml_value(example)));
    }
    let mut last = "";
    for option in Options::ALL {
        if option.heading != last {
            text.push_str(&format!("\n# -- {}\n", option.heading));
            last = option.heading;
        }
        for line in option.meaning {
            text.push_str(&format!("\n#{line}"));
        }
        if option.default != option.example {
            text.push_str(&format!("\n# default: {}", option.default));
        }
        text.push_str(&format!("\n# {} = {}\n", option.key, toml_value(option.example)));
    }
    text
}

/// A value as it stands in the file: numbers and truth values as they are, everything else in quotes.
fn toml_value(text: &str) -> String {
    match text {
        "true" | "false" => text.to_owned(),
        number if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => number.to_owned(),
        other => format!("{other:?}"),
    }
}

/// The names and values that are set.
pub(super) fn set(
    network: &Network,
    options: &Options,
) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let mut all = serde_json::Map::new();
    for part in [serde_json::to_value(network), serde_json::to_value(options)] {
        if let serde_json::Value::Object(part) = part.map_err(Failure::runtime)? {
            all.extend(part);
        }
    }
    Ok(all)
}

/// Every setting, in the order of the reference: its name, and its default as a value or in words.
pub(super) fn defaults() -> impl Iterator<Item = (&'static str, Unset)> {
    let network = NETWORK_KEYS.iter().map(|(key, example, _)| match *key {
        "slot-ms" => (*key, Unset::Value(toml_value(example))),
        "genesis" => (*key, Unset::Words("the development genesis")),
        _ => (*key, Unset::Words("not set, and needed")),
    });
    network.chain(Options::ALL.iter().map(|option| {
        // What stands behind a semicolon is about `pectin dev`.
        let of_a_node = option.default.split("; ").next().unwrap_or(option.default);
        match of_a_node == option.example {
            true => (option.key, Unset::Value(toml_value(of_a_node))),
            false => (option.key, Unset::Words(of_a_node)),
        }
    }))
}

/// What a setting is if it is not set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unset {
    /// A value, as it stands in a file.
    Value(String),
    /// It depends on something else.
    Words(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let (network, options) =
            parse("chain-spec = \"a.json\"\nhttp-port = 9\nqueue-policy = \"spec\"\n").unwrap();
        assert_eq!(network.chain_spec, Some("a.json".into()));
        assert_eq!(options.http_port, Some(9));
    }

    #[test]
    fn what_does_not_exist_is_refused_and_the_nearest_named() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            wrong("http_port = 1"),
            "line 1: there is no setting \"http_port\"; did you mean \"http-port\"?"
        );
        assert_eq!(
            wrong("log = 'info'\n\nchain-sepc = 'a'"),
            "line 3: there is no setting \"chain-sepc\"; did you mean \"chain-spec\"?"
        );
        assert!(wrong("zzzzzzzzzzzzzzzzz = 1").contains("pectin config print"));
        assert!(wrong(&format!("http-port{} = 1", "t".repeat(1 << 20))).contains("pectin config print"));
        assert!(wrong("= 3").starts_with("line 1: "));
        assert!(wrong("log = 'info'\nhttp-port = 1\nhttp-port = 2").starts_with("line 3: duplicate key"));
    }

    #[test]
    fn what_is_wrong_with_a_value_is_said_with_its_key_and_line() {
        let wrong = |text: &str| parse(text).unwrap_err();
        let text = "# a comment\nlog = 'info'\nhttp-port = 'x'\n";
        assert_eq!(wrong(text), "line 3: http-port: invalid type: string \"x\", expected u16");
        assert!(wrong("log = 'info'\nhttp-port = 70000").starts_with("line 2: http-port: invalid value"));
        assert!(wrong("slot-ms = 'x'").starts_with("line 1: slot-ms: invalid type"));
        assert!(wrong("[section]\nhttp-port = 1").starts_with("line 1: there is no setting \"section\""));
    }

    #[test]
    fn every_path_in_a_file_is_relative_to_it() {
        let directory = std::env::temp_dir().join(format!("pectin-paths-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("pectin.toml");
        let keys = ["chain-spec", "genesis", "builder-key", "data-dir", "token-file", "sender-keystore"];
        let keys = keys.into_iter().chain(["sender-password-file", "sender-ca-file", "sender-store"]);
        let text = keys.clone().map(|key| format!("{key} = \"here/{key}\"\n")).collect::<String>();
        std::fs::write(&file, &text).unwrap();
        let (network, options) = load(&file).unwrap();
        let set = set(&network, &options).unwrap();
        for key in keys {
            assert_eq!(set[key].as_str(), directory.join("here").join(key).to_str(), "{key}");
        }
        std::fs::write(&file, "sender-store = \"redis://127.0.0.1/0\"\ndata-dir = \"/var/lib/pectin\"")
            .unwrap();
        let (_, options) = load(&file).unwrap();
        assert_eq!(options.sender_store.as_deref(), Some("redis://127.0.0.1/0"));
        assert_eq!(options.data_dir, Some("/var/lib/pectin".into()));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_reference_names_everything() {
        let reference = reference();
        assert!(known_keys().all(|key| reference.contains(&format!("\n# {key} = "))));
    }

    #[test]
    fn what_the_reference_shows_can_be_set() {
        let is_setting = |line: &&str| known_keys().any(|key| line.starts_with(&format!("# {key} = ")));
        let all =
            reference().lines().filter(is_setting).map(|line| &line[2..]).collect::<Vec<_>>().join("\n");
        let (network, options) = parse(&all).unwrap();
        assert_eq!(options.http_port, Some(8545));
        let set = set(&network, &options).unwrap();
        assert!(known_keys().all(|key| set.contains_key(key)), "{set:?}");
        assert!(defaults().map(|(key, _)| key).eq(known_keys()));
    }

    #[test]
    fn variables_that_nothing_reads_are_named() {
        let said = |names: &[&str]| unknown_variables(names.iter().map(|name| (*name).to_owned()));
        let fine = ["PATH", "PECTIN_HTTP_PORT", "PECTIN_CHAIN_SPEC", "PECTIN_CONFIG", "PECTIN_RPC_URL"];
        assert_eq!(said(&fine), [""; 0]);
        assert_eq!(
            said(&["PECTIN_HTPP_PORT"]),
            ["the variable PECTIN_HTPP_PORT is not read by anything; did you mean PECTIN_HTTP_PORT?"]
        );
        assert_eq!(said(&["PECTIN_ZZZZZZZZZZZZZZZ"]).len(), 1);
    }

    #[test]
    fn each_variable_is_the_keys_name() {
        use clap::Args as _;
        let command = Options::augment_args(Network::augment_args(clap::Command::new("x")));
        for argument in command.get_arguments() {
            let key = argument.get_long().unwrap();
            let variable = format!("PECTIN_{}", key.replace('-', "_").to_uppercase());
            assert_eq!(argument.get_env().unwrap().to_str(), Some(&*variable));
            assert!(known_keys().any(|known| known == key), "{key}");
        }
    }
}
