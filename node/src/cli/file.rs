//! The configuration file.

use super::{Failure, Options};
use clap::Args;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What a builder must know of the network that it builds for.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Network {
    /// The chain specification (JIP-4) of the JAM network.
    #[arg(long, env = "PECTIN_CHAIN_SPEC", hide_env = true, value_name = "FILE", help_heading = "Network")]
    pub chain_spec: Option<PathBuf>,
    /// The first EVM block, as a genesis file. [default: the development genesis]
    #[arg(long, env = "PECTIN_GENESIS", hide_env = true, value_name = "FILE", help_heading = "Network")]
    pub genesis: Option<PathBuf>,
    /// The builder's Ed25519 seed: 64 hexadecimal digits. The service takes blocks of this key only.
    #[arg(long, env = "PECTIN_BUILDER_KEY", hide_env = true, value_name = "FILE", help_heading = "Network")]
    pub builder_key: Option<PathBuf>,
    /// How long a slot of the network lasts. [default: 6000]
    #[arg(long, env = "PECTIN_SLOT_MS", hide_env = true, value_name = "MS", help_heading = "Network")]
    pub slot_ms: Option<u64>,
}

/// The keys of [`Network`], with their meaning.
const NETWORK_KEYS: [(&str, &str); 4] = [
    ("chain-spec", "The chain specification (JIP-4) of the JAM network; needed."),
    ("genesis", "The first EVM block, as a genesis file; by default the development genesis."),
    ("builder-key", "A file with the builder's Ed25519 seed, 64 hexadecimal digits; needed."),
    ("slot-ms", "How long a slot of the network lasts."),
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

/// Reads a configuration.
fn parse(text: &str) -> Result<(Network, Options), String> {
    let mut table = text.parse::<toml::Table>().map_err(|why| why.to_string())?;
    for key in table.keys() {
        if !known_keys().any(|known| known == key) {
            return Err(unknown(key));
        }
    }
    let of_network = |key: &String| NETWORK_KEYS.iter().any(|(known, _)| known == key);
    let network = table.keys().filter(|key| of_network(key)).cloned().collect::<Vec<_>>();
    let network = network.into_iter().filter_map(|key| table.remove_entry(&key)).collect::<toml::Table>();
    let network = network.try_into::<Network>().map_err(|why| why.message().to_owned())?;
    let options = table.try_into::<Options>().map_err(|why| why.message().to_owned())?;
    Ok((network, options))
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    NETWORK_KEYS.iter().map(|(key, _)| *key).chain(Options::ALL.iter().map(|(key, ..)| *key))
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

/// The reference: every setting with its meaning and its default.
pub(super) fn reference() -> String {
    let mut text = String::from(
        "# Pectin's settings. Each can also be given as a flag (--http-port) or in the environment\n\
         # (PECTIN_HTTP_PORT). Flags win over the environment, the environment over this file.\n",
    );
    text.push_str("\n# -- The network to build for\n");
    for (key, meaning) in NETWORK_KEYS {
        text.push_str(&format!("\n# {meaning}\n# {key} =\n"));
    }
    let mut last = "";
    for (key, default, heading, meaning) in Options::ALL {
        if *heading != last {
            text.push_str(&format!("\n# -- {heading}\n"));
            last = heading;
        }
        for line in *meaning {
            text.push_str(&format!("\n#{line}"));
        }
        text.push_str(&format!("\n# default: {default}\n# {key} =\n"));
    }
    text
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
        let wrong = |text| parse(text).unwrap_err();
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
        assert!(known_keys().all(|key| reference.contains(&format!("\n# {key} =\n"))));
    }
}
