//! What was sent and what became of it, for those who send, who watches and who reports.

use alloy_primitives::{B256, map::B256Map};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

/// What happened to a transaction that was accepted.
#[derive(Clone, Copy, Debug)]
struct Times {
    accepted: Instant,
    sealed: Option<Instant>,
    finalized: Option<Instant>,
}

#[derive(Debug, Default)]
struct Inner {
    transactions: B256Map<Times>,
    /// Transactions that a block held before their answers were taken in, and others' transactions; until they are final.
    early: B256Map<Instant>,
    /// How long each request took that was answered with acceptance.
    answers: Vec<Duration>,
    /// Receipts that were waited for.
    receipts: Step,
    refusals: BTreeMap<String, u64>,
    /// Rejections by a full pool, after which the same transaction was sent again.
    retries: BTreeMap<String, u64>,
    counts: Counts,
}

/// How many there are of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) accepted: u64,
    pub(super) sealed: u64,
    pub(super) finalized: u64,
    pub(super) refused: u64,
    /// Rejections by a full pool.
    pub(super) retried: u64,
    /// Transactions that a full pool rejected and that are still to be sent again.
    pub(super) waiting: u64,
    /// Those that were given up at the end.
    pub(super) unsent: u64,
    /// Accepted ones that a full pool evicted, and accepted again.
    pub(super) evicted: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accepted, sealed, finalized, refused, retried, waiting, evicted, .. } = self;
        write!(f, "{accepted} accepted, {sealed} sealed, {finalized} final")?;
        if *retried > 0 {
            write!(f, ", {retried} rejected by the full pool and sent again, {waiting} of them wait")?;
        }
        if *evicted > 0 {
            write!(f, ", {evicted} evicted and sent again")?;
        }
        if *refused > 0 { write!(f, ", {refused} refused") } else { Ok(()) }
    }
}

/// One step of a transaction's way: when each of them took it, and how long that took each.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) moments: Vec<Instant>,
    pub(super) latencies: Vec<Duration>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Inner>);

impl Ledger {
    /// A node has accepted it. If it had before, its pool has evicted it since.
    pub(super) fn accepted(&self, hash: B256, sent: Instant, now: Instant) {
        let mut inner = self.0.lock();
        inner.answers.push(now.duration_since(sent));
        let Inner { transactions, early, counts, .. } = &mut *inner;
        let mut is_new = false;
        transactions.entry(hash).or_insert_with(|| {
            is_new = true;
            let sealed = early.remove(&hash);
            counts.sealed += u64::from(sealed.is_some());
            Times { accepted: now, sealed, finalized: None }
        });
        let count = if is_new { &mut counts.accepted } else { &mut counts.evicted };
        *count += 1;
    }

    /// Whoever waited for a receipt has it.
    pub(super) fn receipt(&self, sent: Instant, now: Instant) {
        let Step { moments, latencies } = &mut self.0.lock().receipts;
        moments.push(now);
        latencies.push(now.duration_since(sent));
    }

    /// The receipts that were waited for, from the request on.
    pub(super) fn receipts(&self) -> Step {
        self.0.lock().receipts.clone()
    }

    /// Whether a node has ever accepted it.
    pub(super) fn knows(&self, hash: &B256) -> bool {
        self.0.lock().transactions.contains_key(hash)
    }

    /// A node has refused one.
    pub(super) fn refused(&self, why: &str) {
        let mut inner = self.0.lock();
        *inner.refusals.entry(why.to_owned()).or_default() += 1;
        inner.counts.refused += 1;
    }

    /// A full pool has rejected one, which will be sent again.
    pub(super) fn rejected(&self, why: &str) {
        let mut inner = self.0.lock();
        *inner.retries.entry(kind(why)).or_default() += 1;
        inner.counts.retried += 1;
    }

    /// A thread has so many more, or fewer, to send again.
    pub(super) fn waiting(&self, before: usize, now: usize) {
        let counts = &mut self.0.lock().counts;
        counts.waiting = counts.waiting + now as u64 - before as u64;
    }

    /// A thread has given these up, which it would have sent again. Those that were accepted once count as such.
    pub(super) fn unsent(&self, hashes: impl Iterator<Item = B256>) {
        let mut inner = self.0.lock();
        let count = hashes.filter(|hash| !inner.transactions.contains_key(hash)).count();
        inner.counts.unsent += count as u64;
    }

    /// A block holds these.
    pub(super) fn sealed(&self, hashes: &[B256], now: Instant) {
        let mut inner = self.0.lock();
        let Inner { transactions, early, counts, .. } = &mut *inner;
        for hash in hashes {
            match transactions.get_mut(hash) {
                Some(times) if times.sealed.is_none() => {
                    times.sealed = Some(now);
                    counts.sealed += 1;
                }
                Some(_) => {}
                None => {
                    early.entry(*hash).or_insert(now);
                }
            }
        }
    }

    /// The block with these is final.
    pub(super) fn finalized(&self, hashes: &[B256], now: Instant) {
        let mut inner = self.0.lock();
        let Inner { transactions, early, counts, .. } = &mut *inner;
        for hash in hashes {
            early.remove(hash);
            if let Some(times) = transactions.get_mut(hash).filter(|times| times.finalized.is_none()) {
                times.finalized = Some(now);
                counts.finalized += 1;
            }
        }
    }

    /// How many there are of each kind.
    pub(super) fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// Accepted and not yet final.
    pub(super) fn open(&self) -> u64 {
        let counts = self.counts();
        counts.accepted - counts.finalized
    }

    /// Why nodes refused, and how often.
    pub(super) fn refusals(&self) -> BTreeMap<String, u64> {
        self.0.lock().refusals.clone()
    }

    /// Why a full pool rejected, and how often.
    pub(super) fn retries(&self) -> BTreeMap<String, u64> {
        self.0.lock().retries.clone()
    }

    /// Accepted, sealed, final.
    pub(super) fn steps(&self) -> [Step; 3] {
        let inner = self.0.lock();
        let mut steps = [Step::default(), Step::default(), Step::default()];
        steps[0].latencies = inner.answers.clone();
        for times in inner.transactions.values() {
            steps[0].moments.push(times.accepted);
            for (step, moment) in [(1, times.sealed), (2, times.finalized)] {
                if let Some(moment) = moment {
                    steps[step].moments.push(moment);
                    steps[step].latencies.push(moment.saturating_duration_since(times.accepted));
                }
            }
        }
        steps
    }
}

/// A reason without its numbers, so that there are few of them.
fn kind(why: &str) -> String {
    why.split(':').next().unwrap_or(why).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_may_come_before_the_answer() {
        let (ledger, begin) = (Ledger::default(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        let (ours, others) = (B256::repeat_byte(1), B256::repeat_byte(2));
        ledger.sealed(&[ours, others], at(1));
        assert_eq!(ledger.counts().sealed, 0, "it may be anyone's");
        ledger.accepted(ours, at(0), at(2));
        ledger.sealed(&[ours], at(3));
        assert_eq!((ledger.counts().accepted, ledger.counts().sealed), (1, 1));
        ledger.finalized(&[ours, others], at(9));
        assert_eq!(ledger.steps()[1].latencies, [Duration::ZERO]);
        assert_eq!((ledger.open(), ledger.0.lock().early.len()), (0, 0));
    }
}
