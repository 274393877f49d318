//! The EVM service that JAM validators run.
//!
//! ```text
//!   bundle --refine--> Claim: this block is valid on that parent --accumulate--> ServiceState: head, waiting
//!     |                                                                            |
//!     | package   one item: parent header, sealed header, signature                | applied only on its parent; the
//!     | extrinsic 0  witness: what the state held that the block touches           | order of cores and a second
//!     | extrinsic 1  codes that it reads                                           | version make no difference
//!     | extrinsic 2  its transactions
//!     +-> exports: the block and its receipts, from which anyone can rebuild the chain
//! ```
//!
//! [`refine`](mod@refine) is a pure function: it checks the builder's signature and the parent, executes every
//! transaction on what the witness proves, and compares every field of the sealed header with what comes out. The
//! builder runs the same [`execution`] on its own state, so both sides touch the same keys and get the same roots.
//!
//! Blocks are Ethereum's, with the rules of Osaka from the first one on. What there is not: blob transactions, ommers,
//! withdrawals, requests, beacon roots. The base fee has a floor; the hashes of earlier blocks come from the history
//! contract (EIP-2935), where a witness proves them; PREVRANDAO follows from the parent's hash.
//!
//! **Limits.** A claim has 144 bytes of the 48 KiB that a report may have. Decoders check declared lengths against the
//! bytes there are; execution stops at the gas that the work item declares. At most [`accumulate::WAITING_MAX`] blocks
//! wait.
//!
//! **Errors.** [`refine::RefineError`] says why a bundle is refused, and [`refine::RefineError::work_error`] what a
//! report says then. [`accumulate::Ignored`] says why a claim changed nothing.
//!
//! **Features.** `bugs` has known mistakes for the simulator to find; no product build has it.
//!
//! ```
//! use service::{Config, accumulate::{Claim, Outcome, ServiceState}, genesis::Genesis};
//!
//! let builder = jam::Ed25519Secret::trivial(9).public();
//! let genesis = Genesis::dev(&Config::new(7, [1; 32].into(), builder));
//! let mut state = ServiceState::new(genesis.id());
//!
//! // Block 2 comes before block 1: it waits, and follows as soon as its parent is applied.
//! let first = Claim { parent: genesis.id().hash, number: 1, block: [1; 32].into(), ..Claim::default() };
//! let second = Claim { parent: first.block, number: 2, block: [2; 32].into(), ..Claim::default() };
//! assert_eq!(state.apply(&second), Outcome::Waits);
//! assert_eq!(state.apply(&first), Outcome::Applied(vec![first.id(), second.id()]));
//! assert_eq!(state.head(), second.id());
//! ```

pub mod accumulate;
pub mod blobs;
pub mod code;
pub mod config;
pub mod execution;
pub mod exports;
pub mod genesis;
pub mod header;
pub mod payload;
pub mod refine;
pub mod signature;

pub use config::Config;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "service/bugs",
];
