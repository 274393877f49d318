//! Judges of the product as a process: they start the binary that ships and know of it what its clients and peers see.
//!
//! | module | what it does to the node | binary in `tests` |
//! |---|---|---|
//! | [`kill`] | kills it at the worst moments, under load, behind a network that fails | `kill` |
//! | [`abuse`] | everything that a client must not do | `abuse` |
//! | [`sender_e2e`] | managed accounts while it is killed, on its own chain and on another | `sender-e2e` |
//!
//! What they expect they write down themselves and do not ask the node. This is a crate because it turns no test-only feature
//! of the product's crates on: what runs in the judge, such as its validators, is what ships too.

pub mod abuse;
pub mod kill;
pub mod sender_e2e;
