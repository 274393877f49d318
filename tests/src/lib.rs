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
//!   gas                    the virtual machine's gas of a transfer   gas: transfer=G erc20=G block=G package_tiny=N package_full=N
//!   ratios [--only NAME]   what we cost against what is unavoidable   RATIO <name> <value> <target>
//! ```
//!
//! Each judge is a small binary in `src/bin`; its closing line is a contract. What it runs is in a crate of its own where it
//! needs other features of the product's crates than the rest: `simulators` (`sim`, `sender-sim`), `blackbox` (`kill`, `abuse`,
//! `sender-e2e`), `measure` (`ratios`, `gas`). Here is what needs none: specification vectors, the recorded chain with the answers
//! that others gave on it, the suite that every store of the sender passes. The binaries are all here, so that one command
//! builds them. The integration tests (one binary, `tests/it`) run the same modules on the fixtures, if there are any.

pub mod packed;
pub mod recorded;
pub mod rpc_compat;
pub mod sender_store;
pub mod vectors;
