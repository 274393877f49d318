//! The words that Pectin's crates share.
//!
//! ```text
//!   Transaction --pool--> SealedBlock (named by its BlockId) --bundle--> JAM --> final
//!        |                     |                                |
//!        +------- Event: what happened, when (Time), and the Reason if it was bad ------+
//! ```
//!
//! Small on purpose: a type belongs here only if two crates that do not know each other exchange it. Everything else
//! lives in the crate that owns it. There is no behaviour here, no limit and no I/O.
//!
//! ```
//! use types::{BlockId, Duration, Run, Time};
//!
//! let accepted = Time::from_millis(1_000);
//! assert_eq!(accepted + Duration::from_secs(18), Time::from_millis(19_000));
//! // The clock of the driver never runs backwards, so "how long ago" never underflows either.
//! assert_eq!(accepted.since(Time::from_millis(2_000)), Duration::ZERO);
//! assert_eq!(Run::of(BlockId::new(7, [0; 32].into())).bundle_name(), "B-7");
//! ```

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod block;
mod chunked;
mod event;
mod insight;
mod reason;
mod story;
mod time;
mod transaction;

pub use block::{BlockId, ReceiptedBlock, Run, SealedBlock};
pub use chunked::Chunked;
pub use core::time::Duration;
pub use event::{Event, Fields, ReleasedBy, SpecLine, Subject};
pub use insight::{CoreUse, RefineGas, RefineGases, Sizes, SlotCores};
pub use reason::{NoReason, Reason};
pub use story::{Release, Story};
pub use time::Time;
pub use transaction::{Signer, Transaction};
