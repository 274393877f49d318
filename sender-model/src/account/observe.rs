//! What nodes say about the chain, and what follows. Only what a node *has* changes anything: an error, or a receipt that
//! a node does not have, changes nothing.

use super::{Account, watch::millis};
use crate::{
    AttemptKind, BlockCheck, EventKind, Head, Identified, Inclusion, Mined, Nonce, ReceiptAnswer, State, View,
};
use alloy_primitives::B256;
use types::Time;

/// So many blocks one node may be ahead of what another has shown. A receipt from farther above is made up.
const AHEAD_MAX: u64 = 1_000;

impl Account {
    /// One node's look at the account.
    pub fn handle_view(&mut self, view: View, now: Time) {
        self.chain.look_at(now + millis(self.config.look_ms));
        if !view.is_sound() {
            return;
        }
        if view.latest_count < self.chain.final_count() {
            // A node that is so far behind is not up to date about anything else either.
            self.compare_counts(&view, now);
            return;
        }
        let known = self.book.is_started().then_some(self.book.next());
        if self.chain.doubts(&view, known, now) {
            let why = "the chain's transaction count has leapt; reset the nonces if it is right";
            self.report_doubt(Some(why), &view, now);
            return;
        }
        self.chain.take_view(view, now);
        self.reconcile(&view, now);
        self.compare_counts(&view, now);
    }

    /// Somebody could not look at the chain.
    pub fn handle_view_failed(&mut self, now: Time) {
        self.chain.look_at(now + millis(self.config.sweep_ms));
    }

    /// Something happened on the chain: look at it now.
    pub fn wake(&mut self, now: Time) {
        self.chain.look_by(now);
    }

    /// Blocks up to this height are said to be final: those that ours are in are asked after now.
    pub fn handle_finalized(&mut self, number: u64) {
        self.chain.finalize(number);
    }

    /// One node's answers about a nonce's attempts.
    pub fn handle_receipts(&mut self, nonce: Nonce, answers: &[(B256, ReceiptAnswer)], now: Time) {
        let Some(slot) = self.book.slot(nonce).filter(|slot| slot.mined.is_none()) else { return };
        let highest = self.chain.head().saturating_add(AHEAD_MAX);
        let found = answers.iter().find_map(|(hash, answer)| match answer {
            ReceiptAnswer::Found(inclusion)
                if slot.attempt(*hash).is_some() && inclusion.block.number <= highest =>
            {
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
        let identify_at = now + millis(2 * self.config.sweep_ms);
        if let Some(watch) = self.book.watch_mut(nonce).filter(|_| missing) {
            watch.set_missing(identify_at);
        }
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ReceiptErrorIsReplaced) && nonce < self.chain.count() {
            self.lose(nonce, now);
        }
    }

    fn mine(&mut self, nonce: Nonce, mined: Mined, now: Time) {
        let Some(slot) = self.book.slot(nonce) else { return };
        let kind = slot.attempt(mined.hash).map(|attempt| attempt.kind);
        let owner = slot.owner.clone();
        self.mined_at = Some(now);
        self.book.edit(nonce, |slot| {
            slot.mined = Some(mined);
            true
        });
        if let (Some(owner), Some(AttemptKind::Payload)) = (owner, kind) {
            self.become_state(&owner, State::Mined { nonce }, now);
            self.tell(&owner, EventKind::Mined, now);
        }
    }

    /// What one node has at a height: the end for those mined there, or the news that they are not.
    pub fn handle_block(&mut self, check: BlockCheck, now: Time) {
        // A node that has final blocks above a height, and none there, knows that what was said to be there is not.
        if check.hash.is_none() && check.finalized_number < check.number {
            return;
        }
        self.chain.prove(&check);
        for (nonce, mined) in self.book.mined_at(check.number) {
            if self.has_much_to_write() {
                // The block is asked after again.
                break;
            }
            if Some(mined.block().hash) != check.hash {
                self.unmine(nonce, now);
            } else if check.finalized_number >= check.number {
                self.settle(nonce, mined, now);
            }
        }
        self.chain.settle_proven(self.book.lowest_bound());
        self.book.tidy(self.chain.count());
    }

    /// The block that it was in has gone: back to waiting, and it is sent again.
    fn unmine(&mut self, nonce: Nonce, now: Time) {
        let Some(slot) = self.book.slot(nonce) else { return };
        let (owner, has_noop) = (slot.owner.clone(), slot.has_noop());
        self.book.edit(nonce, |slot| {
            slot.mined = None;
            true
        });
        if let Some(watch) = self.book.watch_mut(nonce) {
            watch.unmined(now);
        }
        let Some(owner) = owner else { return };
        if self.requests.state(&owner) != Some(&State::Mined { nonce }) {
            return;
        }
        let state = if has_noop { State::Cancelling { nonce } } else { State::Submitted { nonce } };
        self.become_state(&owner, state, now);
        self.tell(&owner, EventKind::Submitted, now);
    }

    /// Which transaction used a nonce, as far as a provider could tell. If it is not ours, the nonce is lost once its block
    /// is final; until then the block may go away, and ours may be mined after all.
    pub fn handle_identified(&mut self, nonce: Nonce, identified: Identified, now: Time) {
        let newest = self.chain.head();
        match identified {
            Identified::Found { hash, block } => self.identify(nonce, hash, block, now),
            Identified::NotBelow(height) => {
                let Some(watch) = self.book.watch_mut(nonce) else { return };
                if height <= newest {
                    watch.searched(height);
                } else {
                    watch.search_failed(now, |searches| self.config.backoff(searches));
                }
            }
            Identified::Unknown => {}
        }
    }

    fn identify(&mut self, nonce: Nonce, hash: B256, block: Head, now: Time) {
        let Some(slot) = self.book.slot(nonce).filter(|slot| slot.mined.is_none()) else { return };
        if slot.attempt(hash).is_some() {
            // Ours after all: some node will have the receipt.
            if let Some(watch) = self.book.watch_mut(nonce) {
                watch.hasten_receipts(now);
            }
            return;
        }
        let inclusion = Inclusion { block, success: true, receipt: None };
        self.book.edit(nonce, |slot| {
            slot.mined = Some(Mined { hash, inclusion });
            true
        });
    }

    /// The pool says whether it has an attempt in a block that is being built; such a one cannot be replaced.
    pub fn handle_bundled(&mut self, nonce: Nonce, bundled: bool) {
        if self.book.slot(nonce).is_some()
            && let Some(watch) = self.book.watch_mut(nonce)
        {
            watch.set_bundled(bundled);
        }
    }
}
