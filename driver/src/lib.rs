//! The driver: the one place that owns the pool, the queue, the open block and the follower, and passes values between
//! them.
//!
//! ```text
//!   told                                           gives ([`Output`])
//!   submit: transactions, and whom to answer       a batch that must become durable,
//!   import, final_word, learn: the JAM chain       and what may happen only then:
//!   sent: how a submission ended                   news for readers, answers, packages to send
//!   rebase: the flat state has moved on
//!   step: the time
//! ```
//!
//! **Record before act.** Nothing leaves the driver except in an [`Output`]: first the batch is committed, then the
//! rest happens, in order. If the process ends in between, the batch says it all, and [`Driver::start`] goes on from
//! it. The driver itself never waits for the disk: it may run ahead of what is durable, since whatever it decides
//! stands in a later batch, and batches are committed in order.
//!
//! **No clock, no file, no socket.** Time is an argument; it runs back only when a wrong clock is corrected. What executes
//! blocks and reads the state is a [`Blocks`]. So the simulator drives what a node runs, through every fault there is.

mod accept;
mod act;
mod blocks;
#[cfg(feature = "bugs")]
mod bugs;
mod build;
mod evm;
mod follow;
mod idle;
pub mod journal;
mod reach;
mod seal_policy;
mod settings;
mod snapshot;
mod start;
mod watch;

pub use accept::{Responder, Results};
pub use act::Outgoing;
pub use blocks::{Added, Blocks, NotSealed, OpenBlock, Package, Removed};
#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use evm::{Built, EvmBlocks, EvmBuilder, EvmCodes, EvmHistory, EvmView, OpenView, ShownBlock};
pub use journal::{Batch, Recovered};
pub use settings::Settings;
pub use snapshot::Snapshot;
pub use start::Started;

use alloy_primitives::{Address, map::AddressSet};
use build::Open;
use jam::{
    SlotClock,
    follow::{Follower, Update},
};
use queue::{Queue, ServiceTracker, ServiceView};
use reach::Reach;
use snapshot::View;
use txpool::Pool;
use types::{Duration, Event, Time, Transaction};
use watch::Watch;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "driver/bugs",
];

/// Time that lies back by more than this was corrected; less is the order in which threads are heard.
const CORRECTION_MIN: Duration = Duration::from_millis(500);

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
}

impl<B: Blocks> Default for News<B> {
    fn default() -> Self {
        Self { at: Time::ZERO, accepted: vec![], nonces: vec![], events: vec![], snapshot: None }
    }
}

impl<B: Blocks> Default for Output<B> {
    fn default() -> Self {
        Self { batch: Batch::default(), news: News::default(), answers: vec![], sends: vec![] }
    }
}

impl<B: Blocks> Output<B> {
    /// Whether nothing follows.
    pub fn is_empty(&self) -> bool {
        let News { accepted, nonces, events, snapshot, .. } = &self.news;
        self.batch.is_empty()
            && self.answers.is_empty()
            && self.sends.is_empty()
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
    /// The service that the packages are for.
    service_id: u32,
    pool: Pool,
    queue: Queue,
    blocks: B,
    open: Option<Open<B::Open>>,
    follower: Follower,
    tracker: ServiceTracker,
    service: ServiceView,
    /// What the follower said and the queue has not heard yet.
    update: Update,
    /// Counts what the follower was told.
    chain_news: u64,
    /// Counts every block that was ever opened here.
    build_counter: u64,
    /// Counts what was accepted, and what was in the pool at the start.
    accepted: u64,
    /// Whether time is certain enough to let transactions expire.
    is_time_confirmed: bool,
    /// Whether it was not, since transactions last expired.
    was_in_doubt: bool,
    /// Empty blocks since the last transaction.
    empty_blocks: u32,
    last_seal: Time,
    is_paused: bool,
    /// Senders whose next nonce may have changed.
    senders: AddressSet,
    view: View<B>,
    watch: Watch,
    reach: Reach,
    output: Output<B>,
    now: Time,
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
        self.queue.handle_timeout(self.now);
        self.expire();
        self.gather_pool();
        self.build()?;
        self.act()?;
        self.gather_queue()?;
        self.gather_pool();
        self.gather_nonces();
        self.note_departure();
        self.show()?;
        self.output.news.at = self.now;
        Ok(core::mem::take(&mut self.output))
    }

    /// Takes the time. It stands still for a moment that seems to lie back, since commands may come late; a time that
    /// lies back further is a correction of the clock, and everything that was timed by the wrong one is timed anew.
    pub(crate) fn set_time(&mut self, now: Time) {
        #[cfg(feature = "bugs")]
        if self.has(Mistake::FrozenClock) {
            self.now = self.now.max(now);
            return;
        }
        if now + CORRECTION_MIN >= self.now {
            self.now = self.now.max(now);
            return;
        }
        self.now = now;
        self.queue.set_back(now);
        self.last_seal = self.last_seal.min(now);
        if let Some(open) = &mut self.open {
            open.set_back(now);
        }
        self.watch.set_back();
        self.view.set_back();
    }

    /// When to call [`Driver::step`] at the latest, even if nothing is told.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        // Who never submits has no window to wait for.
        let queue = self.queue.poll_timeout(self.now).filter(|_| !self.settings.dry_run);
        let is_time_confirmed = self.is_time_confirmed;
        #[cfg(feature = "bugs")]
        let is_time_confirmed = is_time_confirmed || self.has(Mistake::HotLoop);
        let expiry = self.pool.poll_timeout().filter(|_| is_time_confirmed);
        [queue, expiry, self.seal_due(), self.show_due()].into_iter().flatten().min()
    }

    /// Says whether the clock is believed. A clock that may be hours ahead must not expire what was accepted.
    pub const fn set_time_confirmed(&mut self, is_confirmed: bool) {
        self.was_in_doubt |= !self.is_time_confirmed;
        self.is_time_confirmed = is_confirmed;
    }

    /// Drops what has waited too long. When a doubtful time is confirmed, the dates of everything in the pool may be those of
    /// a wrong clock, so every time to live begins anew. Nothing of that is written: a restart begins in doubt.
    fn expire(&mut self) {
        let (is_confirmed, renews) = (self.is_time_confirmed, core::mem::take(&mut self.was_in_doubt));
        #[cfg(feature = "bugs")]
        let is_confirmed = is_confirmed || self.has(Mistake::ExpiresInDoubt);
        #[cfg(feature = "bugs")]
        let renews = renews && !self.has(Mistake::ExpiresInDoubt) && !self.has(Mistake::WrongDates);
        if !is_confirmed {
            self.was_in_doubt = true;
            return;
        }
        if renews {
            self.pool.renew(self.now);
        }
        self.pool.cleanup(self.now);
    }

    /// Puts a known mistake back.
    #[cfg(feature = "bugs")]
    pub fn with_mistakes(
        mut self,
        own: Option<Mistake>,
        service: Option<service::accumulate::Mistake>,
    ) -> Self {
        self.mistake = own;
        self.tracker = self.tracker.with_mistake(service);
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
        &self.follower
    }

    /// Grows with everything that is told about the JAM chain: as long as it is the same, so is the follower.
    pub const fn chain_news(&self) -> u64 {
        self.chain_news
    }

    /// The service's state along the JAM chain.
    pub const fn service(&self) -> &ServiceView {
        &self.service
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
        self.is_paused = true;
        self.view.blocks_changed();
    }

    /// Builds again.
    pub const fn resume(&mut self) {
        self.is_paused = false;
        self.view.blocks_changed();
    }

    /// Whether building was stopped by the operator.
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }
}
