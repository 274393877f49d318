//! Beginning: what the store has becomes what is in memory.

use super::{Account, Row, changes::Changes, ended::Ended, watch::Watch};
use crate::{AccountId, Config, Nonce, Place, Request, State};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::Time;

/// The rows of an account: its own, its nonces in order, and its requests that have not ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// `key::account`.
    pub account: Option<Vec<u8>>,
    /// `key::places`, names and rows.
    pub places: Vec<(String, Vec<u8>)>,
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
        let places = read_places(&rows.places)?;
        let requests = read_requests(&rows.requests)?;
        let accepted = requests.values().filter(|request| matches!(request.state, State::Accepted { .. }));
        let queue: BTreeSet<_> = accepted.map(|request| (request.accepted_at, request.id.clone())).collect();
        let bound = places.iter().filter(|(_, place)| place.slot().is_some());
        let watches = bound.map(|(nonce, _)| (*nonce, Watch { sent: true, ..Watch::default() })).collect();
        let account = Self {
            config,
            id,
            epoch,
            row,
            stored: rows.account,
            places,
            requests,
            queue,
            unwritten: BTreeSet::new(),
            ended: Ended::default(),
            changes: Changes::default(),
            view: None,
            doubted: None,
            fell_since: None,
            look_at: Time::ZERO,
            watches,
            drafts: BTreeMap::new(),
            tickets: 0,
            signer_rests_until: Time::ZERO,
            simulations: BTreeMap::new(),
            refusals: BTreeMap::new(),
            expiry_at: Time::ZERO,
            checks_asked: BTreeMap::new(),
        };
        account.check().map_err(|what| LoadError::Inconsistent(id, what))?;
        Ok(account)
    }

    /// Whether the rows fit together: each nonce of the range has one place, and each side of a binding knows the other.
    pub fn check(&self) -> Result<(), String> {
        let nonces = self.places.keys().copied();
        if !nonces.eq(self.row.base..self.row.next) {
            return Err(format!("the places are not the nonces {}..{}", self.row.base, self.row.next));
        }
        for (nonce, place) in &self.places {
            let Some(slot) = place.slot() else { continue };
            if slot.attempts.is_empty() {
                return Err(format!("nonce {nonce} is bound without an attempt"));
            }
            let Some(owner) = &slot.owner else { continue };
            if self.requests.get(owner).and_then(|request| request.state.nonce()) != Some(*nonce) {
                return Err(format!("nonce {nonce} is bound to {owner}, which does not know it"));
            }
        }
        let live = self.requests.values().filter(|request| !request.state.is_terminal());
        for (request, nonce) in live.filter_map(|request| Some((request, request.state.nonce()?))) {
            let owner = self.places.get(&nonce).and_then(Place::slot).and_then(|slot| slot.owner.as_ref());
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

fn read_places(rows: &[(String, Vec<u8>)]) -> Result<BTreeMap<Nonce, Place>, LoadError> {
    let mut places = BTreeMap::new();
    for (key, bytes) in rows {
        let digits = key.rsplit('/').next().unwrap_or_default();
        let nonce = Nonce::from_str_radix(digits, 16)
            .map_err(|error| LoadError::Unreadable(key.clone(), serde::de::Error::custom(error)))?;
        places.insert(nonce, read(key, bytes)?);
    }
    Ok(places)
}

fn read_requests(rows: &[Vec<u8>]) -> Result<BTreeMap<crate::RequestId, Request>, LoadError> {
    let mut requests = BTreeMap::new();
    for bytes in rows {
        let request: Request = read("request", bytes)?;
        if !request.state.is_terminal() {
            requests.insert(request.id.clone(), request);
        }
    }
    Ok(requests)
}
