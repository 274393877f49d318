//! The nonce book: `[base, next)` is the disjoint union of final, foreign, bound, leased and free.

use super::{Account, draft::Waiting, watch::millis};
use crate::{EventKind, Nonce, Place, View};
use alloy_primitives::U256;
use types::Time;

impl Account {
    /// The account's transaction count as the newest look at the chain has it, never below the final one.
    pub(super) fn count(&self) -> u64 {
        let latest = self.view.as_ref().map_or(0, |(view, _)| view.latest_count);
        latest.max(self.row.final_count)
    }

    /// The newest look at the chain, if it is fresh enough to bind on.
    pub(super) fn fresh_view(&self, now: Time) -> Option<View> {
        let fresh = |at: Time| now.since(at) <= millis(self.config.view_age_max_ms);
        self.view.as_ref().filter(|(_, at)| self.row.started && fresh(*at)).map(|(view, _)| *view)
    }

    /// Puts a nonce somewhere else.
    pub(super) fn put(&mut self, nonce: Nonce, place: Place) {
        if place.slot().is_none() {
            self.watches.remove(&nonce);
        }
        self.places.insert(nonce, place);
        self.touch_place(nonce);
        self.touch_row();
    }

    /// How many nonces that are not used up are bound, on loan, or about to be bound.
    pub fn in_flight(&self) -> usize {
        self.open_nonces() + self.drafts.values().filter(|waiting| waiting.takes_nonce()).count()
    }

    /// How many nonces that are not used up are bound or on loan.
    pub(super) fn open_nonces(&self) -> usize {
        let taken = |place: &Place| matches!(place, Place::Bound(_) | Place::Leased(_));
        self.places.range(self.count()..).filter(|(_, place)| taken(place)).count()
    }

    /// Free nonces that can still be used.
    pub(super) fn free(&self) -> impl Iterator<Item = Nonce> + '_ {
        let free = |place: &Place| matches!(place, Place::Free { .. });
        self.places.range(self.count()..).filter(move |(_, place)| free(place)).map(|(nonce, _)| *nonce)
    }

    /// What is promised to the chain but not paid yet, in wei, with all drafts.
    pub(super) fn reserved(&self) -> U256 {
        let slots = self.places.range(self.count()..).filter_map(|(_, place)| place.slot());
        let bound = slots.map(|slot| slot.cost());
        let drafts = self.drafts.values().map(|waiting| {
            let slot = self.places.get(&waiting.draft.nonce).and_then(Place::slot);
            waiting.cost().saturating_sub(slot.map_or(U256::ZERO, |slot| slot.cost()))
        });
        bound.chain(drafts).fold(U256::ZERO, U256::saturating_add)
    }

    /// The nonce to use next: a free one, or a new one. `None` if there are too many free ones that cannot be used, or the
    /// book is behind the chain.
    pub(super) fn next_nonce(&self) -> Option<Nonce> {
        let drafted = |nonce: &Nonce| self.drafts.values().any(|waiting| waiting.draft.nonce == *nonce);
        if let Some(nonce) = self.free().find(|nonce| !drafted(nonce)) {
            return Some(nonce);
        }
        if self.free().count() > self.config.free_max || self.is_behind() {
            return None;
        }
        let new = |waiting: &&Waiting| waiting.is_new() && waiting.draft.nonce >= self.row.next;
        Some(self.row.next + self.drafts.values().filter(new).count() as u64)
    }

    /// Brings the book in line with the chain: what is used up, what came back, what nothing needs any more.
    pub(super) fn reconcile(&mut self, view: &View, now: Time) {
        if !self.row.started {
            self.row.started = true;
            self.row.base = view.finalized_count;
            self.row.next = view.finalized_count;
            self.touch_row();
        }
        if view.finalized_count > self.row.final_count {
            self.row.final_count = view.finalized_count;
            self.touch_row();
        }
        self.settle_foreign(view, now);
        self.tidy();
        self.catch_up(view);
        self.tidy();
        self.watch_gaps(now);
    }

    /// Takes in nonces above the book that others have used. Where nothing is open below, those that are final need no
    /// rows, however many they are. Of the others there are rows, but no more than there may be nonces that are not
    /// final: what is above has to wait, and until then no nonce is given out.
    fn catch_up(&mut self, view: &View) {
        let final_count = self.row.final_count;
        if self.places.is_empty() && self.row.next < final_count {
            (self.row.base, self.row.next) = (final_count, final_count);
            self.touch_row();
        }
        let room = self.config.unfinal_max.saturating_sub(self.places.len()) as u64;
        let end = view.latest_count.max(final_count).min(self.row.next.saturating_add(room));
        for nonce in self.row.next..end {
            self.put(nonce, if nonce < final_count { Place::Final } else { Place::Foreign });
            self.row.next = nonce + 1;
        }
    }

    /// Whether the chain has used nonces that the book has no room for.
    pub(super) fn is_behind(&self) -> bool {
        self.row.next < self.count()
    }

    /// Nonces without attempts of ours follow the chain: used up for good, or, after a while, free again.
    fn settle_foreign(&mut self, view: &View, now: Time) {
        let (count, final_count) = (view.latest_count, self.row.final_count);
        let idle: Vec<Nonce> = self
            .places
            .iter()
            .filter(|(_, place)| matches!(place, Place::Foreign | Place::Free { .. } | Place::Leased(_)))
            .map(|(nonce, _)| *nonce)
            .collect();
        for nonce in idle {
            if nonce < final_count {
                self.put(nonce, Place::Final);
            } else if self.places.get(&nonce) == Some(&Place::Foreign) {
                let grace = millis(self.config.gap_grace_ms);
                let watch = self.watch(nonce);
                watch.gone_since = (nonce >= count).then(|| watch.gone_since.unwrap_or(now));
                if watch.gone_since.is_some_and(|since| now.since(since) >= grace) {
                    self.put(nonce, Place::Free { since: now });
                }
            }
        }
    }

    /// Drops final nonces at the bottom and free ones at the top: nothing needs them.
    pub(super) fn tidy(&mut self) {
        while let Some(Place::Final) = self.places.get(&self.row.base) {
            self.places.remove(&self.row.base);
            self.watches.remove(&self.row.base);
            self.touch_place(self.row.base);
            self.row.base += 1;
            self.touch_row();
        }
        // Never below what the chain has: those nonces are used up, even if the one who told us has left.
        while let Some(Place::Free { .. }) =
            self.row.next.checked_sub(1).and_then(|top| self.places.get(&top))
        {
            let top = self.row.next - 1;
            if top < self.count().max(self.row.base) {
                break;
            }
            self.places.remove(&top);
            self.touch_place(top);
            self.row.next = top;
            self.touch_row();
        }
    }

    /// Too many free nonces are somebody's mistake, and are reported once.
    pub(super) fn watch_gaps(&mut self, now: Time) {
        let free = self.free().count();
        let too_many = free > self.config.free_max;
        if too_many && !self.row.gap_told {
            self.tell_account(EventKind::NonceGap, serde_json::json!({ "freeNonces": free }), now);
        }
        if too_many != self.row.gap_told {
            self.row.gap_told = too_many;
            self.touch_row();
        }
    }
}
