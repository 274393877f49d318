//! The queue itself: a coordinator of parts that do not know each other.
//!
//! | part | what it owns |
//! |---|---|
//! | [`BundleSet`] | the chain of unfinished blocks, the bundles over it, their indexes, and the last finished ones |
//! | [`Cores`] | which bundle has which core, which cores are busy, which can be reached |
//! | [`Deadlines`] | when guarantees are given up, and when anchors are too old |
//! | [`Packing`] | which runs are packed and ready, and which are being packed |
//! | [`SubmissionWindow`] | when may be sent, and what failed in this slot |
//! | [`ChainHead`] | the last view of chain and service, and the blocks that can be anchors |
//! | [`Abandonment`] | what is given up, by whom, and what passed since the last release |
//! | [`Outbox`] | records, actions and events for the owner |
//!
//! What concerns more than one part is a method of [`Queue`], by topic: applying records (here), observing the chain,
//! submitting, releasing, and the views for those who watch. Invariants across parts, which the model checks after every
//! input: exactly the submitted bundles have a core and a deadline; a bundle's state is what its journal and the last chain
//! view say ([`Queue::change`] is the only way to change one); the records give the queue back.

use crate::{
    Action, Bundle, Config, EnqueueError, JournalError, Record, Released, Stats, Version,
    abandonment::Abandonment,
    bundle::{Phase, State},
    bundles::BundleSet,
    chain_head::ChainHead,
    cores::Cores,
    deadlines::{Deadlines, Wait},
    outbox::Outbox,
    packing::Packing,
    sealed::QueuedBlock,
    window::SubmissionWindow,
};
use jam::SlotClock;
use std::collections::BTreeSet;
use types::{BlockId, Event, Time};

/// The bundles on their way. Pure: it is told what happened, and asked what to do.
#[derive(Debug)]
pub struct Queue {
    pub(crate) config: Config,
    pub(crate) bundles: BundleSet,
    pub(crate) cores: Cores,
    pub(crate) deadlines: Deadlines,
    pub(crate) packing: Packing,
    pub(crate) window: SubmissionWindow,
    /// The last view of the chain, once there is one.
    pub(crate) head: Option<ChainHead>,
    pub(crate) abandonment: Abandonment,
    /// A head of the service that was not built here.
    pub(crate) halted: Option<BlockId>,
    pub(crate) outbox: Outbox,
    pub(crate) stats: Stats,
}

impl Queue {
    /// An empty queue on the last final block.
    pub fn new(config: Config, clock: SlotClock, base: BlockId) -> Self {
        Self {
            bundles: BundleSet::new(base, config.retained),
            cores: Cores::new(config.cores),
            deadlines: Deadlines::new(config.guarantee_timeout, config.history),
            packing: Packing::default(),
            window: SubmissionWindow::new(clock, &config),
            head: None,
            abandonment: Abandonment::default(),
            halted: None,
            outbox: Outbox::default(),
            stats: Stats::default(),
            config,
        }
    }

    /// The queue that wrote these records, after a restart. What was sent without an answer is sent again: the same
    /// bytes are harmless. Give it a chain view next. Records that no queue wrote are refused.
    pub fn restore(
        config: Config,
        clock: SlotClock,
        base: BlockId,
        records: impl IntoIterator<Item = Record>,
        now: Time,
    ) -> Result<Self, JournalError> {
        let mut queue = Self::replay(config, clock, base, records)?;
        let out = queue.bundles.iter().filter(|bundle| bundle.phase == Phase::Out);
        let displaced = |number: u64| !queue.cores.owners().any(|owner| owner == number);
        // A core that was given to another bundle since: it was guaranteed then. If it is not now, a new version.
        let again = out.map(|bundle| {
            let number = bundle.number();
            (number, displaced(number), answered(bundle))
        });
        let again = again.filter(|(_, displaced, answered)| *displaced || !answered).collect::<Vec<_>>();
        for (block, displaced, _) in again {
            queue.decide(Record::Requeued { block, counted: false, again: !displaced });
        }
        for number in queue.cores.owners().collect::<Vec<_>>() {
            queue.change(number, |bundle| bundle.timer = Some(now));
        }
        queue.set_back(now);
        Ok(queue)
    }

    /// The queue that wrote these records, exactly as it was. Records that no queue wrote are refused.
    pub fn replay(
        config: Config,
        clock: SlotClock,
        base: BlockId,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self, JournalError> {
        let mut queue = Self::new(config, clock, base);
        let mut at = 0;
        for record in records {
            queue.check(&record).map_err(|why| JournalError { at, why })?;
            queue.apply(&record);
            at += 1;
        }
        queue.check_end().map_err(|why| JournalError { at, why })?;
        queue.outbox.forget_events();
        queue.stats = Stats::default();
        Ok(queue)
    }

    /// The queue's parameters.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Takes a sealed block. It must stand on the newest one.
    pub fn enqueue(&mut self, block: QueuedBlock, parent: BlockId) -> Result<(), EnqueueError> {
        self.may_enqueue()?;
        let newest = self.newest();
        if parent != newest || Some(block.id.number) != newest.number.checked_add(1) {
            return Err(EnqueueError::Parent { found: parent, newest });
        }
        self.decide(Record::Enqueued { block, parent });
        Ok(())
    }

    /// Whether a block could enter now, or why not.
    pub fn may_enqueue(&self) -> Result<(), EnqueueError> {
        if self.halted.is_some() {
            return Err(EnqueueError::Halted);
        }
        if let Some(from) = self.abandonment.from() {
            return Err(EnqueueError::Paused(from));
        }
        let waiting = self.bundles.queued() + self.bundles.unbundled_len();
        if self.config.max_depth.is_some_and(|max| waiting >= max) {
            return Err(EnqueueError::Full { blocks: waiting, bytes: self.bundles.unbundled_size().bytes });
        }
        if self.fullness() >= 1000 {
            let bytes = self.bundles.size().bytes;
            return Err(EnqueueError::Full { blocks: self.bundles.blocks_len(), bytes });
        }
        Ok(())
    }

    /// How much of what may wait does, in thousandths: of what may be unsent, or of what may be unfinished.
    pub fn fullness(&self) -> u64 {
        let unsent = self.bundles.unbundled_size().thousandths_of(&self.config.unsent_max);
        unsent.max(self.bundles.size().thousandths_of(&self.config.unfinished_max))
    }

    /// The clock was corrected: it is `now`, although later times were told before. No timeout waits for the time that
    /// never was.
    pub fn set_back(&mut self, now: Time) {
        self.window.set_back(now);
        let is_later = |bundle: &Bundle| {
            bundle.timer.is_some_and(|since| since > now)
                || bundle.versions.iter().any(|version| version.sent_at > now)
        };
        let later = self.bundles.iter().filter(|bundle| is_later(bundle)).map(Bundle::number);
        for number in later.collect::<Vec<_>>() {
            self.change(number, |bundle| {
                bundle.timer = bundle.timer.map(|since| since.min(now));
                for version in &mut bundle.versions {
                    version.sent_at = version.sent_at.min(now);
                }
            });
        }
    }

    /// Cores none of whose guarantors is connected. Nothing is submitted to them; without any other core bundles wait.
    pub fn set_unreachable(&mut self, cores: BTreeSet<u16>) {
        self.cores.set_unreachable(cores);
    }

    /// The block that the next one must stand on.
    pub fn newest(&self) -> BlockId {
        self.bundles.newest()
    }

    /// The records since the last call. They must be durable before an action is carried out.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.outbox.take_records()
    }

    /// The events since the last call.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.outbox.drain_events()
    }

    /// Writes a decision down and carries it out.
    pub(crate) fn decide(&mut self, record: Record) {
        self.apply(&record);
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ActBeforeRecord) && matches!(record, Record::Submitted { .. }) {
            self.outbox.push_late_record(record);
            return;
        }
        self.outbox.push_record(record);
    }

    /// Carries a decision out. Everything that the journal can change is changed here and nowhere else.
    fn apply(&mut self, record: &Record) {
        match record {
            Record::Enqueued { block, .. } => {
                self.bundles.push(*block);
                let transactions = block.transactions as usize;
                self.outbox.tell(Event::Sealed { block: block.id, transactions });
            }
            Record::Formed { first, last } => {
                self.bundles.form(*first, *last);
            }
            Record::Submitted { block, version } => self.apply_submitted(*block, version),
            Record::Taken { block, version } => self.change(*block, |bundle| {
                let version = bundle.versions.iter_mut().find(|v| v.number == *version);
                version.into_iter().for_each(|version| version.taken = true);
            }),
            Record::Requeued { block, counted, again } => self.change(*block, |bundle| {
                bundle.phase = Phase::Waiting { again: *again && !bundle.versions.is_empty() };
                bundle.versions.last_mut().into_iter().for_each(|version| version.counted |= counted);
            }),
            Record::Abandoned { from, by } => {
                let first = self.abandonment.abandon(*from, *by);
                self.apply_abandonment(first);
            }
            Record::Retried => {
                let first = self.abandonment.retry();
                self.apply_abandonment(first);
            }
            Record::Revived => {
                let first = self.abandonment.revive();
                self.apply_abandonment(first);
            }
            Record::Dissolved { first, second, last } => self.apply_dissolved(*first, *second, *last),
            Record::Released { from } => self.apply_released(*from),
            Record::Finalized { through } => self.apply_finalized(*through),
        }
    }

    fn apply_submitted(&mut self, block: u64, version: &Version) {
        let since_height = self.height();
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ForgetVersions) {
            self.bundles.forget_packages(block);
        }
        self.bundles.add_package(version.package, block);
        self.change(block, |bundle| {
            bundle.since_height = since_height;
            bundle.phase = Phase::Out;
            match bundle.versions.last_mut().filter(|last| last.number == version.number) {
                Some(last) => *last = version.clone(),
                None => bundle.versions.push(version.clone()),
            }
        });
    }

    /// Judges anew everything from a block on after what is abandoned has changed. Nothing abandoned counts as sent: if it
    /// comes back, it is sent again.
    fn apply_abandonment(&mut self, first: u64) {
        let root = self.abandonment.from();
        for number in self.bundles.numbers(first..).collect::<Vec<_>>() {
            let is_root = root == Some(number);
            self.change(number, |bundle| {
                if root.is_some() && bundle.phase == Phase::Out || is_root {
                    bundle.phase = Phase::Waiting { again: !is_root };
                }
            });
        }
    }

    /// A dead bundle becomes two of the same blocks. Of a journal of which records about final blocks are dropped the first one
    /// may be missing, or both.
    fn apply_dissolved(&mut self, first: u64, second: u64, last: u64) {
        if let Some(bundle) = self.bundles.dissolve(first) {
            self.stop_waiting(&bundle);
            self.bundles.form(first, second.saturating_sub(1));
        }
        self.bundles.form(second, last);
        self.packing.forget_from(first);
        let first = self.abandonment.revive();
        self.apply_abandonment(first);
    }

    fn apply_released(&mut self, from: u64) {
        for bundle in self.bundles.take_from(from) {
            self.stop_waiting(&bundle);
            self.bundles.retire(bundle, State::Released);
        }
        self.packing.forget_from(from);
        self.abandonment.release(from);
        self.stats.releases += 1;
    }

    fn apply_finalized(&mut self, through: BlockId) {
        for bundle in self.bundles.take_through(through) {
            self.stop_waiting(&bundle);
            self.bundles.retire(bundle, State::Finalized);
        }
        self.packing.forget_through(through.number);
    }

    /// Changes a bundle, decides anew where it stands, and keeps the parts in step with it.
    pub(crate) fn change(&mut self, number: u64, change: impl FnOnce(&mut Bundle)) {
        let Some(mut bundle) = self.bundles.take_out(number) else { return };
        self.stop_waiting(&bundle);
        change(&mut bundle);
        let next = self.derive(&bundle);
        if next != bundle.state {
            debug_assert!(bundle.state.may_become(&next), "{:?} became {next:?}", bundle.state);
            self.tell_move(&bundle, next);
            bundle.state = next;
        }
        self.start_waiting(&mut bundle);
        self.bundles.put_back(bundle);
    }

    fn derive(&self, bundle: &Bundle) -> State {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::LateGuaranteeDouble)
            && matches!(bundle.seen, crate::bundle::Seen::Guaranteed { .. })
            && matches!(bundle.phase, Phase::Waiting { .. })
        {
            return State::Queued { version: bundle.next_version() };
        }
        bundle.derive(self.abandonment.covers(bundle.number()))
    }

    /// Takes core and deadlines from a bundle that is submitted.
    fn stop_waiting(&mut self, bundle: &Bundle) {
        if let State::Submitted { core, .. } = bundle.state {
            self.cores.take_back(core, bundle.number());
            self.deadlines.remove(wait(bundle));
        }
    }

    /// Gives a bundle that is submitted its core and its deadlines. The timeout runs only while the core is free.
    fn start_waiting(&mut self, bundle: &mut Bundle) {
        let State::Submitted { core, sent_at, .. } = bundle.state else {
            bundle.timer = None;
            return;
        };
        self.cores.give(core, bundle.number(), sent_at);
        let since = bundle.timer.unwrap_or(sent_at).max(sent_at);
        bundle.timer = (!self.cores.is_occupied(core)).then_some(since);
        self.deadlines.insert(wait(bundle));
    }

    /// The height of the best block; 0 before the chain was seen.
    pub(crate) fn height(&self) -> u64 {
        self.head.as_ref().map_or(0, |head| head.best().height)
    }

    /// The event of a move.
    fn tell_move(&mut self, bundle: &Bundle, next: State) {
        let run = bundle.run;
        let event = match next {
            State::Submitted { version, core, .. } => Event::Submitted { run, version, core },
            State::Guaranteed { version, .. } if !matches!(bundle.state, State::Guaranteed { .. }) => {
                self.stats.guaranteed += 1;
                // It is not going to be sent soon; the driver forgets the bytes.
                self.packing.forget(bundle.number());
                Event::Guaranteed { run, version }
            }
            State::Accumulated => Event::Accumulated { run },
            State::Finalized => Event::Finalized { run },
            State::Abandoned => Event::Abandoned { run },
            State::Queued { version }
                if !matches!(bundle.state, State::Queued { .. } | State::Submitted { .. }) =>
            {
                Event::Requeued { run, version }
            }
            _ => return,
        };
        self.outbox.tell(event);
    }

    pub(crate) fn push_release(&mut self, blocks: Vec<Released>) {
        for released in &blocks {
            self.outbox.tell(Event::Released { block: released.block, by: released.by });
        }
        self.outbox.push_action(Action::Release(blocks));
    }

    #[cfg(feature = "bugs")]
    pub(crate) fn has(&self, mistake: crate::Mistake) -> bool {
        self.config.mistake == Some(mistake)
    }
}

/// What a submitted bundle waits against.
pub(crate) fn wait(bundle: &Bundle) -> Wait {
    let anchor_height = bundle.versions.last().map(|version| version.anchor_height);
    Wait { block: bundle.number(), since: bundle.timer, anchor_height }
}

/// Whether it is known what became of the last version that was sent.
fn answered(bundle: &Bundle) -> bool {
    bundle.versions.last().is_none_or(|version| version.taken)
}
