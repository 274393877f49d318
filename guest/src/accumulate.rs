//! Accumulate: the service's rules over its storage on chain.

use crate::{
    arguments,
    host::{self, Fetch, Requested},
};
use alloc::vec::Vec;
use jam::Hash;
use service::{
    Config,
    accumulate::{Accumulation, Host, ITEM_BYTES_MAX, Item},
    code::HEAD_BYTES,
};
use types::BlockId;

/// Where code hash and the two gas limits stand in what the chain knows of a service.
const MIN_ITEM_GAS_AT: usize = 32 + 8 + 8;
const INFO_BYTES: usize = MIN_ITEM_GAS_AT + 8 + 8;

struct Chain;

/// Accumulates what the host delivers.
pub(crate) fn accumulate(arguments: &[u8]) {
    let Ok(arguments) = arguments::accumulate(arguments) else { return };
    let mut accumulation = Accumulation::new(Chain, |_| genesis().unwrap_or_default());
    for index in 0..arguments.items {
        let mut bytes = [0; ITEM_BYTES_MAX];
        let Some(len) = Fetch::Accumulated(index).into(&mut bytes) else { continue };
        accumulation.take(&Item::decode(&bytes[..len.min(ITEM_BYTES_MAX)]));
    }
    accumulation.finish();
}

/// The first block, as the configuration in the service's own code has it.
fn genesis() -> Option<BlockId> {
    let (code_hash, _, _) = info();
    let mut head = [0; HEAD_BYTES];
    let len = host::preimage(&code_hash, &mut head)?;
    Some(Config::from_metadata(0, code_hash, head.get(..len.min(HEAD_BYTES))?)?.genesis)
}

/// Code hash, and the gas that items and transfers must bring.
fn info() -> (Hash, u64, u64) {
    let mut info = [0; INFO_BYTES];
    host::info(&mut info);
    let number =
        |at: usize| info[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (Hash::from_slice(&info[..32]), number(MIN_ITEM_GAS_AT), number(MIN_ITEM_GAS_AT + 8))
}

impl Host for Chain {
    fn read(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        host::read(name)
    }

    fn write(&mut self, name: &[u8], value: Option<&[u8]>) {
        host::write(name, value.unwrap_or_default());
    }

    fn solicit(&mut self, hash: &Hash, len: u32) -> bool {
        host::solicit(hash, len)
    }

    fn is_available(&mut self, hash: &Hash, len: u32) -> bool {
        host::query(hash, len) == Requested::Available
    }

    fn upgrade(&mut self, hash: &Hash) {
        let (_, min_item_gas, min_memo_gas) = info();
        host::upgrade(hash, min_item_gas, min_memo_gas);
    }
}
