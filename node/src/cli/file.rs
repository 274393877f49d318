//! The configuration file.

use super::{Failure, Options};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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

/// Reads a configuration file. Paths in it are relative to it.
pub(super) fn load(path: &Path) -> Result<(Network, Options), Failure> {
    let text = read(path, "the configuration file")?;
    let (mut network, options) =
        parse(&text).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let at = |file: &mut Option<PathBuf>| {
        if let Some(file) = file {
            *file = directory.join(&*file);
        }
    };
    at(&mut network.chain_spec);
    at(&mut network.genesis);
    at(&mut network.builder_key);
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

/// Reads a configuration.
fn parse(text: &str) -> Result<(Network, Options), String> {
    let mut table = text.parse::<toml::Table>().map_err(|why| why.to_string())?;
    for key in table.keys() {
        if !known_keys().any(|known| known == key) {
            return Err(unknown(key));
        }
    }
    let of_network = |key: &String| NETWORK_KEYS.iter().any(|(known, ..)| known == key);
    let network = table.keys().filter(|key| of_network(key)).cloned().collect::<Vec<_>>();
    let network = network.into_iter().filter_map(|key| table.remove_entry(&key)).collect::<toml::Table>();
    let network = network.try_into::<Network>().map_err(|why| why.message().to_owned())?;
    let options = table.try_into::<Options>().map_err(|why| why.message().to_owned())?;
    Ok((network, options))
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    NETWORK_KEYS.iter().map(|(key, ..)| *key).chain(Options::ALL.iter().map(|option| option.key))
}

/// No key is nearly as long.
const KEY_BYTES_COMPARED_MAX: usize = 64;

/// Names the key that was probably meant.
fn unknown(key: &str) -> String {
    let normal = key.replace('_', "-");
    // Comparing takes time and memory by the length; nobody mistypes as much as that.
    let is_short = normal.len() <= KEY_BYTES_COMPARED_MAX;
    let near = known_keys().filter(|_| is_short);
    let near = near.map(|known| (strsim::damerau_levenshtein(known, &normal), known)).min();
    match near {
        Some((distance, known)) if distance <= 1 + known.len() / 4 => {
            format!("there is no setting {key:?}; did you mean {known:?}?")
        }
        _ => format!("there is no setting {key:?}; `pectin config print` shows all there are"),
    }
}

/// The reference: every setting with its meaning, its default and a value that it could have.
pub(super) fn reference() -> String {
    let mut text = String::from(
        "# Pectin's settings: everything there is, each line with its meaning. Take the # away to set one.\n\
         # Each can also be given as a flag (--http-port) or in the environment (PECTIN_HTTP_PORT).\n\
         # Flags win over the environment, the environment over this file, this file over the defaults.\n\
         # Paths of the network's files are relative to this file.\n",
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

/// What is set, one line each.
pub(super) fn effective(network: &Network, options: &Options) -> Result<String, Failure> {
    let mut text = String::new();
    let parts = [serde_json::to_value(network), serde_json::to_value(options)];
    for part in parts {
        for (key, value) in part.map_err(Failure::runtime)?.as_object().into_iter().flatten() {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    Ok(text)
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
        assert_eq!(wrong("http_port = 1"), "there is no setting \"http_port\"; did you mean \"http-port\"?");
        assert_eq!(
            wrong("chain-sepc = 'a'"),
            "there is no setting \"chain-sepc\"; did you mean \"chain-spec\"?"
        );
        assert!(wrong("zzzzzzzzzzzzzzzzz = 1").contains("pectin config print"));
        assert!(wrong(&format!("http-port{} = 1", "t".repeat(1 << 20))).contains("pectin config print"));
        assert!(wrong("http-port = 'x'").contains("invalid type"));
        assert!(wrong("http-port = 70000").contains("invalid value"));
        assert!(wrong("= 3").contains("TOML"));
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
        assert_eq!(parse(&effective(&network, &options).unwrap()).unwrap().1.http_port, Some(8545));
        let set = effective(&network, &options).unwrap();
        assert!(known_keys().all(|key| set.contains(&format!("{key} = "))), "{set}");
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
