//! What is known of the chain: the newest look at it, the counts that never fall, and when to look again.
//!
//! Counts are not simply believed. A provider that is broken, or of another chain under the same number, may say anything,
//! and what is final is never taken back: so a count that leaps is kept for an operator to look at first. A count that
//! stays below what was final is a contradiction as well, for one of the two must be wrong.
//!
//! Finality needs no old state. A node that has pruned the state at its final block cannot tell the count there; but the
//! count at the newest block was seen, and once that block, by its hash, is final, so is the count. Such a pair of block
//! and count is a *checkpoint*.

use crate::{BlockCheck, FeeMarket, Head, View};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use types::{Duration, Time};

/// The farthest that the chain's count may rise between two looks, in transactions.
const LEAP_MAX: u64 = 1_000_000;
/// No account has ever sent as many transactions.
const COUNT_MAX: u64 = 1 << 40;

/// Checkpoints that are kept. When there are more, the oldest and the newest matter most.
const CHECKPOINTS_MAX: usize = 64;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct ChainTracker {
    /// The highest final transaction count that was seen. It never falls.
    final_count: u64,
    /// The highest transaction count that was seen, and when it last rose.
    highest_count: u64,
    moved_at: Time,
    /// Whether one of these three, which are durable, has changed.
    changed: bool,
    view: Option<(View, Time)>,
    /// A look that was not believed.
    doubted: Option<(View, Time)>,
    /// Since when the chain's count is below what was final.
    fell_since: Option<Time>,
    /// When to look at the chain (again), and when it was last asked for.
    look_at: Time,
    asked_at: Time,
    /// Blocks that were asked after, and when.
    checked: BTreeMap<u64, Time>,
    /// Whether a node has refused a transaction because its type is that of EIP-1559.
    refuses_dynamic_fees: bool,
    /// Blocks that were the newest ones, and the count there, oldest first.
    checkpoints: VecDeque<(Head, u64)>,
    /// The highest count of a checkpoint that is final.
    proven: u64,
    /// The highest height that was said to be final.
    finalized: u64,
}

/// Blocks that are not final are asked after less often: only to see whether they have gone.
const UNFINAL_CHECKS: u32 = 5;

impl ChainTracker {
    /// What was stored. Nothing of it was looked at by this owner.
    pub(super) fn load(final_count: u64, highest_count: u64, moved_at: Time) -> Self {
        Self { final_count, highest_count, moved_at, ..Self::default() }
    }

    pub(super) fn final_count(&self) -> u64 {
        self.final_count
    }

    pub(super) fn highest_count(&self) -> u64 {
        self.highest_count
    }

    /// When the account's count last rose.
    pub(super) fn moved_at(&self) -> Time {
        self.moved_at
    }

    pub(super) fn has_changes(&self) -> bool {
        self.changed
    }

    /// The durable part is being written.
    pub(super) fn take_changes(&mut self) {
        self.changed = false;
    }

    /// The newest look, and when it came.
    pub(super) fn view(&self) -> Option<(&View, Time)> {
        self.view.as_ref().map(|(view, at)| (view, *at))
    }

    /// The newest look, if it is not older than this.
    pub(super) fn fresh_view(&self, now: Time, age_max: Duration) -> Option<View> {
        self.view.filter(|(_, at)| now.since(*at) <= age_max).map(|(view, _)| view)
    }

    /// The account's transaction count as the newest look has it, never below the final one.
    pub(super) fn count(&self) -> u64 {
        self.view.map_or(0, |(view, _)| view.latest_count).max(self.final_count)
    }

    /// The newest block of the newest look.
    pub(super) fn head(&self) -> u64 {
        self.view.map_or(0, |(view, _)| view.latest.number)
    }

    /// Whether transactions must have one gas price: by the chain's fee market, or because a node has refused others.
    pub(super) fn is_legacy(&self) -> bool {
        let market = self.view.map(|(view, _)| view.quote.market);
        self.refuses_dynamic_fees || market == Some(FeeMarket::GasPrice)
    }

    /// A node has refused a transaction for its type.
    pub(super) fn refuse_dynamic_fees(&mut self) {
        self.refuses_dynamic_fees = true;
    }

    /// The height below which nothing can go away, by the newest look.
    pub(super) fn finalized(&self) -> u64 {
        self.view.map_or(0, |(view, _)| view.finalized_number).max(self.finalized)
    }

    /// A height is said to be final.
    pub(super) fn finalize(&mut self, number: u64) {
        self.finalized = number;
        self.checked.retain(|checked, _| *checked > number);
    }

    /// Remembers which count a look has shown, for when its block is final. A lower count than before means that one of
    /// the two looks was wrong, or that a block has gone.
    fn add_checkpoint(&mut self, view: &View) {
        let (count, final_count) = (view.latest_count, self.final_count.max(self.proven));
        self.checkpoints.retain(|(_, seen)| *seen <= count && *seen > final_count);
        let is_new = self.checkpoints.back().is_none_or(|(_, seen)| *seen < count);
        if view.finalized_count.is_none() && is_new && count > final_count {
            if self.checkpoints.len() >= CHECKPOINTS_MAX {
                self.checkpoints.pop_back();
            }
            self.checkpoints.push_back((view.latest, count));
        }
    }

    /// Blocks of checkpoints that may be final by now.
    pub(super) fn checkpoints_due(&self) -> impl Iterator<Item = u64> + '_ {
        let finalized = self.finalized();
        self.checkpoints.iter().map(|(block, _)| block.number).filter(move |number| *number <= finalized)
    }

    /// What is at a height: the proof of a checkpoint there, or its end.
    pub(super) fn prove(&mut self, check: &BlockCheck) {
        let Some(hash) = check.hash else { return };
        let at = |(block, _): &(Head, u64)| block.number == check.number;
        let same = self.checkpoints.iter().filter(|checkpoint| at(checkpoint) && checkpoint.0.hash == hash);
        let proven = same.map(|(_, count)| *count).max().filter(|_| check.claims_finality());
        self.proven = self.proven.max(proven.unwrap_or_default());
        self.checkpoints
            .retain(|checkpoint| !at(checkpoint) || (checkpoint.0.hash == hash && !check.claims_finality()));
    }

    /// Takes a look in.
    pub(super) fn take_view(&mut self, view: View, now: Time) {
        self.add_checkpoint(&view);
        if view.latest_count > self.highest_count {
            (self.highest_count, self.moved_at) = (view.latest_count, now);
            self.changed = true;
        }
        self.view = Some((view, now));
    }

    /// Nonces below a checkpoint that is final are used for good, up to the lowest one that is bound here: who has used
    /// that one is a question of its own.
    pub(super) fn settle_proven(&mut self, lowest_bound: Option<u64>) {
        self.raise_final(self.proven.min(lowest_bound.unwrap_or(u64::MAX)));
    }

    /// So many transactions are final.
    pub(super) fn raise_final(&mut self, count: u64) {
        if count > self.final_count {
            self.final_count = count;
            self.changed = true;
        }
    }

    /// Whether the count has not risen for so long.
    pub(super) fn is_stalled(&self, now: Time, stall: Duration) -> bool {
        now.since(self.moved_at) >= stall
    }

    /// Whether a look is not to be taken in, because no account moves so fast from `known`, the count that the book has if
    /// it has begun. It is kept for an operator who knows better.
    pub(super) fn doubts(&mut self, view: &View, known: Option<u64>, now: Time) -> bool {
        let leaps = |known: u64| view.latest_count > known.max(self.count()).saturating_add(LEAP_MAX);
        let doubtful = known.is_some_and(leaps) || view.latest_count > COUNT_MAX;
        self.doubted = doubtful.then_some((*view, now));
        doubtful
    }

    /// An operator says that the count that was doubted is right after all.
    pub(super) fn believe(&mut self, now: Time, age_max: Duration) {
        let doubted = self.doubted.take();
        let fresh = |at: Time| now.since(at) <= age_max;
        if let Some((view, at)) = doubted.filter(|(view, at)| fresh(*at) && view.latest_count <= COUNT_MAX) {
            self.take_view(view, at);
        }
    }

    /// Whether looks have shown less than what was final for so long: one node may lag behind another for a while.
    pub(super) fn has_fallen(&mut self, view: &View, now: Time, stall: Duration) -> bool {
        let fell = view.latest_count < self.final_count;
        self.fell_since = fell.then(|| self.fell_since.unwrap_or(now));
        self.fell_since.is_some_and(|since| now.since(since) >= stall)
    }

    /// Whether it is time to look. If so, the next time is set for when no answer comes.
    pub(super) fn begin_look(&mut self, now: Time, patience: Duration) -> bool {
        let due = self.look_at <= now;
        if due {
            (self.look_at, self.asked_at) = (now + patience, now);
        }
        due
    }

    /// Looks again then, whatever was planned.
    pub(super) fn look_at(&mut self, at: Time) {
        self.look_at = at;
    }

    /// Looks then at the latest.
    pub(super) fn look_by(&mut self, at: Time) {
        self.look_at = self.look_at.min(at);
    }

    /// Looks again at once if the newest look is older than this. A look that is under way is waited for.
    pub(super) fn look_if_older(&mut self, now: Time, age_max: Duration) {
        if self.view.is_some_and(|(_, at)| now.since(at) >= age_max && self.asked_at <= at) {
            self.look_by(now);
        }
    }

    pub(super) fn next_look(&self) -> Time {
        self.look_at
    }

    /// Of these blocks, those to ask after now, at most `room` of them. The others are forgotten.
    pub(super) fn begin_checks(
        &mut self,
        numbers: &BTreeSet<u64>,
        now: Time,
        interval: Duration,
        room: usize,
    ) -> Vec<u64> {
        self.checked.retain(|number, _| numbers.contains(number));
        let finalized = self.finalized();
        let due = |number: &&u64| {
            let interval = if **number <= finalized { interval } else { interval * UNFINAL_CHECKS };
            self.checked.get(number).is_none_or(|at| now.since(*at) >= interval)
        };
        let due: Vec<u64> = numbers.iter().filter(due).take(room).copied().collect();
        self.checked.extend(due.iter().map(|number| (*number, now)));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Head, Quote};
    use alloy_primitives::{B256, U256};

    const AGE_MAX: Duration = Duration::from_millis(100);

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn view(latest_count: u64) -> View {
        View {
            latest: Head { number: 10, hash: B256::ZERO },
            latest_count,
            finalized_number: 8,
            finalized_count: None,
            balance: U256::ZERO,
            quote: Quote::default(),
        }
    }

    #[test]
    fn counts_never_fall_below_what_is_final() {
        let mut chain = ChainTracker::load(5, 6, at(1));
        assert_eq!(chain.count(), 5);
        chain.take_view(view(7), at(2));
        chain.raise_final(6);
        chain.take_view(view(4), at(3));
        assert_eq!((chain.count(), chain.highest_count(), chain.moved_at()), (6, 7, at(2)));
        assert!(chain.has_changes() && chain.is_stalled(at(12), Duration::from_millis(10)));
        chain.take_changes();
        chain.take_view(view(7), at(4));
        chain.raise_final(5);
        assert!(!chain.has_changes(), "nothing has risen");
    }

    #[test]
    fn a_leap_is_believed_only_at_an_operators_word_and_while_it_is_fresh() {
        let mut chain = ChainTracker::default();
        // Before the book has begun any sane count may be the first.
        assert!(!chain.doubts(&view(LEAP_MAX * 2), None, at(0)));
        assert!(chain.doubts(&view(COUNT_MAX + 1), None, at(0)));
        chain.believe(at(1), AGE_MAX);
        assert_eq!(chain.view(), None, "no account has sent so many");

        assert!(!chain.doubts(&view(LEAP_MAX), Some(0), at(0)));
        assert!(chain.doubts(&view(LEAP_MAX + 1), Some(0), at(0)));
        chain.believe(at(101), AGE_MAX);
        assert_eq!(chain.view(), None, "it is too old");
        assert!(chain.doubts(&view(LEAP_MAX + 1), Some(0), at(0)));
        chain.believe(at(100), AGE_MAX);
        assert_eq!(chain.count(), LEAP_MAX + 1);
        assert!(chain.fresh_view(at(100), AGE_MAX).is_some() && chain.fresh_view(at(101), AGE_MAX).is_none());
    }

    #[test]
    fn a_count_below_what_was_final_is_reported_if_it_stays() {
        let mut chain = ChainTracker::load(5, 5, at(0));
        let stall = Duration::from_millis(50);
        assert!(!chain.has_fallen(&view(4), at(0), stall) && !chain.has_fallen(&view(4), at(49), stall));
        assert!(!chain.has_fallen(&view(5), at(50), stall), "another node knows better");
        assert!(!chain.has_fallen(&view(4), at(60), stall) && chain.has_fallen(&view(4), at(110), stall));
    }

    #[test]
    fn a_count_is_final_once_its_block_is() {
        let mut chain = ChainTracker::default();
        let block = Head { number: 10, hash: B256::repeat_byte(10) };
        let seen = |number, latest_count| View {
            latest: Head { number, hash: B256::repeat_byte(number as u8) },
            ..view(latest_count)
        };
        chain.take_view(seen(10, 5), at(0));
        chain.take_view(seen(11, 5), at(1));
        assert_eq!(chain.checkpoints_due().count(), 0, "it is not final by far");
        chain.take_view(View { finalized_number: 10, ..seen(12, 6) }, at(2));
        assert_eq!(chain.checkpoints_due().collect::<Vec<_>>(), [10]);
        chain.prove(&BlockCheck { number: 10, hash: None, finalized_number: 10 });
        chain.prove(&BlockCheck { number: 10, hash: Some(block.hash), finalized_number: 9 });
        chain.settle_proven(None);
        assert_eq!(chain.final_count(), 0);
        chain.prove(&BlockCheck { number: 10, hash: Some(block.hash), finalized_number: 10 });
        chain.settle_proven(Some(4));
        assert_eq!(chain.final_count(), 4, "a bound nonce settles for itself");
        chain.settle_proven(None);
        assert_eq!(chain.final_count(), 5);
        // Another block stands there: its count was of a branch that was left.
        chain.prove(&BlockCheck { number: 12, hash: Some(B256::ZERO), finalized_number: 10 });
        chain.prove(&BlockCheck { number: 12, hash: Some(B256::repeat_byte(12)), finalized_number: 12 });
        chain.settle_proven(None);
        assert_eq!(chain.final_count(), 5);
    }

    #[test]
    fn a_count_that_falls_takes_its_checkpoints_with_it() {
        let mut chain = ChainTracker::default();
        for count in 1..200 {
            chain.take_view(
                View { latest: Head { number: count, hash: B256::ZERO }, ..view(count) },
                at(count),
            );
        }
        assert_eq!(chain.checkpoints.len(), CHECKPOINTS_MAX);
        assert_eq!((chain.checkpoints[0].1, chain.checkpoints[CHECKPOINTS_MAX - 1].1), (1, 199));
        chain.take_view(view(2), at(300));
        assert_eq!(chain.checkpoints.len(), 2);
    }

    #[test]
    fn a_look_without_an_answer_is_taken_again() {
        let mut chain = ChainTracker::default();
        let patience = Duration::from_millis(10);
        assert!(chain.begin_look(at(1), patience) && !chain.begin_look(at(10), patience));
        assert!(chain.begin_look(at(11), patience));
        chain.look_at(at(100));
        chain.look_by(at(50));
        chain.look_by(at(70));
        assert_eq!(chain.next_look(), at(50));
    }

    #[test]
    fn each_block_is_asked_after_once_in_an_interval() {
        let mut chain = ChainTracker::default();
        let interval = Duration::from_millis(10);
        chain.finalize(3);
        let mut ask = |numbers: &[u64], now: u64, room: usize| {
            chain.begin_checks(&numbers.iter().copied().collect(), at(now), interval, room)
        };
        assert_eq!(ask(&[3, 1, 2], 0, 2), [1, 2]);
        assert_eq!(ask(&[1, 2, 3], 1, 2), [3]);
        assert_eq!(ask(&[1, 2, 3], 10, 9), [1, 2]);
        // One that is not needed for a while is asked after at once when it is.
        assert_eq!(ask(&[2, 3], 10, 9), Vec::<u64>::new());
        assert_eq!(ask(&[1, 2], 11, 9), [1]);
        // One that is not final is only looked at now and then, until it is.
        assert_eq!((ask(&[4], 20, 9), ask(&[4], 30, 9), ask(&[4], 70, 9)), (vec![4], vec![], vec![4]));
        chain.finalize(4);
        assert_eq!(chain.begin_checks(&BTreeSet::from([4]), at(71), interval, 9), [4]);
    }
}
