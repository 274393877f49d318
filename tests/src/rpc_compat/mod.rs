//! Does our JSON-RPC answer as others do? A recorded chain, requests with the answers that go-ethereum gave, and the
//! OpenRPC specification.
//!
//! ```text
//!   genesis.json, chain.rlp ──▶ import ──▶ rpc (the real one, over HTTP)
//!   *.io: >> request << answer ───────────▶ post, compare ──▶ table, rpc-compat: exact E of N, schema S of N
//! ```
//!
//! *Exact* is deep equality, but for the words of errors. *Schema* is an answer of the kind that was recorded (a result
//! or an error) that the specification allows. Files that say `speconly` pass by their schema, the others by equality.

mod allowed;
mod compare;
mod fixture;
mod import;
mod report;

pub use allowed::allowed;
pub use compare::{Verdict, judge};
pub use fixture::{Fixture, fixtures};
pub use import::{Import, serve};
pub use report::{Line, Report};
