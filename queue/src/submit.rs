//! Sending: packing, the window, the core, the anchor, and what became of it.

use crate::{
    Action, Bundle, CommitSubmissionError, PackPlan, Queue, Record, Sent, SubmissionPlan, Version,
    bundle::{Phase, State},
    sealed::Size,
};
use jam::{PackageHash, RefineContext};
use types::{Event, ReleasedBy, Run, Time};

/// What waits to be sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// A bundle, by its first block.
    Bundle(u64),
    /// Blocks that are in no bundle yet, from this one on.
    Unbundled(u64),
}

impl Next {
    const fn first(self) -> u64 {
        match self {
            Self::Bundle(first) | Self::Unbundled(first) => first,
        }
    }
}

impl Queue {
    /// What to do next, if anything. Ask again until there is nothing; commit the records after each answer.
    pub fn poll_action(&mut self, now: Time) -> Option<Action> {
        if let Some((from, by)) = self.abandonment.take_due() {
            self.end_dead(from, by);
        }
        if let Some(action) = self.outbox.next_action() {
            return Some(action);
        }
        if let Some(plan) = self.next_packing(now) {
            let (first, newest) = (plan.run.first.number, self.newest().number);
            self.packing.ask(first, self.window.slot_at(now), newest);
            return Some(Action::Pack(plan));
        }
        if !self.in_window(now) {
            return None;
        }
        self.announce_window(now);
        self.next_submission(now).map(|submission| Action::Submit(Box::new(submission)))
    }

    /// What waits to be sent next: the lowest bundle, else the lowest block that is in none. Nothing new leaves while something
    /// is abandoned, since all that is new stands on it.
    pub(crate) fn next_up(&self) -> Option<Next> {
        let bundle = self.bundles.first_queued().map(Next::Bundle);
        bundle.or_else(|| {
            let block = self.bundles.first_unbundled().filter(|_| self.abandonment.from().is_none())?;
            Some(Next::Unbundled(block.id.number))
        })
    }

    /// The next run to be packed, if it is time. Bundles that wait come first, then new runs: the next one only if the one
    /// before it is full, so that a package is filled before a second core is used.
    fn next_packing(&mut self, now: Time) -> Option<PackPlan> {
        if !self.window.is_packing_time(now, self.config.pack_before)
            || self.is_held(now)
            || !self.can_submit()
        {
            return None;
        }
        let slot = self.window.slot_at(now);
        let mut room =
            self.config.max_inflight.saturating_sub(self.cores.given()).min(self.cores.available_len());
        for first in self.bundles.queued_numbers() {
            room = room.checked_sub(1)?;
            if !self.is_settled(first, slot) {
                let run = self.bundles.get(first)?.run;
                return Some(PackPlan { run, is_fixed: true });
            }
        }
        if self.abandonment.from().is_some() || self.packing.is_closed(slot) {
            return None;
        }
        let mut first = self.bundles.first_unbundled()?.id.number;
        while room > 0 {
            let newest = self.bundles.newest().number;
            match self.packing.ready(first) {
                Some(ready) if ready.is_full => first = ready.last.checked_add(1)?,
                // Blocks that came since go along in a later window; then the run is packed again.
                Some(ready) if ready.slot == slot || ready.last == newest => return None,
                _ if self.is_settled(first, slot) && self.packing.ready(first).is_none() => return None,
                _ => return Some(PackPlan { run: self.plan_run(first)?, is_fixed: false }),
            }
            room -= 1;
        }
        None
    }

    /// Whether nothing is to be asked for: a run that begins with this block is packed, or being packed, or failed in this slot.
    fn is_settled(&self, first: u64, slot: u32) -> bool {
        self.packing.ready(first).is_some()
            || self.packing.is_asked(first)
            || self.packing.has_failed(first, slot)
    }

    /// As many blocks from one on as may fit into a package.
    fn plan_run(&self, first: u64) -> Option<Run> {
        let run = Run::of(self.bundles.block(first)?.id);
        let (mut last, mut sum) = (run.last, Size::default());
        for (count, block) in self.bundles.blocks(first..).enumerate() {
            sum = sum + block.size;
            let fits = sum.fits(&self.config.run_max) && count < self.config.run_blocks_max;
            #[cfg(feature = "bugs")]
            let is_alone = block.is_alone && !self.may_share(first, block);
            #[cfg(not(feature = "bugs"))]
            let is_alone = block.is_alone;
            if count > 0 && (!fits || is_alone) {
                break;
            }
            last = block.id;
            if is_alone {
                break;
            }
        }
        Some(Run { last, ..run })
    }

    #[cfg(feature = "bugs")]
    fn may_share(&self, first: u64, block: &crate::QueuedBlock) -> bool {
        let begins_with_probe = self.bundles.block(first).is_some_and(|first| first.transactions == 0);
        match begins_with_probe {
            true => self.has(crate::Mistake::ProbeSharesRun),
            false => block.transactions > 0 && self.has(crate::Mistake::SuspectsShareRun),
        }
    }

    /// Blocks were packed, from this one up to another one.
    pub fn packed(&mut self, first: u64, last: u64) {
        self.packing.done(first, last);
    }

    /// What is to be sent next cannot be sent in this slot after all.
    pub fn wait_a_slot(&mut self, first: u64, now: Time) {
        self.window.note_failure(first, now);
    }

    /// Blocks could not be packed; that is tried again in another slot.
    pub fn pack_failed(&mut self, first: u64) {
        self.packing.fail(first);
    }

    /// Whether packages may be sent now.
    pub fn in_window(&self, now: Time) -> bool {
        self.window.is_open(now)
    }

    /// When something is due: packing, the next window, if something waits for it, or the next timeout.
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        let window = (self.has_core() && !self.is_held(now)).then(|| self.next_work(now)).flatten();
        let timeout = self.deadlines.next_timeout().filter(|_| self.head.is_some());
        window.into_iter().chain(timeout).min()
    }

    /// When the next run can be sent or packed. Nothing while it is being packed: the answer changes that.
    fn next_work(&self, now: Time) -> Option<Time> {
        let next = self.next_up()?;
        let opens = self.next_window(now);
        let first = next.first();
        if self.is_ready(next) {
            return Some(opens);
        }
        if self.packing.is_asked(first) {
            return None;
        }
        let (begins, slot) = (opens - self.config.pack_before, self.window.slot_at(now));
        let is_closed = matches!(next, Next::Unbundled(_)) && self.packing.is_closed(slot);
        let is_over = is_closed || self.packing.has_failed(first, slot);
        if is_over && self.window.slot_at(begins.max(now)) == slot {
            return Some(self.window.next_opening(now, false) - self.config.pack_before);
        }
        Some(begins.max(now))
    }

    /// Whether the bytes of what is sent next are there.
    fn is_ready(&self, next: Next) -> bool {
        let ready = self.packing.ready(next.first());
        match next {
            Next::Bundle(first) => {
                let last = self.bundles.get(first).map(|bundle| bundle.run.last.number);
                ready.is_some_and(|ready| Some(ready.last) == last)
            }
            Next::Unbundled(_) => ready.is_some(),
        }
    }

    /// Whether what is to be sent next cannot be sent before the chain has changed.
    pub(crate) fn is_held(&self, now: Time) -> bool {
        let (Some(next), None) = (self.next_up(), self.halted) else { return true };
        let number = next.first();
        let again = self.bundles.get(number).is_some_and(|b| b.phase == Phase::Waiting { again: true });
        let has_context = again && !self.is_stale(number, now) || self.choose_anchor(number, now).is_some();
        self.is_too_far(number) || !has_context
    }

    /// Whether too many bundles before one are not applied yet.
    pub(crate) fn is_too_far(&self, number: u64) -> bool {
        let Some(head) = &self.head else { return true };
        let applied = head.applied();
        let before = self.bundles.numbers(..number);
        let ahead = before.filter(|first| *first > applied).count();
        ahead >= self.config.submit_ahead_max
    }

    /// When the next submission could be made: now, if the window is open and still of use, or when the next one opens.
    fn next_window(&self, now: Time) -> Time {
        self.window.next_opening(now, self.can_submit() && !self.failed_in_this_slot(now))
    }

    /// Whether a bundle waits and a core whose guarantors can be reached could take it.
    pub fn can_submit(&self) -> bool {
        self.has_core() && self.cores.has_available()
    }

    /// Whether a bundle waits and a core could take it, if its guarantors can be reached.
    pub(crate) fn has_core(&self) -> bool {
        self.next_up().is_some() && self.cores.given() < self.config.max_inflight && self.cores.has_ungiven()
    }

    /// Whether the bundle that is to be sent next was sent in this slot already and reached no guarantor. All connected
    /// guarantors of the core were tried then, so the same bytes wait for the next window.
    pub(crate) fn failed_in_this_slot(&self, now: Time) -> bool {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ResendAtOnce) {
            return false;
        }
        self.next_up().is_some_and(|next| self.window.has_failed(next.first(), now))
    }

    /// The window's event, once per window.
    fn announce_window(&mut self, now: Time) {
        if self.bundles.is_empty() || !self.window.announce(now) {
            return;
        }
        let submitted = self.cores.given();
        self.outbox.tell(Event::Window {
            queued: self.bundles.queued() + self.bundles.unbundled_len(),
            inflight: submitted + self.bundles.guaranteed(),
            submitted,
            can_submit: self.can_submit(),
        });
    }

    /// What is to be sent next, if it is packed and may be sent.
    fn next_submission(&mut self, now: Time) -> Option<SubmissionPlan> {
        if self.halted.is_some() || self.cores.given() >= self.config.max_inflight {
            return None;
        }
        let next = self.next_up()?;
        let number = next.first();
        if self.is_too_far(number) || self.failed_in_this_slot(now) {
            return None;
        }
        let core = self.choose_core(number)?;
        if self.is_stale(number, now) {
            let run = self.bundles.get(number)?.run;
            self.outbox.tell(Event::AnchorStale { run });
            self.requeue(number, false, false);
            // It may have failed too often to get another version.
            self.bundles.is_queued(number).then_some(())?;
        }
        if !self.is_ready(next) {
            return None;
        }
        let bundle = self.bundles.get(number);
        if let Some(plan) = bundle.and_then(|bundle| same_bytes(bundle, core)) {
            return Some(plan);
        }
        let run = match bundle {
            Some(bundle) => bundle.run,
            None => self.bundles.run_of(number, self.packing.ready(number)?.last)?,
        };
        let (context, anchor_height) = self.choose_anchor(number, now)?;
        let version = bundle.map_or(1, Bundle::next_version);
        let code_hash = self.code_for(number)?;
        Some(SubmissionPlan { run, version, core, context, code_hash, anchor_height, package: None })
    }

    /// Whether the same bytes should be sent again, but one of their anchors is getting too old, or the service has another code.
    fn is_stale(&self, number: u64, now: Time) -> bool {
        let (Some(bundle), Some(head)) = (self.bundles.get(number), &self.head) else { return false };
        let (Phase::Waiting { again: true }, Some(last)) = (bundle.phase, bundle.versions.last()) else {
            return false;
        };
        head.anchor_life(last.context.anchor) < self.config.anchor_margin
            || self.names_other_code(number)
            || self.lookup_too_old(last.context.lookup_anchor_slot, now)
    }

    /// Whether a lookup anchor is too old for the next block, which will not come before its time.
    fn lookup_too_old(&self, slot: u32, now: Time) -> bool {
        let best = self.head.as_ref().map_or(0, |head| head.best().slot);
        best.max(self.window.slot_at(now)).saturating_sub(slot) > self.config.lookup_age_max
    }

    /// A core for a bundle: rather a free one, rather not the one it was on before.
    fn choose_core(&self, number: u64) -> Option<u16> {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::GlobalInflight) {
            return Some((number % u64::from(self.config.cores)) as u16);
        }
        let last =
            self.bundles.get(number).and_then(|bundle| bundle.versions.last()).map(|version| version.core);
        self.cores.choose(last)
    }

    /// What to build a new version against: a recent block whose roots are known, and the finalized block. `None` if
    /// there is none, or if that would give the bytes of an earlier version; then nothing is sent and no version is
    /// spent.
    fn choose_anchor(&self, number: u64, now: Time) -> Option<(RefineContext, u64)> {
        let head = self.head.as_ref()?;
        if self.lookup_too_old(head.finalized().slot, now) {
            return None;
        }
        let ahead = self.bundles.queued_before(number) + self.cores.given();
        let oldest = usize::from(self.config.history.saturating_sub(self.config.anchor_margin));
        let (context, height) = head.context(self.config.anchor_offset(ahead), oldest)?;
        let code = head.service().best_code.hash;
        let is_other = |version: &Version| version.context != context || version.code_hash != code;
        let is_new = |bundle: &Bundle| bundle.versions.iter().all(is_other);
        self.bundles.get(number).is_none_or(is_new).then_some((context, height))
    }

    /// Says that a submission was built and is about to be sent. On success the bundle is submitted, and the record of
    /// that must be durable before the bytes leave; then look at the [window](Queue::in_window) again.
    pub fn commit_submission(
        &mut self,
        submission: &SubmissionPlan,
        package: PackageHash,
        now: Time,
    ) -> Result<(), CommitSubmissionError> {
        if !self.in_window(now) {
            return Err(CommitSubmissionError::Window);
        }
        let number = submission.run.first.number;
        let bundle = self.bundles.get(number);
        let is_new = bundle.is_none() && self.may_form(submission.run);
        let is_queued =
            |b: &Bundle| b.run == submission.run && b.state == State::Queued { version: submission.version };
        let ready = is_new && submission.version == 1 || bundle.is_some_and(is_queued);
        let core_free = self.cores.owner(submission.core).is_none();
        #[cfg(feature = "bugs")]
        let core_free = core_free || self.has(crate::Mistake::GlobalInflight);
        let ready = ready && core_free && self.may_commit(submission);
        if !ready {
            return Err(CommitSubmissionError::Moved);
        }
        let last = bundle.and_then(|bundle| bundle.versions.last());
        let before = last.filter(|last| last.number == submission.version);
        let expected = before.map(|before| before.package).or(submission.package);
        if expected.is_some_and(|expected| expected != package) {
            return Err(CommitSubmissionError::Rebuilt { block: number, version: submission.version });
        }
        let version = Version {
            number: submission.version,
            package,
            context: submission.context.clone(),
            code_hash: submission.code_hash,
            anchor_height: submission.anchor_height,
            core: submission.core,
            sent_at: now,
            sends: before.map_or(0, |before| before.sends) + 1,
            taken: false,
            counted: before.is_some_and(|before| before.counted),
        };
        self.stats.packages += u64::from(before.is_none());
        self.stats.sends += 1;
        if is_new {
            self.packing.sent(number, self.window.slot_at(now));
            self.decide(Record::Formed { first: number, last: submission.run.last.number });
        }
        self.decide(Record::Submitted { block: number, version });
        Ok(())
    }

    /// Whether a run is what the next bundle can be made of: the lowest blocks that are in none.
    fn may_form(&self, run: Run) -> bool {
        let first = self.bundles.first_unbundled().map(|block| block.id);
        let last = self.bundles.block(run.last.number).map(|block| block.id);
        self.abandonment.from().is_none() && first == Some(run.first) && last == Some(run.last)
    }

    /// Whether nothing has happened since a submission was asked for that forbids it.
    fn may_commit(&self, submission: &SubmissionPlan) -> bool {
        let Some(head) = &self.head else { return false };
        self.halted.is_none()
            && self.cores.given() < self.config.max_inflight
            && head.anchor_life(submission.context.anchor) >= self.config.anchor_margin
    }

    /// Takes what became of sending a version.
    pub fn handle_sent(&mut self, block: u64, package: PackageHash, sent: Sent) {
        #[cfg(feature = "bugs")]
        self.outbox.release_late_records();
        let Some(bundle) = self.bundles.get(block) else { return };
        let Some(last) = bundle.versions.last().filter(|last| last.package == package) else { return };
        let (version, waits) = (last.number, matches!(bundle.state, State::Submitted { .. }));
        match sent {
            Sent::Taken => self.decide(Record::Taken { block, version }),
            _ if !waits => {}
            Sent::Failed => {
                self.window.note_failure(block, last.sent_at);
                self.requeue(block, false, true);
            }
            Sent::Stale => self.requeue(block, false, false),
            // Silence is no evidence, but this is.
            Sent::Refused => self.requeue(block, true, false),
        }
    }

    /// Takes the time: guarantees that did not come are given up. Before the first view of the chain nobody can say
    /// that one did not come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.head.is_none() {
            return;
        }
        while let Some(timeout) = self.deadlines.due(now) {
            self.time_out(timeout.1);
            self.deadlines.end_timeout(timeout);
        }
    }

    fn time_out(&mut self, number: u64) {
        let (Some(bundle), Some(head)) = (self.bundles.get(number), &self.head) else { return };
        let Some(last) = bundle.versions.last().filter(|_| bundle.timer.is_some()) else { return };
        let blocks = head.best().height.saturating_sub(bundle.since_height);
        let counted = last.taken && blocks >= self.config.timeout_blocks_min;
        let life = head.anchor_life(last.context.anchor);
        let again = self.config.policy == crate::Policy::Pectin && life >= self.config.anchor_margin;
        let (run, version) = (bundle.run, last.number);
        self.stats.timeouts += 1;
        self.outbox.tell(Event::GuaranteeTimeout { run, version });
        self.requeue(number, counted, again);
    }

    /// Lets a bundle wait again: for the same bytes or for a new version, unless it has failed too often.
    pub(crate) fn requeue(&mut self, number: u64, counted: bool, again: bool) {
        self.decide(Record::Requeued { block: number, counted, again });
        let Some(bundle) = self.bundles.get(number) else { return };
        if !again && bundle.counted() >= self.config.max_retries {
            self.abandon(number, ReleasedBy::Chain);
        }
    }
}

/// The bytes of the last version again, if that is what a bundle waits for.
fn same_bytes(bundle: &Bundle, core: u16) -> Option<SubmissionPlan> {
    let (Phase::Waiting { again: true }, Some(last)) = (bundle.phase, bundle.versions.last()) else {
        return None;
    };
    Some(SubmissionPlan {
        run: bundle.run,
        version: last.number,
        core,
        context: last.context.clone(),
        code_hash: last.code_hash,
        anchor_height: last.anchor_height,
        package: Some(last.package),
    })
}
