//! The durable memory of a node, in one file.
//!
//! ```text
//!   driver ── Batch ──▶ Store::commit: one record of the log or one transaction of the tables, synced, all or nothing
//!               │
//!               ├ only accepted ─────────────────▶ log; the next transaction takes it over into the journal
//!               ├ accepted, returned, ended ─────▶ journal: transactions that are neither final nor ended, and why others ended
//!               ├ released ──────────────────────▶ what became of a transaction in blocks that were given up
//!               ├ sealed ────────────────────────▶ header, body, receipts, writes, codes of an unfinished block
//!               ├ queue(Record) ─────────────────▶ journal of the queue, without what says nothing any more
//!               │    Released ───────────────────▶ the blocks go; their transactions are in the pool again
//!               │    Finalized ──────────────────▶ the transactions leave the journal
//!               ├ checkpoint ────────────────────▶ where following JAM begins
//!               └ (each step) ───────────────────▶ blocks that left the window: found by hash, logs by address and topic;
//!                                                  values move on (fold), what they held before is history
//!
//!   restart ── Store::load ──▶ Recovered: pool, blocks, queue, checkpoint      Store::states ──▶ the last states
//!   rpc ────── Store::reader ──▶ Reader: blocks, receipts, transactions, logs on one snapshot
//!   bundler ── Store::base, Store::codes ──▶ Layer<Base>
//! ```
//!
//! # Rules
//!
//! * **A step is durable or it never was.** [`Store::commit`] returns when the bytes are synced. If it fails it opens the
//!   file again and looks: the step is there, or an error says that it is not. Only if it cannot look either, it says
//!   [`StoreError::Uncertain`]; then the *same* batch may be tried again, and nothing else.
//! * **Any number of accepts are one step**: one write to the log at the beginning of the file, and one sync for all.
//! * **Where a transaction is follows from the blocks.** A block is written once, when it is sealed; when it becomes final
//!   or leaves the window only indexes are added. An accepted transaction is in the pool unless an unfinished block holds it, so a release is
//!   complete as soon as the blocks are gone.
//! * **The values trail the newest block** by [`Options::window_blocks`], final or not; the journal keeps what the blocks
//!   above wrote. So the states of that many blocks are layers that a restart makes again, each compared with its header.
//! * **What is written over is kept** (the history), so the values after any block can be read, and a release of blocks that
//!   were folded takes them out again in its own step. [`Options::history_blocks`] says how long.
//! * **Nobody holds a snapshot for long**, or the file would grow with every commit: a [`Base`] always reads the newest
//!   snapshot with the same values. A [`Reader`] is one snapshot; drop it when the question is answered.
//! * **Whose file it is** ([`ChainIdentity`]) and which format it has is looked at first. Another chain's, a newer, an older, a
//!   foreign and a damaged file are refused with one sentence each, and so is a copy that is behind what the chain has
//!   applied ([`Store::check_applied`]).
//! * **Codes stay.** A code is what it hashes to; that of a released block is harmless and usually comes back.
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | ended transactions remembered | [`Options::ended_max`] |
//! | transactions whose released blocks are remembered | those in the journal, final ones, and ended ones that are remembered |
//! | states in memory | [`Options::window_blocks`] and an eighth more, fewer if they take more than 64 MiB |
//! | states in the file | [`Options::history_blocks`], and the unfinished ones |
//! | the queue's records | those of unfinished blocks |
//! | logs in an answer, and the time to find them | an argument of [`Reader::logs`] |
//! | memory for pages | [`Options::cache_bytes`] |
//!
//! # Errors
//!
//! [`StoreError`]; [`StoreError::retry`] says what to do. A full disk is [`StoreError::Full`]: nothing of the step was
//! written, everything can still be read, and the same step works when there is room. On Linux the file reserves room
//! before it grows, so that only growing can fail for this reason.
//!
//! # Example
//!
//! ```
//! use jam::{Ed25519Secret, HeaderHash, Params};
//! use service::{Config, genesis::Genesis};
//! use store::{Batch, ChainIdentity, Options, Store};
//!
//! let builder = Ed25519Secret::trivial(9).public();
//! let genesis = Genesis::dev(&Config::new(7, [1; 32].into(), builder));
//! let jam_genesis = HeaderHash([2; 32].into());
//! let chain = ChainIdentity { genesis: genesis.id().hash, service: 7, builder, jam_genesis };
//! let store = Store::in_memory(Options::new(chain, Params::TINY), &genesis)?;
//!
//! let mut batch = Batch::new();
//! batch.ended([3; 32].into(), types::Reason::Flushed, types::Time::ZERO);
//! store.commit(&batch)?;
//!
//! assert_eq!(store.load()?.finalized, genesis.id());
//! assert_eq!(store.states(|_| {})?[0].root(), genesis.header.state_root);
//! let ended = store.reader()?.ended(&[3; 32].into())?.expect("it is remembered");
//! assert_eq!(ended.reason, types::Reason::Flushed);
//! # Ok::<(), store::StoreError>(())
//! ```

#[cfg(feature = "faults")]
pub mod faults;

mod arrivals;
mod base;
mod body;
mod check;
mod checkpoint;
mod commit;
mod create;
mod engine;
mod error;
mod finality;
mod history;
mod identity;
mod log;
mod logs;
mod medium;
mod options;
mod overlay;
#[cfg(feature = "faults")]
mod plant;
mod reader;
mod receipts;
mod recover;
mod states;
mod store;
mod stories;
mod tables;
mod tools;
mod values;

pub use base::{Base, CodeTable};
pub use driver::{
    Recovered,
    journal::{Batch, Checkpoint, Unfinished},
};
pub use engine::{guarded, is_guarded};
pub use error::{Retry, StoreError};
pub use identity::check_format;
pub use logs::{FoundLog, LogFilter, LogLimits};
pub use options::{ChainIdentity, Options};
#[cfg(feature = "faults")]
pub use plant::Row;
pub use reader::{Ended, Reader};
pub use store::{Committed, Stats, Store};
pub use tools::{Stat, TableSize, compact, verify};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "faults")]
    "store/faults",
];

type Result<T, E = StoreError> = core::result::Result<T, E>;
