//! The service's code, as the chain knows it.
//!
//! Validators of this network run the service natively, so what stands on chain in the place of code is what they must
//! agree on: a name with the version of the rules, and the configuration. Its hash is the code hash, so a validator
//! with another configuration does not take part by mistake, and whoever has the state can read the configuration.

use crate::Config;
use alloy_primitives::Bytes;
use jam::{Ed25519Key, Hash, hash::blake2b};

/// The rules that this crate implements.
const NAME: &[u8; 16] = b"pectin-evm/osaka";
const LEN: usize = NAME.len() + 32 + 5 * 8;

impl Config {
    /// The defaults for this service and this builder, under the code hash that says so.
    pub fn native(service: u32, builder: Ed25519Key) -> Self {
        Self::new(service, Hash::ZERO, builder).with_code_hash()
    }

    /// The same configuration under the code hash that says so.
    #[must_use]
    pub fn with_code_hash(mut self) -> Self {
        self.code_hash = blake2b(&[&self.code()]);
        self
    }

    /// What stands on chain in the place of code.
    pub fn code(&self) -> Bytes {
        let mut code = NAME.to_vec();
        code.extend_from_slice(self.builder.as_slice());
        let numbers = [self.chain_id, self.gas_limit, self.gas_target, self.base_fee_floor_wei, self.slot_ms];
        for number in numbers {
            code.extend_from_slice(&number.to_le_bytes());
        }
        code.into()
    }

    /// Reads what [`Config::code`] wrote; `None` if it is the code of something else.
    pub fn from_code(service: u32, code: &[u8]) -> Option<Self> {
        let (name, rest) = code.split_first_chunk::<16>()?;
        if name != NAME || code.len() != LEN {
            return None;
        }
        let (builder, numbers) = rest.split_first_chunk::<32>()?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let number = |i: usize| numbers.get(i).map(|bytes| u64::from_le_bytes(*bytes));
        Some(Self {
            service,
            code_hash: blake2b(&[code]),
            builder: Ed25519Key((*builder).into()),
            chain_id: number(0)?,
            gas_limit: number(1)?,
            gas_target: number(2)?,
            base_fee_floor_wei: number(3)?,
            slot_ms: number(4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_and_its_hash_commits_to_it() {
        let config = Config::native(7, jam::Ed25519Secret::trivial(9).public());
        let code = config.code();
        assert_eq!(Config::from_code(7, &code), Some(config));
        assert_eq!(Config::from_code(7, &code[1..]), None);
        assert_eq!(Config::from_code(7, &[&code[..], &[0]].concat()), None);
        let other = Config { chain_id: 1, ..config }.with_code_hash();
        assert_ne!(other.code_hash, config.code_hash);
    }
}
