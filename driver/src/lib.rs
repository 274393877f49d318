//! The driver: the one place that owns the pool, the queue, the open block and the follower, and passes values between
//! them.
//!
//! ```text
//!   told                                           gives ([`Output`])
//!   submit: transactions, and whom to answer       a batch that must become durable,
//!   import, final_word, learn: the JAM chain       and what may happen only then:
//!   sent: how a submission ended                   news for readers, answers, packages to send;
//!   packed: what packing came to                   and blocks to be packed, on another thread, at once
//!   rebase: the flat state has moved on
//!   step: the time
//! ```
//!
//! **Record before act.** Nothing leaves the driver except in an [`Output`]: first the batch is committed, then the
//! rest happens, in order. If the process ends in between, the batch says it all, and [`Driver::start`] goes on from
//! it. The driver itself never waits for the disk: it may run ahead of what is durable, since whatever it decides
//! stands in a later batch, and batches are committed in order.
//!
//! **A coordinator of parts.** Pool, queue and blocks are crates and a trait of their own. Beside them the driver has
//!
//! | part | what it owns |
//! |---|---|
//! | `DriverTime` | now, and whether the time is in doubt |
//! | `JamChain` | the follower, the service's state along the chain, and what the queue has not heard yet |
//! | `SealPolicy` | when a block is sealed, and which empty ones follow |
//! | `Open` | the block that is being built |
//! | `Outbox` | what leaves with the next step |
//! | `View` | what was published last, and whether a snapshot is due |
//! | `Watch` | what the cores were used for, and the window that is waited for |
//! | `Reach` | which validators are connected |
//! | `CodeInUse` | the code of the service that blocks are made for, and whether it is known here |
//!
//! The parts do not know each other. What concerns more than one is a method of [`Driver`], by topic: accepting, observing
//! the chain, building, acting for the queue, publishing.
//!
//! **No clock, no file, no socket.** Time is an argument; it runs back only when a wrong clock is corrected. What executes
//! blocks and reads the state is a [`Blocks`]. So the simulator drives what a node runs, through every fault there is.

mod accept;
mod act;
mod blocks;
#[cfg(feature = "bugs")]
mod bugs;
mod build;
mod code;
mod evm;
mod jam_chain;
pub mod journal;
mod observe;
mod open;
mod outbox;
mod reach;
mod seal_policy;
mod settings;
mod snapshot;
mod start;
mod time;
mod watch;

pub use accept::{Responder, Results};
pub use act::Outgoing;
pub use blocks::{Added, Blocks, NotSealed, OpenBlock, PackJob, PackOutcome, Package, Removed};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use code::CodeStatus;
pub use evm::{
    Built, EvmBlocks, EvmBuilder, EvmCodes, EvmHistory, EvmPacked, EvmPacking, EvmView, Folded, OpenView,
    Program, ShownBlock,
};
pub use journal::{Batch, Recovered};
pub use settings::{Pace, Settings};
pub use snapshot::Snapshot;
pub use start::Started;

use alloy_primitives::Address;
use code::CodeInUse;
use jam::{SlotClock, follow::Follower};
use jam_chain::JamChain;
use open::Open;
use outbox::Outbox;
use queue::{Queue, ServiceView};
use reach::Reach;
use seal_policy::SealPolicy;
use snapshot::View;
use time::{Certainty, DriverTime};
use txpool::Pool;
use types::{Event, Time, Transaction};
use watch::Watch;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "driver/bugs",
];

/// What readers hear of.
#[derive(Debug)]
pub struct News<B: Blocks> {
    /// When.
    pub at: Time,
    /// Transactions that were accepted, when, and whether they could be executed then.
    pub accepted: Vec<(Transaction, Time, bool)>,
    /// Senders whose next nonce may be another one, with it; `None` if the pool has nothing of them.
    pub nonces: Vec<(Address, Option<u64>)>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What reads show from now on, if that changed.
    pub snapshot: Option<Snapshot<B>>,
}

/// What follows from what the driver was told.
#[derive(Debug)]
pub struct Output<B: Blocks> {
    /// What must become durable first.
    pub batch: Batch<B::Sealed>,
    /// What readers hear of then,
    pub news: News<B>,
    /// whom to answer then,
    pub answers: Vec<(Responder, Results)>,
    /// and what to send then, if the window is still open.
    pub sends: Vec<Outgoing<B::Package>>,
    /// Blocks to be packed, on another thread; this need not wait for the journal.
    pub jobs: Vec<B::Job>,
}

impl<B: Blocks> Default for News<B> {
    fn default() -> Self {
        Self { at: Time::ZERO, accepted: vec![], nonces: vec![], events: vec![], snapshot: None }
    }
}

impl<B: Blocks> Default for Output<B> {
    fn default() -> Self {
        Self { batch: Batch::default(), news: News::default(), answers: vec![], sends: vec![], jobs: vec![] }
    }
}

impl<B: Blocks> Output<B> {
    /// Whether nothing follows.
    pub fn is_empty(&self) -> bool {
        let News { accepted, nonces, events, snapshot, .. } = &self.news;
        self.batch.is_empty()
            && self.answers.is_empty()
            && self.sends.is_empty()
            && self.jobs.is_empty()
            && snapshot.is_none()
            && accepted.is_empty()
            && nonces.is_empty()
            && events.is_empty()
    }
}

/// Why the driver cannot go on. Nothing that was accepted is lost; whoever starts it again must have removed the cause.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Broken {
    /// The state cannot be read, or does not fit the blocks.
    #[error("the state is damaged: {0}")]
    State(String),
    /// A block that was sealed here cannot be built again.
    #[error("block {number} cannot be built again: {why}")]
    Rebuild {
        /// Its number.
        number: u64,
        /// Why.
        why: String,
    },
    /// The chain knows blocks of ours that this data directory does not.
    #[error(
        "the chain has applied block {chain} of this builder, but the data directory ends at block {ours}: it is an old \
         copy. Start from the newest one; an old copy would build other blocks of the same numbers"
    )]
    Behind {
        /// The block that the chain has applied.
        chain: u64,
        /// The newest block here.
        ours: u64,
    },
}

/// See the [crate](self).
#[derive(Debug)]
pub struct Driver<B: Blocks> {
    settings: Settings,
    clock: SlotClock,
    time: DriverTime,
    pool: Pool,
    queue: Queue,
    blocks: B,
    chain: JamChain,
    code: CodeInUse,
    open: Option<Open<B::Open>>,
    /// Counts every block that was ever opened here.
    build_counter: u64,
    sealing: SealPolicy,
    view: View<B>,
    watch: Watch,
    reach: Reach,
    outbox: Outbox<B>,
    #[cfg(feature = "bugs")]
    mistake: Option<Mistake>,
}

impl<B: Blocks> Driver<B> {
    /// Does what is due. Everything that was told before takes effect here.
    pub fn step(&mut self, now: Time) -> Result<Output<B>, Broken> {
        self.set_time(now);
        self.note_missed_window();
        self.handle_chain()?;
        self.update_reach();
        self.queue.handle_timeout(self.now());
        self.expire();
        self.gather_pool();
        self.build()?;
        self.act()?;
        self.gather_queue()?;
        self.gather_pool();
        self.outbox.show_nonces(|sender| self.pool.next_nonce(sender));
        self.note_departure();
        self.show()?;
        Ok(self.outbox.take(self.time.now()))
    }

    /// The time that is acted on.
    const fn now(&self) -> Time {
        self.time.now()
    }

    /// Takes the time. It stands still for a moment that seems to lie back, since commands may come late; a time that
    /// lies back further is a correction of the clock, and everything that was timed by the wrong one is timed anew.
    pub(crate) fn set_time(&mut self, now: Time) {
        #[cfg(feature = "bugs")]
        if self.has(Mistake::FrozenClock) {
            self.time.set_forward(now);
            return;
        }
        if !self.time.set(now) {
            return;
        }
        self.queue.set_back(now);
        self.sealing.set_back(now);
        if let Some(open) = &mut self.open {
            open.set_back(now);
        }
        self.watch.set_back();
        self.view.set_back();
    }

    /// When to call [`Driver::step`] at the latest, even if nothing is told.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        // Who never submits has no window to wait for.
        let queue = self.queue.poll_timeout(self.now()).filter(|_| !self.settings.dry_run);
        let is_time_confirmed = self.time.is_confirmed();
        #[cfg(feature = "bugs")]
        let is_time_confirmed = is_time_confirmed || self.has(Mistake::HotLoop);
        let expiry = self.pool.poll_timeout().filter(|_| is_time_confirmed);
        let throttled = self.pool.throttled_until().filter(|_| !self.sealing.is_paused());
        [queue, expiry, throttled, self.seal_due(), self.show_due()].into_iter().flatten().min()
    }

    /// Says whether the clock is believed. A clock that may be hours ahead must not expire what was accepted.
    pub const fn set_time_confirmed(&mut self, is_confirmed: bool) {
        self.time.set_confirmed(is_confirmed);
    }

    /// Drops what has waited too long. When a doubtful time is confirmed, the dates of everything in the pool may be those of
    /// a wrong clock, so every time to live begins anew. Nothing of that is written: a restart begins in doubt.
    fn expire(&mut self) {
        let certainty = self.time.certainty();
        #[cfg(feature = "bugs")]
        let certainty = match certainty {
            _ if self.has(Mistake::ExpiresInDoubt) => Certainty::Certain,
            Certainty::ConfirmedAnew if self.has(Mistake::WrongDates) => Certainty::Certain,
            certainty => certainty,
        };
        match certainty {
            Certainty::InDoubt => return,
            Certainty::ConfirmedAnew => self.pool.renew(self.time.now()),
            Certainty::Certain => {}
        }
        self.pool.cleanup(self.time.now());
    }

    /// Puts a known mistake back.
    #[cfg(feature = "bugs")]
    pub fn with_mistakes(
        mut self,
        own: Option<Mistake>,
        service: Option<service::accumulate::Mistake>,
    ) -> Self {
        self.mistake = own;
        self.chain = self.chain.with_mistake(service);
        self
    }

    #[cfg(feature = "bugs")]
    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// The pool, to look at.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The queue, to look at.
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The blocks and states, to look at.
    pub const fn blocks(&self) -> &B {
        &self.blocks
    }

    /// The JAM chain, to look at.
    pub const fn follower(&self) -> &Follower {
        self.chain.follower()
    }

    /// Grows with everything that is told about the JAM chain: as long as it is the same, so is the follower.
    pub const fn chain_news(&self) -> u64 {
        self.chain.news()
    }

    /// The service's state along the JAM chain.
    pub const fn service(&self) -> &ServiceView {
        self.chain.service()
    }

    /// What the driver was set up with.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The slots of the JAM chain.
    pub const fn clock(&self) -> SlotClock {
        self.clock
    }

    /// Stops building; what is sealed goes on.
    pub const fn pause(&mut self) {
        self.sealing.set_paused(true);
        self.view.blocks_changed();
    }

    /// Builds again.
    pub const fn resume(&mut self) {
        self.sealing.set_paused(false);
        self.view.blocks_changed();
    }

    /// Whether building was stopped by the operator.
    pub const fn is_paused(&self) -> bool {
        self.sealing.is_paused()
    }
}
