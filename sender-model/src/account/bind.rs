//! Binding: a signature is back, and if everything still is as the draft assumed, nonce, bytes and event become one
//! commit.

use super::{
    Account,
    draft::Waiting,
    watch::{Watch, millis},
};
use crate::{
    Attempt, AttemptKind, Draft, Held, Nonce, Place, Purpose, RequestId, Signed, Slot, State, Ticket, Write,
    key,
};
use alloy_primitives::{B256, U256};
use types::Time;

/// How long a signer that failed is left alone.
const SIGNER_REST_MS: u64 = 1_000;
/// After how long a signer is asked again for what it has refused: somebody may have changed its mind.
const REFUSAL_REST_MS: u64 = 60_000;

impl Account {
    /// A signature is back.
    pub fn handle_signed(&mut self, ticket: Ticket, signed: Signed, now: Time) {
        let Some(waiting) = self.drafts.get_mut(&ticket) else { return };
        if waiting.is_new() {
            waiting.signed = Some(signed);
            self.bind_in_order(now);
        } else if let Some(draft) = self.affordable(ticket) {
            self.bind_other(&draft, signed, now);
        }
    }

    /// A signer could not sign. Nothing has happened; it is asked again after a rest.
    pub fn handle_sign_failed(&mut self, ticket: Ticket, now: Time) {
        if let Some(waiting) = self.drafts.remove(&ticket) {
            if waiting.is_new() {
                self.drop_new_drafts();
            }
            self.signer_rests_until = now + millis(SIGNER_REST_MS);
        }
    }

    /// A signer will not sign this, and would refuse it again. It may sign everything else: a request is held, and the
    /// replacement of a nonce, or what was to fill it, has to wait.
    pub fn handle_sign_refused(&mut self, ticket: Ticket, now: Time) {
        let Some(waiting) = self.drafts.remove(&ticket) else { return };
        let again = now + millis(REFUSAL_REST_MS);
        if let Purpose::New(id) = waiting.draft.purpose {
            self.drop_new_drafts();
            self.refusals.insert(id.clone(), again);
            self.hold(&id, Some(Held::Policy), now);
        } else {
            self.watch(waiting.draft.nonce).sign_at = again;
        }
    }

    /// Takes a draft out if all that is promised, itself included, can be paid.
    fn affordable(&mut self, ticket: Ticket) -> Option<Draft> {
        let can_pay = self.can_pay(U256::ZERO);
        let waiting = self.drafts.remove(&ticket)?;
        can_pay.then_some(waiting.draft)
    }

    /// Binds first attempts in the order of their drafts, as far as the signatures are there.
    fn bind_in_order(&mut self, now: Time) {
        loop {
            let first = self.drafts.iter().find(|(_, waiting)| waiting.is_new());
            let Some((&ticket, Waiting { draft, signed: Some(signed) })) = first else { return };
            let (draft, signed) = (draft.clone(), signed.clone());
            let Purpose::New(id) = &draft.purpose else { return };
            if !self.may_bind(id, draft.nonce, now) || self.affordable(ticket).is_none() {
                self.drop_new_drafts();
                return;
            }
            self.bind_new(id, &draft, signed, now);
        }
    }

    /// Whether what a first attempt's draft assumed still holds.
    fn may_bind(&self, id: &RequestId, nonce: Nonce, now: Time) -> bool {
        let Some(request) = self.requests.get(id) else { return false };
        let free = matches!(self.places.get(&nonce), Some(Place::Free { .. })) && nonce >= self.count();
        let in_time = request.expires_at.is_none_or(|at| at > now);
        let place = (request.accepted_at, id.clone());
        let mut earlier = self.queue.range(..place);
        let waits = request.state == State::Accepted { held: None };
        waits
            && in_time
            && !self.row.paused
            && (free || (nonce == self.row.next && !self.is_behind()))
            && self.fresh_view(now).is_some()
            && self.open_nonces() < self.config.in_flight_limit()
            && earlier.all(|(_, earlier)| self.is_held(earlier))
    }

    fn bind_new(&mut self, id: &RequestId, draft: &Draft, signed: Signed, now: Time) {
        let nonce = draft.nonce;
        self.simulations.remove(id);
        self.refusals.remove(id);
        self.take_nonce(nonce, Slot::new(Some(id.clone()), self.attempt(draft, signed, now)), now);
        self.become_state(id, State::Bound { nonce }, now);
    }

    /// Binds a slot to a nonce that is free, on loan, or new.
    pub(super) fn take_nonce(&mut self, nonce: Nonce, slot: Slot, now: Time) {
        let hashes: Vec<B256> = slot.attempts.iter().map(|attempt| attempt.hash).collect();
        let owner = slot.owner.clone();
        self.put(nonce, Place::Bound(slot));
        self.row.next = self.row.next.max(nonce + 1);
        self.watches.insert(nonce, Watch { send_at: now, ..Watch::default() });
        for hash in hashes {
            self.index(hash, owner.as_ref());
        }
    }

    fn index(&mut self, hash: B256, owner: Option<&RequestId>) {
        self.changes.attempt(hash);
        if let Some(owner) = owner {
            self.changes.write(Write::Put(key::hash(hash), owner.as_str().as_bytes().to_vec()));
        }
    }

    fn attempt(&self, draft: &Draft, signed: Signed, now: Time) -> Attempt {
        Attempt {
            hash: signed.hash,
            kind: draft.kind,
            fees: draft.fees,
            gas: draft.gas,
            cost: draft.fees.cost(draft.gas, draft.intent.value),
            bytes: signed.bytes,
            bound_at: now,
            bound_head: self.view.as_ref().map_or(0, |(view, _)| view.latest.number),
            taken: false,
            nacked: false,
        }
    }

    /// Binds a noop for a gap, or a replacement.
    fn bind_other(&mut self, draft: &Draft, signed: Signed, now: Time) {
        let attempt = self.attempt(draft, signed, now);
        match &draft.purpose {
            Purpose::New(_) => {}
            Purpose::Fill => self.bind_fill(draft.nonce, attempt, now),
            Purpose::Bump { attempts } | Purpose::Cancel { attempts } => {
                self.bind_replacement(draft.nonce, *attempts, attempt, now);
            }
        }
    }

    fn bind_fill(&mut self, nonce: Nonce, attempt: Attempt, now: Time) {
        let open = match self.places.get(&nonce) {
            Some(Place::Free { .. }) => true,
            Some(Place::Leased(loan)) => loan.until <= now,
            _ => false,
        };
        if open && nonce >= self.count() {
            self.take_nonce(nonce, Slot::new(None, attempt), now);
        }
    }

    fn bind_replacement(&mut self, nonce: Nonce, attempts: usize, attempt: Attempt, now: Time) {
        let interval = millis(self.config.replacement_interval_ms);
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return };
        let Some(last) = slot.attempts.last() else { return };
        let unchanged = slot.attempts.len() == attempts && slot.mined.is_none();
        if !unchanged || now.since(last.bound_at) < interval {
            return;
        }
        let cancels = attempt.kind == AttemptKind::Noop && last.kind == AttemptKind::Payload;
        let (hash, owner) = (attempt.hash, slot.owner.clone());
        slot.attempts.push(attempt);
        slot.wish = None;
        self.touch_place(nonce);
        self.index(hash, owner.as_ref());
        let watch = self.watch(nonce);
        (watch.send_at, watch.sending, watch.failures) = (now, None, 0);
        (watch.underpriced, watch.missing) = (false, false);
        if let (true, Some(owner)) = (cancels, owner) {
            self.become_state(&owner, State::Cancelling { nonce }, now);
        }
    }
}
