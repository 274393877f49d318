//! Building: the open block takes transactions as they come, and is sealed when it is full or its time has come.

use crate::{Added, Blocks, Broken, Driver, NotSealed, OpenBlock, open::Open, seal_policy::Load};
use alloy_primitives::{Address, B256};
use bundler::Refused;
use queue::{Queue, QueuedBlock};
use std::collections::BTreeSet;
use txpool::{Candidate, Returned, StateChange, Verdict};
use types::{Duration, Event, Time, Transaction};

/// How much later than JAM's best block a block may be dated. Validators allow an hour after the lookup anchor, which is a few
/// blocks older.
const LATE_MAX: Duration = Duration::from_secs(50 * 60);

impl<B: Blocks> Driver<B> {
    /// Fills the open block and seals it, as often as there is reason to.
    pub(crate) fn build(&mut self) -> Result<(), Broken> {
        while !self.sealing.is_paused() && self.code.is_known {
            self.fill()?;
            if self.queue.may_enqueue().is_err() || !self.is_seal_due() {
                break;
            }
            self.seal()?;
        }
        Ok(())
    }

    /// Seals what there is, now. Whether there was room for it.
    pub fn seal_now(&mut self, now: Time) -> Result<bool, Broken> {
        self.set_time(now);
        if self.queue.may_enqueue().is_err() || !self.code.is_known {
            return Ok(false);
        }
        self.fill()?;
        if self.open.is_none() {
            self.open = Some(self.open_block(0)?);
        }
        self.seal()?;
        Ok(true)
    }

    /// When the open block, or an empty one, is to be sealed.
    pub(crate) fn seal_due(&self) -> Option<Time> {
        if self.sealing.is_paused() || !self.code.is_known || self.queue.may_enqueue().is_err() {
            return None;
        }
        match &self.open {
            Some(open) if open.is_full() => Some(self.now()),
            Some(open) => {
                let (waiting, ..) = self.queue.counts();
                let load = Load { waiting, fullness: self.queue.fullness() };
                open.first_at().map(|first| self.sealing.open_due(first, load))
            }
            None => self.empty_block_due(),
        }
    }

    /// When the next empty block is sealed, if it has a purpose.
    fn empty_block_due(&self) -> Option<Time> {
        let floor = self.blocks.base_fee_floor_wei();
        let is_fee_high = || self.blocks.head().base_fee_wei > floor;
        self.sealing.empty_due(is_fee_high, || self.pool.waits_for_base_fee(floor))
    }

    fn is_seal_due(&mut self) -> bool {
        if self.open.is_none() && self.wants_probe() {
            return true;
        }
        self.seal_due().is_some_and(|due| due <= self.now())
    }

    /// Whether an empty block shall show that the network is not at fault, before suspects are tried.
    fn wants_probe(&mut self) -> bool {
        self.queue.wants_probe() && self.pool.best().peek().is_some_and(|next| next.is_suspect())
    }

    /// Executes what is best into the open block until there is nothing more or no room.
    fn fill(&mut self) -> Result<(), Broken> {
        self.pool.unthrottle(self.now());
        while let Some(next) = self.pool.best().peek() {
            if self.pool.is_throttled(&next.tx.sender(), self.now()) {
                self.pool.best().mark_invalid(&next.tx.hash());
                continue;
            }
            if self.open.is_none() {
                if self.queue.may_enqueue().is_err() || self.wants_probe() {
                    break;
                }
                self.open = Some(self.open_block(next.attempts)?);
            }
            let Some(open) = &mut self.open else { break };
            if !open.takes(next.attempts) {
                break;
            }
            self.pool.best().next();
            self.take(&next)?;
        }
        // What cannot be executed on the newest block, and nothing else, makes a block that nobody waits for.
        if self.open.as_ref().is_some_and(|open| open.transactions().is_empty()) {
            self.open = None;
        }
        Ok(())
    }

    fn open_block(&mut self, attempts: u32) -> Result<Open<B::Open>, Broken> {
        self.build_counter += 1;
        let block = self.blocks.open(self.block_time_secs(), self.build_counter)?;
        let max = self.blocks.transactions_max();
        let transactions_max = if attempts > 0 { Queue::suspect_txs_max(max, attempts) } else { max };
        Ok(Open::new(block, attempts, transactions_max))
    }

    /// The time of a new block. Validators refuse one that is dated much later than its package's lookup anchor, so a clock that is
    /// wrong by hours, or a chain that stands still, must not date blocks later than they will take.
    fn block_time_secs(&self) -> u64 {
        let best = self.chain.follower().view().head();
        let latest = self.clock.start_of(best.slot) + LATE_MAX;
        // Before the first block of a chain there is nothing to compare with: its genesis has slot 0.
        let now = if best.slot == 0 { self.now() } else { self.now().min(latest) };
        now.as_secs()
    }

    /// Executes a transaction into the open block.
    fn take(&mut self, candidate: &Candidate) -> Result<(), Broken> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let tx = &candidate.tx;
        match open.push(tx, self.time.now()) {
            Ok(()) => {
                self.pool.mark_open(&tx.hash());
                let consumed = open.block().consumed();
                self.outbox.note_moved(consumed.iter().map(|(address, _)| *address));
                self.pool.mark_consumed(consumed.iter().copied());
            }
            Err(Refused::Full(_)) => {}
            Err(Refused::NotNow(_)) => self.pool.best().mark_invalid(&tx.hash()),
            Err(Refused::Never(reason)) => {
                self.pool.remove(&tx.hash(), reason);
                self.gather_pool();
            }
            Err(Refused::Unrefinable(reason)) => {
                // Its gas was not paid for, so the sender pays with time.
                self.pool.throttle(tx.sender(), self.time.now());
                self.pool.remove(&tx.hash(), reason);
                self.gather_pool();
            }
            Err(Refused::Broken(why)) => return Err(Broken::State(why)),
        }
        Ok(())
    }

    /// Ends the open block, or an empty one if there is none.
    fn seal(&mut self) -> Result<(), Broken> {
        // What shows that the network works, and what is suspected, travels alone.
        let is_probe = self.open.is_none() && self.queue.wants_probe();
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open_block(0)?,
        };
        let (is_empty, is_alone) = (open.transactions().is_empty(), is_probe || open.is_suspect());
        let parent = self.blocks.newest_id();
        let Added { block, changed, size, sealed } = match self.blocks.seal(open.into_block()) {
            Ok(added) => added,
            Err(NotSealed::Broken(why)) => return Err(why),
            Err(NotSealed::Refused { block, transactions, why }) => {
                self.tell(Event::Refused { block, why });
                return self.discard_refused(transactions);
            }
        };
        self.sealing.sealed(is_empty, self.now());
        let transactions = self.blocks.transactions(block.number).unwrap_or_default();
        let count = u32::try_from(transactions.len()).unwrap_or(u32::MAX);
        self.pool.mark_bundled(block, transactions);
        let queued =
            QueuedBlock { id: block, transactions: count, is_alone, size, sealed_at: self.time.now() };
        let enqueued = self.queue.enqueue(queued, parent);
        enqueued.map_err(|why| Broken::State(format!("a block was sealed although {why}")))?;
        self.outbox.batch().sealed(self.build_counter, sealed);
        self.view.blocks_changed();
        let accounts = self.state_change(changed.iter())?;
        self.update_pool(&accounts);
        Ok(())
    }

    /// Validators would refuse this block, so it goes nowhere. Something in it is poisonous, or this node is wrong; its
    /// transactions are tried apart, like those of a block that failed on the chain.
    fn discard_refused(&mut self, transactions: Vec<Transaction>) -> Result<(), Broken> {
        let verdict = if transactions.len() == 1 { Verdict::Alone } else { Verdict::Suspect };
        self.put_back(transactions.into_iter().map(|tx| Returned { tx, verdict }).collect())
    }

    /// Gives up the open block: what it stands on is gone, or building stops.
    pub(crate) fn discard_open(&mut self) -> Result<(), Broken> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let innocent = |tx: &Transaction| Returned { tx: tx.clone(), verdict: Verdict::Innocent };
        self.put_back(open.transactions().iter().map(innocent).collect())
    }

    /// Puts transactions of blocks that will never be back into the pool, in order, and writes down what the pool now
    /// thinks of them.
    pub(crate) fn put_back(&mut self, returned: Vec<Returned>) -> Result<(), Broken> {
        let hashes = returned.iter().map(|returned| returned.tx.hash()).collect::<Vec<_>>();
        let mut changed = returned.iter().map(|returned| returned.tx.sender()).collect::<BTreeSet<Address>>();
        changed.extend(self.pool.consumed());
        self.put_back_with(returned, &hashes, &changed)
    }

    pub(crate) fn put_back_with(
        &mut self,
        returned: Vec<Returned>,
        hashes: &[B256],
        changed: &BTreeSet<Address>,
    ) -> Result<(), Broken> {
        let accounts = self.state_change(changed)?;
        self.note_moved(&accounts);
        let head = self.blocks.head();
        self.pool.reinsert(returned, &StateChange { head, accounts: &accounts }, self.time.now());
        for hash in hashes {
            if let Some(lookup) = self.pool.get(hash) {
                self.outbox.batch().returned(lookup);
            }
        }
        self.gather_pool();
        Ok(())
    }
}
