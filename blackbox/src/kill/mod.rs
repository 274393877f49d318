//! The judge `kill`: the real node as a child, killed again and again at the worst moments, under load.
//!
//! ```text
//!   judge ── validators (devnet, in this process) ══ wire, can be cut ══ pectin node (child) ◀── load over JSON-RPC
//!     │                                                                      │
//!     └────────── SIGKILL, SIGSTOP, full disk ◀── moment in its log ◀────────┘
//! ```
//!
//! Each life of the node ends with SIGKILL, right after something that it said ([`moment`]). Some lives have trouble
//! besides ([`trouble`]): the process is frozen, the disk is full, the wire is cut, its wall clock is hours wrong, validators
//! are partitioned, deaf, fork, or are down for a hundred slots. The last life is let alone until everything has settled. Then the judge looks at what
//! the node accepted ([`ledger`]) and what became of it, and executes the chain a second time without the node's code
//! ([`replay`], [`fate`], [`check`]).
//!
//! The same seed gives the same plan: the same moments, troubles and transactions. What the node does in between is up
//! to the machine, so two runs are never quite the same; that is the point.

mod check;
mod child;
mod client;
mod disk;
mod fake_clock;
mod fate;
mod final_chain;
mod full_disk;
mod judge;
mod ledger;
mod load;
mod moment;
mod outage;
mod replay;
mod soak;
mod trouble;
mod wire;
mod world;

pub use judge::{Options, Verdict, run};
pub use soak::soak;
