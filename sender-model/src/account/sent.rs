//! What nodes say to what was sent.

use super::{Account, watch::millis};
use crate::{AttemptKind, CancelReason, EventKind, Nonce, Place, SendClass, State};
use alloy_primitives::B256;
use types::Time;

impl Account {
    /// A node's answer to a send, or its absence. Whatever it is, the nonce stays bound.
    pub fn handle_sent(&mut self, nonce: Nonce, hash: B256, class: &SendClass, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get(&nonce) else { return };
        if slot.attempt(hash).is_none() {
            return;
        }
        self.watch(nonce).sending = None;
        #[cfg(feature = "bugs")]
        if *class == SendClass::Unknown && self.makes(crate::Mistake::TimeoutIsFailure) {
            self.forget_attempt(nonce, now);
            return;
        }
        match class {
            SendClass::Taken => self.taken(nonce, hash, now),
            SendClass::NonceTooLow => {
                let watch = self.watch(nonce);
                (watch.used_up, watch.receipts_at) = (true, now);
                self.retry(nonce, now);
            }
            SendClass::Underpriced => {
                self.watch(nonce).underpriced = true;
                self.retry(nonce, now);
                self.nack(nonce, hash, now);
            }
            SendClass::Rejected(why) => self.rejected(nonce, hash, why, now),
            SendClass::Funds => {
                self.retry(nonce, now);
                self.nack(nonce, hash, now);
            }
            SendClass::Busy | SendClass::NonceGap | SendClass::Unknown => self.retry(nonce, now),
        }
    }

    fn retry(&mut self, nonce: Nonce, now: Time) {
        let pause = self.pause(self.watches.get(&nonce).map_or(0, |watch| watch.failures));
        let watch = self.watch(nonce);
        watch.failures += 1;
        watch.send_at = now + pause;
    }

    fn taken(&mut self, nonce: Nonce, hash: B256, now: Time) {
        let again = now + millis(self.config.rebroadcast_ms);
        let watch = self.watch(nonce);
        (watch.send_at, watch.failures, watch.underpriced) = (again, 0, false);
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let owner = slot.owner.clone();
        if let Some(attempt) = slot.attempts.iter_mut().find(|attempt| attempt.hash == hash && !attempt.taken)
        {
            attempt.taken = true;
            self.touch_place(nonce);
        }
        let Some(owner) = owner else { return };
        if self.state_of(&owner) == Some(&State::Bound { nonce }) {
            self.become_state(&owner, State::Submitted { nonce }, now);
            self.tell(&owner, EventKind::Submitted, now);
        }
    }

    /// Tells of a refusal, once for each attempt.
    fn nack(&mut self, nonce: Nonce, hash: B256, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let owner = slot.owner.clone();
        let fresh = slot.attempts.iter_mut().find(|attempt| attempt.hash == hash && !attempt.nacked);
        let (Some(attempt), Some(owner)) = (fresh, owner) else { return };
        attempt.nacked = true;
        self.touch_place(nonce);
        self.tell(&owner, EventKind::SendAttemptNack, now);
    }

    /// A node says that the bytes can never be mined. It may be wrong, and the bytes are out: so a noop takes the nonce,
    /// and only when that is final the request has failed. If another attempt was taken, that one is left to win.
    fn rejected(&mut self, nonce: Nonce, hash: B256, why: &str, now: Time) {
        self.retry(nonce, now);
        self.nack(nonce, hash, now);
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let payload = slot.attempt(hash).is_some_and(|attempt| attempt.kind == AttemptKind::Payload);
        let hopeless = slot.attempts.iter().all(|attempt| !attempt.taken);
        if payload && hopeless && slot.owner.is_some() && slot.cancel.is_none() {
            slot.cancel = Some(CancelReason::Rejected(why.to_owned()));
            self.touch_place(nonce);
            self.report_helplessness(nonce, now);
        }
    }

    #[cfg(feature = "bugs")]
    fn forget_attempt(&mut self, nonce: Nonce, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get(&nonce).cloned() else { return };
        self.put(nonce, Place::Free { since: now });
        if let Some(owner) = &slot.owner {
            self.remember(owner, nonce, &slot, None);
            self.become_state(owner, State::Accepted { held: None }, now);
        }
        self.tidy();
    }
}
