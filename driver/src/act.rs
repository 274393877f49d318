//! What the queue wants done: packing, submissions and releases; and what becomes durable of it.

use crate::{Blocks, Broken, Driver, PackJob, PackOutcome, Package, Removed, time::CORRECTION_MIN};
use alloy_primitives::{Address, B256};
use jam::{Ed25519Key, PackageHash};
use queue::{Action, Blame, Released, Sent, SubmissionPlan};
use std::{collections::BTreeSet, ops::RangeInclusive};
use txpool::{Returned, Verdict};
use types::{Duration, Event, Release, Run, Time};

/// A package that leaves the node.
#[derive(Clone, Debug)]
pub struct Outgoing<P> {
    /// What travels.
    pub packaged: P,
    /// The version.
    pub version: u32,
    /// The core that it is for.
    pub core: u16,
    /// Who guarantees there, in the order in which they are to be tried.
    pub guarantors: Vec<Ed25519Key>,
    /// When it was decided to send it.
    pub decided_at: Time,
    /// When the window closes: nothing is sent from then on.
    pub closes_at: Time,
}

impl<P: Package> Outgoing<P> {
    /// The blocks in it.
    pub fn run(&self) -> Run {
        self.packaged.run()
    }

    /// What the chain will know it by.
    pub fn package(&self) -> PackageHash {
        self.packaged.hash()
    }

    /// How much of the window is left. Nothing if it has closed, and nothing if the clock was corrected since: then it was
    /// the window of a wrong time.
    pub fn time_left(&self, now: Time) -> Duration {
        if now + CORRECTION_MIN < self.decided_at { Duration::ZERO } else { self.closes_at.since(now) }
    }
}

impl<B: Blocks> Driver<B> {
    /// Takes how a submission ended. The bundle is known by its first block.
    pub fn sent(&mut self, bundle: u64, package: PackageHash, sent: Sent, now: Time) {
        self.set_time(now);
        self.queue.handle_sent(bundle, package, sent);
    }

    /// Takes what packing came to.
    pub fn packed(&mut self, done: <B::Job as PackJob>::Done, now: Time) -> Result<(), Broken> {
        self.set_time(now);
        let PackOutcome { first, packed, refused } = self.blocks.packed(done);
        for (run, why) in refused {
            self.tell(Event::RunRefused { run, why });
        }
        match packed {
            Some(Ok(run)) => self.queue.packed(first.number, run.last.number),
            // Blocks that were sealed for another code may be none under this one: then they go back to the pool.
            Some(Err(why)) if self.code.was_another(first.number) => {
                let run = Run::of(first);
                self.tell(Event::RunRefused { run, why: why.to_string() });
                self.queue.pack_failed(first.number);
                self.give_up(first.number);
            }
            Some(Err(why)) => return Err(why),
            None => self.queue.pack_failed(first.number),
        }
        Ok(())
    }

    /// Gives a block up, with its bundle and all that stand on it. The blocks that this undoes; nothing if it is not here or
    /// stands on the chain.
    pub fn give_up(&mut self, number: u64) -> Option<RangeInclusive<u64>> {
        let blocks = self.queue.give_up(number)?;
        self.view.blocks_changed();
        Some(blocks)
    }

    /// Does what the queue wants, until it wants nothing.
    pub(crate) fn act(&mut self) -> Result<(), Broken> {
        while let Some(action) = self.queue.poll_action(self.now()) {
            match action {
                Action::Release(blocks) => self.release(&blocks)?,
                Action::Pack(_) | Action::Submit(_) if self.settings.dry_run => break,
                Action::Pack(plan) if !self.code.is_known => self.queue.pack_failed(plan.run.first.number),
                Action::Submit(plan) if plan.code_hash != self.code.hash || !self.code.is_known => {
                    self.queue.wait_a_slot(plan.run.first.number, self.now());
                    break;
                }
                Action::Pack(plan) => {
                    let job = self.blocks.pack(plan.run, plan.is_fixed)?;
                    self.outbox.pack(job);
                }
                Action::Submit(submission) => {
                    if !self.submit_version(&submission)? {
                        break;
                    }
                }
                Action::Halt { .. } => self.discard_open()?,
            }
        }
        Ok(())
    }

    /// Builds a version and hands it out; whether the queue agreed.
    fn submit_version(&mut self, submission: &SubmissionPlan) -> Result<bool, Broken> {
        let (context, first) = (submission.context.clone(), submission.run.first.number);
        let packaged = self.blocks.package(submission.run, context, submission.version)?;
        let Some(packaged) = packaged else {
            self.queue.wait_a_slot(first, self.now());
            return Ok(false);
        };
        let committed = self.queue.commit_submission(submission, packaged.hash(), self.now());
        match committed {
            Ok(()) => {}
            Err(queue::CommitSubmissionError::Window | queue::CommitSubmissionError::Moved) => {
                return Ok(false);
            }
            Err(why @ queue::CommitSubmissionError::Rebuilt { .. }) => {
                return Err(Broken::Rebuild { number: first, why: why.to_string() });
            }
        }
        // The record goes before the bytes.
        self.gather_queue()?;
        let outgoing = Outgoing {
            packaged,
            version: submission.version,
            core: submission.core,
            guarantors: self.guarantors(submission.core),
            decided_at: self.now(),
            closes_at: self.window_closes_at(),
        };
        self.outbox.send(outgoing);
        Ok(true)
    }

    fn window_closes_at(&self) -> Time {
        self.clock.next_start(self.now()) - self.queue.config().window_closes_before
    }

    /// Who guarantees on a core now. If a rotation is about to begin, those after it come next.
    pub(crate) fn guarantors(&self, core: u16) -> Vec<Ed25519Key> {
        let view = self.chain.follower().view();
        let slot = self.clock.slot_at(self.now());
        let mut guarantors = Vec::new();
        for slot in [slot, slot.saturating_add(1)] {
            for key in view.guarantors(core, slot) {
                if !guarantors.contains(&key) {
                    guarantors.push(key);
                }
            }
        }
        guarantors
    }

    /// Puts the transactions of dead blocks back into the pool, in the same durable step as the queue's record.
    fn release(&mut self, blocks: &[Released]) -> Result<(), Broken> {
        let Some(first) = blocks.first() else { return Ok(()) };
        self.discard_open()?;
        self.gather_queue()?;
        let mut returned = Vec::new();
        let mut changed = BTreeSet::<Address>::new();
        for (removed, released) in self.blocks.release(first.block.number).into_iter().zip(blocks) {
            let Removed { transactions, changed: accounts } = removed;
            let verdict = match released.blame {
                Blame::None => Verdict::Innocent,
                Blame::Suspect => Verdict::Suspect,
                Blame::Alone => Verdict::Alone,
            };
            match &accounts {
                Some(accounts) => changed.extend(accounts.iter().copied()),
                // From before a restart: whoever has something in the pool is looked at.
                None => changed.extend(self.pool.content().iter().map(|content| content.sender)),
            }
            changed.extend(transactions.iter().map(|tx| tx.sender()));
            transactions.iter().for_each(|tx| self.note_release(tx.hash(), released));
            returned.extend(transactions.into_iter().map(|tx| Returned { tx, verdict }));
        }
        let hashes = returned.iter().map(|returned| returned.tx.hash()).collect::<Vec<_>>();
        self.put_back_with(returned, &hashes, &changed)
    }

    /// Writes down that a transaction's block was given up. The pool still has the transaction in the block.
    fn note_release(&mut self, hash: B256, released: &Released) {
        let was = self.pool.get(&hash);
        let before = was.as_ref().map_or(0, |was| was.attempts);
        let attempts = before + u32::from(released.blame != Blame::None);
        let Released { block, sealed_at, by, .. } = *released;
        let release = Release { block, sealed_at, released_at: self.now(), by };
        self.outbox.batch().released(hash, was.map(|was| was.added_at), attempts, release);
    }

    /// Gathers what the queue decided: its records, and what follows from its events.
    pub(crate) fn gather_queue(&mut self) -> Result<(), Broken> {
        for record in self.queue.take_records() {
            self.outbox.batch().queue(record);
        }
        for event in self.queue.drain_events().collect::<Vec<_>>() {
            match &event {
                Event::Guaranteed { run, .. } => self.blocks.rest(*run),
                Event::Finalized { run } => self.finalize(*run)?,
                _ => {}
            }
            self.view.blocks_changed();
            self.tell(event);
        }
        Ok(())
    }

    /// The blocks of a bundle are final.
    fn finalize(&mut self, run: Run) -> Result<(), Broken> {
        for number in run.numbers() {
            let transactions = self.blocks.transactions(number).unwrap_or_default();
            self.outbox.note_moved(transactions.iter().map(|tx| tx.sender()));
            let missing = || Broken::State(format!("block {number} became final and is not here"));
            let block = self.blocks.id_of(number).ok_or_else(missing)?;
            self.blocks.finalize(block)?;
            self.pool.mark_final(block);
        }
        self.view.blocks_changed();
        self.gather_pool();
        Ok(())
    }
}
