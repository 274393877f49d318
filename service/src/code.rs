//! The service's code, as the chain knows it: metadata and a program.
//!
//! ```text
//!   length of the metadata ++ name, version, license, authors ++ configuration ++ program      (JAM's conventional framing)
//! ```
//!
//! The program is the same for every chain; it is compiled from the guest, outside of this workspace, and committed beside this
//! crate ([`PROGRAM`], with its hash and its compiler in `pectin.jam.toml`). The configuration is what makes a code this chain's. Its hash
//! is the code hash that work items name, so the chain commits to both, and the program reads the configuration out of its own
//! code: it never believes a builder about it. A reader of the state can read it too.

use crate::Config;
#[cfg(feature = "std")]
use alloc::vec::Vec;
#[cfg(feature = "std")]
use alloy_primitives::Bytes;
#[cfg(feature = "std")]
use jam::hash::blake2b;
use jam::{Ed25519Key, Hash};
use types::BlockId;

/// The rules that this crate implements. Configurations of other rules are not read.
const NAME: &[u8; 16] = b"pectin-evm/osaka";
/// The bytes of a configuration.
const CONFIG_BYTES: usize = NAME.len() + 2 * 32 + 5 * 8 + 8 + 32;
/// Bytes of a code that suffice to read its configuration.
pub const HEAD_BYTES: usize = 512;

/// The program, with metadata that say what it is, and no configuration.
#[cfg(feature = "std")]
pub static PROGRAM: &[u8] = include_bytes!("../pectin.jam");
/// The hash of [`PROGRAM`] and the compiler that it comes from.
#[cfg(feature = "std")]
pub static PROGRAM_INFO: &str = include_str!("../pectin.jam.toml");

impl Config {
    /// Reads the configuration in the metadata of a code, of which the first [`HEAD_BYTES`] suffice; `None` if it is the code of
    /// something else.
    pub fn from_metadata(service: u32, code_hash: Hash, code: &[u8]) -> Option<Self> {
        let (metadata, _) = split(code)?;
        let (name, rest) =
            metadata.get(metadata.len().checked_sub(CONFIG_BYTES)?..)?.split_first_chunk::<16>()?;
        let (builder, rest) = rest.split_first_chunk::<32>()?;
        let (owner, rest) = rest.split_first_chunk::<32>()?;
        let (numbers, genesis) = rest.split_first_chunk::<48>()?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let number = |i: usize| numbers.get(i).map(|bytes| u64::from_le_bytes(*bytes));
        (name == NAME).then_some(())?;
        Some(Self {
            service,
            code_hash,
            builder: Ed25519Key((*builder).into()),
            owner: Ed25519Key((*owner).into()),
            chain_id: number(0)?,
            gas_limit: number(1)?,
            gas_target: number(2)?,
            base_fee_floor_wei: number(3)?,
            slot_ms: number(4)?,
            genesis: BlockId::new(number(5)?, Hash::from_slice(genesis)),
        })
    }
}

/// The metadata of a code and the program behind it. No metadata of ours has 2¹⁴ bytes.
fn split(code: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = code.split_first()?;
    let (len, rest) = match first {
        0..0x80 => (usize::from(*first), rest),
        0x80..0xc0 => {
            let (second, rest) = rest.split_first()?;
            (usize::from(first & 0x3f) << 8 | usize::from(*second), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(len)
}

#[cfg(feature = "std")]
impl Config {
    /// The defaults for this service and this builder, under the hash of their code.
    pub fn native(service: u32, builder: Ed25519Key) -> Self {
        Self::new(service, Hash::ZERO, builder).with_code_hash()
    }

    /// The same configuration under the hash of its code.
    #[must_use]
    pub fn with_code_hash(mut self) -> Self {
        self.code_hash = blake2b(&[&self.code()]);
        self
    }

    /// The service's code: [`PROGRAM`] with this configuration in its metadata.
    pub fn code(&self) -> Bytes {
        self.code_with(PROGRAM)
    }

    /// A program with this configuration in its metadata. Empty if it has no metadata to add to, which [`PROGRAM`] has.
    pub fn code_with(&self, program: &[u8]) -> Bytes {
        let Some((info, program)) = split(program) else { return Bytes::new() };
        let len = u16::try_from(info.len() + CONFIG_BYTES).ok().filter(|len| *len < 1 << 14);
        let Some(len) = len else { return Bytes::new() };
        let mut code = Vec::with_capacity(2 + usize::from(len) + program.len());
        match u8::try_from(len) {
            Ok(len) if len < 0x80 => code.push(len),
            _ => code.extend_from_slice(&(len | 1 << 15).to_be_bytes()),
        }
        code.extend_from_slice(info);
        self.write(&mut code);
        code.extend_from_slice(program);
        code.into()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(NAME);
        out.extend_from_slice(self.builder.as_slice());
        out.extend_from_slice(self.owner.as_slice());
        let limits = [self.chain_id, self.gas_limit, self.gas_target, self.base_fee_floor_wei, self.slot_ms];
        for number in limits.into_iter().chain([self.genesis.number]) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.genesis.hash.as_slice());
    }

    /// Reads what [`Config::code`] wrote; `None` if it is the code of something else.
    pub fn from_code(service: u32, code: &[u8]) -> Option<Self> {
        Self::from_metadata(service, blake2b(&[code]), code)
    }

    /// Whether a code has the program that this crate was built with, whatever its configuration.
    pub fn has_this_program(code: &[u8]) -> bool {
        let (ours, theirs) = (split(PROGRAM), split(code));
        ours.zip(theirs).is_some_and(|((_, ours), (_, theirs))| ours == theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_and_its_hash_commits_to_it() {
        let builder = jam::Ed25519Secret::trivial(9).public();
        let owner = jam::Ed25519Secret::trivial(8).public();
        let genesis = BlockId::new(5, Hash::repeat_byte(6));
        let config = Config { owner, genesis, ..Config::native(7, builder) }.with_code_hash();
        let code = config.code();
        assert_eq!(Config::from_code(7, &code), Some(config));
        assert_eq!(Config::from_metadata(7, config.code_hash, &code[..HEAD_BYTES]), Some(config));
        assert!(Config::has_this_program(&code));
        assert!(!Config::has_this_program(&code[..code.len() - 1]));
        let other = Config { chain_id: 1, ..config }.with_code_hash();
        assert_ne!(other.code_hash, config.code_hash);
    }

    #[test]
    fn what_is_no_code_of_ours_is_not_read() {
        assert_eq!(Config::from_code(7, PROGRAM), None, "it has no configuration");
        let code = Config::native(7, jam::Ed25519Secret::trivial(9).public()).code();
        for len in 0..CONFIG_BYTES {
            assert_eq!(Config::from_code(7, &code[..len]), None);
        }
        assert_eq!(Config::from_code(7, &code[1..]), None);
        let mut other = code.to_vec();
        let at = other.windows(16).position(|name| name == NAME).unwrap();
        other[at + 15] ^= 1;
        assert_eq!(Config::from_code(7, &other), None, "other rules");
    }
}
