//! JAM validators for a local network: they really guarantee, assure and author, and fail on demand.
//!
//! ```text
//!   Genesis ─▶ ChainSpec ─▶ Validator × N ◀──QUIC (network)──▶ each other, builders
//!                              │
//!   chain      the whole state; every rule of `jam`; blocks with real seals; forks and finality       pure
//!   guarantor  is this package one the chain can take, and what does it come to?                      pure
//!   pool, data guarantees and assurances that wait; shards and exported segments                      pure
//!   store      finalized state, blocks and segments on disk, crash-safe                               I/O
//!   validator  a clock, the disk and the network around them                                          I/O
//!   Devnet     all validators in one process, with faults on demand                                   I/O
//! ```
//!
//! [`Devnet::start`] runs a whole network in one process, over real QUIC on the loopback; [`validator::run`] runs one
//! validator of a chain specification as a process of its own. Both are the same code. A chain specification (JIP-4)
//! says everything that a validator or a builder must know, except how long a slot lasts: the protocol counts whole
//! seconds, a dev chain may run at 100 ms. Slots are counted from the Common Era on, so processes agree on them.
//!
//! **The way of a package.** A guarantor checks anchor, roots, authorizer, core, duplicates and sizes, runs the authorizer, refines and codes
//! the bundle, and shares it at the same time (CE 134). Two signatures make a guarantee, the third is added when it
//! comes (CE 135). The author of the next slot reports it. Validators fetch their shards (CE 137), check them against
//! the erasure root, and assure them a third of a slot before the next one (CE 141). With more than two thirds of
//! assurances in one block the report is available, and the service accumulates it on chain.
//!
//! **Faults.** [`faults::Faults`]: submissions dropped, delayed, refused, or taken in silence; skipped slots; a fork of
//! any depth with the report on the losing side; no availability; stalled finality; a partition; and validators that
//! go down ([`Devnet::stop_validator`]) and come back with what they kept.
//!
//! **What is real.** Ed25519 signatures, Bandersnatch seals and entropy (compared with the reference), the state root and
//! its proofs, erasure coding, guarantor rotation, epochs.
//!
//! **What runs code.** Authorizers always run in the virtual machine ([`authorizer`]). Services do with [`execution::Services::Code`]: the code
//! that stands on chain refines and accumulates, and its gas goes into reports and statistics. With `Native` this program does the work of
//! our service's code, which no other network does; it is for measurements. Validators of one process refine a package once together.
//!
//! **What is not.** There is no ticket contest: slots are drawn among the validators (Safrole's fallback), and the ring
//! commitment (γ_Z) is zero. There are no audits, disputes of our own, preimages in blocks or BLS keys. Guarantors do not report a failure of a
//! service's code, they refuse the package. Finality is no voting protocol: a block is final when more than two thirds of the
//! validators name it or a block above it in their announcements. Keys are trivial: everybody knows them.
//!
//! **Limits.** [`chain::TreeLimits`], [`data::DataLimits`], and those of `network`. Slots last at least
//! [`validator::SLOT_MS_MIN`] ms.
//!
//! **Errors.** [`validator::StartError`] says why a validator cannot start, [`store::StoreError`] whether a file is
//! damaged or another chain's, [`guarantor::PackageRefusal`] why a package is not guaranteed, by name, and
//! [`chain::BlockRefusal`] why a block is not believed.
//!
//! ```no_run
//! use devnet::{Config, Devnet, genesis::SERVICE};
//! use service::genesis::Genesis;
//!
//! # async fn example() -> Result<(), devnet::validator::StartError> {
//! let builder = jam::Ed25519Secret::trivial(99).public();
//! let service = service::Config::native(SERVICE, builder);
//! let head = Genesis::dev(&service).id();
//! let devnet = Devnet::start(Config { slot_ms: 1000, ..Config::new(service, head) }).await?;
//! println!("{}", devnet.chain_spec().to_json());
//! devnet.faults().fork(2);
//! devnet.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub mod authorizer;
pub mod chain;
pub mod data;
mod devnet;
pub mod event;
pub mod execution;
pub mod faults;
pub mod genesis;
pub mod guarantor;
pub mod keys;
pub mod pool;
pub mod store;
pub mod validator;
pub mod vrf;

pub use devnet::{Config, Devnet};
