//! The judges: programs that try the product on inputs that nobody here has seen.
//!
//! ```text
//!   vectors DIR            every specification vector below DIR       vectors: N passed, M failed
//!   sim --seeds N          the driver against a chain on which everything fails   sim: seeds=N faults=F violations=V
//!   sim --crashes          the node's journal on a disk that stops at every operation   crashes: operations=N …
//!   abuse                  everything that a client must not do, done to the real node   abuse: bodies=N panics=0 …
//!   kill --kills N         the real node, killed at the worst moments  kill: kills=N accepted=A final=F terminal=T lost=0 duplicated=0
//!   rpc-compat             recorded requests, and what others answered  rpc-compat: exact E of N, schema S of N
//!   sender-sim --seeds N   managed accounts against a chain, a store and owners that fail   sender-sim: seeds=N faults=F violations=V
//!   sender-e2e --kills N   managed accounts in the real node, killed, behind a bad network   sender-e2e: target=T requests=N kills=K …
//!   ratios [--only NAME]   what we cost against what is unavoidable   RATIO <name> <value> <target>
//! ```
//!
//! Each judge is a small binary in `src/bin` over a module here; its closing line is a contract. The integration
//! tests (one binary, `tests/it`) run the same modules on the fixtures, if there are any.

pub mod abuse;
pub mod blocks;
pub mod child;
pub mod crash;
pub mod devnet;
pub mod fixtures;
pub mod fuzz;
pub mod http;
pub mod kill;
pub mod load;
pub mod network;
pub mod packed;
pub mod pool_backend;
pub mod ports;
pub mod process;
pub mod product;
pub mod ratios;
pub mod recorded;
pub mod rpc_compat;
pub mod rpc_world;
pub mod sender_e2e;
pub mod sender_sim;
pub mod sender_store;
pub mod sim;
pub mod vectors;
