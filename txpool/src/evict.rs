//! Making room in a full pool.
//!
//! A later transaction is worth nothing without the earlier ones of its sender, so what a sender's transactions are
//! worth is what the least of them pays, and the one that leaves is the last: no gap is ever torn. The cheapest sender
//! goes first; of equally cheap ones the one with the most transactions; then the one that came last. Only what pays more
//! takes another one's place.

use crate::{
    Error, Pool,
    entry::{Entry, State},
    eviction::Victim,
};
use types::Reason;

/// Who wants to come in.
struct Newcomer {
    sender: Option<usize>,
    worth: u128,
    pays_base_fee: bool,
}

impl Newcomer {
    /// Whether it may take the place of `victim`: only if it pays more. Whoever pays as much came first and was told that
    /// it is accepted; and a sender whose last transaction leaves has a gap where it sends on.
    const fn beats(&self, victim: &Victim) -> bool {
        self.worth > victim.worth()
    }
}

/// Who goes, and what that frees.
#[derive(Default)]
struct Plan {
    victims: Vec<(State, Victim)>,
    bytes: usize,
    /// Of so many victims the sender's next one is a candidate, too.
    offered: usize,
}

impl Pool {
    /// Makes room for `entry`, which is about to become pending or queued (as its state says), in place of a transaction of `old` bytes if
    /// there is one; or refuses it and changes nothing.
    pub(crate) fn make_room(
        &mut self,
        s: Option<usize>,
        entry: &Entry,
        old: Option<usize>,
    ) -> Result<(), Error> {
        let full = old.is_none() && self.is_full(entry.state);
        let bytes = self.counts.bytes() + entry.bytes() - old.unwrap_or_default();
        let excess = bytes.saturating_sub(self.config.pool_bytes_max);
        if !full && excess == 0 {
            return Ok(());
        }
        let newcomer = self.newcomer(s, entry);
        let mut plan = Plan::default();
        let outcome = self.plan(&mut plan, &newcomer, entry.state, full, excess);
        match outcome {
            Ok(()) => {
                for (kind, victim) in plan.victims {
                    self.evict(victim.sender(), kind);
                }
            }
            Err(_) => self.forget(plan),
        }
        outcome
    }

    /// Evicts queued ones until they fit again, after some were demoted.
    pub(crate) fn trim(&mut self) {
        while self.counts.counted(State::Queued) > self.config.queued_max {
            let Some(victim) = self.pop_victim(State::Queued) else { break };
            self.evict(victim.sender(), State::Queued);
        }
    }

    /// Tells the indices that a sender changed.
    pub(crate) fn touch(&mut self, s: usize) {
        self.note_ready(s);
        self.senders[s].version = self.eviction.next_version();
        for kind in [State::Pending, State::Queued] {
            if !self.eviction.has(kind) {
                continue;
            }
            if self.is_nearly_full(kind) {
                self.eviction.note(s, kind, &self.senders, self.head.base_fee_wei);
            } else {
                self.eviction.forget(kind);
            }
        }
    }

    fn is_full(&self, kind: State) -> bool {
        self.counts.counted(kind) >= self.max(kind)
    }

    /// How many of a kind there may be.
    const fn max(&self, kind: State) -> usize {
        match kind {
            State::Pending => self.config.pending_max,
            _ => self.config.queued_max,
        }
    }

    /// Whether an index is likely to be needed again: building one costs as much as an eighth of the limit came in.
    const fn is_nearly_full(&self, kind: State) -> bool {
        let max = self.max(kind);
        self.counts.counted(kind) >= max - max / 8
            || self.counts.bytes() >= self.config.pool_bytes_max - self.config.pool_bytes_max / 8
    }

    fn newcomer(&self, s: Option<usize>, entry: &Entry) -> Newcomer {
        let base_fee = self.head.base_fee_wei;
        let price = entry.price(base_fee);
        let sender = s.map(|s| &self.senders[s]);
        Newcomer {
            sender: s,
            worth: sender.map_or(price, |sender| sender.worth(entry.state, base_fee).min(price)),
            pays_base_fee: entry.pays_base_fee(&self.head),
        }
    }

    fn plan(
        &mut self,
        plan: &mut Plan,
        newcomer: &Newcomer,
        kind: State,
        full: bool,
        excess: usize,
    ) -> Result<(), Error> {
        if full {
            self.choose(plan, kind, newcomer, |plan| !plan.victims.is_empty())?;
        }
        let fits = |plan: &Plan| plan.bytes >= excess;
        if kind == State::Pending && !fits(plan) {
            // What can be executed is worth more room than anything that cannot.
            let others = Newcomer { worth: u128::MAX, ..*newcomer };
            let _ = self.choose(plan, State::Queued, &others, fits);
        }
        self.choose(plan, kind, newcomer, fits).map_err(|error| match (kind, error) {
            (State::Queued, Error::Full) if self.counts.counted(State::Pending) > 0 => {
                match newcomer.pays_base_fee {
                    true => Error::FutureReplacesPending,
                    // All that are pending pay more.
                    false => Error::Underpriced,
                }
            }
            (_, error) => error,
        })
    }

    /// Adds the cheapest of a kind to the plan until it is enough.
    fn choose(
        &mut self,
        plan: &mut Plan,
        kind: State,
        newcomer: &Newcomer,
        enough: impl Fn(&Plan) -> bool,
    ) -> Result<(), Error> {
        while !enough(plan) {
            self.offer_next_victim(plan);
            let victim = self.pop_victim(kind).ok_or(Error::Full)?;
            let own = newcomer.sender == Some(victim.sender());
            if own || !newcomer.beats(&victim) {
                self.eviction.push(kind, victim);
                return Err(if own { Error::Full } else { Error::Underpriced });
            }
            let sender = &self.senders[victim.sender()];
            let last = sender.evictable(kind, victim.depth()).expect("a fresh victim has one to give");
            plan.bytes += sender.txs[last].bytes();
            plan.victims.push((kind, victim));
        }
        Ok(())
    }

    /// Once one more is needed, the sender that was chosen last has another last one.
    fn offer_next_victim(&mut self, plan: &mut Plan) {
        if plan.offered == plan.victims.len() {
            return;
        }
        plan.offered = plan.victims.len();
        if let Some((kind, last)) = plan.victims.last() {
            let s = last.sender();
            let next = Victim::of(s, &self.senders[s], *kind, last.depth() + 1, self.head.base_fee_wei);
            if let Some(next) = next {
                self.eviction.push(*kind, next);
            }
        }
    }

    /// The first fresh victim of a kind.
    fn pop_victim(&mut self, kind: State) -> Option<Victim> {
        self.eviction.pop(kind, &self.senders, self.head.base_fee_wei)
    }

    /// Undoes a plan that did not succeed.
    fn forget(&mut self, plan: Plan) {
        for (_, victim) in plan.victims {
            if victim.depth() == 0 {
                self.touch(victim.sender());
            }
        }
    }

    /// Evicts the last one of a sender.
    fn evict(&mut self, s: usize, kind: State) {
        let last = self.senders[s].evictable(kind, 0).expect("a victim has one to give");
        self.drop_at(s, last, Reason::Evicted);
        if self.senders[s].txs.is_empty() {
            self.forget_sender(s);
        } else {
            self.touch(s);
        }
    }
}
