//! The state: a Unified Binary Tree, a layer for each unfinished block, and witnesses that cannot lie.
//!
//! ```text
//!                      builder                                       validator
//!
//!   Layer (parent) --> BlockState -- revm --+                Witness::decode, verify(pre-root)
//!      ^                                    |                           |
//!      |                              BlockChanges                 PartialTree --> BlockState -- revm --+
//!      |                       writes | touched | codes                 ^                               |
//!      |                              |    |       |                    |                         BlockChanges
//!   Layer::child(writes) <------------+    |       +--- CodeSet ------- | ----------> same codes?       |
//!      |                                   |                            +-- covers_exactly(touched) <---+
//!   post-root       Layer::witness(touched)+--- Witness, bytes ------------ update(writes) = post-root? +
//! ```
//!
//! # Rules
//!
//! * Keys and values are those of EIP-7864 as of 2026-03-09, hashed with BLAKE2b-256. A [`Key`] is a stem of 31 bytes and
//!   a sub-index; [`AccountKeys`] says where an account's things live, [`BasicData`] and [`chunkify`] how they look.
//! * Each kind of node is hashed under its own tag: a leaf `H(00|value)`, an inner node `H(01|left|right)`, a stem
//!   `H(02|stem|00|root)`; two empty nodes are an empty one. Without tags, what exists can be shown as absent.
//! * Zero is a value, and nothing is ever deleted: a key that was written once is present for ever. An account whose
//!   numbers are all zero does not exist (EIP-161), whether its leaves do or not.
//! * [`Tree`]s share their nodes, so forks are cheap and rollback is picking a root. A tree has hashes only; the values
//!   are behind [`Values`]. An update hashes the new leaves and the nodes above them, each once.
//! * A [`Layer`] is a tree and the values written since a base. It does not point to its parent, and goes when it is
//!   dropped.
//! * A [`Witness`] opens exactly what some keys need and has one encoding. A [`PartialTree`] answers with a value, with
//!   absence, or with [`NotCovered`], never with a guess; what is written to it gives the root of the whole.
//! * Execution (the module `evm`) is one code for builder and validator, so both touch the same keys.
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | balance | below 2^128 wei |
//! | code of an account | [`CODE_BYTES_MAX`] |
//! | depth of a stem | [`STEM_BITS`] |
//! | memory of decoding and verifying a witness | a small multiple of its bytes, whatever they are |
//! | time for it | at most two hashes per byte |
//!
//! # Errors
//!
//! [`NotCovered`] and [`witness::CoverageError`]: the witness is not the one for this block. [`witness::Malformed`] and
//! [`witness::VerifyError`]: it is none, or one for another state. [`MalformedCodes`]: the same for codes. All of these
//! are final; the sender is wrong. [`witness::MakeError`]: our own tree and values do not fit together.
//! [`AccountError`]: an account cannot be written down. `evm::EvmError` wraps them for revm.
//!
//! # Example
//!
//! A transfer, executed by a builder on a layer and by a validator on nothing but bytes:
//!
//! ```
//! # #[cfg(feature = "revm")] {
//! use alloy_primitives::{Address, TxKind, U256};
//! use revm::{Context, ExecuteCommitEvm, MainBuilder, MainContext, context::TxEnv};
//! use state::{evm::{BlockChanges, BlockState}, *};
//! use std::sync::Arc;
//!
//! // Both run this.
//! fn execute(values: impl Values) -> BlockChanges {
//!     let tx = TxEnv::builder()
//!         .caller(Address::repeat_byte(0xaa))
//!         .kind(TxKind::Call(Address::repeat_byte(0xbb)))
//!         .value(U256::from(7));
//!     let mut evm = Context::mainnet().with_db(BlockState::<_, _>::new(values, CodeSet::default())).build_mainnet();
//!     evm.transact_commit(tx.build().unwrap()).unwrap();
//!     evm.ctx.journaled_state.database.changes().unwrap()
//! }
//!
//! // The builder: execute, prove what was touched.
//! let genesis = account_writes::<Blake2b>(Address::repeat_byte(0xaa), 0, U256::from(1_000), &[], []).unwrap();
//! let mut values = MemoryValues::default();
//! values.apply(&genesis);
//! let parent: Layer<_> = Layer::new(Arc::new(values), Tree::default().update(&genesis), 0);
//! let changes = execute(parent.clone());
//! let block = parent.child(&changes.writes);
//! let witness = parent.witness(&changes.touched).unwrap().encode();
//!
//! // The validator: verify against the parent's root, execute, compare.
//! let mut partial: PartialTree = Witness::decode(&witness).unwrap().verify(parent.root()).unwrap();
//! let seen = execute(&partial);
//! partial.covers_exactly(seen.touched.iter().copied()).unwrap();
//! assert_eq!(partial.update(&seen.writes), Ok(block.root()));
//!
//! // Anything else it cannot know, and says so.
//! let stranger = AccountKeys::<Blake2b>::new(Address::repeat_byte(0xaa)).slot(U256::from(1));
//! assert_eq!(partial.get(&stranger), Err(NotCovered { key: stranger }));
//! # }
//! ```

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
pub use tree::{NotCovered, Opened, Tree, WRITTEN_TOGETHER};
pub use values::{MemoryValues, Values};
pub use witness::{PartialTree, Witness};

/// Values to be written, in the order of their keys.
pub type Writes = alloc::collections::BTreeMap<Key, Value>;
