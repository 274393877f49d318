//! What nodes say to what was sent.

use super::{Account, watch::millis};
#[cfg(feature = "bugs")]
use crate::NonceState;
use crate::{AttemptKind, CancelReason, EventKind, Nonce, SendClass, SendResponse, State, classify};
use alloy_primitives::B256;
use types::Time;

impl Account {
    /// A node's answer to a send, or its absence, as it came.
    pub fn handle_answer(&mut self, nonce: Nonce, hash: B256, answer: &SendResponse, now: Time) {
        let class = classify(answer, hash);
        self.handle_sent(nonce, hash, &class, now);
    }

    /// What a node's answer to a send means. Whatever it is, the nonce stays bound.
    pub fn handle_sent(&mut self, nonce: Nonce, hash: B256, class: &SendClass, now: Time) {
        if self.book.slot(nonce).is_none_or(|slot| slot.attempt(hash).is_none()) {
            return;
        }
        let Some(watch) = self.book.watch_mut(nonce) else { return };
        watch.end_send();
        #[cfg(feature = "bugs")]
        if *class == SendClass::Unknown && self.config.makes(crate::Mistake::TimeoutIsFailure) {
            self.forget_attempt(nonce, now);
            return;
        }
        match class {
            SendClass::Taken => {
                watch.taken(now + millis(self.config.rebroadcast_ms));
                self.taken(nonce, hash, now);
                return;
            }
            SendClass::NonceTooLow => watch.set_used_up(now),
            SendClass::Underpriced => watch.set_underpriced(),
            SendClass::Rejected(_) | SendClass::Funds => {}
            SendClass::Busy | SendClass::NonceGap | SendClass::Unknown | SendClass::TypeRefused => {}
        }
        watch.failed(now, |failures| self.config.backoff(failures));
        match class {
            SendClass::Underpriced | SendClass::Funds => self.nack(nonce, hash, now),
            SendClass::Rejected(why) => self.rejected(nonce, hash, why, now),
            SendClass::TypeRefused => self.type_refused(nonce, hash, now),
            _ => {}
        }
    }

    fn taken(&mut self, nonce: Nonce, hash: B256, now: Time) {
        self.book.edit(nonce, |slot| {
            let attempt = slot.attempts.iter_mut().find(|attempt| attempt.hash == hash);
            attempt.is_some_and(|attempt| !std::mem::replace(&mut attempt.taken, true))
        });
        let Some(owner) = self.book.slot(nonce).and_then(|slot| slot.owner.clone()) else { return };
        if self.requests.state(&owner) == Some(&State::Bound { nonce }) {
            self.become_state(&owner, State::Submitted { nonce }, now);
            self.tell(&owner, EventKind::Submitted, now);
        }
    }

    /// Tells of a refusal, once for each attempt.
    fn nack(&mut self, nonce: Nonce, hash: B256, now: Time) {
        let Some(owner) = self.book.slot(nonce).and_then(|slot| slot.owner.clone()) else { return };
        let is_new = self.book.edit(nonce, |slot| {
            let attempt = slot.attempts.iter_mut().find(|attempt| attempt.hash == hash);
            attempt.is_some_and(|attempt| !std::mem::replace(&mut attempt.nacked, true))
        });
        if is_new {
            self.tell(&owner, EventKind::SendAttemptNack, now);
        }
    }

    /// A node does not take the type of a transaction. With two fee fields it is signed again with one gas price, and so
    /// is everything else from now on; one that has a gas price already cannot be helped.
    fn type_refused(&mut self, nonce: Nonce, hash: B256, now: Time) {
        let attempt = self.book.slot(nonce).and_then(|slot| slot.attempt(hash));
        if attempt.is_some_and(|attempt| attempt.legacy) {
            self.rejected(nonce, hash, "transaction type not supported", now);
        } else {
            self.nack(nonce, hash, now);
            self.chain.refuse_dynamic_fees();
        }
    }

    /// A node says that the bytes can never be mined. It may be wrong, and the bytes are out: so a noop takes the nonce,
    /// and only when that is final the request has failed. If another attempt was taken, that one is left to win.
    fn rejected(&mut self, nonce: Nonce, hash: B256, why: &str, now: Time) {
        self.nack(nonce, hash, now);
        let gives_up = self.book.edit(nonce, |slot| {
            let payload = slot.attempt(hash).is_some_and(|attempt| attempt.kind == AttemptKind::Payload);
            let hopeless = slot.attempts.iter().all(|attempt| !attempt.taken);
            let gives_up = payload && hopeless && slot.owner.is_some() && slot.cancel.is_none();
            if gives_up {
                slot.cancel = Some(CancelReason::Rejected(why.to_owned()));
            }
            gives_up
        });
        if gives_up {
            self.report_helplessness(nonce, now);
        }
    }

    #[cfg(feature = "bugs")]
    fn forget_attempt(&mut self, nonce: Nonce, now: Time) {
        let Some(slot) = self.book.slot(nonce).cloned() else { return };
        self.book.put(nonce, NonceState::Free { since: now });
        if let Some(owner) = &slot.owner {
            self.requests.remember(owner, nonce, &slot, None);
            self.become_state(owner, State::Accepted { held: None }, now);
        }
        self.book.tidy(self.chain.count());
    }
}
