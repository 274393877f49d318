//! Requests: accepting, finding, cancelling, replacing.

use super::{
    AttemptStatus, AttemptView, Cancelling, Done, Error, ErrorKind, Filter, Page, RawTransaction, SendFrom,
    Sender, Taken, Transaction, TransactionRequest,
};
use crate::{
    store::{Outcome, StoreError},
    transaction::Raw,
    worker::Message,
};
use alloy_primitives::{B256, keccak256};
use sender_model::{
    AcceptError, AccountId, CancelOutcome, CommandKind, Decision, Fees, Held, KnownRequest, NewRequest,
    NonceState, OperationError, Request, RequestId, Slot, State, StateName, accept, is_paused, key,
};
use types::Time;

/// How often a name that somebody else was quicker to take is looked at again.
const ACCEPT_TRIES: usize = 4;
/// How often a request that has moved since it was read is read again.
const CANCEL_TRIES: usize = 4;
/// The usual and the greatest length of a page, and how many rows are looked at for one.
const PAGE_USUAL: usize = 50;
const PAGE_MAX: usize = 500;
const PAGE_ROWS_MAX: usize = 2_000;

impl Sender {
    /// Accepts a request. When this returns it is durable.
    pub async fn submit(&self, submission: TransactionRequest) -> Result<Taken, Error> {
        let id = match &submission.key {
            Some(key) => key.clone(),
            None => fresh_id(self.shared.now())?,
        };
        let _first = self.shared.turns.caller();
        for _ in 0..ACCEPT_TRIES {
            let known = self.look_up(&id).await?;
            let account = self.account_for(&submission, known.as_ref())?;
            let config = self.shared.config_of(account);
            let new = NewRequest {
                id: id.clone(),
                account,
                intent: submission.intent.clone(),
                body: submission.body,
                expires_at: submission.expires_at,
                options: submission.options.clone(),
            };
            let (waiting, now) = (self.shared.waiting(account).await?, self.shared.now());
            let (request, commit) = match accept::decide(new, known.as_ref(), waiting, &config, now)? {
                Decision::Replayed | Decision::Forgotten => return self.replayed(known).await,
                Decision::New(request, commit) => (request, commit),
            };
            let admitted = request.clone();
            let outcome = self.shared.commit_intake(commit, move |shared| {
                shared.count_one(account);
                // While the sender stops nobody takes it in; it is durable, and found at the next start.
                drop(shared.tell(account, Message::Admit(admitted)));
            });
            if outcome.await.map_err(|why| why.about(&id))? == Outcome::Committed {
                return Ok(Taken {
                    transaction: Transaction { request: *request, attempts: vec![] },
                    replayed: false,
                });
            }
        }
        Err(Error::Exists(format!("the request {id} is being made by somebody else; try again")))
    }

    /// The answer to a name that was used before.
    async fn replayed(&self, known: Option<KnownRequest>) -> Result<Taken, Error> {
        match known {
            Some(KnownRequest::Request(request)) => {
                Ok(Taken { transaction: self.details(*request).await?, replayed: true })
            }
            Some(KnownRequest::Forgotten(used)) => Err(Error::Forgotten(used)),
            None => Err(Error::Stopping),
        }
    }

    /// The account that sends: the one that is named, the one that was picked before, or the least loaded of its group.
    fn account_for(
        &self,
        submission: &TransactionRequest,
        known: Option<&KnownRequest>,
    ) -> Result<AccountId, Error> {
        let account = match (&submission.from, known) {
            (SendFrom::Group { .. }, Some(known)) => return Ok(known.account()),
            (SendFrom::Account(account), Some(_)) => return Ok(*account),
            (SendFrom::Account(account), None) => *account,
            (SendFrom::Group { name, chain_id }, None) => self.pick(name, *chain_id)?,
        };
        self.shared.target(account.chain_id)?;
        match self.shared.keys.signer(account.address) {
            Some(_) => Ok(account),
            None => Err(Error::UnknownAccount(account)),
        }
    }

    /// Accepts a transaction that an outside signer made for a nonce on loan.
    pub async fn submit_raw(&self, raw: RawTransaction) -> Result<Taken, Error> {
        let RawTransaction { key, token, bytes } = raw;
        let body = keccak256(&bytes);
        let raw = Raw::decode(bytes).map_err(Error::Invalid)?;
        let id = match key {
            Some(key) => key,
            None => format!("raw-{:x}", raw.hash).parse().map_err(|why| Error::Invalid(format!("{why}")))?,
        };
        if let Some(taken) = self.known_raw(&id, body).await? {
            return Ok(taken);
        }
        let (account, size) = (raw.account, raw.size());
        let submission = raw.into_request(id.clone(), body, token);
        let config = self.shared.config_of(account);
        if let Some(max) = config.limits.tx_bytes_max.filter(|max| size > *max) {
            return Err(AcceptError::TooLarge(max).into());
        }
        if let Some(max) = config.limits.gas_max.filter(|max| submission.gas > *max) {
            return Err(AcceptError::Gas(max).into());
        }
        let asked = self.shared.ask(account, move |account, now| account.submit_raw(submission, now)).await;
        let done = match asked {
            Ok(done) => done.map_err(Error::from),
            Err(unasked) => Err(unasked.into_error(account)),
        };
        match done {
            Ok(()) => {
                let transaction = self.get(&id).await.map_err(|why| Error::uncertain(&id, &why))?;
                Ok(Taken { transaction, replayed: false })
            }
            // The same may have been submitted, and taken, at the same time.
            Err(error) => match self.known_raw(&id, body).await {
                Ok(Some(taken)) => Ok(taken),
                Ok(None) => Err(error.about(&id)),
                Err(_) if error.kind() == ErrorKind::Unknown => Err(error.about(&id)),
                Err(other) => Err(other),
            },
        }
    }

    /// A transaction of an outside signer that was submitted before.
    async fn known_raw(&self, id: &RequestId, body: B256) -> Result<Option<Taken>, Error> {
        match self.look_up(id).await? {
            None => Ok(None),
            Some(known) if known.body() != body => Err(AcceptError::Mismatch(id.clone()).into()),
            known => self.replayed(known).await.map(Some),
        }
    }

    /// What is durable under a name.
    async fn look_up(&self, id: &RequestId) -> Result<Option<KnownRequest>, Error> {
        let mut rows = self.shared.store.get(vec![key::used_name(id), key::request(id)]).await?;
        let (request, used) = (rows.pop().flatten(), rows.pop().flatten());
        Ok(KnownRequest::read(request.as_deref(), used.as_deref())?)
    }

    async fn request(&self, id: &RequestId) -> Result<Request, Error> {
        match self.look_up(id).await? {
            Some(KnownRequest::Request(request)) => Ok(*request),
            Some(KnownRequest::Forgotten(used)) => Err(Error::Forgotten(used)),
            None => Err(Error::UnknownRequest(id.clone())),
        }
    }

    /// A request by name. Of one that was forgotten, [`Error::Forgotten`] says how it ended.
    pub async fn get(&self, id: &RequestId) -> Result<Transaction, Error> {
        let request = self.request(id).await?;
        self.details(request).await
    }

    /// A request by idempotency key.
    pub async fn by_key(&self, key: &str) -> Result<Transaction, Error> {
        let id = key.parse().map_err(|why| Error::Invalid(format!("{why}")))?;
        self.get(&id).await
    }

    /// A request by the hash of any of its attempts, whether mined or not.
    pub async fn by_hash(&self, hash: B256) -> Result<Option<Transaction>, Error> {
        let row = self.shared.store.get(vec![key::hash(hash)]).await?.pop().flatten();
        let id = row.and_then(|row| String::from_utf8(row).ok()).and_then(|id| id.parse().ok());
        let Some(id) = id else { return Ok(None) };
        match self.request(&id).await {
            Ok(request) => self.details(request).await.map(Some),
            Err(Error::UnknownRequest(_) | Error::Forgotten(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A request with what was signed for it.
    async fn details(&self, mut request: Request) -> Result<Transaction, Error> {
        // That an account is paused stands in its own row, and not in each of its requests.
        if let State::Accepted { held } = &mut request.state
            && self.is_paused(request.account).await?
        {
            *held = Some(Held::Paused);
        }
        let mut attempts: Vec<AttemptView> = request.past.iter().map(past_attempt).collect();
        if let Some(nonce) = request.state.nonce().filter(|_| !request.state.is_terminal()) {
            let row = self.shared.store.get(vec![key::nonce(request.account, nonce)]).await?.pop().flatten();
            let state = row.map(|row| serde_json::from_slice::<NonceState>(&row)).transpose()?;
            if let Some(slot) = state
                .as_ref()
                .and_then(NonceState::slot)
                .filter(|slot| slot.owner.as_ref() == Some(&request.id))
            {
                attempts.extend(slot_attempts(nonce, slot));
            }
        }
        Ok(Transaction { request, attempts })
    }

    async fn is_paused(&self, account: AccountId) -> Result<bool, Error> {
        let row = self.shared.store.get(vec![key::account(account)]).await?.pop().flatten();
        Ok(row.map(|row| is_paused(&row)).transpose()?.unwrap_or_default())
    }

    /// Requests, page by page.
    pub async fn list(&self, filter: Filter) -> Result<Page<Transaction>, Error> {
        let members = match &filter.group {
            Some(name) => Some(self.group(name)?.settings),
            None => None,
        };
        let fits = |request: &Request| {
            let account = request.account;
            filter.chain_id.is_none_or(|chain_id| account.chain_id == chain_id)
                && filter.address.is_none_or(|address| account.address == address)
                && filter.state.is_none_or(|state| StateName::of(&request.state) == state)
                && members.as_ref().is_none_or(|group| {
                    group.chain_id == account.chain_id && group.members.contains(&account.address)
                })
        };
        let limit = if filter.limit == 0 { PAGE_USUAL } else { filter.limit.min(PAGE_MAX) };
        let mut after = filter.after.as_ref().map(key::request);
        let (mut items, mut looked_at) = (Vec::new(), 0);
        while looked_at < PAGE_ROWS_MAX {
            let rows = self.shared.store.scan("r/".into(), after.clone(), PAGE_MAX).await?;
            let last = rows.len() < PAGE_MAX;
            for (name, row) in rows {
                let request: Request = serde_json::from_slice(&row)?;
                (after, looked_at) = (Some(name), looked_at + 1);
                if fits(&request) {
                    items.push(self.details(request).await?);
                }
                if items.len() == limit {
                    return Ok(Page { items, next: next_of(after) });
                }
            }
            if last {
                return Ok(Page { items, next: None });
            }
        }
        Ok(Page { items, next: next_of(after) })
    }

    /// Cancels a request.
    pub async fn cancel(&self, id: &RequestId) -> Result<Cancelling, Error> {
        for _ in 1..CANCEL_TRIES {
            match self.cancel_once(id).await {
                // It has ended, or the account was taken over, since the request was read.
                Err(Error::Operation(OperationError::NotInFlight) | Error::Store(StoreError::Unknown(_))) => {
                }
                answered => return answered,
            }
        }
        self.cancel_once(id).await
    }

    async fn cancel_once(&self, id: &RequestId) -> Result<Cancelling, Error> {
        let request = self.request(id).await?;
        if request.state.is_terminal() {
            let cancelled = request.state == State::Cancelled;
            return Ok(if cancelled { Cancelling::Cancelled } else { Cancelling::TooLate });
        }
        let (account, id) = (request.account, id.clone());
        let named = id.clone();
        let cancel = move |account: &mut sender_model::Account, now| {
            // It may have been accepted a moment ago.
            account.admit(request);
            account.cancel(&named, now)
        };
        match self.order(account, cancel, CommandKind::Cancel(id)).await? {
            None => Ok(Cancelling::Ordered),
            Some(CancelOutcome::Cancelled) => Ok(Cancelling::Cancelled),
            Some(CancelOutcome::Cancelling) => Ok(Cancelling::Cancelling),
            Some(CancelOutcome::TooLate) => Ok(Cancelling::TooLate),
        }
    }

    /// Bumps the fees of a pending transaction (replacement), to these at least if there are any.
    pub async fn replace(&self, id: &RequestId, fees: Option<Fees>) -> Result<Done, Error> {
        let request = self.request(id).await?;
        let (named, kind) = (id.clone(), CommandKind::Replace(id.clone(), fees));
        let replace = move |account: &mut sender_model::Account, now| account.replace(&named, fees, now);
        let done = self.order(request.account, replace, kind).await?;
        Ok(if done.is_some() { Done::Done } else { Done::Ordered })
    }
}

fn next_of(after: Option<String>) -> Option<String> {
    after.and_then(|name| name.strip_prefix("r/").map(str::to_owned))
}

fn past_attempt(attempt: &sender_model::PastAttempt) -> AttemptView {
    let status = if attempt.mined { AttemptStatus::Mined } else { AttemptStatus::Dropped };
    AttemptView { nonce: attempt.nonce, hash: attempt.hash, kind: attempt.kind, fees: attempt.fees, status }
}

fn slot_attempts(nonce: u64, slot: &Slot) -> impl Iterator<Item = AttemptView> + '_ {
    slot.attempts.iter().map(move |attempt| {
        let status = match &slot.mined {
            Some(mined) if mined.hash == attempt.hash => AttemptStatus::Mined,
            Some(_) => AttemptStatus::Dropped,
            None if attempt.taken => AttemptStatus::Sent,
            None => AttemptStatus::Pending,
        };
        AttemptView { nonce, hash: attempt.hash, kind: attempt.kind, fees: attempt.fees, status }
    })
}

/// A name for a request that has none: names sort by time.
pub(super) fn fresh_id(now: Time) -> Result<RequestId, Error> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|why| Error::Invalid(format!("no random bytes: {why}")))?;
    let id = format!("tx-{:012x}-{:016x}", now.as_millis(), u64::from_be_bytes(random));
    id.parse().map_err(|why| Error::Invalid(format!("{why}")))
}
