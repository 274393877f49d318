//! Managed accounts: from a request to finality, with nothing lost and nothing done twice.
//!
//! A caller hands over an intent once; the sender assigns the nonce, prices, has it signed, sends, watches, bumps fees,
//! fills gaps, survives crashes and tells what happened.
//!
//! ```text
//!   caller ─▶ facade::Sender ─commit─▶ store ◀─commit── worker (one for each active account)
//!                   │                                     │  ▲
//!                   └──────────── wakes ─────────────────▶│  │ sender_model::Account: told what happened, says what to do
//!                                                         ▼  │
//!                        keys (sign) · target (simulate, send, look) · webhook (deliver)
//! ```
//!
//! The states of a request and every rule about nonces and fees are in [`sender_model`].
//!
//! Its parts:
//!
//! | | what | touches |
//! |---|---|---|
//! | [`facade`] | [`Sender`], the only way in: requests, accounts, groups, endpoints | the store |
//! | [`store`] | rows that change together, and leases with epochs: memory, one file, Redis | files, sockets, clocks |
//! | [`http`] | a client for webhooks, other chains' nodes and remote signers, which goes only where it may | sockets |
//! | [`keys`] | keystores in files and remote signers | files, sockets |
//! | [`target`] | a chain as the sender asks it | sockets |
//! | [`webhook`] | tells endpoints what happened, signed, in order, until they have it | sockets, clocks |
//!
//! An owner's loop, in a few words: take the lease of the account ([`store::Store::acquire`]); [`store::load_account`];
//! then, whenever something happens, tell it ([`sender_model::Account`]`::handle_*`), commit at once
//! ([`sender_model::Account::take_commit`], [`store::Store::commit`], [`sender_model::Account::committed`]), and do what
//! [`sender_model::Account::poll`] says. If a commit does anything but succeed, drop the account and begin again.
//!
//! Who may write: the owner, under the epoch of its lease, which every store checks inside every commit; and anybody who
//! only *creates* rows that are absent, which is how requests ([`sender_model::accept`]) and commands
//! ([`sender_model::Command`]) come in at any process.
//!
//! **Limits** are in [`sender_model::Config`], with their units. **Errors** answer what the caller wants to know:
//! [`facade::Error`], [`store::StoreError`] (refused, or unknown), and those of the model.
//!
//! ```
//! use alloy_primitives::{Address, keccak256};
//! use sender_model::{AccountId, Config, Decision, Intent, KnownRequest, NewRequest, RequestOptions, accept};
//! use sender::store::{Memory, Outcome};
//! use types::Time;
//!
//! let (store, config, now) = (Memory::new(), Config::default(), Time::from_millis(1));
//! let new = NewRequest {
//!     id: "order-7".parse()?,
//!     account: AccountId { chain_id: 1337, address: Address::ZERO },
//!     intent: Intent { to: Some(Address::repeat_byte(1)), ..Intent::default() },
//!     body: keccak256(b"all that the caller sent"),
//!     expires_at: None,
//!     options: RequestOptions::default(),
//! };
//! let Decision::New(request, commit) = accept::decide(new.clone(), None, 0, &config, now)? else { panic!() };
//! assert_eq!(store.apply(&commit)?, Outcome::Committed);
//! // The same again: the same request. Whoever loses the race finds it in the store.
//! assert!(matches!(store.apply(&commit)?, Outcome::Conflict(_)));
//! assert_eq!(accept::decide(new, Some(&KnownRequest::Request(request)), 1, &config, now)?, Decision::Replayed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
pub mod deliveries;
pub mod endpoint;
pub mod facade;
mod forget;
mod groups;
pub mod http;
mod keeper;
pub mod keys;
mod registry;
mod settings;
mod shared;
pub mod signer;
pub mod stats;
pub mod store;
pub mod target;
mod transaction;
mod turns;
pub mod webhook;
mod worker;

pub use clock::Clock;
pub use facade::{Copied, Error, Sender, Settings, StartDeliveries};
pub use settings::holder_at;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "sender/bugs",
];
