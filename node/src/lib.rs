//! The command line of the builder node, and the binary `pectin`.
//!
//! ```text
//!   flags, variables, pectin.toml ─▶ cli::options ─▶ cli::check ─▶ runtime::Config ─▶ runtime::Node
//!   pectin queue, tx, send, db, doctor, inspect, load … ─▶ JSON-RPC of a node that runs, or the file of one that does not
//! ```
//!
//! * [`cli`] is every command of `pectin`; the crate `runtime` is the node that `pectin node` and `pectin dev` start.
//! * [`accounts`] and [`banner`] are the development accounts and what `pectin dev` prints first.
//! * [`logging`] writes log lines in the format that the operator chose.
//! * [`features`] tells a product build from a build for tests.

pub mod accounts;
pub mod banner;
pub mod cli;
pub mod features;
pub mod logging;
