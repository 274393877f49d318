//! Callers, operators and outside signers.

use super::{
    chain::Payload,
    faults::Fault,
    world::{Committing, Due, Simulation},
};
use alloy_primitives::{Address, B256, U256, keccak256};
use harness::rng::Rng;
use sender_model::{
    AcceptError, AttemptKind, Command, CommandKind, Decision, Draft, Fees, Intent, KnownRequest, NewRequest,
    Purpose, RawRequest, Request, RequestId, RequestOptions, accept, key,
};
use types::{Duration, Time};

/// What a request is like, which only the simulation knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub unminable: bool,
    pub reverts: bool,
    pub fails_simulation: bool,
    pub gas: u64,
    /// The number of the request that must be mined before it, or it would be reverted.
    pub needs: Option<u64>,
}

impl Default for Traits {
    fn default() -> Self {
        Self { unminable: false, reverts: false, fails_simulation: false, gas: 21_000, needs: None }
    }
}

/// A nonce that an outside signer has.
#[derive(Clone, Debug)]
struct Loan {
    nonce: u64,
    token: String,
    decide_at: u64,
}

/// Whoever uses the account.
#[derive(Debug)]
pub(super) struct Users {
    /// Requests that are still to come.
    left: u64,
    made: u64,
    /// Requests whose callers have no answer yet; they try again.
    unanswered: Vec<NewRequest>,
    /// Requests whose callers have the answer that they were accepted.
    pub answered: Vec<NewRequest>,
    /// Requests as they were when they were accepted: whoever read them then may come with them at any time.
    copies: Vec<Request>,
    loans: Vec<Loan>,
    commands: u64,
    paused: bool,
}

impl Users {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            left: rng.within(5, 40),
            made: 0,
            unanswered: vec![],
            answered: vec![],
            copies: vec![],
            loans: vec![],
            commands: 0,
            paused: false,
        }
    }

    pub(super) fn are_done(&self) -> bool {
        self.left == 0 && self.unanswered.is_empty()
    }
}

impl Simulation {
    pub(super) fn act_as_user(&mut self) {
        let delay = self.world.rng.within(300, 8_000);
        self.world.later(delay, Due::Users);
        if let Some(request) = self.users.unanswered.pop() {
            self.ask_for(request);
        } else if self.users.left > 0 && self.world.rng.chance(700) {
            for _ in 0..self.world.rng.within(1, 4).min(self.users.left) {
                self.users.left -= 1;
                let request = self.new_request();
                self.ask_for(request);
            }
        }
        if self.world.healed_at.is_some() {
            return;
        }
        match self.world.rng.below(8) {
            0 => self.cancel_some(),
            1 => self.replace_some(),
            2 => self.borrow_nonce(),
            3 => self.repeat_some(),
            4 => self.cancel_by_an_old_copy(),
            5 if self.world.forgets => self.withdraw_some(),
            _ => {}
        }
        self.use_loans();
        if self.world.strikes(Fault::Reset) {
            self.command(CommandKind::Reset);
        }
        if self.users.paused || self.world.strikes(Fault::Pause) {
            self.users.paused = !self.users.paused;
            self.command(if self.users.paused { CommandKind::Pause } else { CommandKind::Resume });
        }
    }

    fn new_request(&mut self) -> NewRequest {
        self.users.made += 1;
        let name = format!("q{}", self.users.made);
        let unminable = self.world.strikes(Fault::Unminable);
        let (now, rng) = (self.world.now(), &mut self.world.rng);
        let traits = Traits {
            unminable,
            reverts: rng.chance(100),
            fails_simulation: rng.chance(60),
            gas: rng.within(21_000, 90_000),
            needs: (self.users.made > 1 && rng.chance(120)).then_some(self.users.made - 1),
        };
        let fee = u128::from(rng.within(500, 4_000));
        let intent = Intent {
            to: Some(Address::repeat_byte(0xbb)),
            value: U256::from(rng.below(1_000_000)),
            fees: rng
                .chance(200)
                .then_some(Fees { max_fee_per_gas: fee, max_priority_fee_per_gas: fee / 10 }),
            fee_cap: rng.chance(200).then_some(sender_model::FeeCap(fee * 3)),
            legacy: rng.chance(100),
            ..Intent::default()
        };
        let expires_at = rng.chance(150).then(|| now + Duration::from_millis(rng.within(1_000, 120_000)));
        let parent = traits.needs.and_then(|parent| format!("q{parent}").parse().ok());
        if let Some(parent) = parent.filter(|_| !traits.fails_simulation) {
            self.world.checker.expect_parent(name.parse().expect("letters and digits"), parent);
        }
        self.world.traits.insert(name.clone(), traits);
        let body = keccak256(name.as_bytes());
        let id = name.parse().expect("letters and digits");
        NewRequest {
            id,
            account: self.world.id,
            intent,
            body,
            expires_at,
            options: RequestOptions::default(),
        }
    }

    /// What is durable under a name.
    fn known(&self, id: &RequestId) -> Option<KnownRequest> {
        let row = |key: String| self.world.store.row(&key);
        let (request, used) = (row(key::request(id)), row(key::used_name(id)));
        KnownRequest::read(request.as_deref(), used.as_deref()).ok().flatten()
    }

    /// Hands a request over. Who gets no answer tries again, for as long as it takes.
    fn ask_for(&mut self, new: NewRequest) {
        let (known, now) = (self.known(&new.id), self.world.now());
        if !self.world.checker.is_promised(&new.id, now) {
            // Nobody comes with a name after its time.
            return;
        }
        match accept::decide(new.clone(), known.as_ref(), 0, &self.world.config.clone(), now) {
            Ok(Decision::Replayed | Decision::Forgotten) => self.answered_well(new),
            Ok(Decision::New(_, commit)) => match self.world.commit(&commit, None) {
                Committing::Done => self.answered_well(new),
                _ => self.users.unanswered.push(new),
            },
            // Its time was over before anybody took it.
            Err(AcceptError::Expired) => {}
            Err(error) => {
                self.world.checker.violations.push(format!("R4: a first request is refused: {error}"))
            }
        }
    }

    fn answered_well(&mut self, new: NewRequest) {
        self.world.checker.on_accepted(&new.id);
        if let Some(KnownRequest::Request(request)) = self.known(&new.id) {
            self.users.copies.push(*request);
        }
        self.users.answered.push(new);
    }

    fn some_request(&mut self) -> Option<NewRequest> {
        let count = self.users.answered.len() as u64;
        (count > 0).then(|| self.users.answered[self.world.rng.below(count) as usize].clone())
    }

    /// The same key and body have the same answer in every state, and after the request is forgotten; the same key with
    /// another body has none.
    fn repeat_some(&mut self) {
        let Some(new) = self.some_request() else { return };
        let known = self.known(&new.id);
        let (config, now) = (self.world.config.clone(), self.world.now());
        if !self.world.checker.is_promised(&new.id, now) {
            return;
        }
        let same = accept::decide(new.clone(), known.as_ref(), 0, &config, now);
        let other = NewRequest { body: B256::ZERO, ..new.clone() };
        let other = accept::decide(other, known.as_ref(), 0, &config, now);
        let violations = &mut self.world.checker.violations;
        match (same, other) {
            (Ok(Decision::Replayed | Decision::Forgotten), Err(AcceptError::Mismatch(_))) => {}
            (Ok(Decision::New(..)), _) => {
                violations.push(format!("R9: {} would be accepted a second time", new.id));
            }
            _ => violations.push(format!("R4: {} is not what it was", new.id)),
        }
    }

    fn cancel_some(&mut self) {
        if let Some(new) = self.some_request() {
            self.command(CommandKind::Cancel(new.id));
        }
    }

    fn withdraw_some(&mut self) {
        if let Some(new) = self.some_request() {
            self.command(CommandKind::Withdraw(new.id));
        }
    }

    /// Asks an owner, who takes the request in as it was once read: it may have ended long ago.
    fn cancel_by_an_old_copy(&mut self) {
        let Some(owner) = self.some_owner() else { return };
        let count = self.users.copies.len() as u64;
        if count == 0 {
            return;
        }
        let copy = self.users.copies[self.world.rng.below(count) as usize].clone();
        let (id, now) = (copy.id.clone(), self.world.now());
        let Some(account) = &mut self.workers[owner].account else { return };
        account.admit(copy);
        // It may be too late, and then nothing has happened.
        let _refused = account.cancel(&id, now);
        self.commit(owner);
    }

    fn replace_some(&mut self) {
        if let Some(new) = self.some_request() {
            self.command(CommandKind::Replace(new.id, None));
        }
    }

    /// Leaves a command for whoever owns the account.
    pub(super) fn command(&mut self, kind: CommandKind) {
        self.users.commands += 1;
        let id = format!("c{}", self.users.commands).parse().expect("letters and digits");
        let command = Command { id, account: self.world.id, at: self.world.now(), kind };
        if let Ok(commit) = command.commit() {
            // A command whose answer is lost may have been left or not; whoever gave it looks and gives it again.
            let _unknown = self.world.commit(&commit, None);
        }
    }

    fn some_owner(&self) -> Option<usize> {
        (0..self.workers.len()).find(|owner| self.is_ready(*owner))
    }

    /// An outside signer asks for a nonce, and has it when the loan is durable.
    fn borrow_nonce(&mut self) {
        let Some(owner) = self.some_owner() else { return };
        let (now, token) = (self.world.now(), format!("t{}", self.world.now_ms));
        let until = now + Duration::from_millis(self.world.rng.within(2_000, 60_000));
        let Some(account) = &mut self.workers[owner].account else { return };
        let Ok(nonce) = account.reserve(&token, until, now) else { return };
        if self.commit(owner) {
            let decide_at = self.world.now_ms + self.world.rng.within(500, 70_000);
            self.users.loans.push(Loan { nonce, token, decide_at });
        }
    }

    /// Outside signers come back with a transaction, give their nonce back, or are never seen again.
    fn use_loans(&mut self) {
        let now = self.world.now_ms;
        let (due, rest) =
            std::mem::take(&mut self.users.loans).into_iter().partition(|loan| loan.decide_at <= now);
        self.users.loans = rest;
        let due: Vec<Loan> = due;
        for loan in due {
            let Some(owner) = self.some_owner() else { continue };
            match self.world.rng.below(3) {
                0 => self.submit_raw(owner, &loan),
                1 => {
                    let now = self.world.now();
                    if let Some(account) = &mut self.workers[owner].account {
                        // Refused if the loan has run out, and then nothing has happened.
                        let _refused = account.release(loan.nonce, &loan.token, now);
                    }
                    self.commit(owner);
                }
                _ => {}
            }
        }
    }

    fn submit_raw(&mut self, owner: usize, loan: &Loan) {
        self.users.made += 1;
        let name = format!("raw{}", self.users.made);
        let id: RequestId = name.parse().expect("letters and digits");
        let fees = Fees { max_fee_per_gas: 3_000, max_priority_fee_per_gas: 10 };
        let draft = Draft {
            ticket: 0,
            purpose: Purpose::New(id.clone()),
            kind: AttemptKind::Payload,
            nonce: loan.nonce,
            intent: Intent { legacy: self.world.chain.legacy, ..Intent::default() },
            gas: 30_000,
            fees,
            made_at: Time::ZERO,
        };
        let signed = self.world.chain.sign(&draft, Payload::Request(name.clone()), false, false);
        let raw = RawRequest {
            id: id.clone(),
            body: keccak256(name.as_bytes()),
            token: loan.token.clone(),
            nonce: loan.nonce,
            intent: draft.intent,
            gas: draft.gas,
            fees,
            hash: signed.hash,
            bytes: signed.bytes,
        };
        let now = self.world.now();
        let Some(account) = &mut self.workers[owner].account else { return };
        if account.submit_raw(raw, now).is_ok() && self.commit(owner) {
            self.world.checker.on_accepted(&id);
        }
    }
}
