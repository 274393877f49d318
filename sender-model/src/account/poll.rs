//! What to do now: recover, confirm, send, in this order and so much at a time.

use super::{Account, Action, watch::millis};
use crate::{CancelReason, EventKind, Nonce, Slot, State};
use std::collections::BTreeSet;
use types::Time;

impl Account {
    /// What to do now. Whatever is not done or not answered is asked for again later.
    ///
    /// Nothing in the answer needs a commit first: bytes are only handed out once they are durable.
    pub fn poll(&mut self, now: Time) -> Vec<Action> {
        self.pass_time(now);
        let mut actions = Vec::new();
        // What waits for a nonce needs a newer look than what is in flight.
        if self.requests.waiting() > 0 {
            self.chain.look_if_older(now, millis(self.config.look_ms / 3));
        }
        if self.chain.begin_look(now, millis(self.config.answer_ms)) {
            let count = self.chain.count();
            let known = self.book.is_started().then(|| (count, self.book.explained(count)));
            actions.push(Action::FetchView { known });
        }
        self.ask_receipts(now, &mut actions);
        self.ask_blocks(now, &mut actions);
        self.ask_identities(now, &mut actions);
        self.offer_sends(now, &mut actions);
        if self.config.holds_key && now >= self.signing.rests_until() {
            self.draft_replacements(now, &mut actions);
            self.draft_fills(now, &mut actions);
            self.draft_requests(now, &mut actions);
        }
        actions
    }

    /// When to poll again if nothing happens before.
    pub fn poll_timeout(&self, now: Time) -> Time {
        let others = [self.chain.next_look(), self.signing.rests_until()].into_iter().filter(|at| *at > now);
        let soon = others.chain(self.book.next_send(now)).min();
        soon.unwrap_or(Time::MAX).min(now + millis(self.config.sweep_ms))
    }

    /// What happens by itself.
    fn pass_time(&mut self, now: Time) {
        self.signing.drop_late(now, millis(self.config.answer_ms));
        self.expire_requests(now);
        self.report_lost_loans(now);
        self.cancel_late_ones(now);
        self.report_stall(now);
    }

    fn expire_requests(&mut self, now: Time) {
        for id in self.requests.take_expired(now) {
            if self.has_much_to_write() {
                // The others follow in the next pass.
                self.requests.expire_again(now);
                break;
            }
            self.become_state(&id, State::Expired, now);
            self.tell(&id, EventKind::Expired, now);
        }
    }

    /// A loan that ran out and that we cannot fill ourselves needs an operator.
    fn report_lost_loans(&mut self, now: Time) {
        if self.config.holds_key {
            return;
        }
        for nonce in self.book.report_lost_loans(now) {
            self.report_helplessness(nonce, now);
        }
    }

    /// A nonce that should get a noop, which only its signer could make, needs an operator.
    pub(super) fn report_helplessness(&mut self, nonce: Nonce, now: Time) {
        if !self.config.holds_key {
            let data = serde_json::json!({ "nonce": nonce });
            self.events.about_account(EventKind::ActionRequired, data, now);
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
            self.book.bound().filter(|(_, slot)| late(slot)).map(|(nonce, _)| nonce).collect();
        for nonce in nonces {
            self.book.edit(nonce, |slot| {
                slot.cancel = Some(CancelReason::TooLate);
                true
            });
            self.report_helplessness(nonce, now);
        }
    }

    /// Says once of a nonce that it holds the others up.
    fn report_stall(&mut self, now: Time) {
        let nonce = self.chain.count();
        if self.chain.view().is_none() || !self.is_stalled(now) {
            return;
        }
        let limit = millis(self.config.stall_ms);
        let is_new = self.book.edit(nonce, |slot| {
            let old = slot.attempts.first().is_some_and(|attempt| now.since(attempt.bound_at) >= limit);
            old && slot.mined.is_none() && !std::mem::replace(&mut slot.stalled, true)
        });
        if is_new {
            self.events.about_account(EventKind::Stalled, serde_json::json!({ "nonce": nonce }), now);
        }
    }

    fn ask_receipts(&mut self, now: Time, actions: &mut Vec<Action>) {
        let (count, again) = (self.chain.count(), now + millis(self.config.sweep_ms));
        for (nonce, slot, watch) in self.book.unmined() {
            if watch.are_receipts_due(nonce < count, now) && actions.len() < self.config.actions_max {
                watch.begin_receipts(again);
                let hashes = slot.attempts.iter().map(|attempt| attempt.hash).collect();
                actions.push(Action::Receipts { nonce, hashes });
            }
        }
    }

    /// Asks after the blocks that ours are in: have they gone, or are they final?
    fn ask_blocks(&mut self, now: Time, actions: &mut Vec<Action>) {
        let numbers: BTreeSet<u64> = self.book.mined_blocks().chain(self.chain.checkpoints_due()).collect();
        // Blocks may be many while finality is far. What is to be sent must not wait for them.
        let most = (self.config.actions_max / 4).max(1);
        #[cfg(feature = "bugs")]
        let starves = self.makes(crate::Mistake::SweepStarves);
        #[cfg(feature = "bugs")]
        let most = if starves { usize::MAX } else { most };
        let room = self.config.actions_max.saturating_sub(actions.len()).min(most);
        let interval = millis(self.config.sweep_ms);
        #[cfg(feature = "bugs")]
        let interval = if starves { millis(0) } else { interval };
        let due = self.chain.begin_checks(&numbers, now, interval, room);
        actions.extend(due.into_iter().map(Action::CheckBlock));
    }

    /// A nonce that is used up while a node knows no receipt of ours: who used it? It was free when it was bound, so blocks
    /// before that need no search, but for those that may have taken the place of others since.
    fn ask_identities(&mut self, now: Time, actions: &mut Vec<Action>) {
        let (count, again) = (self.chain.count(), now + millis(self.config.sweep_ms));
        for (nonce, slot, watch) in self.book.unmined().take_while(|(nonce, ..)| *nonce < count) {
            if watch.is_identity_due(now) && actions.len() < self.config.actions_max {
                watch.begin_identity(again);
                let bound_head = slot.attempts.first().map_or(0, |attempt| attempt.bound_head);
                let from = watch.search_from(bound_head);
                #[cfg(feature = "bugs")]
                let from = if self.config.makes(crate::Mistake::SearchFromZero) { 0 } else { from };
                actions.push(Action::Identify { nonce, from });
            }
        }
    }

    /// Hands out bytes: the newest durable attempt of each nonce that is not used up, in the order of nonces.
    fn offer_sends(&mut self, now: Time, actions: &mut Vec<Action>) {
        let (count, patience) = (self.chain.count(), millis(self.config.answer_ms));
        let may_leave = |hash| {
            #[cfg(feature = "bugs")]
            if self.config.makes(crate::Mistake::SendBeforeRecord) {
                return true;
            }
            self.changes.is_durable(hash)
        };
        for (nonce, slot, watch) in self.book.unmined().skip_while(|(nonce, ..)| *nonce < count) {
            let attempt = slot.attempts.iter().rev().find(|attempt| may_leave(attempt.hash));
            let Some(attempt) = attempt.filter(|_| watch.is_send_due(now, patience)) else { continue };
            if actions.len() >= self.config.actions_max {
                break;
            }
            watch.begin_send(now);
            actions.push(Action::Send { nonce, hash: attempt.hash, bytes: attempt.bytes.clone() });
        }
    }
}
