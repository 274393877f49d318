//! The judges: programs that try the product on inputs that nobody here has seen.
//!
//! ```text
//!   vectors DIR            every specification vector below DIR       vectors: N passed, M failed
//!   sim --seeds N          the queue against a chain on which everything fails   sim: seeds=N faults=F violations=V
//!   sender-sim --seeds N   managed accounts against a chain, a store and owners that fail   sender-sim: seeds=N faults=F violations=V
//!   ratios [--only NAME]   what we cost against what is unavoidable   RATIO <name> <value> <target>
//! ```
//!
//! Each judge is a small binary in `src/bin` over a module here; its closing line is a contract. The integration
//! tests (one binary, `tests/it`) run the same modules on the fixtures, if there are any.

pub mod blocks;
pub mod fixtures;
pub mod ratios;
pub mod sender_sim;
pub mod sender_store;
pub mod sim;
pub mod vectors;
