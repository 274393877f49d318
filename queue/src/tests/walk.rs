//! Random walks: any order of anything, and afterwards, when all is well again, everything becomes final.

use super::harness::*;
use crate::{Action, Config, Record, Sent};
use jam::{HeaderHash, WorkReport, sample::Source};
use std::collections::BTreeSet;

/// What the chain could still do: reports in cores, and a fork now and then.
struct Walk<'a> {
    world: World,
    source: Source<'a>,
}

impl Walk<'_> {
    fn chance(&mut self, one_in: usize) -> bool {
        self.source.below(one_in) == 0
    }

    fn step(&mut self) {
        match self.source.below(12) {
            0 | 1 => drop(self.world.try_seal(1)),
            2..=4 => self.send(),
            5..=8 => self.block(),
            9 => {
                let by = self.source.below(25_000) as u64;
                self.world.go(ms(by));
            }
            10 => self.answer(),
            _ => self.rare(),
        }
    }

    fn send(&mut self) {
        let answers = [None, Some(Sent::Taken), Some(Sent::Taken), Some(Sent::Failed), Some(Sent::Stale)];
        self.world.answer = answers[self.source.below(answers.len())];
        if self.chance(6) {
            self.world.answer = Some(Sent::Refused);
        }
        // A failure comes later: guarantors that answer at once are asked again at once.
        if self.world.answer == Some(Sent::Failed) {
            self.world.answer = None;
            self.world.send_in_window();
            self.answer_with(Sent::Failed);
        } else {
            self.world.send_in_window();
        }
    }

    fn answer(&mut self) {
        let answer = [Sent::Taken, Sent::Failed, Sent::Stale, Sent::Refused][self.source.below(4)];
        self.answer_with(answer);
    }

    fn answer_with(&mut self, answer: Sent) {
        if let Some(out) = self.any_out() {
            self.world.sent(out.block.number, out.version.package, answer);
        }
    }

    fn any_out(&mut self) -> Option<Out> {
        let last = self.world.out.len().min(8);
        let back = (last > 0).then(|| self.source.below(last))?;
        self.world.out.iter().rev().nth(back).cloned()
    }

    /// A block on the best one or on one of the last before it, with whatever can be reported there.
    fn block(&mut self) {
        let parent = if self.chance(4) { self.recent() } else { self.world.head() };
        let Some(view) = self.world.follower.view_from(parent) else { return };
        let (slot, busy) = (view.head().slot, (0..2).filter(|core| view.core(*core).is_some()));
        let busy = busy.collect::<Vec<_>>();
        drop(view);
        let available = busy.iter().copied().filter(|_| self.source.below(3) > 0).collect::<Vec<_>>();
        let free = (0..2).filter(|core| !busy.contains(core) || available.contains(core)).collect::<Vec<_>>();
        let mut reports = vec![];
        for core in free {
            let out = self.any_out().filter(|out| out.version.core == core && self.reportable(out, parent));
            let Some(report) = out.map(|out| self.world.report_of(&out)) else { continue };
            if reports.iter().all(|other: &WorkReport| other.package() != report.package()) {
                reports.push(report);
            }
        }
        let slot = slot.max(self.world.follower.view().head().slot) + 1 + u32::from(self.chance(5));
        self.world.raw_block_on(parent, slot, reports, &available);
    }

    fn recent(&mut self) -> HeaderHash {
        let recent = self.world.follower.view().recent().map(|block| block.hash).take(4).collect::<Vec<_>>();
        recent[self.source.below(recent.len())]
    }

    /// Whether validators would report it on top of a block.
    fn reportable(&self, out: &Out, parent: HeaderHash) -> bool {
        let Some(view) = self.world.follower.view_from(parent) else { return false };
        let known = view.recent().any(|block| block.reported.contains_key(&out.version.package));
        let fresh = matches!(
            view.fate(out.version.package),
            jam::follow::Fate::NotSeen
                | jam::follow::Fate::Reorged
                | jam::follow::Fate::TimedOut { .. }
                | jam::follow::Fate::Dropped { .. }
        );
        let slot = view.head().slot;
        let looks_back = slot.saturating_sub(out.version.context.lookup_anchor_slot) < 16;
        fresh && !known && looks_back && view.anchor_life(out.version.context.anchor) > 0
    }

    fn rare(&mut self) {
        match self.source.below(6) {
            0 => {
                self.world.restart();
                self.world.deliver_parts(&BTreeSet::new(), &BTreeSet::new());
            }
            1 => self.world.finality_lag = None,
            2 | 3 => self.world.finality_lag = Some(2 + self.source.below(4)),
            4 => self.world.deliver_parts(&BTreeSet::new(), &BTreeSet::from([0, 1])),
            _ => self.world.blocks(3),
        }
    }

    /// Everybody does what they should.
    fn heal(&mut self) {
        self.world.finality_lag = Some(2);
        self.world.answer = Some(Sent::Taken);
        for _ in 0..120 {
            let sent = self.world.send_in_window();
            let reports = sent.iter().map(|(block, version, _)| (*block, *version)).collect::<Vec<_>>();
            let busy = (0..2).filter(|core| self.world.follower.view().core(*core).is_some());
            let busy = busy.collect::<Vec<_>>();
            self.world.block(&reports, &busy);
            if self.world.queue.bundles().len() == 0 && self.world.queue.newest().number > 0 {
                return;
            }
            if self.world.queue.newest().number == 0 {
                self.world.try_seal(1).unwrap();
            }
        }
        panic!("not everything became final: {:#?}", self.world.queue.snapshot().bundles);
    }
}

/// What the walks came to, so that they cannot become walks around nothing.
#[derive(Default)]
struct Seen {
    kinds: BTreeSet<&'static str>,
    duplicates: u64,
}

fn kind(record: &Record) -> &'static str {
    match record {
        Record::Enqueued { .. } => "enqueued",
        Record::Submitted { version, .. } if version.sends > 1 => "sent again",
        Record::Submitted { .. } => "submitted",
        Record::Taken { .. } => "taken",
        Record::Requeued { again: true, .. } => "requeued, same bytes",
        Record::Requeued { .. } => "requeued, new version",
        Record::Abandoned { .. } => "abandoned",
        Record::Retried => "retried",
        Record::Revived => "revived",
        Record::Released { .. } => "released",
        Record::Finalized { .. } => "finalized",
    }
}

fn walk(config: Config, seed: u64, steps: usize, seen: &mut Seen) {
    let mut walk = Walk { world: World::running(config), source: Source::new(&PARAMS, seed) };
    for _ in 0..steps {
        walk.step();
    }
    walk.heal();
    let halted = walk.world.actions.iter().any(|action| matches!(action, Action::Halt { .. }));
    assert!(!halted, "nobody else builds here");
    seen.kinds.extend(walk.world.journal.iter().map(kind));
    seen.duplicates += walk.world.queue.stats().duplicate_guarantees;
}

#[test]
fn any_order_of_anything_ends_well() {
    let mut seen = Seen::default();
    for seed in 0..30 {
        for config in [config(), spec_config()] {
            println!("seed {seed}, {:?}", config.policy);
            walk(config, seed, 120, &mut seen);
        }
    }
    assert_eq!(seen.kinds.len(), 11, "{:?}", seen.kinds);
    assert!(seen.duplicates > 0);
}
