//! The end of a nonce: one of our attempts is final, or somebody else's transaction is.

use super::Account;
use crate::{
    AttemptKind, CancelReason, EventKind, Failure, Mined, Nonce, OnForeign, PastAttempt, Place, RequestId,
    Slot, State,
};
use alloy_primitives::B256;
use types::Time;

impl Account {
    /// One of our attempts is in a block that cannot go away.
    pub(super) fn settle(&mut self, nonce: Nonce, mined: Mined, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get(&nonce).cloned() else { return };
        self.row.confirmed_at = Some(now);
        self.row.final_count = self.row.final_count.max(nonce + 1);
        self.put(nonce, Place::Final);
        let Some(owner) = slot.owner.clone() else { return };
        self.remember(&owner, nonce, &slot, Some(mined.hash));
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
        let Some(Place::Bound(slot)) = self.places.get(&nonce).cloned() else { return };
        self.put(nonce, Place::Final);
        let Some(owner) = slot.owner.clone() else { return };
        self.remember(&owner, nonce, &slot, None);
        if slot.cancel.is_some() {
            self.end_without(&owner, &slot, now);
            return;
        }
        let Some(request) = self.requests.get_mut(&owner) else { return };
        let again = self.config.on_foreign == OnForeign::Requeue
            && !request.raw
            && request.rebinds < self.config.rebinds_max;
        request.rebinds += 1;
        if again {
            self.become_state(&owner, State::Accepted { held: None }, now);
            self.tell(&owner, EventKind::Replaced, now);
        } else {
            self.tell(&owner, EventKind::Replaced, now);
            self.become_state(&owner, State::Failed(Failure::NonceTaken), now);
            self.tell(&owner, EventKind::Failed, now);
        }
    }

    /// Keeps the attempts of a settled nonce with their request.
    pub(super) fn remember(&mut self, owner: &RequestId, nonce: Nonce, slot: &Slot, mined: Option<B256>) {
        let Some(request) = self.requests.get_mut(owner) else { return };
        request.past.extend(slot.attempts.iter().map(|attempt| PastAttempt {
            nonce,
            hash: attempt.hash,
            fees: attempt.fees,
            kind: attempt.kind,
            mined: mined == Some(attempt.hash),
        }));
    }
}
