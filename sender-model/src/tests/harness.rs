//! An owner for one account, with a chain that says what a test wants.

use crate::{
    Account, AccountId, Action, Attempt, AttemptKind, Commit, Config, Decision, Draft, Event, EventKind,
    Fees, Head, Inclusion, Intent, NewRequest, Nonce, Precondition, Quote, ReceiptAnswer, Request, RequestId,
    RequestOptions, Rows, SendClass, Signed, Simulation, State, Subject, View, Write, accept, key,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use std::{collections::BTreeMap, sync::Arc};
use types::Time;

pub(super) struct Owner {
    pub account: Account,
    pub config: Arc<Config>,
    pub now: u64,
    pub view: View,
    pub rows: BTreeMap<String, Vec<u8>>,
    /// Nonces that were sent, in order.
    pub sent: Vec<(Nonce, B256)>,
    /// Requests that need another, those that are mined, and whether nodes simulate on top of others.
    pub needs: BTreeMap<RequestId, RequestId>,
    pub done: Vec<RequestId>,
    pub simulates_on_top: bool,
}

pub(crate) fn id(text: &str) -> RequestId {
    text.parse().unwrap()
}

pub(crate) fn account_id() -> AccountId {
    AccountId { chain_id: 1, address: Address::repeat_byte(1) }
}

/// A plain call.
pub(crate) fn plain() -> Intent {
    Intent { to: Some(Address::repeat_byte(2)), ..Intent::default() }
}

/// A request as a caller hands it over.
pub(crate) fn new_request(name: &str) -> NewRequest {
    NewRequest {
        id: id(name),
        account: account_id(),
        intent: plain(),
        body: keccak256(name.as_bytes()),
        expires_at: None,
        options: RequestOptions::default(),
    }
}

/// A request as it is accepted.
pub(crate) fn request(name: &str, accepted_at: Time) -> Request {
    match accept::decide(new_request(name), None, 0, &Config::default(), accepted_at) {
        Ok(Decision::New(request, _)) => *request,
        other => panic!("it is new: {other:?}"),
    }
}

/// An attempt with a hash of its own.
pub(crate) fn attempt(number: u8) -> Attempt {
    Attempt {
        hash: B256::repeat_byte(number),
        kind: AttemptKind::Payload,
        fees: Fees::default(),
        legacy: false,
        gas: 21_000,
        cost: U256::from(number),
        bytes: vec![number].into(),
        bound_at: Time::ZERO,
        bound_head: 0,
        taken: false,
        nacked: false,
    }
}

impl Owner {
    pub(super) fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let now = 1_000_000;
        let quote = Quote::dynamic(1_000, 10);
        let view = View {
            latest: Head { number: 10, hash: B256::repeat_byte(10) },
            latest_count: 5,
            finalized_number: 8,
            finalized_count: Some(5),
            balance: U256::from(10).pow(U256::from(15)),
            quote,
        };
        let rows = Rows::default();
        let account = Account::load(config.clone(), account_id(), 1, rows, Time::from_millis(now)).unwrap();
        Self {
            account,
            config,
            now,
            view,
            rows: BTreeMap::new(),
            sent: vec![],
            needs: BTreeMap::new(),
            done: vec![],
            simulates_on_top: false,
        }
    }

    pub(super) fn time(&self) -> Time {
        Time::from_millis(self.now)
    }

    pub(super) fn store(&mut self, commit: Commit) {
        for write in commit.writes {
            match write {
                Write::Put(key, value) => drop(self.rows.insert(key, value)),
                Write::Delete(key) => drop(self.rows.remove(&key)),
            }
        }
    }

    pub(super) fn commit(&mut self) {
        assert!(self.try_commit(), "nobody else writes");
    }

    /// Makes durable what changed; false if the store refuses it.
    pub(super) fn try_commit(&mut self) -> bool {
        let Some(commit) = self.account.take_commit().unwrap() else { return true };
        commit.check().unwrap();
        let holds = |precondition: &Precondition| match precondition {
            Precondition::Absent(key) => !self.rows.contains_key(key),
            Precondition::Is(key, value) => self.rows.get(key) == Some(value),
        };
        if !commit.preconditions.iter().all(holds) {
            return false;
        }
        self.store(commit);
        self.account.committed();
        self.account.check().unwrap();
        true
    }

    pub(super) fn accept(&mut self, name: &str) {
        self.accept_intent(name, plain());
    }

    pub(super) fn accept_intent(&mut self, name: &str, intent: Intent) {
        self.accept_new(name, intent, None, RequestOptions::default());
    }

    /// A request that may not be bound any more after so long.
    pub(super) fn accept_until(&mut self, name: &str, ms: u64) {
        let end = self.time() + types::Duration::from_millis(ms);
        self.accept_new(name, Intent::default(), Some(end), RequestOptions::default());
    }

    fn accept_new(&mut self, name: &str, intent: Intent, expires_at: Option<Time>, options: RequestOptions) {
        self.now += 1;
        let body = keccak256(name.as_bytes());
        let new = NewRequest { id: id(name), account: account_id(), intent, body, expires_at, options };
        let Ok(Decision::New(request, commit)) = accept::decide(new, None, 0, &self.config, self.time())
        else {
            panic!("it is new");
        };
        self.store(commit);
        self.account.admit(*request);
    }

    /// A request as the store has it.
    pub(super) fn stored(&self, name: &str) -> Request {
        serde_json::from_slice(&self.rows[&key::request(&id(name))]).unwrap()
    }

    /// Does what the account says until it says nothing more; nodes take what they are sent.
    pub(super) fn run(&mut self) {
        self.run_with(&SendClass::Taken);
    }

    pub(super) fn run_with(&mut self, class: &SendClass) {
        for _ in 0..10 {
            let actions = self.account.poll(self.time());
            if actions.is_empty() && !self.account.has_changes() {
                return;
            }
            for action in actions {
                self.perform(action, class);
            }
            self.commit();
        }
    }

    /// The same, with a signer that refuses some drafts.
    pub(super) fn run_refusing(&mut self, refuses: impl Fn(&Draft) -> bool) {
        for _ in 0..10 {
            let actions = self.account.poll(self.time());
            if actions.is_empty() && !self.account.has_changes() {
                return;
            }
            for action in actions {
                match action {
                    Action::Sign(draft) if refuses(&draft) => {
                        self.account.handle_sign_refused(draft.ticket, self.time());
                    }
                    other => self.perform(other, &SendClass::Taken),
                }
            }
            self.commit();
        }
    }

    /// Does what the account says until the store refuses what it would write.
    pub(super) fn run_refused(&mut self) {
        for _ in 0..10 {
            for action in self.account.poll(self.time()) {
                self.perform(action, &SendClass::Taken);
            }
            if !self.try_commit() {
                return;
            }
        }
        panic!("nothing was refused");
    }

    fn perform(&mut self, action: Action, class: &SendClass) {
        let now = self.time();
        match action {
            Action::FetchView { .. } => self.account.handle_view(self.view, now),
            Action::Simulate { id, intent, before } => {
                let simulation = self.simulation(&id, &intent, &before);
                self.account.handle_simulation(&id, simulation, now);
            }
            Action::Sign(draft) => self.account.handle_signed(draft.ticket, sign(&draft), now),
            Action::Send { nonce, hash, .. } => {
                self.sent.push((nonce, hash));
                self.account.handle_sent(nonce, hash, class, now);
            }
            Action::Receipts { .. } | Action::CheckBlock(_) | Action::Identify { .. } => {}
        }
    }

    /// A request that needs another is reverted unless that is mined, or simulated before it where nodes can do that.
    fn simulation(&self, id: &RequestId, intent: &Intent, before: &[(RequestId, Intent)]) -> Simulation {
        let (reason, data) = ("no allowance".to_owned(), Bytes::new());
        let Some(parent) = self.needs.get(id) else { return Simulation::Gas(intent.intrinsic_gas()) };
        let on_top = self.simulates_on_top && !before.is_empty();
        let there =
            self.done.contains(parent) || (on_top && before.iter().any(|(before, _)| before == parent));
        if there { Simulation::Gas(50_000) } else { Simulation::Reverted { reason, data, on_top } }
    }

    /// Accepts a request that is treated in a way of its own.
    pub(super) fn accept_with(&mut self, name: &str, intent: Intent, options: RequestOptions) {
        self.accept_new(name, intent, None, options);
    }

    /// The lowest nonce that is not mined is, with its newest attempt, in a new block.
    pub(super) fn mine_next(&mut self) {
        let nonce = self.view.latest_count;
        let slot = self.account.nonce_state(nonce).and_then(crate::NonceState::slot).unwrap();
        let (hash, owner) = (slot.last().unwrap().hash, slot.owner.clone());
        self.wait(1_000);
        self.view.latest_count += 1;
        self.done.extend(owner);
        let inclusion = Inclusion { block: self.view.latest, success: true, receipt: None };
        self.account.handle_view(self.view, self.time());
        self.account.handle_receipts(nonce, &[(hash, ReceiptAnswer::Found(inclusion))], self.time());
        self.commit();
    }

    /// Lets time pass, with a new block.
    pub(super) fn wait(&mut self, ms: u64) {
        self.now += ms;
        self.view.latest.number += 1;
        self.account.wake(self.time());
    }

    /// Begins anew from what is durable, as another owner would.
    pub(super) fn restart(&mut self) {
        let by_prefix = |prefix: String| {
            let rows = self.rows.iter().filter(move |(key, _)| key.starts_with(&prefix));
            rows.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
        };
        let live = by_prefix(key::all_live(account_id()));
        let requests = live.iter().filter_map(|(key, _)| key::request_of_live(key));
        let rows = Rows {
            account: self.rows.get(&key::account(account_id())).cloned(),
            nonces: by_prefix(key::nonces(account_id())),
            requests: requests.map(|id| self.rows[&key::request(&id)].clone()).collect(),
        };
        let epoch = self.account.epoch() + 1;
        self.account = Account::load(self.config.clone(), account_id(), epoch, rows, self.time()).unwrap();
        self.sent.clear();
    }

    /// Where a request stands, by what is durable.
    pub(super) fn state(&self, name: &str) -> State {
        self.stored(name).state
    }

    /// What was told about a request.
    pub(super) fn told(&self, name: &str) -> Vec<EventKind> {
        self.told_about(&Subject::Request(id(name)))
    }

    /// What was told about the account.
    pub(super) fn told_account(&self) -> Vec<EventKind> {
        self.told_about(&Subject::Account(account_id()))
    }

    fn told_about(&self, subject: &Subject) -> Vec<EventKind> {
        let prefix = format!("e/{subject}/");
        let rows = self.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
        rows.map(|(_, row)| serde_json::from_slice::<Event>(row).unwrap().kind).collect()
    }
}

fn sign(draft: &Draft) -> Signed {
    let hash =
        keccak256(format!("{} {:?} {:?} {:?}", draft.nonce, draft.kind, draft.fees, draft.intent).as_bytes());
    Signed { hash, bytes: hash.to_vec().into() }
}
