//! What has changed since the last commit, and the commit that makes it durable.

use super::Account;
use crate::{
    Authority, Commit, Event, EventKind, Fence, Nonce, Place, Precondition, Request, RequestId, State, Write,
    accept::event_rows, commit::COMMIT_ROWS_MAX, key,
};
use alloy_primitives::B256;
use std::collections::BTreeSet;
use types::Time;

/// Why there is no commit to make. Drop the account and load it again.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The last commit was taken and nobody has said that it was done. What follows would be written on top of nothing.
    #[error("the last commit is still under way")]
    UnderWay,
    /// A row could not be written as text.
    #[error("a row cannot be encoded: {0}")]
    Encoding(#[from] serde_json::Error),
}

/// Rows to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    row: bool,
    places: BTreeSet<Nonce>,
    requests: BTreeSet<RequestId>,
    events: Vec<Event>,
    writes: Vec<Write>,
    preconditions: Vec<Precondition>,
    /// Attempts that are not durable yet.
    attempts: BTreeSet<B256>,
    /// The account's row and the attempts of a commit that is under way.
    under_way: Option<(Vec<u8>, BTreeSet<B256>)>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        !self.row && self.places.is_empty() && self.requests.is_empty() && self.writes.is_empty()
    }

    /// Whether an attempt may leave.
    pub(super) fn is_durable(&self, hash: B256) -> bool {
        let under_way = self.under_way.as_ref().is_some_and(|(_, attempts)| attempts.contains(&hash));
        !under_way && !self.attempts.contains(&hash)
    }

    pub(super) fn attempt(&mut self, hash: B256) {
        self.attempts.insert(hash);
    }

    pub(super) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(super) fn require(&mut self, precondition: Precondition) {
        self.preconditions.push(precondition);
    }
}

impl Account {
    /// Whether something waits to be committed.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether so much waits to be committed that it should be, before more is taken in. A commit has a limit, and what is
    /// above it could never be written.
    pub fn has_much_to_write(&self) -> bool {
        let changes = &self.changes;
        let told = changes.events.len() * (1 + self.config.endpoints.len());
        // A request has itself, two lists and a condition.
        let rows = changes.places.len() + 4 * changes.requests.len() + told + changes.writes.len();
        rows + changes.preconditions.len() >= COMMIT_ROWS_MAX / 4
    }

    /// The commit that makes everything durable that changed; nothing if nothing did.
    ///
    /// When the store has done it, say [`Account::committed`]. If it has not, or nobody knows, drop the account.
    pub fn take_commit(&mut self) -> Result<Option<Commit>, CommitError> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        if self.changes.under_way.is_some() {
            return Err(CommitError::UnderWay);
        }
        let changes = std::mem::take(&mut self.changes);
        self.row.version += 1;
        let row = serde_json::to_vec(&self.row)?;
        let row_key = key::account(self.id);
        let mut preconditions = changes.preconditions;
        preconditions.push(match &self.stored {
            Some(stored) => Precondition::Is(row_key.clone(), stored.clone()),
            None => Precondition::Absent(row_key.clone()),
        });
        let mut writes = vec![Write::Put(row_key, row.clone())];
        for nonce in changes.places {
            let key = key::place(self.id, nonce);
            writes.push(match self.places.get(&nonce) {
                Some(place) => Write::Put(key, serde_json::to_vec(place)?),
                None => Write::Delete(key),
            });
        }
        for id in changes.requests {
            if let Some(request) = self.requests.get(&id) {
                if self.unwritten.remove(&id) {
                    let live = key::live(request.account, request.accepted_at, &id);
                    preconditions.push(Precondition::Is(live, vec![]));
                }
                writes.extend(request_rows(request)?);
                if request.state.is_terminal() {
                    self.ended.insert(request.accepted_at, id.clone());
                    self.requests.remove(&id);
                    self.simulations.remove(&id);
                    self.refusals.remove(&id);
                }
            }
        }
        for event in &changes.events {
            let rows = event_rows(event, &self.config.endpoints)?;
            writes.extend(rows.into_iter().map(|(key, value)| Write::Put(key, value)));
        }
        writes.extend(changes.writes);
        self.changes.under_way = Some((row, changes.attempts));
        let authority = Authority::Holder(Fence::of(self.id, self.epoch));
        Ok(Some(Commit { authority, preconditions, writes }))
    }

    /// The store has done the last commit.
    pub fn committed(&mut self) {
        if let Some((row, _)) = self.changes.under_way.take() {
            self.stored = Some(row);
        }
    }

    pub(super) fn touch_row(&mut self) {
        self.changes.row = true;
    }

    pub(super) fn touch_place(&mut self, nonce: Nonce) {
        self.changes.places.insert(nonce);
    }

    /// Moves a request. The move must be a legal one; anything else is not done.
    pub(super) fn become_state(&mut self, id: &RequestId, state: State, now: Time) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if request.state == state || !request.state.may_become(&state) {
            return;
        }
        let place = (request.accepted_at, id.clone());
        if matches!(state, State::Accepted { .. }) {
            self.expiry_at = self.expiry_at.min(request.expires_at.unwrap_or(Time::MAX));
            self.queue.insert(place);
        } else {
            self.queue.remove(&place);
        }
        if state.is_terminal() {
            request.completed_at = Some(now);
        }
        request.state = state;
        self.changes.requests.insert(id.clone());
    }

    /// Tells an event about a request.
    pub(super) fn tell(&mut self, id: &RequestId, kind: EventKind, now: Time) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.events += 1;
        let slot = request.state.nonce().and_then(|nonce| self.places.get(&nonce)).and_then(Place::slot);
        self.changes.requests.insert(id.clone());
        self.changes.events.push(Event::about_request(request, slot, kind, now));
    }

    /// Tells an event about the account.
    pub(super) fn tell_account(&mut self, kind: EventKind, data: serde_json::Value, now: Time) {
        self.row.events += 1;
        self.touch_row();
        self.changes.events.push(Event::about_account(self.id, self.row.events, kind, data, now));
    }
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
