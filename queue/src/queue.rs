//! The queue itself: its indexes, how records change it, and what it tells.

use crate::{
    Action, Bundle, Config, EnqueueError, JournalError, Record, Released, Stats,
    bundle::{Phase, State},
    view::Head,
};
use alloy_primitives::B256;
use jam::{PackageHash, SlotClock};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};
use types::{BlockId, Event, ReleasedBy, Time};

/// The bundles on their way. Pure: it is told what happened, and asked what to do.
#[derive(Debug)]
pub struct Queue {
    pub(crate) config: Config,
    pub(crate) clock: SlotClock,
    /// The last final block; everything in `bundles` stands on it.
    pub(crate) base: BlockId,
    /// Unfinished bundles by number: one chain.
    pub(crate) bundles: BTreeMap<u64, Bundle>,
    /// Which block a package is a version of, for all versions of unfinished bundles.
    pub(crate) by_package: HashMap<PackageHash, u64>,
    pub(crate) queued: BTreeSet<u64>,
    /// The bundle that a core was given to.
    pub(crate) submitted: BTreeMap<u16, u64>,
    /// How many bundles are guaranteed and not yet accumulated.
    pub(crate) guaranteed: usize,
    /// When guarantees are given up, by time.
    pub(crate) timers: BTreeSet<(Time, u64)>,
    /// Submitted bundles by the height at which their anchor is too old.
    pub(crate) anchors: BTreeSet<(u64, u64)>,
    /// Cores that nobody's report keeps busy and no bundle of ours was given to.
    pub(crate) free_cores: BTreeSet<u16>,
    /// Cores that a report keeps busy, which may become free in the very next block, and no bundle was given to.
    pub(crate) busy_cores: BTreeSet<u16>,
    pub(crate) occupied: BTreeSet<u16>,
    /// Cores without a connected guarantor: nothing can be sent to them.
    pub(crate) unreachable: BTreeSet<u16>,
    /// The last slot in which sending failed, and the blocks that it failed for.
    pub(crate) failed: (u32, BTreeSet<u64>),
    pub(crate) head: Option<Head>,
    pub(crate) abandoned_from: Option<u64>,
    /// Who gave that block up.
    pub(crate) abandoned_by: ReleasedBy,
    /// Whether the lowest abandoned block is allowed to try again.
    pub(crate) retrying: bool,
    /// The lowest abandoned block, if it is dead, and who gave it up.
    pub(crate) release_due: Option<(u64, ReleasedBy)>,
    pub(crate) halted: Option<BlockId>,
    /// Whether a block that was sealed after the last release was applied: the network is not at fault.
    pub(crate) passed_since_release: bool,
    /// The blocks from this number on were sealed after the last release.
    pub(crate) released_from: u64,
    pub(crate) finished: VecDeque<Bundle>,
    pub(crate) records: Vec<Record>,
    #[cfg(feature = "bugs")]
    pub(crate) late_records: Vec<Record>,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) events: Vec<Event>,
    pub(crate) window_told: Option<u32>,
    pub(crate) stats: Stats,
}

impl Queue {
    /// An empty queue on the last final block.
    pub fn new(config: Config, clock: SlotClock, base: BlockId) -> Self {
        let free_cores = (0..config.cores).collect();
        Self {
            config,
            clock,
            base,
            bundles: BTreeMap::new(),
            by_package: HashMap::new(),
            queued: BTreeSet::new(),
            submitted: BTreeMap::new(),
            guaranteed: 0,
            timers: BTreeSet::new(),
            anchors: BTreeSet::new(),
            free_cores,
            busy_cores: BTreeSet::new(),
            occupied: BTreeSet::new(),
            unreachable: BTreeSet::new(),
            failed: (0, BTreeSet::new()),
            head: None,
            abandoned_from: None,
            abandoned_by: ReleasedBy::Chain,
            retrying: false,
            release_due: None,
            halted: None,
            passed_since_release: false,
            released_from: 0,
            finished: VecDeque::new(),
            records: vec![],
            #[cfg(feature = "bugs")]
            late_records: vec![],
            actions: VecDeque::new(),
            events: vec![],
            window_told: None,
            stats: Stats::default(),
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
        let out = queue.bundles.iter().filter(|(_, bundle)| bundle.phase == Phase::Out);
        let displaced = |number: u64| !queue.submitted.values().any(|owner| *owner == number);
        // A core that was given to another bundle since: it was guaranteed then. If it is not now, a new version.
        let again = out.map(|(number, bundle)| (*number, displaced(*number), answered(bundle)));
        let again = again.filter(|(_, displaced, answered)| *displaced || !answered).collect::<Vec<_>>();
        for (block, displaced, _) in again {
            queue.decide(Record::Requeued { block, counted: false, again: !displaced });
        }
        for number in queue.submitted.values().copied().collect::<Vec<_>>() {
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
        queue.events.clear();
        queue.stats = Stats::default();
        Ok(queue)
    }

    /// The queue's parameters.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Takes a sealed block. It must stand on the newest one.
    pub fn enqueue(
        &mut self,
        block: BlockId,
        parent: BlockId,
        transactions: Arc<[B256]>,
        now: Time,
    ) -> Result<(), EnqueueError> {
        self.may_enqueue()?;
        let newest = self.newest();
        if parent != newest || Some(block.number) != newest.number.checked_add(1) {
            return Err(EnqueueError::Parent { found: parent, newest });
        }
        self.decide(Record::Enqueued { block, parent, transactions, at: now });
        Ok(())
    }

    /// Whether a block could enter now, or why not.
    pub fn may_enqueue(&self) -> Result<(), EnqueueError> {
        if self.halted.is_some() {
            return Err(EnqueueError::Halted);
        }
        if let Some(from) = self.abandoned_from {
            return Err(EnqueueError::Paused(from));
        }
        if self.bundles.len() >= self.config.max_unfinished {
            return Err(EnqueueError::Unfinished(self.bundles.len()));
        }
        if self.queued.len() >= self.config.max_depth {
            return Err(EnqueueError::Full(self.queued.len()));
        }
        Ok(())
    }

    /// The clock was corrected: it is `now`, although later times were told before. No timeout waits for the time that
    /// never was.
    pub fn set_back(&mut self, now: Time) {
        if self.failed.0 > self.clock.slot_at(now) {
            self.failed = (0, BTreeSet::new());
        }
        let is_later = |bundle: &Bundle| {
            bundle.timer.is_some_and(|since| since > now)
                || bundle.versions.iter().any(|version| version.sent_at > now)
        };
        let later = self.bundles.iter().filter(|(_, bundle)| is_later(bundle)).map(|(number, _)| *number);
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
        self.unreachable = cores;
    }

    /// The block that the next one must stand on.
    pub fn newest(&self) -> BlockId {
        self.bundles.last_key_value().map_or(self.base, |(_, bundle)| bundle.block)
    }

    /// The records since the last call. They must be durable before an action is carried out.
    pub fn take_records(&mut self) -> Vec<Record> {
        core::mem::take(&mut self.records)
    }

    /// The events since the last call.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// Writes a decision down and carries it out.
    pub(crate) fn decide(&mut self, record: Record) {
        self.apply(&record);
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ActBeforeRecord) && matches!(record, Record::Submitted { .. }) {
            self.late_records.push(record);
            return;
        }
        self.records.push(record);
    }

    /// Carries a decision out. Everything that the journal can change is changed here and nowhere else.
    fn apply(&mut self, record: &Record) {
        match record {
            Record::Enqueued { block, parent, transactions, at } => {
                self.bundles
                    .insert(block.number, Bundle::new(*block, *parent, Arc::clone(transactions), *at));
                self.queued.insert(block.number);
                self.events.push(Event::Sealed { block: *block, transactions: transactions.len() });
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
                self.abandoned_by = *by;
                self.set_abandoned(Some(*from), false);
            }
            Record::Retried => self.set_abandoned(self.abandoned_from, true),
            Record::Revived => self.set_abandoned(None, false),
            Record::Released { from } => self.apply_released(*from),
            Record::Finalized { through } => self.apply_finalized(*through),
        }
    }

    fn apply_submitted(&mut self, block: u64, version: &crate::Version) {
        let since_height = self.head.as_ref().map_or(0, |head| head.best.height);
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ForgetVersions) {
            self.by_package.retain(|_, known| *known != block);
        }
        self.by_package.insert(version.package, block);
        self.change(block, |bundle| {
            bundle.since_height = since_height;
            bundle.phase = Phase::Out;
            match bundle.versions.last_mut().filter(|last| last.number == version.number) {
                Some(last) => *last = version.clone(),
                None => bundle.versions.push(version.clone()),
            }
        });
    }

    /// Abandons everything from a block on, maybe without the block itself; what was abandoned before may not be now.
    /// Nothing abandoned counts as sent: if it comes back, it is sent again.
    fn set_abandoned(&mut self, from: Option<u64>, retrying: bool) {
        let first = self.abandoned_from.into_iter().chain(from).min().unwrap_or(0);
        (self.abandoned_from, self.retrying) = (from, retrying);
        let affected = self.bundles.range(first..).map(|(number, _)| *number).collect::<Vec<_>>();
        for number in affected {
            let is_root = from == Some(number);
            self.change(number, |bundle| {
                if from.is_some() && bundle.phase == Phase::Out || is_root {
                    bundle.phase = Phase::Waiting { again: !is_root };
                }
            });
        }
    }

    fn apply_released(&mut self, from: u64) {
        let gone = self.bundles.split_off(&from);
        for (number, mut bundle) in gone {
            self.leave(number, &bundle);
            bundle.state = State::Released;
            self.retire(bundle);
        }
        // A block below may have been given up since the release was due; that one waits for its own.
        self.abandoned_from = self.abandoned_from.filter(|below| *below < from);
        self.retrying &= self.abandoned_from.is_some();
        (self.passed_since_release, self.released_from) = (false, from);
        self.stats.releases += 1;
    }

    fn apply_finalized(&mut self, through: BlockId) {
        let rest = through.number.checked_add(1).map(|next| self.bundles.split_off(&next));
        for (number, mut bundle) in core::mem::replace(&mut self.bundles, rest.unwrap_or_default()) {
            self.leave(number, &bundle);
            bundle.state = State::Finalized;
            self.retire(bundle);
        }
        self.base = through;
    }

    /// Takes a bundle out of the indexes.
    fn leave(&mut self, number: u64, bundle: &Bundle) {
        self.unindex(number, bundle);
        for version in &bundle.versions {
            self.by_package.remove(&version.package);
        }
    }

    fn retire(&mut self, bundle: Bundle) {
        self.finished.push_back(bundle);
        while self.finished.len() > self.config.retained {
            self.finished.pop_front();
        }
    }

    /// Changes a bundle, decides anew where it stands, and keeps the indexes right.
    pub(crate) fn change(&mut self, number: u64, change: impl FnOnce(&mut Bundle)) {
        let Some(mut bundle) = self.bundles.remove(&number) else { return };
        self.unindex(number, &bundle);
        change(&mut bundle);
        let next = self.derive(&bundle);
        if next != bundle.state {
            debug_assert!(bundle.state.may_become(&next), "{:?} became {next:?}", bundle.state);
            self.tell(&bundle, next);
            bundle.state = next;
        }
        self.index(number, &mut bundle);
        self.bundles.insert(number, bundle);
    }

    fn derive(&self, bundle: &Bundle) -> State {
        let number = bundle.block.number;
        let abandoned =
            self.abandoned_from.is_some_and(|from| number > from || number == from && !self.retrying);
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::LateGuaranteeDouble)
            && matches!(bundle.seen, crate::bundle::Seen::Guaranteed { .. })
            && matches!(bundle.phase, Phase::Waiting { .. })
        {
            return State::Queued { version: bundle.next_version() };
        }
        bundle.derive(abandoned)
    }

    fn unindex(&mut self, number: u64, bundle: &Bundle) {
        match bundle.state {
            State::Queued { .. } => drop(self.queued.remove(&number)),
            State::Submitted { core, .. } => self.unindex_submitted(number, bundle, core),
            State::Guaranteed { .. } => self.guaranteed -= 1,
            _ => {}
        }
    }

    fn unindex_submitted(&mut self, number: u64, bundle: &Bundle, core: u16) {
        if self.submitted.get(&core) == Some(&number) {
            self.submitted.remove(&core);
        }
        self.sort_core(core);
        if let Some(since) = bundle.timer {
            self.timers.remove(&(since + self.config.guarantee_timeout, number));
        }
        if let Some(version) = bundle.versions.last() {
            self.anchors.remove(&(version.anchor_height + u64::from(self.config.history), number));
        }
    }

    fn index(&mut self, number: u64, bundle: &mut Bundle) {
        match bundle.state {
            State::Queued { .. } => drop(self.queued.insert(number)),
            State::Submitted { core, sent_at, .. } => {
                self.give_core(core, number, sent_at);
                self.sort_core(core);
                bundle.timer =
                    (!self.occupied.contains(&core)).then(|| bundle.timer.unwrap_or(sent_at).max(sent_at));
                if let Some(since) = bundle.timer {
                    self.timers.insert((since + self.config.guarantee_timeout, number));
                }
                if let Some(version) = bundle.versions.last() {
                    self.anchors.insert((version.anchor_height + u64::from(self.config.history), number));
                }
            }
            State::Guaranteed { .. } => self.guaranteed += 1,
            _ => {}
        }
        if !matches!(bundle.state, State::Submitted { .. }) {
            bundle.timer = None;
        }
    }

    /// Gives a core to a bundle, unless it was given to another one later: only a journal can say that, because it
    /// does not say what was guaranteed in between.
    fn give_core(&mut self, core: u16, number: u64, at: Time) {
        let owner = self.submitted.get(&core).and_then(|owner| self.bundles.get(owner));
        let later = |owner: &Bundle| matches!(owner.state, State::Submitted { sent_at, .. } if sent_at > at);
        if !owner.is_some_and(later) {
            self.submitted.insert(core, number);
        }
    }

    /// Puts a core where it belongs: given to a bundle, free, or busy.
    pub(crate) fn sort_core(&mut self, core: u16) {
        self.free_cores.remove(&core);
        self.busy_cores.remove(&core);
        if !self.submitted.contains_key(&core) {
            let cores =
                if self.occupied.contains(&core) { &mut self.busy_cores } else { &mut self.free_cores };
            cores.insert(core);
        }
    }

    /// The event of a move.
    fn tell(&mut self, bundle: &Bundle, next: State) {
        let block = bundle.block;
        match next {
            State::Submitted { version, core, .. } => {
                self.events.push(Event::Submitted { block, version, core })
            }
            State::Guaranteed { version, .. } if !matches!(bundle.state, State::Guaranteed { .. }) => {
                self.stats.guaranteed += 1;
                self.events.push(Event::Guaranteed { block, version });
            }
            State::Accumulated => self.events.push(Event::Accumulated { block }),
            State::Finalized => self.events.push(Event::Finalized { block }),
            State::Abandoned => self.events.push(Event::Abandoned { block }),
            State::Queued { version }
                if !matches!(bundle.state, State::Queued { .. } | State::Submitted { .. }) =>
            {
                self.events.push(Event::Requeued { block, version });
            }
            _ => {}
        }
    }

    pub(crate) fn push_release(&mut self, blocks: Vec<Released>) {
        for released in &blocks {
            self.events.push(Event::Released { block: released.block, by: released.by });
        }
        self.actions.push_back(Action::Release(blocks));
    }

    #[cfg(feature = "bugs")]
    pub(crate) fn has(&self, mistake: crate::Mistake) -> bool {
        self.config.mistake == Some(mistake)
    }
}

/// Whether it is known what became of the last version that was sent.
fn answered(bundle: &Bundle) -> bool {
    bundle.versions.last().is_none_or(|version| version.taken)
}
