//! Counts that are not simply believed. A provider that is broken, or of another chain under the same number, may say
//! anything, and what is final is never taken back: so a count that leaps is looked at by a person first. A count that
//! stays below what was final is shown as well, for one of the two must be wrong.

use super::{Account, watch::millis};
use crate::{EventKind, View};
use types::Time;

/// The farthest that the chain's count may rise between two looks, in transactions.
const LEAP_MAX: u64 = 1_000_000;
/// No account has ever sent as many transactions.
const COUNT_MAX: u64 = 1 << 40;

impl Account {
    /// Whether a look is not to be taken in, because no account moves so fast. It is kept for an operator who knows better.
    pub(super) fn is_doubtful(&mut self, view: &View, now: Time) -> bool {
        let known = self.row.next.max(self.count());
        let leaps = self.row.started && view.latest_count > known.saturating_add(LEAP_MAX);
        if !leaps && view.latest_count <= COUNT_MAX {
            self.doubted = None;
            return false;
        }
        self.doubted = Some((*view, now));
        self.doubt(
            Some("the chain's transaction count has leapt; reset the nonces if it is right"),
            view,
            now,
        );
        true
    }

    /// An operator says that the count is right after all.
    pub(super) fn believe(&mut self, now: Time) {
        let fresh = |at: Time| now.since(at) <= millis(self.config.view_age_max_ms);
        let doubted = self.doubted.take().filter(|(view, at)| fresh(*at) && view.latest_count <= COUNT_MAX);
        if let Some((view, at)) = doubted {
            self.take_view(view, at);
        }
    }

    /// Looks whether the chain and the book contradict each other.
    pub(super) fn watch_counts(&mut self, view: &View, now: Time) {
        let fell = view.latest_count < self.row.final_count;
        self.fell_since = fell.then(|| self.fell_since.unwrap_or(now));
        // One node may lag behind another for a while.
        let stays = |since: Time| now.since(since) >= millis(self.config.stall_ms);
        let why = if self.fell_since.is_some_and(stays) {
            Some("the chain's transaction count is below what was final")
        } else if self.is_behind() {
            Some("others have used more nonces than can be followed while one of ours is open")
        } else {
            None
        };
        self.doubt(why, view, now);
    }

    /// Somebody must look at it; told once, until it is over.
    fn doubt(&mut self, why: Option<&str>, view: &View, now: Time) {
        if let Some(why) = why.filter(|_| !self.row.doubt_told) {
            let data = serde_json::json!({
                "reason": why,
                "latestCount": view.latest_count,
                "finalizedCount": view.finalized_count,
                "trackedNonce": self.row.next,
            });
            self.tell_account(EventKind::ActionRequired, data, now);
        }
        if self.row.doubt_told != why.is_some() {
            self.row.doubt_told = why.is_some();
            self.touch_row();
        }
    }

    /// Whether the chain says something that cannot be believed.
    pub fn doubts(&self) -> bool {
        self.row.doubt_told
    }
}
