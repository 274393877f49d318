//! An owner: a process that takes the lease, loads the account, does what the model says, and may crash, stand still or
//! be robbed at any time. It is the same loop that the product runs, with virtual time between question and answer.

use super::{
    chain::Payload,
    faults::Fault,
    provider::Taken,
    wire::{Question, Reply},
    world::{Committing, Due, Simulation},
};
use alloy_primitives::B256;
use sender::store::{Acquired, LEASE_MS, Outcome};
use sender_model::{
    Account, Action, AttemptKind, Command, Commit, Draft, Fence, Purpose, Request, Rows, key,
    providers::Providers, retention,
};
use types::{Duration, Time};

/// One owner.
#[derive(Debug)]
pub(super) struct Worker {
    name: String,
    pub up: bool,
    pub life: u64,
    pub frozen_until: u64,
    epoch: Option<u64>,
    renew_at: u64,
    pub account: Option<Account>,
    /// A commit that was about to be made when the process stood still.
    pub late: Option<Commit>,
    ticks: u64,
    /// How its providers fare, as far as this process knows.
    pub providers: Providers,
    pub taken: Taken,
}

impl Worker {
    pub(super) fn new(index: usize, providers: Providers) -> Self {
        Self {
            name: format!("owner-{index}"),
            up: true,
            life: 0,
            frozen_until: 0,
            epoch: None,
            renew_at: 0,
            account: None,
            late: None,
            ticks: 0,
            providers,
            taken: Taken::default(),
        }
    }

    fn forget(&mut self) {
        (self.account, self.epoch, self.late) = (None, None, None);
    }
}

impl Simulation {
    pub(super) fn tick(&mut self, owner: usize) {
        let delay = self.world.rng.within(200, 900);
        self.world.later(delay, Due::Tick(owner));
        if !self.is_awake(owner) {
            return;
        }
        if self.world.strikes(Fault::Crash) {
            self.crash(owner);
            return;
        }
        if self.world.strikes(Fault::Freeze) {
            self.freeze(owner);
            return;
        }
        if let Some(late) = self.workers[owner].late.take()
            && !self.commit_for(owner, &late)
        {
            return;
        }
        if !self.keep_lease(owner) || !self.load(owner) {
            return;
        }
        // Whatever was taken in is written before the model is asked what to do next.
        if !self.commit(owner) {
            return;
        }
        self.read_inbox(owner);
        self.step(owner);
        self.workers[owner].ticks += 1;
        if self.workers[owner].ticks.is_multiple_of(3) && self.is_awake(owner) {
            self.deliver(owner);
        }
        if self.workers[owner].ticks.is_multiple_of(4) && self.is_awake(owner) {
            self.forget_what_is_over(owner);
        }
    }

    /// Forgets requests and names whose time is over, in the owner's name, as the product's housekeeping does.
    fn forget_what_is_over(&mut self, owner: usize) {
        let Some(epoch) = self.workers[owner].epoch else { return };
        let (now, config) = (self.world.now(), self.world.config.clone());
        let store = &self.world.store;
        let ended = |list: String, keep_ms: u64| {
            let rows = store.rows(&list, None, usize::MAX).into_iter();
            let over = move |at: Time| now.since(at) >= Duration::from_millis(keep_ms);
            rows.filter(move |(name, _)| key::time_of_end(name).is_some_and(over))
                .filter_map(|(name, _)| key::request_of_live(&name))
        };
        let mut commits = Vec::new();
        for id in ended(key::all_done(), config.retention_ms) {
            let request = store.row(&key::request(&id)).and_then(|row| serde_json::from_slice(&row).ok());
            commits.extend(request.and_then(|it| retention::forget(&it, epoch, &config, now).ok().flatten()));
        }
        for id in ended(key::all_used(), config.name_retention_ms) {
            let used = store.row(&key::used_name(&id)).and_then(|row| serde_json::from_slice(&row).ok());
            commits
                .extend(used.and_then(|it| retention::forget_name(&it, epoch, &config, now).ok().flatten()));
        }
        for commit in commits {
            match self.world.commit(&commit, None) {
                // A conflict means that somebody is still to be told something about it.
                Committing::Done | Committing::Refused(Outcome::Conflict(_)) => {}
                Committing::Crashed => return self.crash(owner),
                Committing::Unknown | Committing::Refused(_) => return,
            }
        }
    }

    /// Whether somebody can ask an owner for something: it has the account, and no commit is under way.
    pub(super) fn is_ready(&self, owner: usize) -> bool {
        let worker = &self.workers[owner];
        self.is_awake(owner) && worker.account.is_some() && worker.late.is_none()
    }

    pub(super) fn is_awake(&self, owner: usize) -> bool {
        self.workers[owner].up && self.workers[owner].frozen_until <= self.world.now_ms
    }

    fn crash(&mut self, owner: usize) {
        let worker = &mut self.workers[owner];
        worker.forget();
        (worker.up, worker.life) = (false, worker.life + 1);
        let delay = self.world.rng.within(500, 20_000);
        self.world.later(delay, Due::Restart(owner));
        self.world.note(|| format!("owner {owner} crashed"));
    }

    fn freeze(&mut self, owner: usize) {
        let pause = self.world.rng.within(2_000, 40_000);
        self.workers[owner].frozen_until = self.world.now_ms + pause;
        self.world.note(|| format!("owner {owner} stands still"));
    }

    /// Takes or renews the lease; false if it is somebody else's.
    fn keep_lease(&mut self, owner: usize) -> bool {
        let (worker, world) = (&mut self.workers[owner], &mut self.world);
        let lease = world.id.to_string();
        if let Some(epoch) = worker.epoch {
            if world.now_ms < worker.renew_at {
                return true;
            }
            worker.renew_at = world.now_ms + LEASE_MS / 3;
            if world.store.renew_now(&Fence { lease, epoch }, LEASE_MS) {
                return true;
            }
            worker.forget();
            return false;
        }
        let force = world.strikes(Fault::ForcedTakeover);
        match world.store.acquire_now(&lease, &worker.name, LEASE_MS, force) {
            Acquired::Taken { epoch, .. } => {
                (worker.epoch, worker.renew_at) = (Some(epoch), world.now_ms + LEASE_MS / 3);
                world.checker.on_epoch(epoch);
                world.note(|| format!("owner {owner} has epoch {epoch}"));
                true
            }
            Acquired::Held { .. } => false,
        }
    }

    fn load(&mut self, owner: usize) -> bool {
        let (worker, world) = (&mut self.workers[owner], &mut self.world);
        let Some(epoch) = worker.epoch else { return false };
        if worker.account.is_some() {
            return true;
        }
        let live = world.store.rows(&key::all_live(world.id), None, usize::MAX);
        let requests = live.iter().filter_map(|(name, _)| key::request_of_live(name));
        let rows = Rows {
            account: world.store.row(&key::account(world.id)),
            nonces: world.store.rows(&key::nonces(world.id), None, usize::MAX),
            requests: requests.filter_map(|id| world.store.row(&key::request(&id))).collect(),
        };
        match Account::load(world.config.clone(), world.id, epoch, rows, world.now()) {
            Ok(account) => worker.account = Some(account),
            Err(error) => world.checker.violations.push(format!("N3: the rows cannot be loaded: {error}")),
        }
        worker.account.is_some()
    }

    /// Finds requests and commands that others have left.
    fn read_inbox(&mut self, owner: usize) {
        let (worker, world) = (&mut self.workers[owner], &mut self.world);
        let Some(account) = &mut worker.account else { return };
        for (name, _) in world.store.rows(&key::all_live(world.id), None, usize::MAX) {
            let id = key::request_of_live(&name).filter(|id| account.request(id).is_none());
            let row = id.and_then(|id| world.store.row(&key::request(&id)));
            if let Some(request) = row.and_then(|row| serde_json::from_slice::<Request>(&row).ok()) {
                account.admit(request);
            }
        }
        for (_, row) in world.store.rows(&key::commands(world.id), None, 10) {
            if let Ok(command) = serde_json::from_slice::<Command>(&row) {
                // A command that cannot be obeyed is answered by nothing; it is gone all the same.
                let _refused = account.handle_command(&command, world.now());
            }
        }
    }

    pub(super) fn step(&mut self, owner: usize) {
        for _ in 0..4 {
            let Some(idle) = self.do_actions(owner) else { return };
            // An owner may ask again before it commits: nothing that it is told may need the commit.
            if !idle && self.world.rng.chance(300) {
                self.do_actions(owner);
            }
            if idle || !self.commit(owner) {
                return;
            }
        }
    }

    /// Does what the model says now. Whether there was nothing to do; nothing without an account.
    fn do_actions(&mut self, owner: usize) -> Option<bool> {
        let now = self.world.now();
        let account = self.workers[owner].account.as_mut()?;
        let actions = account.poll(now);
        let idle = actions.is_empty() && !account.has_changes();
        for action in actions {
            self.perform(owner, action);
        }
        Some(idle)
    }

    /// Makes durable what changed; false if the owner has lost its account, its life or its time.
    pub(super) fn commit(&mut self, owner: usize) -> bool {
        let Some(account) = &mut self.workers[owner].account else { return false };
        let commit = match account.take_commit() {
            Ok(Some(commit)) => commit,
            Ok(None) => return true,
            Err(error) => {
                self.world.checker.violations.push(format!("a row cannot be written: {error}"));
                return false;
            }
        };
        if self.world.strikes(Fault::Freeze) {
            self.workers[owner].late = Some(commit);
            self.freeze(owner);
            return false;
        }
        self.commit_for(owner, &commit)
    }

    fn commit_for(&mut self, owner: usize, commit: &Commit) -> bool {
        let result = self.world.commit(commit, self.workers[owner].account.as_ref());
        match result {
            Committing::Done => {
                if let Some(account) = &mut self.workers[owner].account {
                    account.committed();
                }
                return true;
            }
            Committing::Crashed => self.crash(owner),
            Committing::Unknown | Committing::Refused(_) => self.workers[owner].forget(),
        }
        false
    }

    /// Does what the model says. What goes over the wire may be lost, slow, or answered by the wrong node.
    fn perform(&mut self, owner: usize, action: Action) {
        let question = match action {
            Action::Sign(draft) => return self.sign(owner, &draft),
            Action::FetchView { known } => Question::Look(known),
            Action::Simulate { id, before, .. } => {
                Question::Simulate(id, before.into_iter().map(|(id, _)| id).collect())
            }
            Action::Send { nonce, hash, bytes } => {
                self.world.note(|| format!("owner {owner} sends nonce {nonce} {hash}"));
                self.world.checker.on_send(nonce, B256::from_slice(&bytes[..32]));
                Question::Send(nonce, hash)
            }
            Action::Receipts { nonce, hashes } => Question::Receipts(nonce, hashes),
            Action::CheckBlock(number) => Question::CheckBlock(number),
            Action::Identify { nonce, from } => Question::Identify(nonce, from),
        };
        if self.world.strikes(Fault::QuestionLost) {
            return;
        }
        let slow = self.world.strikes(Fault::Slow);
        let delay = if slow { self.world.rng.within(1_000, 25_000) } else { self.world.rng.within(5, 100) };
        let Some(epoch) = self.workers[owner].epoch else { return };
        self.world.later(delay, Due::Asked(owner, self.workers[owner].life, epoch, question));
    }

    fn sign(&mut self, owner: usize, draft: &Draft) {
        let world = &mut self.world;
        let request = match &draft.purpose {
            Purpose::New(id) => Some(id.to_string()),
            _ if draft.kind == AttemptKind::Noop => None,
            _ => world.checker.owner_of(draft.nonce),
        };
        let traits = request.as_ref().and_then(|id| world.traits.get(id)).copied().unwrap_or_default();
        let payload = request.map_or(Payload::Noop, Payload::Request);
        let signed = world.chain.sign(draft, payload, traits.unminable, traits.reverts);
        let life = self.workers[owner].life;
        let Some(account) = &mut self.workers[owner].account else { return };
        let epoch = account.epoch();
        if self.world.strikes(Fault::SignerRefuses) {
            account.handle_sign_refused(draft.ticket, self.world.now());
            return;
        }
        if !self.world.strikes(Fault::SignerFails) {
            account.handle_signed(draft.ticket, signed, self.world.now());
            return;
        }
        let (delay, fails) = (self.world.rng.within(10, 15_000), self.world.rng.chance(500));
        let reply = Reply::Signed(draft.ticket, (!fails).then_some(signed));
        self.world.later(delay, Due::Answered(owner, life, epoch, reply));
    }
}
