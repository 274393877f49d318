//! `QueueState`: the life of a bundle, from sealed to final.
//!
//! ```text
//!            window, core, anchor            E_G                E_A, applied           finalized
//!   Queued ───────────────────▶ Submitted ────────▶ Guaranteed ─────────────▶ Accumulated ────────▶ Finalized
//!     ▲  ▲    timeout, error        │                   │                          │
//!     │  └──────────────────────────┘                   │                          │
//!     └───────── dropped after U slots, reorged away, accumulated but not applied ─┘
//!
//!   too many counted versions ─▶ Abandoned ─── dead on the finalized chain ──▶ Released (back to the pool)
//!                                    └── the chain has it after all ──▶ Guaranteed …
//! ```
//!
//! A bundle is one EVM block, fixed when it is sealed. Versions differ only in the refine context, and every version
//! ever sent is remembered. The queue is a pure machine:
//!
//! | told | asked |
//! |---|---|
//! | [`Queue::enqueue`] a sealed block | [`Queue::poll_action`]: submit, release, halt |
//! | [`Queue::handle_chain`]: a new view of chain and service | [`Queue::poll_timeout`]: when to come back |
//! | [`Queue::handle_sent`]: how sending ended | [`Queue::take_records`]: what must be durable first |
//! | [`Queue::handle_timeout`]: the time | [`Queue::drain_events`], [`Queue::snapshot`], [`Queue::outlook`] |
//!
//! **Level-triggered.** Where a bundle stands is a function of its journal and of the chain view ([`State`] is derived
//! in one place), computed anew for every bundle whose inputs changed, by index. A fork, a late guarantee and a restart
//! need no code of their own.
//!
//! **Record before act.** [`Queue::commit_submission`] writes the record; the bytes leave when it is durable.
//!
//! **Silence is no evidence.** A version counts against its block only if a guarantor took it and blocks arrived while
//! its core was free through the whole timeout. After [`Config::max_retries`] such versions the block and all that
//! stand on it are abandoned. They are released, in order and in one step, when no version can ever be applied any
//! more: judged on the *finalized* chain.
//!
//! **Bytes.** [`Record::to_bytes`] is what a journal keeps, and [`Record::still_needed`] says what it may drop. Records that
//! no queue could have written are a [`JournalError`].
//!
//! **Limits.** See [`Config`]. [`EnqueueError`] says why a block cannot enter; then its transactions stay in the pool.
//!
//! ```
//! use jam::{Params, SlotClock};
//! use queue::{Config, Queue};
//! use types::{BlockId, Time};
//!
//! let genesis = BlockId::new(0, [0; 32].into());
//! let block = BlockId::new(1, [1; 32].into());
//! let config = Config::new(&Params::TINY, 6000);
//! let mut queue = Queue::new(config.clone(), SlotClock::common_era(&Params::TINY), genesis);
//! queue.enqueue(block, genesis, [].into(), Time::ZERO)?;
//! // Nothing is sent before there is a chain to anchor on, and every decision is in the journal.
//! assert_eq!(queue.poll_action(Time::ZERO), None);
//! let records = queue.take_records();
//! let clock = SlotClock::common_era(&Params::TINY);
//! let again = Queue::restore(config, clock, genesis, records, Time::ZERO)?;
//! assert_eq!(again.snapshot().bundles, queue.snapshot().bundles);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abandonment;
mod action;
#[cfg(feature = "bugs")]
mod bugs;
mod bundle;
mod bundles;
mod chain_head;
mod compact;
mod config;
mod cores;
mod deadlines;
mod journal;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod observe;
mod outbox;
mod outlook;
mod queue;
mod record;
mod release;
mod service_view;
mod slow;
mod snapshot;
mod stored;
mod submit;
#[cfg(test)]
mod tests;
mod window;

pub use action::{Action, Blame, CommitSubmissionError, EnqueueError, Released, Sent, SubmissionPlan};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use bundle::{Bundle, State, Version};
pub use chain_head::ChainInput;
pub use config::{Config, Policy};
pub use journal::{Impossible, JournalError};
pub use outlook::{Ahead, Hold, Outlook};
pub use queue::Queue;
pub use record::Record;
pub use service_view::{ServiceTracker, ServiceView};
pub use slow::why_slow;
pub use snapshot::{JournalState, Snapshot, Stats};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "queue/bugs",
    #[cfg(feature = "model")]
    "queue/model",
];
