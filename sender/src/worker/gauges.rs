//! The account in numbers.

use super::{Owned, Worker};
use crate::stats::Gauges;
use sender_model::{NonceState, State};
use std::{sync::atomic::Ordering, time::Duration};

/// How often numbers are made.
const SHOWN_EVERY_MS: u64 = 250;

impl Worker {
    /// Shows how the account stands: how loaded it is at once, everything else now and then.
    pub(super) fn show(&self, owned: &mut Owned) {
        let account = &owned.account;
        let waiting = account.waiting();
        self.gauge.load.store(waiting + account.in_flight(), Ordering::Relaxed);
        let now = self.shared.now();
        if now.since(owned.shown_at) < Duration::from_millis(SHOWN_EVERY_MS) && !account.is_idle() {
            return;
        }
        owned.shown_at = now;
        let (_, next) = account.range();
        let health = account.health(now);
        let mut gauges =
            Gauges { queue: waiting, held: health.held, next, stuck: health.stalled, ..Gauges::default() };
        for (_, state) in account.nonces() {
            match state {
                NonceState::Bound(slot) if slot.mined.is_none() => {
                    let owner = slot.owner.as_ref().and_then(|id| account.request(id));
                    let bound = owner.is_some_and(|request| matches!(request.state, State::Bound { .. }));
                    gauges.borrowed += usize::from(bound);
                    gauges.submitted += usize::from(!bound);
                }
                NonceState::Leased(_) => gauges.leased += 1,
                NonceState::Free { .. } => gauges.free += 1,
                NonceState::Bound(_) | NonceState::Final | NonceState::Foreign => {}
            }
        }
        let patience = Duration::from_millis(self.shared.config.view_age_max_ms);
        let seen = account.view().is_some_and(|(_, at)| now.since(at) <= patience);
        gauges.degraded = (!seen && !account.is_idle()) || account.doubts();
        let balance = account.view().map(|(view, _)| view.balance);
        self.gauge.funded.store(balance.map_or(0, |balance| balance.saturating_to()), Ordering::Relaxed);
        self.shared.stats.set(self.id, Some(gauges));
    }
}
