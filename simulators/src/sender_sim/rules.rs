//! Rules about what is durable: fees, the book, promises, order, gaps.

use super::{chain::Chain, check::Checker};
use alloy_primitives::U256;
use sender_model::{Account, Attempt, AttemptKind, NonceState, Request, RequestId, Slot, State, key};
use types::{Duration, Time};

/// How long something that is bound may wait until it is sent, in milliseconds.
const SENT_WITHIN_MS: u64 = 30_000;

impl Checker {
    pub(super) fn check_replacement(&mut self, nonce: u64, last: &Attempt, next: &Attempt) {
        // What no node takes for its type may be offered at the same price with the right one.
        let retyped = next.legacy && !last.legacy && next.fees == last.fees.into_legacy();
        if !next.fees.may_replace(&last.fees) && !retyped {
            self.wrong(format!("F1: nonce {nonce}: {:?} cannot replace {:?}", next.fees, last.fees));
        }
        let interval = Duration::from_millis(self.config.replacement_interval_ms);
        if next.bound_at.since(last.bound_at) < interval {
            self.wrong(format!("F3: nonce {nonce} was replaced too soon"));
        }
    }

    pub(super) fn check_cap(&mut self, nonce: u64, slot: &Slot, attempt: &Attempt) {
        let request = slot.owner.as_ref().and_then(|owner| self.mirror.requests.get(owner));
        let own = request.and_then(|request| request.intent.fee_cap).map_or(u128::MAX, |cap| cap.0);
        let cap = if attempt.kind == AttemptKind::Noop { u128::MAX } else { own }.min(self.config.fee_cap);
        if attempt.fees.max_fee_per_gas > cap || slot.attempts.len() > self.config.bumps_max + 4 {
            self.wrong(format!("F2: nonce {nonce} offers {:?}, the cap is {cap}", attempt.fees));
        }
    }

    /// A request's row goes: it has ended, and its time is over. From now on its name must keep the promise alone.
    pub(super) fn on_forgotten(&mut self, key: &str, now: Time) {
        let id = key::request_of_live(key);
        let ended = id.and_then(|id| Some((self.mirror.requests.get(&id)?.completed_at?, id)));
        let keep = |ms: u64, end: Time| end + Duration::from_millis(ms);
        match ended.filter(|(end, _)| now >= keep(self.config.retention_ms, *end)) {
            Some((end, id)) => {
                self.mirror.forgotten.insert(id, keep(self.config.name_retention_ms, end));
            }
            None => self.wrong(format!("R1: {key} was deleted")),
        }
    }

    /// A name goes: not before the time that was promised.
    pub(super) fn on_name_forgotten(&mut self, key: &str, now: Time) {
        let id = key::request_of_live(key);
        let until = id.and_then(|id| self.mirror.forgotten.get(&id));
        if until.is_none_or(|until| now < *until) {
            self.wrong(format!("R9: the name {key} was forgotten before its time"));
        }
    }

    /// Whether a name is promised to stay used: of all but those whose requests were forgotten long ago.
    pub(super) fn is_promised(&self, id: &RequestId, now: Time) -> bool {
        self.mirror.forgotten.get(id).is_none_or(|until| now < *until)
    }

    /// Each nonce of the range has one place, and each side of a binding knows the other.
    pub(super) fn check_book(&mut self) {
        let number = |name: &str| self.mirror.row.get(name).and_then(serde_json::Value::as_u64);
        let (Some(base), Some(next)) = (number("base"), number("next")) else { return };
        if !self.mirror.places.keys().copied().eq(base..next) {
            self.wrong(format!("N3: the places are not {base}..{next}"));
        }
        for (nonce, slot) in
            self.mirror.places.iter().filter_map(|(nonce, place)| Some((nonce, place.slot()?)))
        {
            let Some(owner) = &slot.owner else { continue };
            let state = self.mirror.requests.get(owner).map(|request| &request.state);
            if state.and_then(State::nonce) != Some(*nonce) {
                let what = format!("N3: nonce {nonce} is bound to {owner}, which is {state:?}");
                return self.wrong(what);
            }
        }
    }

    /// What is promised can be paid, and no more is in flight than may be, whenever something was added.
    pub(super) fn check_promises(&mut self, account: &Account, fresh: &[Attempt]) {
        let Some((view, _)) = account.view().filter(|_| !fresh.is_empty()) else { return };
        let final_count = self.mirror.row.get("finalCount").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let count = view.latest_count.max(final_count);
        let open = || self.mirror.places.range(count..);
        let cost = open().filter_map(|(_, place)| place.slot()).map(Slot::cost);
        let cost = cost.fold(U256::ZERO, U256::saturating_add);
        let owned = |place: &NonceState| match place {
            NonceState::Bound(slot) => slot.owner.is_some(),
            NonceState::Leased(_) => true,
            _ => false,
        };
        let in_flight = open().filter(|(_, place)| owned(place)).count();
        let next = self.mirror.row.get("next").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let top = next.checked_sub(1).and_then(|top| Some((top, self.mirror.places.get(&top)?)));
        let loose = matches!(top, Some((top, NonceState::Free { .. })) if top >= count);
        if cost > view.balance {
            self.wrong(format!("F4: {cost} is promised, {} is there", view.balance));
        }
        let payload = fresh.iter().any(|attempt| attempt.kind == AttemptKind::Payload);
        if payload && fresh.iter().any(|a| !self.sent.contains_key(&a.hash)) && self.grew(fresh, in_flight) {
            self.wrong(format!("N6: {in_flight} are in flight"));
        }
        if next < view.latest_count || loose {
            self.wrong(format!("N5: next is {next}, the chain's count {}", view.latest_count));
        }
    }

    /// Whether a first attempt was added beyond the limit. A count that fell back makes more of the old ones open.
    fn grew(&self, fresh: &[Attempt], in_flight: usize) -> bool {
        let slots = self.mirror.places.values().filter_map(NonceState::slot);
        let first = |slot: &Slot| fresh.iter().any(|attempt| slot.attempts[0].hash == attempt.hash);
        let ours = |slot: &Slot| {
            let request = slot.owner.as_ref().and_then(|owner| self.mirror.requests.get(owner));
            request.is_some_and(|request| !request.raw)
        };
        let added = slots.filter(|slot| ours(slot) && first(slot)).count();
        added > 0 && in_flight > self.config.in_flight_limit()
    }

    /// Nobody is bound before one who was accepted earlier, is not held, and is known to the owner.
    pub(super) fn check_order(&mut self, id: &RequestId, account: &Account) {
        let Some(request) = self.mirror.requests.get(id).filter(|request| !request.raw) else { return };
        let place = (request.accepted_at, &request.id);
        let waits = |other: &&Request| {
            other.state == State::Accepted { held: None }
                && (other.accepted_at, &other.id) < place
                && account.request(&other.id).is_some()
        };
        if let Some(earlier) = self.mirror.requests.values().find(waits) {
            let what = format!("R5: {id} was bound before {}", earlier.id);
            self.wrong(what);
        }
    }

    /// Long after faults have healed what is bound is sent at once, however much else there is to ask.
    pub(super) fn check_sends(&mut self, chain: &Chain, now: Time) {
        let limit = Duration::from_millis(SENT_WITHIN_MS);
        let late =
            |attempt: &Attempt| !self.sent.contains_key(&attempt.hash) && now.since(attempt.bound_at) > limit;
        let slots =
            self.mirror.places.range(chain.count()..).filter_map(|(nonce, at)| Some((nonce, at.slot()?)));
        let mut newest = slots.filter_map(|(nonce, slot)| Some((*nonce, slot.last()?)));
        if let Some((nonce, _)) = newest.find(|(_, attempt)| late(attempt)) {
            self.wrong(format!("S3: nonce {nonce} was bound and is not sent"));
        }
    }

    /// Long after faults have healed no gap is older than it may be.
    pub(super) fn check_gaps(&mut self, chain: &Chain, now: Time, slack_ms: u64) {
        let limit = Duration::from_millis(self.config.gap_grace_ms + slack_ms);
        let old =
            |place: &NonceState| matches!(place, NonceState::Free { since } if now.since(*since) > limit);
        if let Some((nonce, _)) = self.mirror.places.range(chain.count()..).find(|(_, place)| old(place)) {
            let what = format!("N4: nonce {nonce} is a gap for too long");
            self.wrong(what);
        }
    }
}
