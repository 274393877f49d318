//! The nonce book: `[base, next)` is the disjoint union of final, foreign, bound, leased and free.
//!
//! The book owns one entry for each nonce of the range: its durable state, and the [`Watch`] over its sends, which is new
//! whenever the state is. It knows nothing of the chain but what it is told: `count` is the account's transaction count,
//! below which every nonce is used up, and `final_count` the part of it that cannot be taken back.

use super::watch::Watch;
use crate::{Mined, Nonce, NonceLease, NonceState, Slot};
use alloy_primitives::U256;
use std::collections::{BTreeMap, BTreeSet};
use types::{Duration, Time};

#[derive(Clone, Debug)]
struct Entry {
    state: NonceState,
    watch: Watch,
    /// Since when a foreign transaction is not seen any more.
    gone_since: Option<Time>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct NonceBook {
    /// Whether the chain was looked at, so that `base` and `next` mean something.
    started: bool,
    base: Nonce,
    next: Nonce,
    entries: BTreeMap<Nonce, Entry>,
    /// Nonces whose rows are to be written or deleted.
    changed: BTreeSet<Nonce>,
    /// Whether `started`, `base` or `next` have changed, which are part of the account's row.
    range_changed: bool,
    /// Since when the chain's count is below the book.
    below_since: Option<Time>,
    /// Bound nonces of which nothing is known to be in a block.
    waiting: BTreeSet<Nonce>,
    /// The others, by the block.
    mined: BTreeMap<u64, BTreeSet<Nonce>>,
    /// What all entries take, in bytes.
    bytes: usize,
}

/// What an entry takes besides signed transactions and receipts, about, in bytes.
const ENTRY_BYTES: usize = 512;

/// What an entry takes, about, in bytes.
fn bytes_of(state: &NonceState) -> usize {
    let attempts = state.slot().into_iter().flat_map(|slot| &slot.attempts);
    ENTRY_BYTES + attempts.map(|attempt| attempt.bytes.len() + ENTRY_BYTES / 2).sum::<usize>()
}

/// So far a book reaches down at most, in nonces.
const REACH_MAX: u64 = 1_000;

impl NonceBook {
    /// The book as it was stored. Everything that is bound counts as sent.
    pub(super) fn load(started: bool, base: Nonce, next: Nonce, states: BTreeMap<Nonce, NonceState>) -> Self {
        let entry = |state: NonceState| {
            let watch = if state.slot().is_some() { Watch::loaded() } else { Watch::default() };
            Entry { state, watch, gone_since: None }
        };
        let entries = states.into_iter().map(|(nonce, state)| (nonce, entry(state))).collect();
        let mut book = Self { started, base, next, entries, ..Self::default() };
        for nonce in book.entries.keys().copied().collect::<Vec<_>>() {
            book.index(nonce, true);
        }
        book
    }

    /// Whether each nonce of the range has an entry, and each bound one an attempt.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.entries.keys().copied().eq(self.base..self.next) {
            return Err(format!("the rows are not those of the nonces {}..{}", self.base, self.next));
        }
        match self.bound().find(|(_, slot)| slot.attempts.is_empty()) {
            Some((nonce, _)) => Err(format!("nonce {nonce} is bound without an attempt")),
            None => Ok(()),
        }
    }

    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// The lowest nonce with a row.
    pub(super) fn base(&self) -> Nonce {
        self.base
    }

    /// The nonce after the highest one with a row.
    pub(super) fn next(&self) -> Nonce {
        self.next
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, nonce: Nonce) -> Option<&NonceState> {
        self.entries.get(&nonce).map(|entry| &entry.state)
    }

    /// Where the nonces stand, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Nonce, &NonceState)> {
        self.entries.iter().map(|(nonce, entry)| (*nonce, &entry.state))
    }

    pub(super) fn slot(&self, nonce: Nonce) -> Option<&Slot> {
        self.get(nonce).and_then(NonceState::slot)
    }

    /// Bound nonces, in order.
    pub(super) fn bound(&self) -> impl Iterator<Item = (Nonce, &Slot)> {
        self.iter().filter_map(|(nonce, state)| Some((nonce, state.slot()?)))
    }

    /// Bound nonces of which no attempt is known to be in a block, in order, with their watches.
    pub(super) fn unmined(&mut self) -> impl Iterator<Item = (Nonce, &Slot, &mut Watch)> {
        // Those in blocks that are not final yet may be many, and are below.
        let first = self.waiting.first().copied().unwrap_or(Nonce::MAX);
        self.entries.range_mut(first..).filter_map(|(nonce, entry)| {
            let slot = entry.state.slot().filter(|slot| slot.mined.is_none())?;
            Some((*nonce, slot, &mut entry.watch))
        })
    }

    pub(super) fn watch(&self, nonce: Nonce) -> Option<&Watch> {
        self.entries.get(&nonce).map(|entry| &entry.watch)
    }

    pub(super) fn watch_mut(&mut self, nonce: Nonce) -> Option<&mut Watch> {
        self.entries.get_mut(&nonce).map(|entry| &mut entry.watch)
    }

    /// Whether bytes for a nonce may have left. What the book does not have as bound is taken as such.
    pub(super) fn may_have_left(&self, nonce: Nonce) -> bool {
        let entry = self.entries.get(&nonce).filter(|entry| entry.state.slot().is_some());
        entry.is_none_or(|entry| entry.watch.may_have_left())
    }

    /// When the first of the nonces wants to be sent after `now`.
    pub(super) fn next_send(&self, now: Time) -> Option<Time> {
        let first = self.waiting.first().copied().unwrap_or(Nonce::MAX);
        let waiting = self.entries.range(first..).map(|(_, entry)| entry.watch.send_at());
        waiting.filter(|at| *at > now).min()
    }

    /// Puts a nonce of the range, or the one after it, somewhere else.
    pub(super) fn put(&mut self, nonce: Nonce, state: NonceState) {
        self.insert(nonce, state, Watch::default());
    }

    /// Binds a nonce to its first attempt, which is to be sent now.
    pub(super) fn bind(&mut self, nonce: Nonce, slot: Slot, now: Time) {
        self.insert(nonce, NonceState::Bound(slot), Watch::bound(now));
    }

    fn insert(&mut self, nonce: Nonce, state: NonceState, watch: Watch) {
        self.index(nonce, false);
        self.entries.insert(nonce, Entry { state, watch, gone_since: None });
        self.index(nonce, true);
        self.next = self.next.max(nonce + 1);
        self.changed.insert(nonce);
    }

    /// Changes a bound nonce. The change says whether it did anything; only then the row is written.
    pub(super) fn edit(&mut self, nonce: Nonce, change: impl FnOnce(&mut Slot) -> bool) -> bool {
        self.index(nonce, false);
        let state = self.entries.get_mut(&nonce).map(|entry| &mut entry.state);
        let has_changed = match state {
            Some(NonceState::Bound(slot)) => change(slot),
            _ => false,
        };
        self.index(nonce, true);
        if has_changed {
            self.changed.insert(nonce);
        }
        has_changed
    }

    /// How many nonces that are not used up are bound or on loan.
    pub(super) fn open(&self, count: u64) -> usize {
        let taken = |entry: &Entry| matches!(entry.state, NonceState::Bound(_) | NonceState::Leased(_));
        self.entries.range(count..).filter(|(_, entry)| taken(entry)).count()
    }

    /// Free nonces that can still be used.
    pub(super) fn free(&self, count: u64) -> impl Iterator<Item = Nonce> + '_ {
        let free = |entry: &Entry| matches!(entry.state, NonceState::Free { .. });
        self.entries.range(count..).filter(move |(_, entry)| free(entry)).map(|(nonce, _)| *nonce)
    }

    /// What is promised to the chain by bound nonces and not paid yet, in wei.
    pub(super) fn cost(&self, count: u64) -> U256 {
        let slots = self.entries.range(count..).filter_map(|(_, entry)| entry.state.slot());
        slots.map(Slot::cost).fold(U256::ZERO, U256::saturating_add)
    }

    /// Whether the chain has used nonces that the book has no room for.
    pub(super) fn is_behind(&self, count: u64) -> bool {
        self.next < count
    }

    /// Begins at the chain's final count, if that was not done before.
    pub(super) fn start(&mut self, final_count: u64) {
        if !self.started {
            (self.started, self.base, self.next) = (true, final_count, final_count);
            self.range_changed = true;
        }
    }

    /// The highest count that can be explained by what is bound here from `count` on.
    pub(super) fn explained(&self, count: u64) -> u64 {
        let bound = self.entries.range(count..).zip(count..);
        let ours = bound.take_while(|((nonce, entry), next)| *nonce == next && entry.state.slot().is_some());
        count + ours.count() as u64
    }

    /// The lowest nonce that is bound.
    pub(super) fn lowest_bound(&self) -> Option<Nonce> {
        self.bound().next().map(|(nonce, _)| nonce)
    }

    /// Takes in nonces above the book that others have used. Where nothing is open below, the book begins anew at
    /// `from`: those below need no rows, however many they are. Of the others there are rows, but no more than there may
    /// be nonces that are not final: what is above has to wait, and until then no nonce is given out.
    pub(super) fn catch_up(&mut self, latest_count: u64, final_count: u64, from: u64, unfinal_max: usize) {
        if self.entries.is_empty() && self.next < from {
            (self.base, self.next) = (from, from);
            self.range_changed = true;
        }
        let room = unfinal_max.saturating_sub(self.entries.len()) as u64;
        let end = latest_count.max(final_count).min(self.next.saturating_add(room));
        for nonce in self.next..end {
            self.put(nonce, if nonce < final_count { NonceState::Final } else { NonceState::Foreign });
        }
    }

    /// A book that began at a count that was not final may find that the transactions below it have gone with their
    /// blocks. If they do not come back, their nonces become part of the book, to be filled.
    pub(super) fn reach_down(&mut self, latest_count: u64, final_count: u64, now: Time, grace: Duration) {
        let lowest = latest_count.max(final_count);
        if !self.started || lowest >= self.base {
            self.below_since = None;
            return;
        }
        let since = *self.below_since.get_or_insert(now);
        if now.since(since) < grace || self.base - lowest > REACH_MAX {
            return;
        }
        for nonce in lowest..self.base {
            self.put(nonce, NonceState::Foreign);
        }
        (self.base, self.range_changed) = (lowest, true);
    }

    /// Nonces without attempts of ours follow the chain: used up for good, or, after a while, free again.
    pub(super) fn settle_foreign(&mut self, latest_count: u64, final_count: u64, now: Time, grace: Duration) {
        let mut moves = vec![];
        for (nonce, entry) in &mut self.entries {
            match entry.state {
                NonceState::Foreign | NonceState::Free { .. } | NonceState::Leased(_)
                    if *nonce < final_count =>
                {
                    moves.push((*nonce, NonceState::Final));
                }
                NonceState::Foreign => {
                    let gone = *nonce >= latest_count;
                    entry.gone_since = gone.then(|| entry.gone_since.unwrap_or(now));
                    if entry.gone_since.is_some_and(|since| now.since(since) >= grace) {
                        moves.push((*nonce, NonceState::Free { since: now }));
                    }
                }
                _ => {}
            }
        }
        for (nonce, state) in moves {
            self.put(nonce, state);
        }
    }

    /// Frees foreign nonces from `count` on at once: the chain does not show their transactions.
    pub(super) fn forget_foreign(&mut self, count: u64, now: Time) {
        let foreign = self.entries.range(count..).filter(|(_, entry)| entry.state == NonceState::Foreign);
        for nonce in foreign.map(|(nonce, _)| *nonce).collect::<Vec<_>>() {
            self.put(nonce, NonceState::Free { since: now });
        }
    }

    /// Drops final nonces at the bottom and free ones at the top: nothing needs them.
    pub(super) fn tidy(&mut self, count: u64) {
        while let Some(NonceState::Final) = self.get(self.base) {
            self.remove(self.base);
            self.base += 1;
        }
        // Never below what the chain has: those nonces are used up, even if the one who told us has left.
        while let Some(top) = self.next.checked_sub(1).filter(|top| *top >= count.max(self.base)) {
            let Some(NonceState::Free { .. }) = self.get(top) else { break };
            self.remove(top);
            self.next = top;
        }
    }

    /// Adds an entry to the lists of entries, or takes it out before it changes.
    fn index(&mut self, nonce: Nonce, add: bool) {
        let Some(entry) = self.entries.get(&nonce) else { return };
        let bytes = bytes_of(&entry.state);
        self.bytes = if add { self.bytes + bytes } else { self.bytes.saturating_sub(bytes) };
        let Some(slot) = entry.state.slot() else { return };
        match (&slot.mined, add) {
            (None, true) => drop(self.waiting.insert(nonce)),
            (None, false) => drop(self.waiting.remove(&nonce)),
            (Some(mined), true) => drop(self.mined.entry(mined.block().number).or_default().insert(nonce)),
            (Some(mined), false) => {
                let number = mined.block().number;
                if let Some(nonces) = self.mined.get_mut(&number) {
                    nonces.remove(&nonce);
                    if nonces.is_empty() {
                        self.mined.remove(&number);
                    }
                }
            }
        }
    }

    /// What all entries take, about, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The blocks that bound nonces are in.
    pub(super) fn mined_blocks(&self) -> impl Iterator<Item = u64> + '_ {
        self.mined.keys().copied()
    }

    /// The bound nonces that are in a block at this height.
    pub(super) fn mined_at(&self, number: u64) -> Vec<(Nonce, Mined)> {
        let nonces = self.mined.get(&number).into_iter().flatten();
        nonces.filter_map(|nonce| Some((*nonce, self.slot(*nonce)?.mined.clone()?))).collect()
    }

    fn remove(&mut self, nonce: Nonce) {
        self.index(nonce, false);
        self.entries.remove(&nonce);
        self.changed.insert(nonce);
        self.range_changed = true;
    }

    /// Nonces that a noop should fill: free for longer than the grace, or lent and not used.
    pub(super) fn to_fill(&self, count: u64, now: Time, grace: Duration) -> Vec<Nonce> {
        let due = |entry: &Entry| match &entry.state {
            NonceState::Free { since } => now.since(*since) >= grace,
            NonceState::Leased(loan) => loan.until <= now,
            _ => false,
        };
        self.entries.range(count..).filter(|(_, entry)| due(entry)).map(|(nonce, _)| *nonce).collect()
    }

    /// How many nonces are on loan.
    pub(super) fn loans(&self) -> usize {
        self.entries.values().filter(|entry| matches!(entry.state, NonceState::Leased(_))).count()
    }

    /// The loan of a nonce under this token.
    pub(super) fn loan(&self, nonce: Nonce, token: &str) -> Option<&NonceLease> {
        match self.get(nonce) {
            Some(NonceState::Leased(loan)) if loan.token == token => Some(loan),
            _ => None,
        }
    }

    /// Loans that have run out and were not reported, which from now on they are.
    pub(super) fn report_lost_loans(&mut self, now: Time) -> Vec<Nonce> {
        let mut lost = vec![];
        for (nonce, entry) in &mut self.entries {
            if let NonceState::Leased(loan) = &mut entry.state
                && loan.until <= now
                && !loan.reported
            {
                loan.reported = true;
                lost.push(*nonce);
            }
        }
        self.changed.extend(&lost);
        lost
    }

    /// How many rows of nonces are to be written.
    pub(super) fn changed_rows(&self) -> usize {
        self.changed.len()
    }

    pub(super) fn has_changes(&self) -> bool {
        self.range_changed || !self.changed.is_empty()
    }

    /// The nonces whose rows are to be written, or deleted if the book does not have them.
    pub(super) fn take_changes(&mut self) -> BTreeSet<Nonce> {
        self.range_changed = false;
        std::mem::take(&mut self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(100);
    const UNFINAL_MAX: usize = 4;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn states(book: &NonceBook) -> String {
        let letter = |state: &NonceState| match state {
            NonceState::Final => '.',
            NonceState::Foreign => 'x',
            NonceState::Bound(_) => 'B',
            NonceState::Leased(_) => 'L',
            NonceState::Free { .. } => 'o',
        };
        book.check().unwrap();
        format!("{}:{}", book.base(), book.iter().map(|(_, state)| letter(state)).collect::<String>())
    }

    fn lease(until: u64) -> NonceState {
        NonceState::Leased(NonceLease { token: "t".to_owned(), until: at(until), reported: false })
    }

    fn started() -> NonceBook {
        let mut book = NonceBook::default();
        book.start(5);
        book
    }

    #[test]
    fn it_begins_once_at_the_final_count() {
        let mut book = started();
        assert!(book.has_changes());
        book.start(9);
        assert_eq!((book.base(), book.next()), (5, 5));
        assert!(book.take_changes().is_empty() && !book.has_changes());
    }

    #[test]
    fn others_nonces_are_taken_in_as_far_as_there_is_room() {
        let mut book = started();
        // Final ones need no rows while nothing is open below.
        book.catch_up(10, 8, 8, UNFINAL_MAX);
        assert_eq!(states(&book), "8:xx");
        book.catch_up(100, 8, 8, UNFINAL_MAX);
        assert_eq!(states(&book), "8:xxxx");
        assert!(book.is_behind(100) && !book.is_behind(12));
        // With something open below they do.
        book.settle_foreign(100, 9, at(0), GRACE);
        assert_eq!(states(&book), "8:.xxx");
    }

    #[test]
    fn a_foreign_nonce_that_the_chain_forgets_is_free_after_the_grace() {
        let mut book = started();
        book.catch_up(6, 5, 5, UNFINAL_MAX);
        book.settle_foreign(5, 5, at(0), GRACE);
        // It is seen again: the wait begins anew.
        book.settle_foreign(6, 5, at(50), GRACE);
        book.settle_foreign(5, 5, at(60), GRACE);
        book.settle_foreign(5, 5, at(159), GRACE);
        assert_eq!(states(&book), "5:x");
        book.settle_foreign(5, 5, at(160), GRACE);
        assert_eq!(states(&book), "5:o");
        assert_eq!(book.free(5).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_book_that_began_too_high_reaches_down_once_the_count_stays_below() {
        let mut book = started();
        book.reach_down(3, 0, at(0), GRACE);
        book.reach_down(5, 0, at(50), GRACE);
        book.reach_down(3, 0, at(60), GRACE);
        book.reach_down(3, 0, at(159), GRACE);
        assert_eq!(states(&book), "5:");
        book.reach_down(3, 4, at(160), GRACE);
        assert_eq!(states(&book), "4:x", "what is final is used for good");
        book.settle_foreign(3, 3, at(200), GRACE);
        book.settle_foreign(3, 3, at(300), GRACE);
        assert_eq!(states(&book), "4:o");
    }

    #[test]
    fn only_the_ends_are_tidied_and_nothing_that_the_chain_has_used() {
        let mut book = started();
        for nonce in 5..10 {
            book.put(nonce, NonceState::Free { since: at(0) });
        }
        book.put(5, NonceState::Final);
        book.put(7, lease(50));
        book.tidy(5);
        assert_eq!(states(&book), "6:oL");
        book.put(8, NonceState::Free { since: at(0) });
        book.tidy(9);
        assert_eq!(states(&book), "6:oLo");
        // Rows of all that went are deleted.
        assert_eq!(book.take_changes(), (5..10).collect());
    }

    #[test]
    fn loans_are_reported_once_and_filled_when_they_are_over() {
        let mut book = started();
        book.put(5, lease(50));
        book.put(6, NonceState::Free { since: at(0) });
        assert_eq!(book.to_fill(5, at(49), GRACE), Vec::<Nonce>::new());
        assert_eq!(book.to_fill(5, at(100), GRACE), [5, 6]);
        assert_eq!(book.to_fill(6, at(100), GRACE), [6]);
        assert_eq!((book.report_lost_loans(at(50)), book.report_lost_loans(at(51))), (vec![5], vec![]));
        assert!(
            book.loan(5, "t").is_some() && book.loan(5, "other").is_none() && book.loan(6, "t").is_none()
        );
        assert_eq!((book.loans(), book.open(5), book.open(6)), (1, 1, 0));
    }

    #[test]
    fn a_change_that_does_nothing_writes_nothing() {
        let mut book = started();
        book.bind(5, Slot::new(None, crate::tests::attempt(1)), at(0));
        book.take_changes();
        assert!(!book.edit(5, |_| false) && !book.edit(6, |_| true) && !book.has_changes());
        assert!(book.edit(5, |slot| !std::mem::replace(&mut slot.stalled, true)));
        assert_eq!(book.take_changes(), [5].into());
    }

    #[test]
    fn only_what_was_never_handed_out_is_certain_not_to_have_left() {
        let mut book = started();
        book.bind(5, Slot::new(None, crate::tests::attempt(1)), at(0));
        assert!(!book.may_have_left(5) && book.may_have_left(4) && book.may_have_left(6));
        let states = book.iter().map(|(nonce, state)| (nonce, state.clone())).collect();
        assert!(NonceBook::load(true, 5, 6, states).may_have_left(5));
    }
}
