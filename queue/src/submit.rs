//! Sending: the window, the core, the anchor, and what became of it.

use crate::{
    Action, Bundle, CommitSubmissionError, Queue, Record, Sent, SubmissionPlan, Version,
    bundle::{Phase, State},
    chain_head::ChainHead,
};
use jam::{PackageHash, RefineContext};
use types::{Event, ReleasedBy, Time};

impl Queue {
    /// What to do next, if anything. Ask again until there is nothing; commit the records after each answer.
    pub fn poll_action(&mut self, now: Time) -> Option<Action> {
        if let Some((from, by)) = self.abandonment.take_due() {
            self.release(from, by);
        }
        if let Some(action) = self.outbox.next_action() {
            return Some(action);
        }
        if !self.in_window(now) {
            return None;
        }
        self.announce_window(now);
        self.next_submission(now).map(|submission| Action::Submit(Box::new(submission)))
    }

    /// Whether packages may be sent now.
    pub fn in_window(&self, now: Time) -> bool {
        self.window.is_open(now)
    }

    /// When something is due: the next window, if something waits for it, or the next timeout.
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        let window = (self.has_core() && !self.is_held(now)).then(|| self.next_window(now));
        let timeout = self.deadlines.next_timeout().filter(|_| self.head.is_some());
        window.into_iter().chain(timeout).min()
    }

    /// Whether the lowest bundle that waits cannot be sent before the chain has changed.
    pub(crate) fn is_held(&self, now: Time) -> bool {
        let (Some(number), None) = (self.bundles.first_queued(), self.halted) else { return true };
        let again = self.bundles.get(number).is_some_and(|b| b.phase == Phase::Waiting { again: true });
        let has_context = again && !self.is_stale(number, now) || self.choose_anchor(number, now).is_some();
        self.is_too_far(number) || !has_context
    }

    /// Whether a block is too far above the applied head.
    pub(crate) fn is_too_far(&self, number: u64) -> bool {
        let applied = self.head.as_ref().map(ChainHead::applied);
        applied.is_none_or(|applied| number > applied.saturating_add(self.config.submit_ahead_max))
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
        self.bundles.queued() > 0 && self.cores.given() < self.config.max_inflight && self.cores.has_ungiven()
    }

    /// Whether the bundle that is to be sent next was sent in this slot already and reached no guarantor. All connected
    /// guarantors of the core were tried then, so the same bytes wait for the next window.
    pub(crate) fn failed_in_this_slot(&self, now: Time) -> bool {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ResendAtOnce) {
            return false;
        }
        self.bundles.first_queued().is_some_and(|number| self.window.has_failed(number, now))
    }

    /// The window's event, once per window.
    fn announce_window(&mut self, now: Time) {
        if self.bundles.is_empty() || !self.window.announce(now) {
            return;
        }
        let submitted = self.cores.given();
        self.outbox.tell(Event::Window {
            queued: self.bundles.queued(),
            inflight: submitted + self.bundles.guaranteed(),
            submitted,
            can_submit: self.can_submit(),
        });
    }

    /// The lowest bundle that waits, if it may be sent.
    fn next_submission(&mut self, now: Time) -> Option<SubmissionPlan> {
        if self.halted.is_some() || self.cores.given() >= self.config.max_inflight {
            return None;
        }
        let number = self.bundles.first_queued()?;
        if self.is_too_far(number) || self.failed_in_this_slot(now) {
            return None;
        }
        let core = self.choose_core(number)?;
        if self.is_stale(number, now) {
            let block = self.bundles.get(number)?.block;
            self.outbox.tell(Event::AnchorStale { block });
            self.requeue(number, false, false);
            // It may have failed too often to get another version.
            self.bundles.is_queued(number).then_some(())?;
        }
        let bundle = self.bundles.get(number)?;
        let block = bundle.block;
        if let (Phase::Waiting { again: true }, Some(last)) = (bundle.phase, bundle.versions.last()) {
            return Some(SubmissionPlan {
                block,
                version: last.number,
                core,
                context: last.context.clone(),
                anchor_height: last.anchor_height,
                package: Some(last.package),
            });
        }
        let (context, anchor_height) = self.choose_anchor(number, now)?;
        Some(SubmissionPlan {
            block,
            version: bundle.next_version(),
            core,
            context,
            anchor_height,
            package: None,
        })
    }

    /// Whether the same bytes should be sent again, but one of their anchors is getting too old.
    fn is_stale(&self, number: u64, now: Time) -> bool {
        let (Some(bundle), Some(head)) = (self.bundles.get(number), &self.head) else { return false };
        let (Phase::Waiting { again: true }, Some(last)) = (bundle.phase, bundle.versions.last()) else {
            return false;
        };
        head.anchor_life(last.context.anchor) < self.config.anchor_margin
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
        let is_new = |bundle: &Bundle| bundle.versions.iter().all(|version| version.context != context);
        self.bundles.get(number).is_some_and(is_new).then_some((context, height))
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
        let number = submission.block.number;
        let bundle = self.bundles.get_block(submission.block);
        let ready = bundle.is_some_and(|b| b.state == State::Queued { version: submission.version });
        let core_free = self.cores.owner(submission.core).is_none();
        #[cfg(feature = "bugs")]
        let core_free = core_free || self.has(crate::Mistake::GlobalInflight);
        let ready = ready && core_free && self.may_commit(submission);
        let (Some(bundle), true) = (bundle, ready) else { return Err(CommitSubmissionError::Moved) };
        let before = bundle.versions.last().filter(|last| last.number == submission.version);
        let expected = before.map(|before| before.package).or(submission.package);
        if expected.is_some_and(|expected| expected != package) {
            return Err(CommitSubmissionError::Rebuilt { block: number, version: submission.version });
        }
        let version = Version {
            number: submission.version,
            package,
            context: submission.context.clone(),
            anchor_height: submission.anchor_height,
            core: submission.core,
            sent_at: now,
            sends: before.map_or(0, |before| before.sends) + 1,
            taken: false,
            counted: before.is_some_and(|before| before.counted),
        };
        self.stats.packages += u64::from(before.is_none());
        self.stats.sends += 1;
        self.decide(Record::Submitted { block: number, version });
        Ok(())
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
        let (block, version) = (bundle.block, last.number);
        self.stats.timeouts += 1;
        self.outbox.tell(Event::GuaranteeTimeout { block, version });
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
