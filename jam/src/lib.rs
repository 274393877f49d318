//! JAM as Pectin sees it (Gray Paper 0.7.2).
//!
//! ```text
//!  bytes --codec--> WorkPackage, Bundle     what a builder sends       package, bundle, merkle
//!                   WorkReport, Guarantee   what guarantors answer     report, keys
//!                   Block, Header           what the chain says        block
//!                   ChainSpec, Params       which chain it is          spec, params, slot
//!  data  --erasure--> shards and their root; shuffle: who guarantees which core
//!
//!  state entries --state--> the parts that decide about packages      --trie--> the root
//!  state + block --rules--> the state after it, or why the block is refused      what validators apply
//!  blocks, words on finality --follow--> what became of a package, on any branch      what a builder needs
//! ```
//!
//! Everything here is data and arithmetic: no socket, no file, no clock. The [`Params`] of a chain are an argument,
//! so tiny and full chains live side by side in one process.
//!
//! **Limits.** A decoder never allocates more than a small multiple of its input: a declared length is compared with
//! the bytes that are left first. It reads exactly one encoding of each value and refuses bytes that follow it.
//!
//! **Errors.** [`codec::DecodeError`] says at which byte what was wrong. [`PackageLimit`], [`BundleError`] and
//! [`ErasureError`] say what was too much, missing or not as promised. [`state::StateError`] says which part of a state
//! is missing or wrong, and [`follow::Refused`] why a block is not believed.
//!
//! **Which version.** `codec`, `package`, `report` and `block` hold all that another version of the Gray Paper would
//! encode differently; the tests compare them byte by byte with `jam-std-common` 0.1.28, which is that version's
//! reference.
//!
//! **Features.** `std`, on by default, has what follows and judges the chain. Without it there are codec, hashes, keys, packages,
//! bundles, reports and Merkle trees, which need no more than `alloc`.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use jam::{Params, codec::{Decode, Encode}, Header};
//!
//! let genesis = Header::genesis(None);
//! let bytes = genesis.encode();
//! assert_eq!(Header::decode(&bytes, &Params::TINY), Ok(genesis));
//! assert!(Header::decode(&bytes[1..], &Params::TINY).is_err());
//! # }
//! ```

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod block;
pub mod bundle;
pub mod codec;
#[cfg(feature = "std")]
pub mod erasure;
#[cfg(feature = "std")]
pub mod follow;
pub mod hash;
pub mod keys;
pub mod merkle;
pub mod package;
pub mod params;
pub mod report;
#[cfg(feature = "std")]
pub mod rules;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
#[cfg(feature = "std")]
pub mod shuffle;
pub mod slot;
#[cfg(feature = "std")]
pub mod spec;
#[cfg(feature = "std")]
pub mod state;
#[cfg(feature = "std")]
pub mod trie;

#[cfg(test)]
mod tests;

#[cfg(feature = "std")]
pub use block::{Assurance, Block, Disputes, Extrinsic, Guarantee, Header};
pub use bundle::{Bundle, BundleError};
#[cfg(feature = "std")]
pub use erasure::{ErasureCode, ErasureError, Shards};
pub use hash::{Hash, HeaderHash, PackageHash, ReportHash, SegmentRoot};
pub use keys::{Ed25519Key, Ed25519Secret, Purpose, Signature};
pub use package::{ImportRoot, ImportSpec, PackageLimit, RefineContext, WorkItem, WorkPackage};
pub use params::Params;
pub use report::{WorkDigest, WorkError, WorkReport, WorkResult};
pub use slot::SlotClock;
#[cfg(feature = "std")]
pub use spec::ChainSpec;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "sample")]
    "jam/sample",
];
