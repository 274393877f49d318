//! What the chain says, and what follows. Only what a node *has* changes anything: an error, or a receipt that a node
//! does not have, changes nothing.

use super::{Account, watch::millis};
use crate::{AttemptKind, BlockCheck, EventKind, Mined, Nonce, Place, ReceiptAnswer, RequestId, State, View};
use alloy_primitives::B256;
use types::Time;

impl Account {
    /// One node's look at the account.
    pub fn handle_view(&mut self, view: View, now: Time) {
        self.look_at = now + millis(self.config.sweep_ms);
        if view.finalized_count > view.latest_count || view.finalized_number > view.latest.number {
            return;
        }
        if !self.is_doubtful(&view, now) {
            self.take_view(view, now);
            self.reconcile(&view, now);
            self.watch_counts(&view, now);
        }
    }

    pub(super) fn take_view(&mut self, view: View, now: Time) {
        if view.latest_count > self.row.count {
            self.row.count = view.latest_count;
            self.row.moved_at = now;
            self.touch_row();
        }
        self.view = Some((view, now));
    }

    /// Somebody could not look at the chain.
    pub fn handle_view_failed(&mut self, now: Time) {
        self.look_at = now + millis(self.config.sweep_ms);
    }

    /// Something happened on the chain: look at it now.
    pub fn wake(&mut self, now: Time) {
        self.look_at = self.look_at.min(now);
    }

    /// One node's answers about a nonce's attempts.
    pub fn handle_receipts(&mut self, nonce: Nonce, answers: &[(B256, ReceiptAnswer)], now: Time) {
        let Some(Place::Bound(slot)) = self.places.get(&nonce) else { return };
        if slot.mined.is_some() {
            return;
        }
        let found = answers.iter().find_map(|(hash, answer)| match answer {
            ReceiptAnswer::Found(inclusion) if slot.attempt(*hash).is_some() => {
                Some(Mined { hash: *hash, inclusion: inclusion.clone() })
            }
            _ => None,
        });
        if let Some(mined) = found {
            self.mine(nonce, mined, now);
            return;
        }
        let not_found = |hash: B256| answers.contains(&(hash, ReceiptAnswer::NotFound));
        let missing = slot.attempts.iter().all(|attempt| not_found(attempt.hash));
        self.watch(nonce).missing |= missing;
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ReceiptErrorIsReplaced) && nonce < self.count() {
            self.lose(nonce, now);
        }
    }

    fn mine(&mut self, nonce: Nonce, mined: Mined, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let kind = slot.attempt(mined.hash).map(|attempt| attempt.kind);
        slot.mined = Some(mined);
        let owner = slot.owner.clone();
        self.touch_place(nonce);
        if let (Some(owner), Some(AttemptKind::Payload)) = (owner, kind) {
            self.become_state(&owner, State::Mined { nonce }, now);
            self.tell(&owner, EventKind::Mined, now);
        }
    }

    /// What one node has at a height: the end for those mined there, or the news that they are not.
    pub fn handle_block(&mut self, check: BlockCheck, now: Time) {
        let Some(hash) = check.hash else { return };
        let mined =
            self.places.iter().filter_map(|(nonce, place)| Some((*nonce, place.slot()?.mined.clone()?)));
        let there: Vec<_> = mined.filter(|(_, mined)| mined.block().number == check.number).collect();
        for (nonce, mined) in there {
            if self.has_much_to_write() {
                // The block is asked after again.
                break;
            }
            if mined.block().hash != hash {
                self.unmine(nonce, now);
            } else if check.finalized_number >= check.number {
                self.settle(nonce, mined, now);
            }
        }
        self.tidy();
    }

    /// The block that it was in has gone: back to waiting, and it is sent again.
    fn unmine(&mut self, nonce: Nonce, now: Time) {
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        slot.mined = None;
        let (owner, has_noop) = (slot.owner.clone(), slot.has_noop());
        self.touch_place(nonce);
        let watch = self.watch(nonce);
        (watch.send_at, watch.receipts_at, watch.missing) = (now, now, false);
        let Some(owner) = owner else { return };
        if self.state_of(&owner) != Some(&State::Mined { nonce }) {
            return;
        }
        let state = if has_noop { State::Cancelling { nonce } } else { State::Submitted { nonce } };
        self.become_state(&owner, state, now);
        self.tell(&owner, EventKind::Submitted, now);
    }

    pub(super) fn state_of(&self, id: &RequestId) -> Option<&State> {
        self.requests.get(id).map(|request| &request.state)
    }

    /// Which transaction used a nonce on the finalized chain, if somebody could tell.
    pub fn handle_identified(&mut self, nonce: Nonce, hash: Option<B256>, now: Time) {
        let (Some(hash), Some(Place::Bound(slot))) = (hash, self.places.get(&nonce)) else { return };
        if nonce >= self.row.final_count || slot.mined.is_some() {
            return;
        }
        if slot.attempt(hash).is_some() {
            // Ours after all: some node will have the receipt.
            self.watch(nonce).receipts_at = now;
            return;
        }
        self.lose(nonce, now);
        self.tidy();
    }

    /// The pool says whether it has an attempt in a block that is being built; such a one cannot be replaced.
    pub fn handle_bundled(&mut self, nonce: Nonce, bundled: bool) {
        if self.places.get(&nonce).is_some_and(|place| place.slot().is_some()) {
            self.watch(nonce).bundled = bundled;
        }
    }

    /// How long a nonce has been waiting, for those who watch.
    pub(super) fn is_stalled(&self, now: Time) -> bool {
        now.since(self.row.moved_at) >= millis(self.config.stall_ms)
    }
}
