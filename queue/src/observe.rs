//! What the chain says: every bundle whose inputs changed is judged anew, by index.

use crate::{
    Action, Bundle, Queue, Record, Version,
    bundle::{Phase, Seen, State},
    chain_head::{ChainHead, ChainInput},
};
use jam::follow::Fate;
use service::accumulate::ServiceState;
use std::collections::BTreeSet;
use types::{BlockId, Event, Time};

impl Queue {
    /// Takes a new view of the chain and of the service.
    pub fn handle_chain(&mut self, input: &ChainInput<'_>, now: Time) {
        let code_before = self.code_hash();
        let mut affected = self.affected_by_service(input);
        affected.extend(input.packages.iter().filter_map(|package| self.bundles.bundle_of(package)));
        let is_first = self.head.replace(ChainHead::of(input, self.config.history)).is_none();
        self.watch_for_foreign_head(input.service.best.head());
        if is_first {
            self.begin(input, now);
        }
        for core in input.cores {
            affected.extend(self.note_core(*core, input, now));
        }
        affected.extend(self.deadlines.outlived(self.height()));
        for number in affected {
            self.judge(number, input);
        }
        self.follow_code(code_before);
        self.finalize(input.service.finalized.head());
        self.handle_abandoned(input);
    }

    /// The blocks between the old and the new heads of the service, and those that began or ceased to wait there.
    fn affected_by_service(&self, input: &ChainInput<'_>) -> BTreeSet<u64> {
        let mut affected = BTreeSet::new();
        let old = self.head.as_ref().map(ChainHead::service);
        let pairs = [
            (old.map(|old| &old.best), &input.service.best),
            (old.map(|old| &old.finalized), &input.service.finalized),
        ];
        for (old, new) in pairs {
            let Some(old) = old else {
                affected.extend(self.bundles.numbers(..));
                continue;
            };
            if std::sync::Arc::ptr_eq(old, new) {
                continue;
            }
            let (a, b) = (old.head().number, new.head().number);
            affected.extend(self.bundles.numbers(a.min(b)..=a.max(b)));
            affected.extend(old.waiting().chain(new.waiting()).map(|(first, _)| first));
        }
        affected
    }

    /// A head that was not built here stops everything.
    fn watch_for_foreign_head(&mut self, head: BlockId) {
        let base = self.bundles.base();
        let is_ours = head == base || head.number < base.number || self.bundles.ending_with(head).is_some();
        if !is_ours && self.halted.is_none() {
            self.halted = Some(head);
            self.outbox.tell(Event::ForeignHead { head });
            self.outbox.push_action(Action::Halt { head });
        }
    }

    /// Notes whether a core is busy; the timeout of a bundle that was given to it runs only while it is free.
    fn note_core(&mut self, core: u16, input: &ChainInput<'_>, now: Time) -> Option<u64> {
        let has_changed = self.cores.set_occupied(core, input.view.core(core).is_some());
        let number = self.cores.owner(core)?;
        if has_changed {
            self.restart_timer(number, now);
        }
        Some(number)
    }

    /// The first view: it is not known which cores were busy before, nor what came since something was sent.
    fn begin(&mut self, input: &ChainInput<'_>, now: Time) {
        for core in 0..self.config.cores {
            self.note_core(core, input, now);
        }
        for number in self.cores.owners().collect::<Vec<_>>() {
            self.restart_timer(number, now);
        }
    }

    /// The timeout begins anew.
    fn restart_timer(&mut self, number: u64, now: Time) {
        let height = self.height();
        self.change(number, |bundle| (bundle.timer, bundle.since_height) = (Some(now), height));
    }

    /// Decides anew what the chain says about a bundle, and whether it must be sent again.
    fn judge(&mut self, number: u64, input: &ChainInput<'_>) {
        let Some(bundle) = self.bundles.get(number) else { return };
        let (before, phase) = (bundle.seen, bundle.phase);
        let seen = self.look(number, input);
        let is_gone = seen == Seen::Nowhere && before != Seen::Nowhere;
        #[cfg(feature = "bugs")]
        if is_gone && self.has(crate::Mistake::GuaranteedIsFinal) {
            return;
        }
        if is_gone && phase != (Phase::Waiting { again: false }) {
            // The chain may still know its package and refuse the same bytes; and it does not count against it.
            self.decide(Record::Requeued { block: number, counted: false, again: false });
        }
        if seen != before {
            let last = self.bundles.get(number).map_or(number, |bundle| bundle.run.last.number);
            if matches!(seen, Seen::Applied | Seen::Final) {
                self.abandonment.note_passed(last);
            }
            self.change(number, |bundle| bundle.seen = seen);
        }
        let Some(State::Submitted { anchor, .. }) = self.bundles.get(number).map(|bundle| bundle.state)
        else {
            return;
        };
        let head = self.head.as_ref().expect("a chain view is being handled");
        if head.anchor_life(anchor) == 0 && !self.timeout_decides(number) {
            // Not reported while its anchor lived. If that counts against it, a timeout has said so.
            self.requeue(number, false, false);
        }
    }

    /// Under the specification's policy anchors live shorter than the timeout, so it alone says when to give up.
    fn timeout_decides(&self, number: u64) -> bool {
        let runs = self.bundles.get(number).is_some_and(|bundle| bundle.timer.is_some());
        runs && self.config.policy == crate::Policy::Spec
    }

    /// What the chain says about a bundle, through any of its versions.
    fn look(&mut self, number: u64, input: &ChainInput<'_>) -> Seen {
        self.note_duplicates(number, input);
        let Some(bundle) = self.bundles.get(number) else { return Seen::Nowhere };
        if self.is_applied(bundle, &input.service.finalized) {
            return Seen::Final;
        }
        if self.is_applied(bundle, &input.service.best) {
            return Seen::Applied;
        }
        let mut found: Option<(u32, Option<u16>)> = None;
        let known = |version: &&Version| self.bundles.bundle_of(&version.package).is_some();
        for version in bundle.versions.iter().filter(known) {
            let place = match input.view.fate(version.package) {
                Fate::Reported { core, .. } => Some(core),
                Fate::Available { .. } => None,
                #[cfg(feature = "bugs")]
                Fate::Accumulated { .. } if self.has(crate::Mistake::AccumulatedIsApplied) => {
                    return Seen::Applied;
                }
                _ => continue,
            };
            found = found.or(Some((version.number, place)));
        }
        let waits = input.service.best.is_waiting(bundle.number(), &bundle.run.last.hash);
        let last = bundle.versions.last().map_or(1, |version| version.number);
        match (found, waits) {
            (Some((version, core)), _) => Seen::Guaranteed { version, core },
            (None, true) => Seen::Guaranteed { version: last, core: None },
            (None, false) => Seen::Nowhere,
        }
    }

    /// Counts the versions that are guaranteed beside the first one.
    fn note_duplicates(&mut self, number: u64, input: &ChainInput<'_>) {
        let Some(bundle) = self.bundles.get(number) else { return };
        let run = bundle.run;
        let stands = |fate: Fate| {
            matches!(fate, Fate::Reported { .. } | Fate::Available { .. } | Fate::Accumulated { .. })
        };
        let standing = bundle.versions.iter().filter(|version| stands(input.view.fate(version.package)));
        let duplicates = standing.count().saturating_sub(1);
        if duplicates == 0 {
            return;
        }
        let more = self.bundles.raise_duplicates(number, duplicates);
        if more > 0 {
            self.stats.duplicate_guarantees += more as u64;
            self.outbox.tell(Event::DuplicateGuarantee { run });
        }
    }

    /// Whether the service has applied a bundle: its head is the bundle or a block on top of it.
    fn is_applied(&self, bundle: &Bundle, service: &ServiceState) -> bool {
        let head = service.head();
        head.number >= bundle.run.last.number && self.bundles.ending_with(head).is_some()
    }

    /// Everything up to the service's final head is final.
    fn finalize(&mut self, head: BlockId) {
        if self.bundles.ending_with(head).is_some() && self.halted.is_none() {
            let last = self.bundles.numbers(..=head.number).collect::<Vec<_>>();
            for number in last {
                self.change(number, |bundle| bundle.seen = Seen::Final);
            }
            self.decide(Record::Finalized { through: head });
        }
    }
}
