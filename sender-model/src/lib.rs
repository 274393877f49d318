//! The model of a managed account: every rule about nonces, fees, requests and events, as a pure state machine.
//!
//! A request goes through these states; [`State::may_become`] lists every legal move:
//!
//! ```text
//!   Accepted ─bind─▶ Bound ─first send─▶ Submitted ─receipt─▶ Mined ─finality─▶ Confirmed | Reverted
//!      │               (never sent: may release)  │ ▲ bump, rebroadcast   │ reorg ▲
//!      ├─cancel─▶ Cancelled                       │ └────────────────────┘
//!      ├─expire─▶ Expired      Submitted ─noop bound─▶ Cancelling ─noop final─▶ Cancelled (Confirmed if it lost)
//!      └─reject─▶ Failed       Submitted ─nonce taken by an identified foreign tx─▶ Accepted (or Failed)
//! ```
//!
//! [`Account`] is one account as its owner has it in memory. It does no I/O: it takes the time as an argument, is told
//! what happened, and says what to do.
//!
//! | inputs | outputs |
//! |---|---|
//! | [`Account::admit`], [`Account::handle_command`]: requests and commands | [`Account::poll`]: what to ask, sign and send |
//! | [`Account::handle_view`], `handle_receipts`, `handle_block`: the chain | [`Account::poll_timeout`]: when to poll again |
//! | [`Account::handle_signed`], `handle_sent`, `handle_simulation`: answers | [`Account::take_commit`]: what must be durable |
//!
//! **Bind first, send second, prove before rebind.** One commit takes the nonce, stores the signed bytes and writes the
//! event. Only bytes that are durable are handed out to be sent, so sending is idempotent. A nonce whose bytes may have
//! left is given up only when the finalized chain shows which transaction has used it.
//!
//! **Rows.** What is durable are rows of JSON; [`key`] lists their names. A [`Commit`] is a set of preconditions and writes
//! that a store does as a whole or not at all. If a commit does anything but succeed, the owner drops the account and loads
//! it again ([`Account::load`]), because memory must never be ahead of the store. Other processes write only through
//! [`accept`] and [`Command`], which create rows that are absent.
//!
//! **Public** is what an owner, a store, a caller's interface and the simulator need: the machine, the rows and the types in
//! them. How an account keeps its book is private.
//!
//! **Limits** are in [`Config`], with their units. **Errors** answer what the caller wants to know: [`AcceptError`]
//! (nothing has changed), [`OperationError::should_retry`], [`CommitError`] and [`LoadError`] (drop the account),
//! [`SendClass`] (what a node's answer means for the nonce).
//!
//! ```
//! use alloy_primitives::{Address, keccak256};
//! use sender_model::{Account, AccountId, Action, Config, Decision, Intent, NewRequest, RequestOptions, Rows, accept};
//! use std::sync::Arc;
//! use types::Time;
//!
//! let (config, now) = (Arc::new(Config::default()), Time::from_millis(1));
//! let id = AccountId { chain_id: 1, address: Address::ZERO };
//! let new = NewRequest {
//!     id: "order-7".parse()?,
//!     account: id,
//!     intent: Intent { to: Some(Address::repeat_byte(1)), ..Intent::default() },
//!     body: keccak256(b"all that the caller sent"),
//!     expires_at: None,
//!     options: RequestOptions::default(),
//! };
//! // The request exists once a store has done this commit.
//! let Decision::New(request, _commit) = accept::decide(new, None, 0, &config, now)? else { panic!() };
//!
//! let mut account = Account::load(config, id, 1, Rows::default(), now)?;
//! account.admit(*request);
//! // Nothing is bound before the chain was seen.
//! assert_eq!(account.poll(now), vec![Action::FetchView { known: None }]);
//! assert_eq!(account.waiting(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accept;
mod account;
#[cfg(feature = "bugs")]
mod bugs;
mod chain_settings;
mod classify;
mod command;
mod commit;
mod config;
pub mod delivery;
mod draft;
mod event;
mod fees;
mod ids;
mod intent;
pub mod key;
mod nonce;
#[cfg(feature = "openapi")]
pub mod openapi;
mod options;
pub mod providers;
mod quantity;
mod request;
pub mod retention;
#[cfg(test)]
mod tests;
mod used_name;
mod view;

pub use accept::{AcceptError, Decision, NewRequest};
pub use account::{
    Account, Action, CancelOutcome, CommitError, Health, LoadError, NonceHealth, OperationError, RawRequest,
    Rows, Withdrawal, is_paused,
};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use chain_settings::ChainSettings;
pub use classify::{SendClass, SendResponse, classify};
pub use command::{Command, CommandKind};
pub use commit::{
    Authority, COMMIT_ROWS_MAX, Commit, Fence, KEY_BYTES_MAX, Key, MalformedCommit, Precondition,
    VALUE_BYTES_MAX, Value, Write,
};
pub use config::{Config, Limits, OnForeign};
pub use delivery::{Delivery, Next};
pub use draft::{Draft, Purpose, Signed, Ticket};
pub use event::{Event, EventKind, Subject};
pub use fees::{FeeMarket, Fees, Quote};
pub use ids::{AccountId, BadAccountId, BadRequestId, Nonce, RequestId};
pub use intent::{FeeCap, Intent};
pub use nonce::{Attempt, AttemptKind, CancelReason, Mined, NonceLease, NonceState, Slot};
pub use options::{METADATA_BYTES_MAX, REQUEST_WEBHOOKS_MAX, RequestOptions, Simulate, Speed, Speeds};
pub use quantity::maybe_number;
pub use request::{Basis, Failure, Held, PastAttempt, Request, State, StateName};
pub use used_name::{KnownRequest, UsedName};
pub use view::{BlockCheck, Head, Identified, Inclusion, ReceiptAnswer, Simulation, View};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "sender-model/bugs",
];
