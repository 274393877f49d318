//! The requests of an account that have not ended, the queue of those without a nonce, and what of them is to be written.

use super::ended::Ended;
use crate::{Held, Nonce, PastAttempt, Precondition, Request, RequestId, Slot, State, Write, key};
use alloy_primitives::B256;
use std::collections::{BTreeMap, BTreeSet};
use types::Time;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    live: BTreeMap<RequestId, Request>,
    /// Requests without a nonce, in the order of acceptance.
    queue: BTreeSet<(Time, RequestId)>,
    /// Requests with a nonce that are in no block, in the same order.
    unmined: BTreeSet<(Time, RequestId)>,
    /// Requests that were taken in since the account was loaded and have not been written by this owner.
    unwritten: BTreeSet<RequestId>,
    ended: Ended,
    /// No request that waits expires before.
    expiry_at: Time,
    changed: BTreeSet<RequestId>,
}

/// The rows of requests that have changed.
#[derive(Debug, Default)]
pub(super) struct RequestRows {
    pub preconditions: Vec<Precondition>,
    pub writes: Vec<Write>,
    /// Those that have ended, and are not kept in memory any more.
    pub ended: Vec<RequestId>,
}

impl Requests {
    /// Requests as they were stored; those that have ended are left out.
    pub(super) fn load(requests: impl IntoIterator<Item = Request>) -> Self {
        let live = requests.into_iter().filter(|request| !request.state.is_terminal());
        let live: BTreeMap<_, _> = live.map(|request| (request.id.clone(), request)).collect();
        let accepted = live.values().filter(|request| matches!(request.state, State::Accepted { .. }));
        let queue = accepted.map(|request| (request.accepted_at, request.id.clone())).collect();
        let unmined = live.values().filter(|request| is_unmined(&request.state));
        let unmined = unmined.map(|request| (request.accepted_at, request.id.clone())).collect();
        Self { live, queue, unmined, ..Self::default() }
    }

    pub(super) fn get(&self, id: &RequestId) -> Option<&Request> {
        self.live.get(id)
    }

    /// All of them. One that has ended is among them until its end is written.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Request> {
        self.live.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    pub(super) fn state(&self, id: &RequestId) -> Option<&State> {
        self.get(id).map(|request| &request.state)
    }

    pub(super) fn is_held(&self, id: &RequestId) -> bool {
        matches!(self.state(id), Some(State::Accepted { held: Some(_) }))
    }

    /// How many have no nonce.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Those without a nonce, in the order of acceptance.
    pub(super) fn queue(&self) -> impl Iterator<Item = &RequestId> {
        self.queue.iter().map(|(_, id)| id)
    }

    /// Those that were accepted before this one, have a nonce and are in no block.
    pub(super) fn unmined_before(&self, request: &Request) -> impl Iterator<Item = &Request> {
        let position = (request.accepted_at, request.id.clone());
        self.unmined.range(..position).filter_map(|(_, id)| self.live.get(id))
    }

    /// Those that were accepted before this one and have no nonce, in the order of acceptance.
    pub(super) fn before(&self, request: &Request) -> impl Iterator<Item = &Request> {
        let position = (request.accepted_at, request.id.clone());
        self.queue.range(..position).filter_map(|(_, id)| self.live.get(id))
    }

    /// Whether all that were accepted before this one and have no nonce are held.
    pub(super) fn is_first(&self, request: &Request) -> bool {
        let position = (request.accepted_at, request.id.clone());
        self.queue.range(..position).all(|(_, earlier)| self.is_held(earlier))
    }

    /// Whether some are held for lack of funds.
    pub(super) fn lack_funds(&self) -> bool {
        let held = State::Accepted { held: Some(Held::Funds) };
        self.queue().any(|id| self.state(id) == Some(&held))
    }

    /// Whether a request has ended under this owner.
    pub(super) fn has_ended(&self, request: &Request) -> bool {
        self.ended.contains(request.accepted_at, &request.id)
    }

    /// Takes in one that is new to this owner. Its first write demands that it is live.
    pub(super) fn admit(&mut self, request: Request) {
        self.unwritten.insert(request.id.clone());
        self.enqueue(&request);
        self.live.insert(request.id.clone(), request);
    }

    /// Relies on the caller that nothing of this owner has written yet.
    #[cfg(feature = "bugs")]
    pub(super) fn trust_unwritten(&mut self) {
        self.unwritten.clear();
    }

    /// Adds one that this owner makes, and that is about to get a nonce.
    pub(super) fn create(&mut self, request: Request) {
        self.live.insert(request.id.clone(), request);
    }

    fn enqueue(&mut self, request: &Request) {
        self.expiry_at = self.expiry_at.min(request.expires_at.unwrap_or(Time::MAX));
        self.queue.insert((request.accepted_at, request.id.clone()));
    }

    /// Moves a request. The move must be a legal one; anything else is not done.
    pub(super) fn become_state(&mut self, id: &RequestId, state: State, now: Time) {
        let Some(request) = self.live.get_mut(id) else { return };
        if request.state == state || !request.state.may_become(&state) {
            return;
        }
        if state.is_terminal() {
            request.completed_at = Some(now);
        }
        request.state = state;
        self.changed.insert(id.clone());
        let position = (request.accepted_at, id.clone());
        if is_unmined(&request.state) {
            self.unmined.insert(position.clone());
        } else {
            self.unmined.remove(&position);
        }
        if matches!(request.state, State::Accepted { .. }) {
            self.expiry_at = self.expiry_at.min(request.expires_at.unwrap_or(Time::MAX));
            self.queue.insert(position);
        } else {
            self.queue.remove(&position);
        }
    }

    /// Counts one more event about a request.
    pub(super) fn count_event(&mut self, id: &RequestId) -> Option<&Request> {
        let request = self.live.get_mut(id)?;
        request.events += 1;
        self.changed.insert(id.clone());
        Some(request)
    }

    /// Counts that a request has lost its nonce to a foreign transaction, and says how often it had before. The caller
    /// moves the request, which writes it.
    pub(super) fn count_loss(&mut self, id: &RequestId) -> Option<u32> {
        let request = self.live.get_mut(id)?;
        request.rebinds += 1;
        Some(request.rebinds - 1)
    }

    /// Keeps the attempts of a settled nonce with their request. The caller moves the request, which writes it.
    pub(super) fn remember(&mut self, id: &RequestId, nonce: Nonce, slot: &Slot, mined: Option<B256>) {
        let Some(request) = self.live.get_mut(id) else { return };
        request.past.extend(slot.attempts.iter().map(|attempt| PastAttempt {
            nonce,
            hash: attempt.hash,
            fees: attempt.fees,
            kind: attempt.kind,
            mined: mined == Some(attempt.hash),
        }));
    }

    /// Requests without a nonce whose time is over.
    pub(super) fn take_expired(&mut self, now: Time) -> Vec<RequestId> {
        if now < self.expiry_at {
            return vec![];
        }
        let end = |id: &RequestId| self.get(id).and_then(|request| request.expires_at);
        let ends: Vec<(Time, &RequestId)> = self.queue().filter_map(|id| Some((end(id)?, id))).collect();
        let later = ends.iter().map(|(at, _)| *at).filter(|at| *at > now).min();
        let expired = ends.into_iter().filter(|(at, _)| *at <= now).map(|(_, id)| id.clone()).collect();
        self.expiry_at = later.unwrap_or(Time::MAX);
        expired
    }

    /// Not all that had expired were dealt with: the others are looked for again.
    pub(super) fn expire_again(&mut self, now: Time) {
        self.expiry_at = now;
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// About how many rows and conditions are to be written: itself, two lists and a condition for each.
    pub(super) fn changed_rows(&self) -> usize {
        4 * self.changed.len()
    }

    /// The rows of what has changed.
    pub(super) fn take_changes(&mut self) -> Result<RequestRows, serde_json::Error> {
        let mut rows = RequestRows::default();
        for id in std::mem::take(&mut self.changed) {
            let Some(request) = self.live.get(&id) else { continue };
            if self.unwritten.remove(&id) {
                let live = key::live(request.account, request.accepted_at, &id);
                rows.preconditions.push(Precondition::Is(live, vec![]));
            }
            rows.writes.extend(request_rows(request)?);
            if request.state.is_terminal() {
                self.ended.insert(request.accepted_at, id.clone());
                self.live.remove(&id);
                rows.ended.push(id);
            }
        }
        Ok(rows)
    }
}

/// Whether a request has a nonce and is in no block.
const fn is_unmined(state: &State) -> bool {
    matches!(state, State::Bound { .. } | State::Submitted { .. } | State::Cancelling { .. })
}

/// The rows of a request: itself, and in which list it stands.
fn request_rows(request: &Request) -> Result<Vec<Write>, serde_json::Error> {
    let mut writes = vec![Write::Put(key::request(&request.id), serde_json::to_vec(request)?)];
    let live = key::live(request.account, request.accepted_at, &request.id);
    match request.completed_at {
        Some(at) => writes.extend([Write::Delete(live), Write::Put(key::done(at, &request.id), vec![])]),
        None => writes.push(Write::Put(live, vec![])),
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{account_id, id, request};

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn requests(names: &[&str]) -> Requests {
        let named = |(index, name): (usize, &&str)| request(name, at(index as u64));
        Requests::load(names.iter().enumerate().map(named))
    }

    #[test]
    fn the_queue_has_those_without_a_nonce_in_the_order_of_acceptance() {
        let mut requests = requests(&["b", "a", "c"]);
        assert_eq!(requests.queue().collect::<Vec<_>>(), [&id("b"), &id("a"), &id("c")]);
        requests.become_state(&id("a"), State::Bound { nonce: 5 }, at(9));
        assert_eq!(requests.queue().collect::<Vec<_>>(), [&id("b"), &id("c")]);
        // A request that lost its nonce has its old position.
        requests.become_state(&id("a"), State::Accepted { held: None }, at(9));
        assert_eq!(requests.queue().collect::<Vec<_>>(), [&id("b"), &id("a"), &id("c")]);
    }

    #[test]
    fn held_ones_let_others_pass() {
        let mut requests = requests(&["a", "b"]);
        let second = requests.get(&id("b")).unwrap().clone();
        assert!(!requests.is_first(&second));
        requests.become_state(&id("a"), State::Accepted { held: Some(Held::Funds) }, at(9));
        assert!(requests.is_first(&second) && requests.is_held(&id("a")) && requests.lack_funds());
    }

    #[test]
    fn an_illegal_move_is_not_done() {
        let mut requests = requests(&["a"]);
        requests.become_state(&id("a"), State::Mined { nonce: 5 }, at(9));
        assert_eq!(requests.state(&id("a")), Some(&State::Accepted { held: None }));
        assert!(!requests.has_changes());
    }

    #[test]
    fn the_end_is_written_once_and_remembered() {
        let mut requests = requests(&["a"]);
        let old_copy = requests.get(&id("a")).unwrap().clone();
        requests.become_state(&id("a"), State::Cancelled, at(9));
        assert!(!requests.is_empty(), "its end is not written yet");
        let rows = requests.take_changes().unwrap();
        assert_eq!(rows.ended, [id("a")]);
        assert!(rows.writes.contains(&Write::Delete(key::live(account_id(), at(0), &id("a")))));
        assert!(rows.writes.contains(&Write::Put(key::done(at(9), &id("a")), vec![])));
        assert!(requests.is_empty() && !requests.has_changes() && requests.has_ended(&old_copy));
    }

    #[test]
    fn the_first_write_of_one_that_was_admitted_demands_that_it_is_live() {
        let mut requests = Requests::default();
        requests.admit(request("a", at(3)));
        let live = Precondition::Is(key::live(account_id(), at(3), &id("a")), vec![]);
        for expected in [vec![live], vec![]] {
            requests.count_event(&id("a"));
            assert_eq!(requests.take_changes().unwrap().preconditions, expected);
        }
    }

    #[test]
    fn expiry_looks_at_those_that_wait_and_only_when_one_may_be_over() {
        let mut requests = Requests::default();
        for (name, end) in [("a", Some(20)), ("b", Some(10)), ("c", None)] {
            requests.admit(Request { expires_at: end.map(at), ..request(name, at(1)) });
        }
        assert_eq!(requests.take_expired(at(9)), vec![]);
        assert_eq!(requests.take_expired(at(10)), [id("b")]);
        requests.become_state(&id("b"), State::Expired, at(10));
        assert_eq!(requests.take_expired(at(19)), vec![]);
        assert_eq!(requests.take_expired(at(20)), [id("a")]);
        // It was not dealt with.
        assert_eq!(requests.take_expired(at(21)), vec![]);
        requests.expire_again(at(21));
        assert_eq!(requests.take_expired(at(21)), [id("a")]);
    }
}
