//! Walks: any order of anything, and afterwards, when all is well again, everything becomes final.

use super::world::{Out, World, clock, ms};
use crate::{Action, Config, Record, Sent};
use jam::{HeaderHash, WorkReport};
use std::collections::BTreeSet;

/// A walk: somebody who chooses a number below another one says what happens next.
pub struct Walk<F> {
    world: World,
    choose: F,
}

impl<F: FnMut(usize) -> usize> Walk<F> {
    /// Begins on a chain that has been running for a while.
    pub fn new(config: Config, choose: F) -> Self {
        Self { world: World::running(config), choose }
    }

    /// Some steps, and then everybody does what they should: all must become final, and nobody may be halted.
    pub fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
        self.heal();
        let halted = self.world.actions.iter().any(|action| matches!(action, Action::Halt { .. }));
        assert!(!halted, "nobody else builds here");
    }

    /// Every record that the queue wrote.
    pub fn journal(&self) -> &[Record] {
        &self.world.journal
    }

    /// How many versions were guaranteed beside another one of the same block.
    pub fn duplicate_guarantees(&self) -> u64 {
        self.world.queue.stats().duplicate_guarantees
    }

    fn chance(&mut self, one_in: usize) -> bool {
        (self.choose)(one_in) == 0
    }

    fn step(&mut self) {
        match (self.choose)(12) {
            0 | 1 => self.seal(),
            2..=4 => self.send(),
            5..=8 => self.block(),
            9 => {
                let by = (self.choose)(25_000) as u64;
                self.world.go(ms(by));
            }
            10 => self.answer(),
            _ => self.rare(),
        }
    }

    /// A few blocks, of which one in eight is a run of its own; a package holds some of them.
    fn seal(&mut self) {
        self.world.package_blocks = 1 + (self.choose)(6) as u64;
        for _ in 0..=(self.choose)(4) {
            let is_alone = self.chance(8);
            let _ = self.world.try_seal_as(1, is_alone);
        }
    }

    fn send(&mut self) {
        let answers = [None, Some(Sent::Taken), Some(Sent::Taken), Some(Sent::Failed), Some(Sent::Stale)];
        self.world.answer = answers[(self.choose)(answers.len())];
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
        let answer = [Sent::Taken, Sent::Failed, Sent::Stale, Sent::Refused][(self.choose)(4)];
        self.answer_with(answer);
    }

    fn answer_with(&mut self, answer: Sent) {
        if let Some(out) = self.any_out() {
            self.world.sent(out.run.first.number, out.version.package, answer);
        }
    }

    fn any_out(&mut self) -> Option<Out> {
        let last = self.world.out.len().min(8);
        let back = (last > 0).then(|| (self.choose)(last))?;
        self.world.out.iter().rev().nth(back).cloned()
    }

    /// A block on the best one or on one of the last before it, with whatever can be reported there.
    fn block(&mut self) {
        let parent = if self.chance(4) { self.recent() } else { self.world.head() };
        let Some(view) = self.world.follower.view_from(parent) else { return };
        let (slot, busy) = (view.head().slot, (0..2).filter(|core| view.core(*core).is_some()));
        let busy = busy.collect::<Vec<_>>();
        drop(view);
        let available = busy.iter().copied().filter(|_| (self.choose)(3) > 0).collect::<Vec<_>>();
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
        recent[(self.choose)(recent.len())]
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
        match (self.choose)(7) {
            0 => {
                self.world.restart();
                self.world.deliver_parts(&BTreeSet::new(), &BTreeSet::new());
            }
            1 => self.world.finality_lag = None,
            2 | 3 => self.world.finality_lag = Some(2 + (self.choose)(4)),
            4 => self.world.deliver_parts(&BTreeSet::new(), &BTreeSet::from([0, 1])),
            5 => self.operator(),
            _ => self.world.blocks(3),
        }
    }

    /// The operator gives one of the newest blocks up, which may be too late for it.
    fn operator(&mut self) {
        let back = (self.choose)(4) as u64;
        let number = self.world.queue.newest().number.saturating_sub(back);
        self.world.give_up(number);
    }

    /// Everybody does what they should.
    fn heal(&mut self) {
        self.world.finality_lag = Some(2);
        self.world.answer = Some(Sent::Taken);
        for _ in 0..300 {
            let sent = self.world.send_in_window();
            let reports = sent.iter().map(|(block, version, _)| (*block, *version)).collect::<Vec<_>>();
            let busy = (0..2).filter(|core| self.world.follower.view().core(*core).is_some());
            let busy = busy.collect::<Vec<_>>();
            // Blocks keep to the clock again, however far behind it they were.
            let slot = self.world.follower.view().head().slot.max(clock().slot_at(self.world.now)) + 1;
            self.world.block_on(self.world.head(), slot, &reports, &busy);
            if self.world.queue.unfinished_len() == 0 && self.world.queue.newest().number > 0 {
                return;
            }
            if self.world.queue.newest().number == 0 {
                self.world.try_seal(1).unwrap();
            }
        }
        panic!("not everything became final: {:#?}", self.world.queue.snapshot());
    }
}
