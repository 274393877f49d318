//! The one who sees everything: a mirror of what is durable, what left, and what the chain knows, and every invariant.

use super::chain::{Chain, Payload};
use alloy_primitives::B256;
use sender::store::Lease;
use sender_model::{
    Account, AccountId, Attempt, Authority, Commit, Config, Event, EventKind, Failure, NonceState, Request,
    RequestId, Slot, State, Subject, Write, key,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::Time;

/// What is durable, decoded.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    pub row: serde_json::Value,
    pub places: BTreeMap<u64, NonceState>,
    pub requests: BTreeMap<RequestId, Request>,
    events: BTreeMap<Subject, u32>,
    dead: BTreeSet<String>,
    /// Requests that were forgotten, and until when their names are promised to stay used.
    pub forgotten: BTreeMap<RequestId, Time>,
}

/// Checks everything.
#[derive(Debug)]
pub(super) struct Checker {
    pub config: Arc<Config>,
    id: AccountId,
    pub mirror: Mirror,
    /// Who was told that its request was accepted.
    told: BTreeSet<RequestId>,
    /// Bytes that left, with their nonce.
    pub sent: BTreeMap<B256, u64>,
    /// Every attempt that ever was durable, by nonce, with its owner.
    bound: BTreeMap<u64, BTreeMap<B256, Option<RequestId>>>,
    epoch: u64,
    /// Payloads that are final.
    finals: BTreeSet<String>,
    seen_final: u64,
    pub attempts: usize,
    pub violations: Vec<String>,
    pub latencies_ms: Vec<u64>,
    /// Requests that would be reverted until another one is mined.
    parents: BTreeMap<RequestId, RequestId>,
    /// Requests that were in a block at some time.
    mined: BTreeSet<RequestId>,
}

impl Checker {
    /// This request would be reverted until that one is mined.
    pub(super) fn expect_parent(&mut self, id: RequestId, parent: RequestId) {
        self.parents.insert(id, parent);
    }

    /// D1: what only waits for an earlier request does not fail for it. A parent that was mined once and is not any more is
    /// left out: its child may have met a node of the other branch.
    fn check_parent(&mut self, id: &RequestId) {
        let requests = &self.mirror.requests;
        let parent = self.parents.get(id).and_then(|parent| requests.get(parent));
        let (Some(parent), Some(child)) = (parent, requests.get(id)) else { return };
        let earlier = (parent.accepted_at, &parent.id) < (child.accepted_at, id);
        let waits =
            matches!(parent.state, State::Accepted { .. } | State::Bound { .. } | State::Submitted { .. });
        if earlier && waits && !self.mined.contains(&parent.id) {
            let wrong = format!("D1: {id} has failed while {} is {:?}", parent.id, parent.state);
            self.wrong(wrong);
        }
    }

    pub(super) fn new(config: Arc<Config>, id: AccountId) -> Self {
        Self {
            config,
            id,
            mirror: Mirror::default(),
            told: BTreeSet::new(),
            sent: BTreeMap::new(),
            bound: BTreeMap::new(),
            epoch: 0,
            finals: BTreeSet::new(),
            seen_final: 0,
            attempts: 0,
            violations: vec![],
            latencies_ms: vec![],
            parents: BTreeMap::new(),
            mined: BTreeSet::new(),
        }
    }

    pub(super) fn wrong(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    /// Somebody was told that its request was accepted.
    pub(super) fn on_accepted(&mut self, id: &RequestId) {
        if !self.mirror.requests.contains_key(id) {
            self.wrong(format!("R1: {id} was accepted and is not durable"));
        }
        self.told.insert(id.clone());
    }

    /// A lease was taken.
    pub(super) fn on_epoch(&mut self, epoch: u64) {
        if epoch <= self.epoch {
            self.wrong(format!("L2: epoch {epoch} after {}", self.epoch));
        }
        self.epoch = epoch;
    }

    /// Bytes leave.
    pub(super) fn on_send(&mut self, nonce: u64, hash: B256) {
        if !self.bound.get(&nonce).is_some_and(|attempts| attempts.contains_key(&hash)) {
            self.wrong(format!("N7: bytes for nonce {nonce} leave that are not durable"));
        }
        self.sent.insert(hash, nonce);
    }

    /// A commit is durable. `by` is its owner's memory, if it has an owner.
    pub(super) fn on_commit(
        &mut self,
        commit: &Commit,
        by: Option<&Account>,
        lease: Option<&Lease>,
        chain: &Chain,
        now: Time,
    ) {
        if let Authority::Holder(fence) = &commit.authority
            && !lease.is_some_and(|lease| lease.admits(fence.epoch, now))
        {
            self.wrong(format!("L1: epoch {} wrote under {lease:?}", fence.epoch));
        }
        let told: Vec<Event> = commit
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::Put(key, row) if key.starts_with("e/") => serde_json::from_slice(row).ok(),
                _ => None,
            })
            .collect();
        let (mut newly_bound, mut fresh, mut failed) = (vec![], vec![], vec![]);
        for event in &told {
            self.on_event(event);
        }
        for write in &commit.writes {
            match write {
                Write::Put(key, row) if key.starts_with("r/") => match serde_json::from_slice::<Request>(row)
                {
                    Ok(request) => {
                        if matches!(request.state, State::Failed(Failure::Simulation { .. })) {
                            failed.push(request.id.clone());
                        }
                        newly_bound.extend(self.on_request(request, &told, chain, now));
                    }
                    Err(error) => self.wrong(format!("{key} is unreadable: {error}")),
                },
                Write::Put(key, row) if key.starts_with("n/") => {
                    match serde_json::from_slice::<NonceState>(row) {
                        Ok(place) => fresh.extend(self.on_place(nonce_of(key), Some(place), chain)),
                        Err(error) => self.wrong(format!("{key} is unreadable: {error}")),
                    }
                }
                Write::Delete(key) if key.starts_with("n/") => {
                    fresh.extend(self.on_place(nonce_of(key), None, chain));
                }
                Write::Put(key, row) if *key == key::account(self.id) => {
                    self.mirror.row = serde_json::from_slice(row).unwrap_or_default();
                }
                Write::Put(key, _) if key.starts_with("x/") => {
                    self.mirror.dead.insert(key.clone());
                }
                Write::Delete(key) if key.starts_with("r/") => self.on_forgotten(key, now),
                Write::Delete(key) if key.starts_with("k/") => self.on_name_forgotten(key, now),
                _ => {}
            }
        }
        self.check_book();
        failed.iter().for_each(|id| self.check_parent(id));
        if let Some(account) = by {
            self.check_promises(account, &fresh);
            newly_bound.iter().for_each(|id| self.check_order(id, account));
        }
    }

    fn on_event(&mut self, event: &Event) {
        let last = self.mirror.events.entry(event.subject.clone()).or_default();
        *last += 1;
        if event.sequence != *last {
            let (found, expected) = (event.sequence, *last);
            self.wrong(format!("W3: {} has event {found} where {expected} comes", event.subject));
        }
    }

    /// A request's row. Returns its name if it was bound now.
    fn on_request(&mut self, new: Request, told: &[Event], chain: &Chain, now: Time) -> Option<RequestId> {
        let id = new.id.clone();
        if self.mirror.forgotten.contains_key(&id) {
            // Callers here come with no name after its time.
            self.wrong(format!("R9: {id} was forgotten, and is accepted a second time"));
        }
        let subject = Subject::Request(id.clone());
        if self.mirror.events.get(&subject) != Some(&new.events) {
            self.wrong(format!("W1: {id} counts {} events", new.events));
        }
        let old = self.mirror.requests.get(&id).cloned();
        let was = old.as_ref().map(|old| &old.state);
        if let Some(was) = was.filter(|was| was.is_terminal())
            && *was != new.state
        {
            self.wrong(format!("R2: {id} was {was:?} and is {:?}", new.state));
        }
        if was != Some(&new.state) {
            self.check_state(&new, told, chain, now);
        }
        if matches!(new.state, State::Mined { .. }) {
            self.mined.insert(id.clone());
        }
        let nonce_before = was.and_then(State::nonce);
        let bound_now = new.state.nonce().filter(|_| nonce_before.is_none());
        self.mirror.requests.insert(id.clone(), new);
        if let Some(nonce) = bound_now {
            self.check_second_nonce(&id, nonce, chain);
        }
        bound_now.map(|_| id)
    }

    /// A state that a request has come to: is it true, and was it told?
    fn check_state(&mut self, new: &Request, told: &[Event], chain: &Chain, now: Time) {
        let id = &new.id;
        let kind = match &new.state {
            State::Confirmed { hash, nonce, .. } | State::Reverted { hash, nonce, .. } => {
                if !chain.is_final(*hash) || chain.final_user(*nonce).map(|tx| tx.hash) != Some(*hash) {
                    self.wrong(format!("C1: {id} is said to be final and is not"));
                }
                let confirmed = matches!(new.state, State::Confirmed { .. });
                if confirmed { Some(EventKind::Confirmed) } else { Some(EventKind::Reverted) }
            }
            State::Cancelled => Some(EventKind::Cancelled),
            State::Expired => Some(EventKind::Expired),
            State::Failed(_) => Some(EventKind::Failed),
            State::Mined { .. } => Some(EventKind::Mined),
            State::Submitted { .. } => Some(EventKind::Submitted),
            State::Accepted { .. } | State::Bound { .. } | State::Cancelling { .. } => None,
        };
        let subject = Subject::Request(id.clone());
        let was_told = |kind| told.iter().any(|event| event.subject == subject && event.kind == kind);
        if kind.is_some_and(|kind| !was_told(kind)) {
            self.wrong(format!("W1: {id} became {:?} without its event", new.state));
        }
        if new.state.is_terminal() {
            self.latencies_ms.push(now.since(new.accepted_at).as_millis() as u64);
            let mined = matches!(new.state, State::Confirmed { .. } | State::Reverted { .. });
            if !mined && self.can_be_mined(id, chain).is_some() {
                self.wrong(format!("R8: {id} is {:?} and can still be mined", new.state));
            }
        }
    }

    /// A nonce under which a request's payload left and can still be mined, or is mined for good.
    fn can_be_mined(&self, id: &RequestId, chain: &Chain) -> Option<u64> {
        let mine = |hash: &B256| {
            let payload = &chain.signed[hash].payload;
            *payload == Payload::Request(id.to_string()) && !chain.signed[hash].unminable
        };
        let open = |nonce: u64, hash: &B256| {
            nonce >= chain.final_count() || chain.final_user(nonce).is_some_and(|tx| tx.hash == *hash)
        };
        let found = self.sent.iter().find(|(hash, nonce)| mine(hash) && open(**nonce, hash));
        found.map(|(_, nonce)| *nonce)
    }

    fn check_second_nonce(&mut self, id: &RequestId, nonce: u64, chain: &Chain) {
        if let Some(first) = self.can_be_mined(id, chain)
            && first != nonce
        {
            self.wrong(format!("N2: {id} has nonce {nonce} while {first} can still be mined"));
        }
    }

    /// A nonce's row. Returns the attempts that are new.
    fn on_place(&mut self, nonce: u64, place: Option<NonceState>, chain: &Chain) -> Vec<Attempt> {
        let old = self.mirror.places.get(&nonce).cloned();
        let (before, after) =
            (old.as_ref().and_then(NonceState::slot), place.as_ref().and_then(NonceState::slot));
        if let Some(before) = before {
            self.check_release(nonce, before, after, chain);
        }
        let fresh = after.map(|slot| self.on_slot(nonce, before, slot, chain)).unwrap_or_default();
        match place {
            Some(place) => self.mirror.places.insert(nonce, place),
            None => self.mirror.places.remove(&nonce),
        };
        fresh
    }

    /// A nonce whose bytes have left stays bound to its owner, with all its attempts, until it is used up for good.
    fn check_release(&mut self, nonce: u64, before: &Slot, after: Option<&Slot>, chain: &Chain) {
        let left = before.attempts.iter().any(|attempt| self.sent.contains_key(&attempt.hash));
        let keeps = after.is_some_and(|after| {
            let prefix = after.attempts.iter().zip(&before.attempts).all(|(a, b)| a.hash == b.hash);
            after.owner == before.owner && prefix && after.attempts.len() >= before.attempts.len()
        });
        if left && !keeps && chain.final_count() <= nonce {
            self.wrong(format!("N1: nonce {nonce} was given up while its bytes are out"));
        }
    }

    fn on_slot(&mut self, nonce: u64, before: Option<&Slot>, slot: &Slot, chain: &Chain) -> Vec<Attempt> {
        let known = before.map_or(0, |before| before.attempts.len());
        for pair in slot.attempts.windows(2).skip(known.saturating_sub(1)) {
            self.check_replacement(nonce, &pair[0], &pair[1]);
        }
        let others = self.bound.entry(nonce).or_default();
        let mine = |owner: &Option<RequestId>| *owner == slot.owner;
        let taken = others.iter().any(|(hash, owner)| !mine(owner) && self.sent.contains_key(hash));
        others.extend(slot.attempts.iter().map(|attempt| (attempt.hash, slot.owner.clone())));
        if taken {
            self.wrong(format!(
                "N1: nonce {nonce} is bound to {:?} while another's bytes are out",
                slot.owner
            ));
        }
        let fresh: Vec<Attempt> = slot.attempts.iter().skip(known).cloned().collect();
        self.attempts += fresh.len();
        if let Some(attempt) = slot.attempts.iter().find(|it| it.taken && !chain.taken.contains(&it.hash)) {
            self.wrong(format!("S1: nonce {nonce}: no node has ever taken {}", attempt.hash));
        }
        if let Some(attempt) = fresh.iter().find(|attempt| attempt.gas < 21_000) {
            self.wrong(format!("S2: nonce {nonce}: no transaction can do with {} gas", attempt.gas));
        }
        fresh.iter().for_each(|attempt| self.check_cap(nonce, slot, attempt));
        fresh
    }

    /// A new block: no payload twice, and none that was said to be over.
    pub(super) fn on_block(&mut self, chain: &Chain) {
        let mut seen = BTreeSet::new();
        for payload in chain.payloads() {
            if let Payload::Request(id) = payload
                && !seen.insert(id)
            {
                self.wrong(format!("R3: {id} is mined twice"));
            }
        }
        while self.seen_final < chain.final_count() {
            if let Some(Payload::Request(id)) = chain.final_user(self.seen_final).map(|tx| &tx.payload) {
                let state = id.parse().ok().and_then(|id| self.mirror.requests.get(&id)).map(|r| &r.state);
                let over = matches!(state, Some(State::Cancelled | State::Expired | State::Failed(_)));
                if over || !self.finals.insert(id.clone()) {
                    self.wrong(format!("R8: {id} is mined although it is {state:?}"));
                }
            }
            self.seen_final += 1;
        }
    }

    /// The request that a nonce is bound to.
    pub(super) fn owner_of(&self, nonce: u64) -> Option<String> {
        Some(self.mirror.places.get(&nonce)?.slot()?.owner.as_ref()?.to_string())
    }

    pub(super) fn events(&self) -> Vec<(Subject, u32)> {
        self.mirror.events.iter().map(|(subject, events)| (subject.clone(), *events)).collect()
    }

    pub(super) fn is_dead(&self, endpoint: &str, subject: &Subject, sequence: u32) -> bool {
        self.mirror.dead.contains(&key::dead_letter(self.id, subject, sequence, endpoint))
    }

    pub(super) fn all_ended(&self) -> bool {
        self.mirror.requests.values().all(|request| request.state.is_terminal())
            && self.told.iter().all(|id| self.mirror.requests.contains_key(id))
    }

    /// What has not ended, for the reader of a failure.
    pub(super) fn open(&self) -> String {
        let open = self.mirror.requests.values().filter(|request| !request.state.is_terminal());
        let open: Vec<String> = open.map(|request| format!("{} {:?}", request.id, request.state)).collect();
        format!("{} of {:?}", open.join(", "), self.mirror.row)
    }

    pub(super) fn accepted(&self) -> usize {
        self.mirror.requests.len()
    }

    pub(super) fn ends(&self) -> [usize; 4] {
        let mut ends = [0; 4];
        for request in self.mirror.requests.values() {
            match request.state {
                State::Confirmed { .. } | State::Reverted { .. } => ends[0] += 1,
                State::Cancelled => ends[1] += 1,
                State::Expired => ends[2] += 1,
                State::Failed(_) => ends[3] += 1,
                _ => {}
            }
        }
        ends
    }
}

fn nonce_of(key: &str) -> u64 {
    key.rsplit('/').next().and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(u64::MAX)
}
