//! What is being signed: drafts that wait for their signatures, and how the signer behaves.
//!
//! A draft binds nothing. First attempts are bound in the order of their drafts, so when one falls away all later ones do
//! too, and are drafted again.

use super::watch::millis;
use crate::{AttemptKind, Draft, Fees, Intent, Nonce, Purpose, RequestId, Signed, Ticket};
use alloy_primitives::U256;
use std::collections::BTreeMap;
use types::{Duration, Time};

/// How long a signer that failed is left alone.
const SIGNER_REST_MS: u64 = 1_000;
/// After how long a signer is asked again for what it has refused: its policy may have changed.
const REFUSAL_REST_MS: u64 = 60_000;

/// A draft that waits for its signature.
#[derive(Clone, Debug)]
struct Waiting {
    draft: Draft,
    signed: Option<Signed>,
}

impl Waiting {
    fn is_new(&self) -> bool {
        matches!(self.draft.purpose, Purpose::New(_))
    }
}

/// What a draft says, but for its ticket.
#[derive(Debug)]
pub(super) struct Plan {
    pub purpose: Purpose,
    pub kind: AttemptKind,
    pub nonce: Nonce,
    pub intent: Intent,
    pub gas: u64,
    pub fees: Fees,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Signing {
    drafts: BTreeMap<Ticket, Waiting>,
    tickets: Ticket,
    /// Until when nothing is signed, after a signer has failed.
    rests_until: Time,
    /// Requests that the signer has refused, and when it is asked again.
    refused: BTreeMap<RequestId, Time>,
}

impl Signing {
    /// A draft to be signed.
    pub(super) fn draft(&mut self, plan: Plan, now: Time) -> Draft {
        self.tickets += 1;
        let Plan { purpose, kind, nonce, intent, gas, fees } = plan;
        let draft = Draft { ticket: self.tickets, purpose, kind, nonce, intent, gas, fees, made_at: now };
        self.drafts.insert(self.tickets, Waiting { draft: draft.clone(), signed: None });
        draft
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&Draft> {
        self.drafts.get(&ticket).map(|waiting| &waiting.draft)
    }

    /// The draft is bound, or will not be.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Draft> {
        self.drafts.remove(&ticket).map(|waiting| waiting.draft)
    }

    /// Keeps the signature of a first attempt until it is its turn.
    pub(super) fn keep(&mut self, ticket: Ticket, signed: Signed) {
        if let Some(waiting) = self.drafts.get_mut(&ticket) {
            waiting.signed = Some(signed);
        }
    }

    /// The first attempt whose turn it is, if its signature is there.
    pub(super) fn first_signed(&self) -> Option<(Draft, Signed)> {
        let first = self.drafts.values().find(|waiting| waiting.is_new())?;
        Some((first.draft.clone(), first.signed.clone()?))
    }

    /// First attempts are drafted again.
    pub(super) fn drop_new(&mut self) {
        self.drafts.retain(|_, waiting| !waiting.is_new());
    }

    /// Gives up what the signer has not answered for so long.
    pub(super) fn drop_late(&mut self, now: Time, patience: Duration) {
        let late = |waiting: &Waiting| now.since(waiting.draft.made_at) >= patience;
        if self.drafts.values().any(|waiting| waiting.is_new() && late(waiting)) {
            self.drop_new();
        }
        self.drafts.retain(|_, waiting| !late(waiting));
    }

    /// Whether there is a draft for a nonce.
    pub(super) fn has(&self, nonce: Nonce) -> bool {
        self.drafts.values().any(|waiting| waiting.draft.nonce == nonce)
    }

    /// Whether there is a draft for a nonce that is not a first attempt.
    pub(super) fn has_other(&self, nonce: Nonce) -> bool {
        self.drafts.values().any(|waiting| waiting.draft.nonce == nonce && !waiting.is_new())
    }

    /// Requests with a first attempt that waits for its signature.
    pub(super) fn requests(&self) -> Vec<RequestId> {
        let request = |waiting: &Waiting| match &waiting.draft.purpose {
            Purpose::New(id) => Some(id.clone()),
            _ => None,
        };
        self.drafts.values().filter_map(request).collect()
    }

    /// How many drafts are for nonces that are not bound yet.
    pub(super) fn new_nonces(&self) -> usize {
        let takes = |waiting: &&Waiting| matches!(waiting.draft.purpose, Purpose::New(_) | Purpose::Fill);
        self.drafts.values().filter(takes).count()
    }

    /// How many first attempts are for nonces from this one on.
    pub(super) fn new_from(&self, nonce: Nonce) -> usize {
        let new = |waiting: &&Waiting| waiting.is_new() && waiting.draft.nonce >= nonce;
        self.drafts.values().filter(new).count()
    }

    /// What the drafts would cost, in wei, above what is bound to their nonces.
    pub(super) fn cost(&self, bound: impl Fn(Nonce) -> U256) -> U256 {
        let more = self.drafts.values().map(|Waiting { draft, .. }| {
            draft.fees.cost(draft.gas, draft.intent.value).saturating_sub(bound(draft.nonce))
        });
        more.fold(U256::ZERO, U256::saturating_add)
    }

    /// The signer has failed, and is left alone for a while.
    pub(super) fn rest(&mut self, now: Time) {
        self.rests_until = now + millis(SIGNER_REST_MS);
    }

    /// Until when nothing is signed.
    pub(super) fn rests_until(&self) -> Time {
        self.rests_until
    }

    /// When the signer is asked again for what it refuses now.
    pub(super) fn end_of_refusal(now: Time) -> Time {
        now + millis(REFUSAL_REST_MS)
    }

    /// The signer refuses a request.
    pub(super) fn refuse(&mut self, id: RequestId, now: Time) {
        self.refused.insert(id, Self::end_of_refusal(now));
    }

    pub(super) fn is_refused(&self, id: &RequestId, now: Time) -> bool {
        self.refused.get(id).is_some_and(|again| *again > now)
    }

    /// Forgets refusals of a request.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.refused.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::id;
    use alloy_primitives::{B256, Bytes};

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn plan(purpose: Purpose, nonce: Nonce) -> Plan {
        let fees = Fees { max_fee_per_gas: 2, max_priority_fee_per_gas: 1 };
        Plan { purpose, kind: AttemptKind::Payload, nonce, intent: Intent::default(), gas: 10, fees }
    }

    fn signed() -> Signed {
        Signed { hash: B256::ZERO, bytes: Bytes::new() }
    }

    #[test]
    fn first_attempts_have_their_turn_in_the_order_of_their_drafts() {
        let mut signing = Signing::default();
        let first = signing.draft(plan(Purpose::New(id("a")), 5), at(0));
        let second = signing.draft(plan(Purpose::New(id("b")), 6), at(0));
        signing.keep(second.ticket, signed());
        assert_eq!(signing.first_signed(), None);
        signing.keep(first.ticket, signed());
        assert_eq!(signing.first_signed(), Some((first.clone(), signed())));
        assert_eq!(signing.remove(first.ticket), Some(first));
        assert_eq!(signing.first_signed(), Some((second, signed())));
    }

    #[test]
    fn one_late_first_attempt_takes_the_others_with_it() {
        let mut signing = Signing::default();
        let patience = millis(100);
        signing.draft(plan(Purpose::New(id("a")), 5), at(0));
        signing.draft(plan(Purpose::Fill, 4), at(50));
        signing.draft(plan(Purpose::New(id("b")), 6), at(50));
        signing.drop_late(at(99), patience);
        assert_eq!(signing.requests(), [id("a"), id("b")]);
        signing.drop_late(at(100), patience);
        assert!(signing.requests().is_empty() && signing.has(4));
        signing.drop_late(at(150), patience);
        assert!(!signing.has(4));
    }

    #[test]
    fn nonces_and_costs_are_counted_once() {
        let mut signing = Signing::default();
        signing.draft(plan(Purpose::New(id("a")), 5), at(0));
        signing.draft(plan(Purpose::Fill, 4), at(0));
        signing.draft(plan(Purpose::Bump { attempts: 1 }, 3), at(0));
        assert_eq!((signing.new_nonces(), signing.new_from(5), signing.new_from(6)), (2, 1, 0));
        assert!(signing.has(5) && !signing.has_other(5) && signing.has_other(4));
        // A replacement only costs what it costs more than what it replaces.
        let bound = |nonce| if nonce == 3 { U256::from(15) } else { U256::ZERO };
        assert_eq!(signing.cost(bound), U256::from(20 + 20 + 5));
    }

    #[test]
    fn a_refusal_is_about_one_request_and_ends() {
        let mut signing = Signing::default();
        signing.refuse(id("a"), at(0));
        assert!(
            signing.is_refused(&id("a"), at(REFUSAL_REST_MS - 1)) && !signing.is_refused(&id("b"), at(0))
        );
        assert!(!signing.is_refused(&id("a"), at(REFUSAL_REST_MS)));
        signing.rest(at(5));
        assert_eq!(signing.rests_until(), at(5 + SIGNER_REST_MS));
    }
}
