//! Beginning: what the store has becomes what is in memory.

use super::{
    Account, Row,
    book::NonceBook,
    changes::Changes,
    events::{Alerts, EventLog},
    requests::Requests,
    signing::Signing,
    simulations::Simulations,
    tracker::ChainTracker,
};
use crate::{AccountId, Config, Nonce, NonceState, Request};
use std::{collections::BTreeMap, sync::Arc};
use types::Time;

/// The rows of an account: its own, its nonces in order, and its requests that have not ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// `key::account`.
    pub account: Option<Vec<u8>>,
    /// `key::nonces`, names and rows.
    pub nonces: Vec<(String, Vec<u8>)>,
    /// The requests that `key::all_live` names.
    pub requests: Vec<Vec<u8>>,
}

/// Rows that do not fit together. Nothing is done with them.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A row cannot be read.
    #[error("the row {0} is damaged: {1}")]
    Unreadable(String, serde_json::Error),
    /// The rows contradict each other.
    #[error("the rows of account {0} do not fit together: {1}")]
    Inconsistent(AccountId, String),
}

impl Account {
    /// Takes an account over. Everything that is bound counts as sent, and is sent again, in the order of nonces.
    pub fn load(
        config: Arc<Config>,
        id: AccountId,
        epoch: u64,
        rows: Rows,
        now: Time,
    ) -> Result<Self, LoadError> {
        let row: Row = match &rows.account {
            Some(bytes) => read("account", bytes)?,
            None => Row { moved_at: now, ..Row::default() },
        };
        let alerts = Alerts { gaps: row.gap_told, funds: row.funds_told, doubt: row.doubt_told };
        let requests: Result<Vec<Request>, _> =
            rows.requests.iter().map(|bytes| read("request", bytes)).collect();
        let account = Self {
            config,
            id,
            epoch,
            paused: row.paused,
            confirmed_at: row.confirmed_at,
            mined_at: None,
            resets_ms: row.resets_ms,
            book: NonceBook::load(row.started, row.base, row.next, read_nonces(&rows.nonces)?),
            requests: Requests::load(requests?),
            chain: ChainTracker::load(row.final_count, row.count, row.moved_at),
            signing: Signing::default(),
            simulations: Simulations::default(),
            events: EventLog::load(id, row.events, alerts),
            changes: Changes::load(row.version, rows.account),
        };
        account.check().map_err(|what| LoadError::Inconsistent(id, what))?;
        Ok(account)
    }

    /// Whether the rows fit together: each nonce of the range has one state, and each side of a binding knows the other.
    pub fn check(&self) -> Result<(), String> {
        self.book.check()?;
        for (nonce, slot) in self.book.bound() {
            let Some(owner) = &slot.owner else { continue };
            if self.requests.state(owner).and_then(|state| state.nonce()) != Some(nonce) {
                return Err(format!("nonce {nonce} is bound to {owner}, which does not know it"));
            }
        }
        let live = self.requests.iter().filter(|request| !request.state.is_terminal());
        for (request, nonce) in live.filter_map(|request| Some((request, request.state.nonce()?))) {
            let owner = self.book.slot(nonce).and_then(|slot| slot.owner.as_ref());
            if owner != Some(&request.id) {
                return Err(format!("request {} says nonce {nonce}, which is not its own", request.id));
            }
        }
        Ok(())
    }
}

fn read<T: serde::de::DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, LoadError> {
    serde_json::from_slice(bytes).map_err(|error| LoadError::Unreadable(name.to_owned(), error))
}

fn read_nonces(rows: &[(String, Vec<u8>)]) -> Result<BTreeMap<Nonce, NonceState>, LoadError> {
    let mut states = BTreeMap::new();
    for (key, bytes) in rows {
        let digits = key.rsplit('/').next().unwrap_or_default();
        let nonce = Nonce::from_str_radix(digits, 16)
            .map_err(|error| LoadError::Unreadable(key.clone(), serde::de::Error::custom(error)))?;
        states.insert(nonce, read(key, bytes)?);
    }
    Ok(states)
}
