//! The state.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod account;
mod codes;
#[cfg(feature = "revm")]
pub mod evm;
mod hash;
mod key;
mod layer;
mod plan;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod values;
pub mod witness;

pub use account::{AccountError, BasicData, CHUNK_BYTES, CODE_BYTES_MAX, account_writes, chunkify};
pub use codes::{CodeSet, Codes, MalformedCodes};
pub use hash::{Blake2b, Hash, Hasher, Value};
pub use key::{AccountKeys, Key, STEM_BITS, Stem};
pub use layer::Layer;
pub use tree::{NotCovered, Tree};
pub use values::{MemoryValues, Values};
pub use witness::{PartialTree, Witness};

/// Values to be written, in the order of their keys.
pub type Writes = alloc::collections::BTreeMap<Key, Value>;
