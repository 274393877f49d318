//! Simulators: the product's own state machines in virtual time, against a world that a seed chooses and in which
//! everything fails.
//!
//! | module | what it runs | binary in `tests` |
//! |---|---|---|
//! | [`sim`] | the driver, against a chain, guarantors, a disk and clocks | `sim` |
//! | [`crash`] | the driver and its store, on a disk that stops at every single operation | `sim --crashes` |
//! | [`sender_sim`] | managed accounts, against a chain, a store and rival owners | `sender-sim` |
//!
//! What the two simulators share is in `command` (their command line), `seeds` (many runs on all cores) and `swarm` (which
//! faults a seed has). The same seed gives the same run.
//!
//! Each simulator can put known mistakes back, to show that it finds them. This is a crate because that takes the features
//! `bugs`, `faults` and `sample` of the product's crates, which nothing else should be compiled with.

pub mod command;
pub mod crash;
mod seeds;
pub mod sender_sim;
pub mod sim;
mod swarm;
