//! Binding: a signature is back, and if everything still is as the draft assumed, nonce, bytes and event become one
//! commit.

use super::{Account, signing::Signing, watch::millis};
use crate::{
    Attempt, AttemptKind, Draft, Held, Nonce, NonceState, Purpose, RequestId, Signed, Slot, State, Ticket,
};
use alloy_primitives::U256;
use types::Time;

impl Account {
    /// A signature is back.
    pub fn handle_signed(&mut self, ticket: Ticket, signed: Signed, now: Time) {
        let Some(draft) = self.signing.get(ticket) else { return };
        if matches!(draft.purpose, Purpose::New(_)) {
            self.signing.keep(ticket, signed);
            self.bind_in_order(now);
        } else if let Some(draft) = self.take_affordable(ticket) {
            self.bind_other(&draft, signed, now);
        }
    }

    /// A signer could not sign. Nothing has happened; it is asked again after a rest.
    pub fn handle_sign_failed(&mut self, ticket: Ticket, now: Time) {
        if let Some(draft) = self.signing.remove(ticket) {
            if matches!(draft.purpose, Purpose::New(_)) {
                self.signing.drop_new();
            }
            self.signing.rest(now);
        }
    }

    /// A signer will not sign this, and would refuse it again. It may sign everything else: a request is held, and the
    /// replacement of a nonce, or what was to fill it, has to wait.
    pub fn handle_sign_refused(&mut self, ticket: Ticket, now: Time) {
        let Some(draft) = self.signing.remove(ticket) else { return };
        if let Purpose::New(id) = draft.purpose {
            self.signing.drop_new();
            self.signing.refuse(id.clone(), now);
            self.hold(&id, Some(Held::Policy), now);
        } else if let Some(watch) = self.book.watch_mut(draft.nonce) {
            watch.refuse_signing(Signing::end_of_refusal(now));
        }
    }

    /// Takes a draft out if all that is promised, itself included, can be paid.
    fn take_affordable(&mut self, ticket: Ticket) -> Option<Draft> {
        let can_pay = self.can_pay(U256::ZERO);
        let draft = self.signing.remove(ticket)?;
        can_pay.then_some(draft)
    }

    /// Binds first attempts in the order of their drafts, as far as the signatures are there.
    fn bind_in_order(&mut self, now: Time) {
        while let Some((draft, signed)) = self.signing.first_signed() {
            let Purpose::New(id) = &draft.purpose else { return };
            if !self.may_bind(id, draft.nonce, now) || self.take_affordable(draft.ticket).is_none() {
                self.signing.drop_new();
                return;
            }
            self.bind_new(id, &draft, signed, now);
        }
    }

    /// Whether what a first attempt's draft assumed still holds.
    fn may_bind(&self, id: &RequestId, nonce: Nonce, now: Time) -> bool {
        let Some(request) = self.requests.get(id) else { return false };
        let count = self.chain.count();
        let free = matches!(self.book.get(nonce), Some(NonceState::Free { .. })) && nonce >= count;
        let in_time = request.expires_at.is_none_or(|at| at > now);
        let waits = request.state == State::Accepted { held: None };
        waits
            && in_time
            && !self.paused
            && (free || (nonce == self.book.next() && !self.book.is_behind(count)))
            && self.fresh_view(now).is_some()
            && self.book.open(count) < self.config.in_flight_limit()
            && self.requests.is_first(request)
    }

    fn bind_new(&mut self, id: &RequestId, draft: &Draft, signed: Signed, now: Time) {
        let nonce = draft.nonce;
        self.simulations.forget(id);
        self.signing.forget(id);
        self.take_nonce(nonce, Slot::new(Some(id.clone()), self.attempt(draft, signed, now)), now);
        self.become_state(id, State::Bound { nonce }, now);
    }

    /// Binds a slot to a nonce that is free, on loan, or new.
    pub(super) fn take_nonce(&mut self, nonce: Nonce, slot: Slot, now: Time) {
        for attempt in &slot.attempts {
            self.changes.attempt(attempt.hash, slot.owner.as_ref());
        }
        self.book.bind(nonce, slot, now);
    }

    fn attempt(&self, draft: &Draft, signed: Signed, now: Time) -> Attempt {
        Attempt {
            hash: signed.hash,
            kind: draft.kind,
            fees: draft.fees,
            legacy: draft.intent.legacy,
            gas: draft.gas,
            cost: draft.fees.cost(draft.gas, draft.intent.value),
            bytes: signed.bytes,
            bound_at: now,
            bound_head: self.chain.head(),
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
        let open = match self.book.get(nonce) {
            Some(NonceState::Free { .. }) => true,
            Some(NonceState::Leased(loan)) => loan.until <= now,
            _ => false,
        };
        if open && nonce >= self.chain.count() {
            self.take_nonce(nonce, Slot::new(None, attempt), now);
        }
    }

    fn bind_replacement(&mut self, nonce: Nonce, attempts: usize, attempt: Attempt, now: Time) {
        let interval = millis(self.config.replacement_interval_ms);
        let Some(slot) = self.book.slot(nonce) else { return };
        let Some(last) = slot.last() else { return };
        let unchanged = slot.attempts.len() == attempts && slot.mined.is_none();
        if !unchanged || now.since(last.bound_at) < interval {
            return;
        }
        let cancels = attempt.kind == AttemptKind::Noop && last.kind == AttemptKind::Payload;
        let (hash, owner) = (attempt.hash, slot.owner.clone());
        self.book.edit(nonce, |slot| {
            slot.attempts.push(attempt);
            slot.wish = None;
            true
        });
        self.changes.attempt(hash, owner.as_ref());
        if let Some(watch) = self.book.watch_mut(nonce) {
            watch.replaced(now);
        }
        if let (true, Some(owner)) = (cancels, owner) {
            self.become_state(&owner, State::Cancelling { nonce }, now);
        }
    }
}
