//! The EVM service that JAM validators run.
//!
//! ```text
//!   bundle --refine--> Claim: this run of blocks is valid on that parent --accumulate--> ServiceState: head, waiting
//!     |                                                                            |
//!     | package   one item: parent header, last block, signature of it             | applied only on its parent; the
//!     | extrinsic 0  witness: what the state held that the run touches             | order of cores and a second
//!     | extrinsic 1  codes that it reads                                           | version make no difference
//!     | extrinsic 2  the transactions of each block
//!     | extrinsic 3  the headers of its blocks
//!     | extrinsic 4  hints for the signatures of all transactions: public keys, and y of each signature's point
//!     +-> exports: the blocks and their receipts, from which anyone can rebuild the chain
//! ```
//!
//! A package carries a run: consecutive blocks, one or many. [`refine`](mod@refine) is a pure function: it checks the builder's
//! signature and the chain of headers, executes every transaction on what the witness proves, and compares every field of each
//! sealed header with what comes out. The builder runs the same [`execution`] on its own state, so both sides touch the same keys
//! and get the same roots.
//!
//! Blocks are Ethereum's, with the rules of Osaka from the first one on. What there is not: blob transactions, ommers,
//! withdrawals, requests, beacon roots. The base fee has a floor; the hashes of earlier blocks come from the history
//! contract (EIP-2935), where a witness proves them; PREVRANDAO follows from the parent's hash.
//!
//! **Limits.** A claim has 185 bytes of the 48 KiB that a report may have. Decoders check declared lengths against the
//! bytes there are; execution stops at the gas that the work item declares. At most [`accumulate::WAITING_MAX`] runs
//! wait.
//!
//! **Errors.** [`refine::RefineError`] says why a bundle is refused, and [`refine::RefineError::work_error`] what a
//! report says then. [`accumulate::Ignored`] says why a claim changed nothing.
//!
//! **Where it runs.** On a JAM chain the service is PVM code ([`code`]). The core of this crate is `no_std + alloc` and takes plain
//! inputs ([`refine::Input`], [`accumulate::Host`]); the guest, which is outside of this workspace, is a thin layer of host calls around
//! it. The builder runs the same core natively, for speed and as an oracle. What refine answers has one format, in [`answer`].
//!
//! **Changes.** The owner's key gives a live service other code, and with it other keys and limits: [`order`].
//!
//! **Features.** `std`, on by default, is all that surrounds the core. `bugs` has known mistakes for the simulator to find; no product build has it.
//!
//! ```
//! use service::{Config, accumulate::{Claim, Outcome, ServiceState}, genesis::Genesis};
//! use types::BlockId;
//!
//! let builder = jam::Ed25519Secret::trivial(9).public();
//! let genesis = Genesis::dev(&Config::new(7, [1; 32].into(), builder));
//! let mut state = ServiceState::new(genesis.id());
//!
//! // Blocks 4 and 5 come before blocks 1 to 3: they wait, and follow as soon as their parent is applied.
//! let first = Claim::of_run(genesis.id().hash, 1, BlockId::new(3, [3; 32].into()));
//! let second = Claim::of_run(first.last.hash, 4, BlockId::new(5, [5; 32].into()));
//! assert_eq!(state.apply(&second), Outcome::Waits);
//! assert_eq!(state.apply(&first), Outcome::Applied(vec![first.last, second.last]));
//! assert_eq!(state.head(), second.last);
//! ```

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod accumulate;
pub mod answer;
pub mod blobs;
pub mod code;
pub mod config;
pub mod execution;
pub mod exports;
#[cfg(feature = "std")]
pub mod genesis;
pub mod header;
pub mod order;
pub mod payload;
pub mod refine;
pub mod signature;

pub use config::Config;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "service/bugs",
];
