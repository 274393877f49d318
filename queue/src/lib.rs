//! `QueueState`: the life of a bundle, from sealed to final.
//!
//! ```text
//!            window, core, anchor            E_G                E_A, applied           finalized
//!   Queued ───────────────────▶ Submitted ────────▶ Guaranteed ─────────────▶ Accumulated ────────▶ Finalized
//!     ▲  ▲    timeout, error        │                   │                          │
//!     │  └──────────────────────────┘                   │                          │
//!     └───────── dropped after U slots, reorged away, accumulated but not applied ─┘
//!
//!   too many counted versions ─▶ Abandoned ─── dead on the finalized chain ──▶ one block: Released (back to the pool)
//!                                    │                                     └──▶ more: dissolved into two, Queued
//!                                    └── the chain has it after all ──▶ Guaranteed …
//! ```
//!
//! A bundle is a run of consecutive sealed blocks. Blocks are sealed at a pace of their own and wait in no bundle; shortly before a
//! submission window opens, those that wait are packed, lowest first, as many as a package holds. The bundle is formed when it is
//! first sent, and fixed from then on: versions differ only in the refine context and in the code of the service that they name, and
//! every version ever sent is remembered. When the service gets another code, what is in flight is reissued under it.
//! The queue is a pure machine:
//!
//! | told | asked |
//! |---|---|
//! | [`Queue::enqueue`] a sealed block, [`Queue::packed`] a run | [`Queue::poll_action`]: pack, submit, release, halt |
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
//! **Silence is no evidence.** A version counts against its bundle only if a guarantor took it and blocks arrived while
//! its core was free through the whole timeout. After [`Config::max_retries`] such versions the bundle and all that
//! stand on it are abandoned. When no version can ever be applied any more, judged on the *finalized* chain, a bundle of several
//! blocks is dissolved into halves, which are sent again: the same blocks. Only a bundle of one block is released with all that
//! stand on it, in order and in one step.
//!
//! **Bytes.** [`Record::to_bytes`] is what a journal keeps, and [`Record::still_needed`] says what it may drop. Records that
//! no queue could have written are a [`JournalError`].
//!
//! **Limits.** See [`Config`]. [`EnqueueError`] says why a block cannot enter; then its transactions stay in the pool.
//!
//! ```
//! use jam::{Params, SlotClock};
//! use queue::{Config, Queue, QueuedBlock, Size};
//! use types::{BlockId, Time};
//!
//! let genesis = BlockId::new(0, [0; 32].into());
//! let id = BlockId::new(1, [1; 32].into());
//! let size = Size { bytes: 2_000, gas: 21_000, export_bytes: 900, refine_gas: 2_000_000 };
//! let block = QueuedBlock { id, transactions: 1, is_alone: false, size, sealed_at: Time::ZERO };
//! let config = Config::new(&Params::TINY, 6000);
//! let mut queue = Queue::new(config.clone(), SlotClock::common_era(&Params::TINY), genesis);
//! queue.enqueue(block, genesis)?;
//! // Nothing is sent before there is a chain to anchor on, and every decision is in the journal.
//! assert_eq!(queue.poll_action(Time::ZERO), None);
//! let records = queue.take_records();
//! let clock = SlotClock::common_era(&Params::TINY);
//! let again = Queue::restore(config, clock, genesis, records, Time::ZERO)?;
//! assert_eq!(again.snapshot().unbundled, queue.snapshot().unbundled);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abandonment;
mod action;
#[cfg(feature = "bugs")]
mod bugs;
mod bundle;
mod bundles;
mod chain_head;
mod code;
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
mod packing;
mod queue;
mod record;
mod release;
mod sealed;
mod service_view;
mod slow;
mod snapshot;
mod stored;
mod submit;
#[cfg(test)]
mod tests;
mod window;

pub use action::{
    Action, Blame, CommitSubmissionError, EnqueueError, PackPlan, Released, Sent, SubmissionPlan,
};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use bundle::{Bundle, State, Version};
pub use chain_head::ChainInput;
pub use config::{Config, Policy};
pub use journal::{Impossible, JournalError};
pub use outlook::{Ahead, Hold, Outlook};
pub use queue::Queue;
pub use record::Record;
pub use sealed::{QueuedBlock, Size};
pub use service_view::{ServiceCode, ServiceTracker, ServiceView};
pub use slow::{why_slow, why_unbundled};
pub use snapshot::{JournalState, Snapshot, Stats, Unbundled};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "queue/bugs",
    #[cfg(feature = "model")]
    "queue/model",
];
