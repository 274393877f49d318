//! What to do now: recover, confirm, send, in this order and so much at a time.

use super::{Account, Action, watch::millis};
use crate::{CancelReason, EventKind, Nonce, Place, RequestId, Slot, State};
use std::collections::BTreeSet;
use types::Time;

impl Account {
    /// What to do now. Whatever is not done or not answered is asked for again later.
    ///
    /// Nothing in the answer needs a commit first: bytes are only handed out once they are durable.
    pub fn poll(&mut self, now: Time) -> Vec<Action> {
        self.pass_time(now);
        let mut actions = Vec::new();
        if self.look_at <= now {
            self.look_at = now + millis(self.config.answer_ms);
            actions.push(Action::Look);
        }
        self.ask_receipts(now, &mut actions);
        self.ask_blocks(now, &mut actions);
        self.ask_identities(now, &mut actions);
        self.offer_sends(now, &mut actions);
        if self.config.holds_key && now >= self.signer_rests_until {
            self.draft_replacements(now, &mut actions);
            self.draft_fills(now, &mut actions);
            self.draft_requests(now, &mut actions);
        }
        actions
    }

    /// When to poll again if nothing happens before.
    pub fn poll_timeout(&self, now: Time) -> Time {
        let sends = self.watches.values().map(|watch| watch.send_at);
        let soon = sends.chain([self.look_at, self.signer_rests_until]).filter(|at| *at > now).min();
        soon.unwrap_or(Time::MAX).min(now + millis(self.config.sweep_ms))
    }

    /// What happens by itself.
    fn pass_time(&mut self, now: Time) {
        self.drop_late_drafts(now);
        self.expire_requests(now);
        self.report_lost_loans(now);
        self.cancel_late_ones(now);
        self.report_stall(now);
    }

    fn expire_requests(&mut self, now: Time) {
        if now < self.expiry_at {
            return;
        }
        let end = |id: &RequestId| self.requests.get(id).and_then(|request| request.expires_at);
        let ends: Vec<(Time, RequestId)> =
            self.queue.iter().filter_map(|(_, id)| Some((end(id)?, id.clone()))).collect();
        self.expiry_at = ends.iter().map(|(at, _)| *at).filter(|at| *at > now).min().unwrap_or(Time::MAX);
        for (_, id) in ends.into_iter().filter(|(at, _)| *at <= now) {
            if self.has_much_to_write() {
                // The others follow in the next pass.
                self.expiry_at = now;
                break;
            }
            self.become_state(&id, State::Expired, now);
            self.tell(&id, EventKind::Expired, now);
        }
    }

    /// A loan that ran out and that we cannot fill ourselves needs somebody to act.
    fn report_lost_loans(&mut self, now: Time) {
        if self.config.holds_key {
            return;
        }
        let lost =
            |place: &Place| matches!(place, Place::Leased(loan) if loan.until <= now && !loan.reported);
        let nonces: Vec<Nonce> =
            self.places.iter().filter(|(_, place)| lost(place)).map(|(nonce, _)| *nonce).collect();
        for nonce in nonces {
            if let Some(Place::Leased(loan)) = self.places.get_mut(&nonce) {
                loan.reported = true;
                self.touch_place(nonce);
                self.tell_account(EventKind::ActionRequired, serde_json::json!({ "nonce": nonce }), now);
            }
        }
    }

    /// A nonce that should get a noop, which only its signer could make, needs somebody to act.
    pub(super) fn report_helplessness(&mut self, nonce: Nonce, now: Time) {
        if !self.config.holds_key {
            self.tell_account(EventKind::ActionRequired, serde_json::json!({ "nonce": nonce }), now);
        }
    }

    fn cancel_late_ones(&mut self, now: Time) {
        let Some(limit) = self.config.cancel_after_ms else { return };
        let late = |slot: &Slot| {
            let first = slot.attempts.first();
            slot.owner.is_some()
                && slot.cancel.is_none()
                && slot.mined.is_none()
                && first.is_some_and(|attempt| now.since(attempt.bound_at) >= millis(limit))
        };
        let nonces: Vec<Nonce> =
            self.bound().filter(|(_, slot)| late(slot)).map(|(nonce, _)| nonce).collect();
        for nonce in nonces {
            if let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) {
                slot.cancel = Some(CancelReason::TooLate);
                self.touch_place(nonce);
                self.report_helplessness(nonce, now);
            }
        }
    }

    /// Says once of a nonce that it holds the others up.
    fn report_stall(&mut self, now: Time) {
        let nonce = self.count();
        if self.view.is_none() || !self.is_stalled(now) {
            return;
        }
        let limit = millis(self.config.stall_ms);
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let old = slot.attempts.first().is_some_and(|attempt| now.since(attempt.bound_at) >= limit);
        if old && !slot.stalled && slot.mined.is_none() {
            slot.stalled = true;
            self.touch_place(nonce);
            self.tell_account(EventKind::Stalled, serde_json::json!({ "nonce": nonce }), now);
        }
    }

    /// Bound nonces, in order.
    pub(super) fn bound(&self) -> impl Iterator<Item = (Nonce, &Slot)> {
        self.places.iter().filter_map(|(nonce, place)| Some((*nonce, place.slot()?)))
    }

    fn ask_receipts(&mut self, now: Time, actions: &mut Vec<Action>) {
        let (count, again) = (self.count(), now + millis(self.config.sweep_ms));
        for (nonce, place) in &self.places {
            let Some(slot) = place.slot().filter(|slot| slot.mined.is_none()) else { continue };
            let watch = self.watches.entry(*nonce).or_default();
            let due = (*nonce < count || watch.used_up) && watch.receipts_at <= now;
            if due && actions.len() < self.config.actions_max {
                (watch.receipts_at, watch.used_up) = (again, false);
                let hashes = slot.attempts.iter().map(|attempt| attempt.hash).collect();
                actions.push(Action::Receipts { nonce: *nonce, hashes });
            }
        }
    }

    /// Asks after the blocks that ours are in: have they gone, or are they final?
    fn ask_blocks(&mut self, now: Time, actions: &mut Vec<Action>) {
        let numbers: BTreeSet<u64> =
            self.bound().filter_map(|(_, slot)| Some(slot.mined.as_ref()?.block().number)).collect();
        self.checks_asked.retain(|number, _| numbers.contains(number));
        for number in numbers {
            let asked = self.checks_asked.get(&number);
            let due = asked.is_none_or(|at| now.since(*at) >= millis(self.config.sweep_ms));
            if due && actions.len() < self.config.actions_max {
                self.checks_asked.insert(number, now);
                actions.push(Action::CheckBlock(number));
            }
        }
    }

    /// A nonce that is used up for good while no node knows a receipt of ours: who used it?
    fn ask_identities(&mut self, now: Time, actions: &mut Vec<Action>) {
        let again = now + millis(self.config.sweep_ms);
        for (nonce, place) in self.places.range(..self.row.final_count) {
            if place.slot().is_none_or(|slot| slot.mined.is_some()) {
                continue;
            }
            let watch = self.watches.entry(*nonce).or_default();
            if watch.missing && watch.identify_at <= now && actions.len() < self.config.actions_max {
                watch.identify_at = again;
                actions.push(Action::Identify(*nonce));
            }
        }
    }

    /// Hands out bytes: the newest durable attempt of each nonce that is not used up, in the order of nonces.
    fn offer_sends(&mut self, now: Time, actions: &mut Vec<Action>) {
        let patience = millis(self.config.answer_ms);
        for (nonce, place) in self.places.range(self.count()..) {
            let Some(slot) = place.slot().filter(|slot| slot.mined.is_none()) else { continue };
            let may_leave = |hash| {
                #[cfg(feature = "bugs")]
                if self.config.makes(crate::Mistake::SendBeforeRecord) {
                    return true;
                }
                self.changes.is_durable(hash)
            };
            let attempt = slot.attempts.iter().rev().find(|attempt| may_leave(attempt.hash));
            let watch = self.watches.entry(*nonce).or_default();
            let idle = watch.sending.is_none_or(|since| now.since(since) >= patience);
            let Some(attempt) = attempt.filter(|_| idle && watch.send_at <= now) else { continue };
            if actions.len() >= self.config.actions_max {
                break;
            }
            (watch.sending, watch.sent) = (Some(now), true);
            let bytes = attempt.bytes.clone();
            actions.push(Action::Send { nonce: *nonce, hash: attempt.hash, bytes });
        }
    }
}
