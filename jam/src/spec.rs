//! Chain specifications (JIP-4): the file that says which network this is.

use crate::{
    Block, Ed25519Key, Extrinsic, Header, Params,
    codec::{Decode, DecodeError, Encode},
    hash::HeaderHash,
    keys::NameError,
};
use alloy_primitives::{Bytes, FixedBytes, hex};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// A key of the chain's state.
pub type StateKey = FixedBytes<31>;

/// Which network this is, whom to ask first, and how it began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainSpec {
    /// A name for machines.
    pub id: String,
    /// Nodes that accept connections.
    pub bootnodes: Vec<Bootnode>,
    /// The first header.
    pub genesis_header: Header,
    /// The first state.
    pub genesis_state: BTreeMap<StateKey, Bytes>,
    /// The parameters.
    pub params: Params,
}

/// A node that accepts connections: `name@ip:port`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bootnode {
    /// Who it is.
    pub key: Ed25519Key,
    /// Where it is.
    pub addr: SocketAddr,
}

/// Why a file is not a chain specification.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// Not JSON of the right shape.
    #[error("not a chain specification: {0}")]
    Json(#[from] serde_json::Error),
    /// A field that should be hexadecimal is not.
    #[error("{field} is not hexadecimal: {error}")]
    Hex {
        /// Which field.
        field: &'static str,
        /// What is wrong.
        error: hex::FromHexError,
    },
    /// A field that should hold an encoded value does not.
    #[error("{field} does not decode: {error}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What is wrong.
        error: DecodeError,
    },
    /// The parameters contradict each other.
    #[error("protocol_parameters contradict each other: {0}")]
    Params(&'static str),
    /// A bootnode is not `name@ip:port`.
    #[error("bootnode {entry:?}: {why}")]
    Bootnode {
        /// The entry.
        entry: String,
        /// What is wrong.
        why: String,
    },
}

/// The file's shape.
#[derive(Serialize, Deserialize)]
struct File {
    id: String,
    #[serde(default)]
    bootnodes: Vec<String>,
    genesis_header: String,
    genesis_state: BTreeMap<String, String>,
    protocol_parameters: String,
}

impl ChainSpec {
    /// Reads the JSON of a chain specification.
    pub fn from_json(json: &str) -> Result<Self, SpecError> {
        let file: File = serde_json::from_str(json)?;
        let params = field::<Params>("protocol_parameters", &file.protocol_parameters, &Params::FULL)?;
        params.check().map_err(SpecError::Params)?;
        let genesis_header = field("genesis_header", &file.genesis_header, &params)?;
        let genesis_state = file
            .genesis_state
            .iter()
            .map(|(key, value)| {
                let key = field("a key of genesis_state", key, &params)?;
                Ok((key, unhex("a value of genesis_state", value)?.into()))
            })
            .collect::<Result<_, SpecError>>()?;
        let bootnodes = file.bootnodes.iter().map(|entry| entry.parse()).collect::<Result<_, _>>()?;
        Ok(Self { id: file.id, bootnodes, genesis_header, genesis_state, params })
    }

    /// The JSON of this specification, which [`ChainSpec::from_json`] reads back.
    pub fn to_json(&self) -> String {
        let state = self.genesis_state.iter().map(|(key, value)| (hex::encode(key), hex::encode(value)));
        let file = File {
            id: self.id.clone(),
            bootnodes: self.bootnodes.iter().map(ToString::to_string).collect(),
            genesis_header: hex::encode(self.genesis_header.encode()),
            genesis_state: state.collect(),
            protocol_parameters: hex::encode(self.params.encode()),
        };
        serde_json::to_string_pretty(&file).expect("strings and maps of strings always serialise")
    }

    /// The hash of the first header.
    pub fn genesis_hash(&self) -> HeaderHash {
        self.genesis_header.hash()
    }

    /// The first block: the first header and nothing.
    pub fn genesis_block(&self) -> Block {
        Block { header: self.genesis_header.clone(), extrinsic: Extrinsic::EMPTY }
    }

    /// The protocol names (ALPN) of this chain: for builders first, then the plain one.
    pub fn protocol_names(&self) -> [String; 2] {
        let plain = format!("jamnp-s/0/{}", &hex::encode(self.genesis_hash().0)[..8]);
        [format!("{plain}/builder"), plain]
    }
}

fn unhex(field: &'static str, text: &str) -> Result<Vec<u8>, SpecError> {
    hex::decode(text).map_err(|error| SpecError::Hex { field, error })
}

fn field<T: Decode>(field: &'static str, text: &str, params: &Params) -> Result<T, SpecError> {
    T::decode(&unhex(field, text)?, params).map_err(|error| SpecError::Field { field, error })
}

impl FromStr for Bootnode {
    type Err = SpecError;

    /// Reads `name@ip:port`. Several names may stand there, joined by `+`; the one that is a key counts.
    fn from_str(entry: &str) -> Result<Self, SpecError> {
        let wrong = |why: &str| SpecError::Bootnode { entry: entry.into(), why: why.into() };
        let (names, addr) = entry.split_once('@').ok_or_else(|| wrong("name@ip:port expected"))?;
        let (ip, port) = addr.rsplit_once(':').ok_or_else(|| wrong("a port is missing"))?;
        let ip = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(ip);
        let ip = ip.parse::<IpAddr>().map_err(|e| wrong(&e.to_string()))?;
        let port = port.parse::<u16>().map_err(|e| wrong(&format!("port: {e}")))?;
        let mut error = NameError::Length(0);
        for name in names.split('+') {
            match Ed25519Key::from_certificate_name(name) {
                Ok(key) => return Ok(Self { key, addr: SocketAddr::new(ip, port) }),
                Err(e) => error = e,
            }
        }
        Err(wrong(&error.to_string()))
    }
}

impl std::fmt::Display for Bootnode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.key.certificate_name(), self.addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ed25519Secret;

    fn spec() -> ChainSpec {
        let bootnode =
            Bootnode { key: Ed25519Secret::trivial(0).public(), addr: "127.0.0.1:40000".parse().unwrap() };
        ChainSpec {
            id: "dev".into(),
            bootnodes: vec![bootnode],
            genesis_header: Header::genesis(None),
            genesis_state: [(StateKey::repeat_byte(1), Bytes::from_static(b"value"))].into(),
            params: Params::TINY,
        }
    }

    #[test]
    fn a_specification_comes_back() {
        let json = spec().to_json();
        assert_eq!(ChainSpec::from_json(&json).unwrap(), spec());
        assert!(spec().protocol_names()[0].ends_with("/builder"));
    }

    #[test]
    fn bootnodes_may_have_several_names_and_any_address() {
        let name = Ed25519Secret::trivial(3).public().certificate_name();
        let v6 = format!("other:thing+{name}@[::1]:7").parse::<Bootnode>().unwrap();
        assert_eq!(v6.addr, "[::1]:7".parse().unwrap());
        assert_eq!(format!("{name}@::1:7").parse::<Bootnode>().unwrap(), v6);
        assert_eq!(v6.to_string().parse::<Bootnode>().unwrap(), v6);
        // The proposal's own example.
        let entry = "evysk4p563r2kappaebqykryquxw5lfcclvf23dqqhi5n765h4kkb@192.168.50.18:62061";
        assert_eq!(entry.parse::<Bootnode>().unwrap().to_string(), entry);
        for bad in ["", "x", "@127.0.0.1:1", &format!("{name}@127.0.0.1"), &format!("{name}@1:99999")] {
            assert!(bad.parse::<Bootnode>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_field_that_is_wrong() {
        let good = spec().to_json();
        let cases = [
            ("{", "not a chain specification"),
            (&good.replace("127.0.0.1:40000", "nowhere"), "bootnode"),
            (&good.replace("genesis_header\": \"00", "genesis_header\": \"zz"), "genesis_header is not hex"),
            (
                &good.replace("genesis_header\": \"00", "genesis_header\": \""),
                "genesis_header does not decode",
            ),
            (&good.replace("0101010101", ""), "a key of genesis_state does not decode"),
        ];
        for (json, expected) in cases {
            let error = ChainSpec::from_json(json).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let contradictory = ChainSpec { params: Params { cores: 5, ..Params::TINY }, ..spec() };
        assert!(matches!(ChainSpec::from_json(&contradictory.to_json()), Err(SpecError::Params(_))));
    }
}
