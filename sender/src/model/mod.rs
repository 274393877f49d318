//! The model: every rule about nonces, fees, requests and events, as a pure machine.
//!
//! Nothing in here reads a clock, waits, or touches a file or a socket: time is an argument and what must happen outside
//! is an [`Action`]. A test looks at the source of these modules to keep it so. That is what lets the simulator run the
//! very code that moves money, thousands of times, with every fault it can think of.

pub mod accept;
mod account;
#[cfg(feature = "bugs")]
mod bugs;
pub mod classify;
pub mod command;
pub mod commit;
mod config;
pub mod delivery;
mod draft;
mod event;
mod fees;
mod ids;
mod intent;
pub mod key;
mod name;
mod place;
mod quantity;
mod request;
pub mod retention;
#[cfg(test)]
mod tests;
mod view;

pub use accept::{AcceptError, Decision, NewRequest};
pub use account::{
    Account, Action, CancelAnswer, CommitError, Health, LoadError, NonceHealth, OperationError,
    RawSubmission, Rows, Withdrawal, is_paused,
};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use classify::{Answer, SendClass, classify};
pub use command::{Command, CommandKind};
pub use commit::{Authority, Commit, Fence, Precondition, Write};
pub use config::{Config, Limits, OnForeign};
pub use delivery::{Delivery, Next};
pub use draft::{Draft, Purpose, Signed, Ticket};
pub use event::{Event, EventKind, Subject};
pub use fees::{Fees, Quote};
pub use ids::{AccountId, BadAccountId, BadRequestId, Nonce, RequestId};
pub use intent::{FeeCap, Intent};
pub use name::{Known, UsedName};
pub use place::{Attempt, AttemptKind, CancelReason, Mined, NonceLease, Place, Slot};
pub use request::{Failure, Held, PastAttempt, Request, State, StateName};
pub use view::{BlockCheck, Head, Inclusion, ReceiptAnswer, Simulation, View};
