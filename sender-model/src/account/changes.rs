//! What has changed since the last commit, and the commit that makes it durable.

use super::{Account, Row};
use crate::{
    Authority, COMMIT_ROWS_MAX, Commit, EventKind, Fence, Nonce, Precondition, RequestId, State, Write, key,
};
use alloy_primitives::B256;
use std::collections::BTreeSet;
use types::Time;

/// Why there is no commit to make. Drop the account and load it again.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The last commit was taken and was not reported as done. What follows would be written on top of nothing.
    #[error("the last commit is still under way")]
    UnderWay,
    /// A row could not be written as text.
    #[error("a row cannot be encoded: {0}")]
    Encoding(#[from] serde_json::Error),
}

/// What the next commit expects and does beyond the rows of the account's parts, and which attempts are not durable yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// Counts commits, so that no two rows of an account are the same.
    version: u64,
    /// The account's row as it is in the store: what the next commit expects to find.
    stored: Option<Vec<u8>>,
    /// Whether something in the account's row has changed that belongs to no part.
    row: bool,
    writes: Vec<Write>,
    preconditions: Vec<Precondition>,
    /// Attempts that are not durable yet.
    attempts: BTreeSet<B256>,
    /// The account's row and the attempts of a commit that is under way.
    under_way: Option<(Vec<u8>, BTreeSet<B256>)>,
}

impl Changes {
    /// Nothing, on top of a row that was stored.
    pub(super) fn load(version: u64, stored: Option<Vec<u8>>) -> Self {
        Self { version, stored, ..Self::default() }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    fn is_empty(&self) -> bool {
        !self.row && self.writes.is_empty()
    }

    fn rows(&self) -> usize {
        self.writes.len() + self.preconditions.len()
    }

    /// Whether an attempt may leave.
    pub(super) fn is_durable(&self, hash: B256) -> bool {
        let under_way = self.under_way.as_ref().is_some_and(|(_, attempts)| attempts.contains(&hash));
        !under_way && !self.attempts.contains(&hash)
    }

    /// There is a new attempt, and whose it is.
    pub(super) fn attempt(&mut self, hash: B256, owner: Option<&RequestId>) {
        self.attempts.insert(hash);
        if let Some(owner) = owner {
            self.write(Write::Put(key::hash(hash), owner.as_str().as_bytes().to_vec()));
        }
    }

    pub(super) fn touch_row(&mut self) {
        self.row = true;
    }

    pub(super) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(super) fn require(&mut self, precondition: Precondition) {
        self.preconditions.push(precondition);
    }

    /// Begins a commit that expects the row that is stored.
    fn begin(&mut self, row_key: &str) -> (Vec<Precondition>, Vec<Write>, BTreeSet<B256>) {
        self.row = false;
        self.version += 1;
        let mut preconditions = std::mem::take(&mut self.preconditions);
        preconditions.push(match &self.stored {
            Some(stored) => Precondition::Is(row_key.to_owned(), stored.clone()),
            None => Precondition::Absent(row_key.to_owned()),
        });
        (preconditions, std::mem::take(&mut self.writes), std::mem::take(&mut self.attempts))
    }

    /// The commit is done: its row is what is stored, and its attempts may leave.
    fn end(&mut self) {
        if let Some((row, _)) = self.under_way.take() {
            self.stored = Some(row);
        }
    }
}

impl Account {
    /// Whether something waits to be committed.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
            || self.book.has_changes()
            || self.requests.has_changes()
            || self.chain.has_changes()
            || self.events.has_changes()
    }

    /// Whether so much waits to be committed that it should be, before more is taken in. A commit has a limit, and what is
    /// above it could never be written.
    pub fn has_much_to_write(&self) -> bool {
        let events = self.events.rows(self.config.endpoints.len());
        let rows = self.book.changed_rows() + self.requests.changed_rows() + events + self.changes.rows();
        rows >= COMMIT_ROWS_MAX / 4
    }

    /// The commit that makes everything durable that changed; nothing if nothing did.
    ///
    /// When the store has done it, say [`Account::committed`]. If it has not, or that is unknown, drop the account.
    pub fn take_commit(&mut self) -> Result<Option<Commit>, CommitError> {
        if !self.has_changes() {
            return Ok(None);
        }
        if self.changes.under_way.is_some() {
            return Err(CommitError::UnderWay);
        }
        let row_key = key::account(self.id);
        let (mut preconditions, more, attempts) = self.changes.begin(&row_key);
        let row = serde_json::to_vec(&Row::of(self))?;
        let mut writes = vec![Write::Put(row_key, row.clone())];
        for nonce in self.book.take_changes() {
            writes.push(self.nonce_row(nonce)?);
        }
        let requests = self.requests.take_changes()?;
        preconditions.extend(requests.preconditions);
        writes.extend(requests.writes);
        for id in &requests.ended {
            self.simulations.forget(id);
            self.signing.forget(id);
        }
        self.chain.take_changes();
        writes.extend(self.events.take_changes(&self.config.endpoints)?);
        writes.extend(more);
        self.changes.under_way = Some((row, attempts));
        let authority = Authority::Holder(Fence::of(self.id, self.epoch));
        Ok(Some(Commit { authority, preconditions, writes }))
    }

    fn nonce_row(&self, nonce: Nonce) -> Result<Write, serde_json::Error> {
        let key = key::nonce(self.id, nonce);
        Ok(match self.book.get(nonce) {
            Some(state) => Write::Put(key, serde_json::to_vec(state)?),
            None => Write::Delete(key),
        })
    }

    /// The store has done the last commit.
    pub fn committed(&mut self) {
        self.changes.end();
    }

    /// Moves a request, if the move is a legal one.
    pub(super) fn become_state(&mut self, id: &RequestId, state: State, now: Time) {
        self.requests.become_state(id, state, now);
    }

    /// Tells an event about a request.
    pub(super) fn tell(&mut self, id: &RequestId, kind: EventKind, now: Time) {
        let Some(request) = self.requests.count_event(id) else { return };
        let slot = request.state.nonce().and_then(|nonce| self.book.slot(nonce));
        self.events.about_request(request, slot, kind, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::id;

    #[test]
    fn an_attempt_may_leave_once_its_commit_is_done() {
        let (mut changes, hash) = (Changes::load(3, None), B256::repeat_byte(1));
        changes.attempt(hash, Some(&id("a")));
        assert!(!changes.is_durable(hash) && !changes.is_empty());
        let (preconditions, writes, attempts) = changes.begin("row");
        assert_eq!(preconditions, [Precondition::Absent("row".to_owned())]);
        assert_eq!(writes, [Write::Put(key::hash(hash), b"a".to_vec())]);
        changes.under_way = Some((b"new".to_vec(), attempts));
        assert!(!changes.is_durable(hash) && changes.is_empty());
        changes.end();
        assert!(changes.is_durable(hash));
        // The next commit expects what this one wrote.
        let (preconditions, ..) = changes.begin("row");
        assert_eq!(preconditions, [Precondition::Is("row".to_owned(), b"new".to_vec())]);
        assert_eq!(changes.version(), 5);
    }
}
