//! The end of a nonce: one of our attempts is final, or somebody else's transaction is.

use super::Account;
use crate::{
    AttemptKind, CancelReason, EventKind, Failure, Mined, Nonce, NonceState, OnForeign, RequestId, Slot,
    State,
};
use types::Time;

impl Account {
    /// One of our attempts is in a block that cannot go away.
    pub(super) fn settle(&mut self, nonce: Nonce, mined: Mined, now: Time) {
        let Some(slot) = self.book.slot(nonce).cloned() else { return };
        if slot.attempt(mined.hash).is_none() {
            self.lose(nonce, now);
            return;
        }
        self.confirmed_at = Some(now);
        self.chain.raise_final(nonce + 1);
        self.book.put(nonce, NonceState::Final);
        let Some(owner) = slot.owner.clone() else { return };
        self.requests.remember(&owner, nonce, &slot, Some(mined.hash));
        let payload = slot.attempt(mined.hash).is_some_and(|attempt| attempt.kind == AttemptKind::Payload);
        if !payload {
            self.end_without(&owner, &slot, now);
            return;
        }
        // It may have been seen as mined and as final in one look.
        self.become_state(&owner, State::Mined { nonce }, now);
        let (hash, inclusion) = (mined.hash, mined.inclusion);
        let (state, kind) = if inclusion.success {
            (State::Confirmed { nonce, hash, inclusion }, EventKind::Confirmed)
        } else {
            (State::Reverted { nonce, hash, inclusion }, EventKind::Reverted)
        };
        self.become_state(&owner, state, now);
        self.tell(&owner, kind, now);
    }

    /// The nonce is used up and the request was not done: cancelled, or failed, by why the noop was made.
    fn end_without(&mut self, owner: &RequestId, slot: &Slot, now: Time) {
        let (state, kind) = match &slot.cancel {
            Some(CancelReason::Rejected(why)) => {
                (State::Failed(Failure::Rejected(why.clone())), EventKind::Failed)
            }
            _ => (State::Cancelled, EventKind::Cancelled),
        };
        self.become_state(owner, state, now);
        self.tell(owner, kind, now);
    }

    /// The nonce was used, for good, by a transaction that is not ours. None of our attempts can be mined any more, so
    /// the request may have another nonce.
    pub(super) fn lose(&mut self, nonce: Nonce, now: Time) {
        let Some(slot) = self.book.slot(nonce).cloned() else { return };
        self.chain.raise_final(nonce + 1);
        self.book.put(nonce, NonceState::Final);
        let Some(owner) = slot.owner.clone() else { return };
        self.requests.remember(&owner, nonce, &slot, None);
        if slot.cancel.is_some() {
            self.end_without(&owner, &slot, now);
            return;
        }
        let Some(losses) = self.requests.count_loss(&owner) else { return };
        let raw = self.requests.get(&owner).is_some_and(|request| request.raw);
        let again = self.config.on_foreign == OnForeign::Requeue && !raw && losses < self.config.rebinds_max;
        if again {
            self.become_state(&owner, State::Accepted { held: None }, now);
            self.tell(&owner, EventKind::Replaced, now);
        } else {
            self.tell(&owner, EventKind::Replaced, now);
            self.become_state(&owner, State::Failed(Failure::NonceTaken), now);
            self.tell(&owner, EventKind::Failed, now);
        }
    }
}
