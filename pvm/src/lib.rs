//! The Polkadot Virtual Machine as JAM uses it (Gray Paper 0.7.2, appendices A and B, section 12).
//!
//! ```text
//!   package ─ authorize ─▶ trace ─ refine, item by item ─▶ digests, exported segments        package: what guarantors do
//!   reports ─ accumulate: rounds of services ─▶ changed entries, outputs, gas                accumulate: what every validator does
//!
//!   program   the blob on chain: metadata, then the standard program
//!   machine   engines (polkavm's recompiler and interpreter), compiled programs by hash
//!   run       from arguments to output; gas, memory, host calls
//!   accounts  services over the chain's entries
//! ```
//!
//! **Gas.** One for each instruction and ten for each host call; a transfer also pays the receiver's gas. What a program uses is the
//! same with both engines, also where it panics: the recompiler charges a whole block at its beginning, and what was not executed
//! of it is given back.
//!
//! **Limits.** What the protocol limits (gas, sizes of code, arguments and output) ends in a [`WorkError`](jam::WorkError) that all
//! validators agree on. [`Limits`] are this machine's own (memory, time); who meets one gets a [`Fault`] and no result.
//!
//! **Where code runs.** The recompiler runs it in a process of its own, without system calls, in polkavm's sandbox for Linux. Where there is
//! none, the interpreter runs it.
//!
//! **Errors.** [`EngineError`]: no engine. [`BadProgram`]: bytes that are no program. [`NoReport`]: a package that no guarantor may report.
//!
//! The caller says what the time is and which state it is about; nothing here reads a clock, a file or a socket.

mod accounts;
mod accumulate;
mod authorize;
mod calls;
mod fetch;
mod inner;
mod machine;
mod package;
mod program;
#[cfg(feature = "recorded")]
pub mod recorded;
mod refine;
mod run;
#[cfg(test)]
mod tests;

pub use accounts::{Accounts, Changes, Entries};
pub use accumulate::{Accumulated, Block, PartialState, Transfer};
pub use authorize::Authorized;
pub use machine::{EngineError, EngineKind, Machines, Program};
pub use package::{Evaluated, Evaluation, NoReport};
pub use program::{BadProgram, Layout};
pub use refine::{Lookup, RefineInput, Refined};
pub use run::{Fault, Limits};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "recorded")]
    "pvm/recorded",
];
