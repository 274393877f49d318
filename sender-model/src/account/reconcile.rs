//! The nonce book and the chain: what is used up, what is promised, which nonce comes next, and where the two disagree.

use super::{Account, events::Alert, watch::millis};
use crate::{Nonce, View};
use alloy_primitives::U256;
use types::Time;

impl Account {
    /// The newest look at the chain, if it is fresh enough to bind on.
    pub(super) fn fresh_view(&self, now: Time) -> Option<View> {
        let view = self.chain.fresh_view(now, millis(self.config.view_age_max_ms));
        view.filter(|_| self.book.is_started())
    }

    /// How many nonces that are not used up are bound, on loan, or about to be bound.
    pub fn in_flight(&self) -> usize {
        self.book.open(self.chain.count()) + self.signing.new_nonces()
    }

    /// What is promised to the chain but not paid yet, in wei, with all drafts.
    pub(super) fn reserved(&self) -> U256 {
        let bound = |nonce| self.book.slot(nonce).map_or(U256::ZERO, |slot| slot.cost());
        self.book.cost(self.chain.count()).saturating_add(self.signing.cost(bound))
    }

    /// Whether all that is promised can be paid, by the newest look at the chain.
    pub(super) fn can_pay(&self, more: U256) -> bool {
        self.chain.view().is_some_and(|(view, _)| self.reserved().saturating_add(more) <= view.balance)
    }

    /// The nonce to use next: a free one, or a new one. `None` if there are too many free ones that cannot be used, or the
    /// book is behind the chain.
    pub(super) fn next_nonce(&self) -> Option<Nonce> {
        let count = self.chain.count();
        if let Some(nonce) = self.book.free(count).find(|nonce| !self.signing.has(*nonce)) {
            return Some(nonce);
        }
        if self.book.free(count).count() > self.config.free_max || self.book.is_behind(count) {
            return None;
        }
        let next = self.book.next();
        Some(next + self.signing.new_from(next) as u64)
    }

    /// Brings the book in line with the chain: what is used up, what came back, what nothing needs any more.
    pub(super) fn reconcile(&mut self, view: &View, now: Time) {
        // Where no node tells the final count, the newest one has to do; see `NonceBook::reach_down`.
        let from = view.finalized_count.unwrap_or(view.latest_count);
        self.book.start(from);
        self.chain.raise_final(view.finalized_count.unwrap_or_default());
        self.chain.settle_proven(self.book.lowest_bound());
        let (count, final_count) = (self.chain.count(), self.chain.final_count());
        let grace = millis(self.config.gap_grace_ms);
        self.book.reach_down(view.latest_count, final_count, now, grace);
        self.book.settle_foreign(view.latest_count, final_count, now, grace);
        self.book.tidy(count);
        self.book.catch_up(view.latest_count, final_count, from.max(final_count), self.config.unfinal_max);
        self.book.tidy(count);
        self.report_gaps(now);
    }

    /// Too many free nonces mean that a caller is wrong, and are reported once.
    pub(super) fn report_gaps(&mut self, now: Time) {
        let free = self.book.free(self.chain.count()).count();
        let too_many = free > self.config.free_max;
        let data = too_many.then(|| serde_json::json!({ "freeNonces": free }));
        self.events.alert(Alert::Gaps, data, now);
    }

    /// Looks whether the chain and the book contradict each other.
    pub(super) fn compare_counts(&mut self, view: &View, now: Time) {
        let why = if self.chain.has_fallen(view, now, millis(self.config.stall_ms)) {
            Some("the chain's transaction count is below what was final")
        } else if self.book.is_behind(self.chain.count()) {
            Some("others have used more nonces than can be followed while one of ours is open")
        } else {
            None
        };
        self.report_doubt(why, view, now);
    }

    /// An operator must look at it; reported once, until it is over.
    pub(super) fn report_doubt(&mut self, why: Option<&str>, view: &View, now: Time) {
        let data = why.map(|why| {
            serde_json::json!({
                "reason": why,
                "latestCount": view.latest_count,
                "finalizedCount": view.finalized_count,
                "trackedNonce": self.book.next(),
            })
        });
        self.events.alert(Alert::Doubt, data, now);
    }

    /// Whether the chain says something that cannot be believed.
    pub fn doubts(&self) -> bool {
        self.events.alerts().doubt
    }

    /// Whether the account's next transaction has been waiting for long.
    pub(super) fn is_stalled(&self, now: Time) -> bool {
        self.chain.is_stalled(now, millis(self.config.stall_ms))
    }
}
