//! The scripted run.

use super::{Driver, jam_chain::JamChain};
use alloy_primitives::{Address, B256};
use bundler::Packaged;
use driver::{Blocks as _, EvmBuilder, Outgoing, Output, PackJob as _, Responder, Settings, Started};
use harness::blocks::{self, BENEFICIARY, Call, SERVICE, Wallet, contracts};
use jam::{Ed25519Secret, Params, SlotClock};
use parking_lot::Mutex;
use queue::{JournalState, Queue, Sent};
use service::{accumulate::ServiceState, genesis::Genesis};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use store::{
    ChainIdentity, Options, Store,
    faults::{Disk, Fault},
};
use txpool::Status;
use types::{BlockId, Time, Transaction};

const SLOT_MS: u64 = 6000;
/// In these slots guarantors refuse everything, so that a block is abandoned and released.
const REFUSING: std::ops::Range<u32> = 7..10;
/// The last slot in which clients send something.
const LAST_SEND: u32 = 24;
/// By then everything is final.
const SLOTS_MAX: u32 = 90;
/// The table of values trails the newest block by so many: few, so that unfinished blocks are folded, and taken back when they
/// are released.
const WINDOW_BLOCKS: u64 = 1;

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Operations of the disk.
    pub operations: u64,
    /// The first one after the file was made.
    pub first_operation: u64,
    /// Whether the disk stopped on the way.
    pub crashed: bool,
    /// Transactions that were accepted.
    pub accepted: usize,
}

/// What the journal must bring back.
#[derive(Clone, PartialEq, Debug)]
struct Picture {
    queue: JournalState,
    newest: BlockId,
    finalized: BlockId,
    /// Where each transaction is, how often its blocks were abandoned, and how often with it alone.
    transactions: BTreeMap<B256, (Option<BlockId>, u32, u32)>,
}

/// Transactions, and what their senders were told.
type Answered = Vec<(B256, Result<B256, txpool::Error>)>;

struct World {
    chain: JamChain,
    started: Started,
    builder: EvmBuilder,
    genesis: Genesis,
    options: Options,
    disk: Disk,
    store: Store,
    driver: Driver,
    crashed: bool,
    /// What is durable for certain.
    before: Picture,
    /// Answers that arrived.
    answers: Arc<Mutex<Answered>>,
    /// Sent by clients, not answered.
    unanswered: BTreeMap<B256, Transaction>,
    accepted: BTreeSet<B256>,
    sends: Vec<Outgoing<Packaged>>,
    final_txs: BTreeMap<B256, u64>,
    /// What the pool held after the restart, and whether it could be executed; readers are told so by the first step.
    restored: BTreeMap<B256, bool>,
    now: Time,
}

/// Runs the script; the disk fails as planned. An error is a sentence about what went wrong.
pub fn run(plan: Option<(u64, Fault)>) -> Result<Outcome, String> {
    let mut world = World::new()?;
    let first_operation = world.disk.operations();
    if let Some((operation, fault)) = plan {
        world.disk.plan(operation, fault);
    }
    let mut operations = None;
    for slot in 1..=SLOTS_MAX {
        world.slot(slot)?;
        if slot > LAST_SEND && world.is_done() {
            operations = Some(world.disk.operations());
            break;
        }
    }
    let operations = operations.ok_or_else(|| format!("not everything became final: {}", world.rest()))?;
    world.check_end()?;
    Ok(Outcome { operations, first_operation, crashed: world.crashed, accepted: world.accepted.len() })
}

/// The driver at the beginning of the script, on a disk that never fails, for whoever wants to drive it by hand. The
/// wallets 1 to 3 own something.
pub fn fresh() -> Result<(Driver, Store), String> {
    World::new().map(|world| (world.driver, world.store))
}

/// The driver, from what the store has.
fn start(started: &Started, builder: &EvmBuilder, store: &Store, now: Time) -> Result<Driver, String> {
    let recovered = store.load().map_err(|why| why.to_string())?;
    let blocks = store.blocks(builder.clone(), |_| ()).map_err(|why| why.to_string())?;
    Driver::start(started.clone(), recovered, blocks, now).map_err(|why| why.to_string())
}

fn wallets() -> [Wallet; 3] {
    [1, 2, 3].map(Wallet::new)
}

impl World {
    fn new() -> Result<Self, String> {
        let config = blocks::config();
        let genesis = Genesis::funded(&config, wallets().map(|wallet| wallet.address()));
        let chain = JamChain::new(config, genesis.id());
        let mut builder = EvmBuilder::new(blocks::bundler(config), Ed25519Secret::trivial(99));
        builder.beneficiary = BENEFICIARY;
        let started = Started {
            settings: Settings::default(),
            params: Params::TINY,
            clock: SlotClock::starting_at(Time::ZERO, SLOT_MS),
            pool: txpool::Config::default(),
            queue: queue::Config::new(&Params::TINY, SLOT_MS),
            genesis: chain.start(),
            service_id: SERVICE,
            code_hash: config.code_hash,
            service: ServiceState::new(genesis.id()),
        };
        let identity = ChainIdentity {
            genesis: genesis.id().hash,
            service: SERVICE,
            builder: config.builder,
            jam_genesis: chain.genesis(),
        };
        let mut options = Options::new(identity, Params::TINY);
        options.window_blocks = WINDOW_BLOCKS;
        let disk = Disk::new();
        let store = Store::on_disk(&disk, options.clone(), &genesis).map_err(|why| why.to_string())?;
        let driver = start(&started, &builder, &store, Time::ZERO)?;
        let before = picture(&driver, []);
        Ok(Self {
            chain,
            started,
            builder,
            genesis,
            options,
            disk,
            store,
            driver,
            crashed: false,
            before,
            answers: Arc::default(),
            unanswered: BTreeMap::new(),
            accepted: BTreeSet::new(),
            sends: vec![],
            final_txs: BTreeMap::new(),
            restored: BTreeMap::new(),
            now: Time::ZERO,
        })
    }

    /// One slot: a block, transactions, a window with submissions and answers.
    fn slot(&mut self, slot: u32) -> Result<(), String> {
        let begins = Time::from_millis(u64::from(slot) * SLOT_MS);
        self.now = begins;
        self.chain.author(slot)?;
        self.chain.tell(&mut self.driver, false, begins);
        self.step()?;
        for after in [400, 1000, 2000, 3000, 3500, 4000, 4900, 5500] {
            self.now = Time::from_millis(begins.as_millis() + after);
            if after == 400 {
                self.send_script(slot);
            }
            self.step()?;
            self.deliver(slot)?;
        }
        Ok(())
    }

    /// Clients send what the script says.
    fn send_script(&mut self, slot: u32) {
        for tx in script(slot) {
            self.unanswered.insert(tx.hash(), tx.clone());
            self.submit(tx);
        }
    }

    fn submit(&mut self, tx: Transaction) {
        let (answers, hash) = (self.answers.clone(), tx.hash());
        let answer =
            Responder::new(move |results| answers.lock().extend(results.into_iter().map(|r| (hash, r))));
        self.driver.submit(vec![tx], answer, self.now).expect("the state can be read");
    }

    /// The driver takes a step, and what follows from it becomes durable and happens; or the process dies.
    fn step(&mut self) -> Result<(), String> {
        let output = match self.driver.step(self.now) {
            Ok(output) => output,
            // Reading fails too once the disk has stopped.
            Err(_) if self.disk.has_crashed() => return self.restart(None),
            Err(why) => return Err(why.to_string()),
        };
        let after = picture(&self.driver, self.known());
        let Output { batch, news, answers, sends, jobs } = output;
        let told =
            news.accepted.iter().map(|(tx, _, pending)| (tx.hash(), *pending)).collect::<BTreeMap<_, _>>();
        for (hash, pending) in std::mem::take(&mut self.restored) {
            if told.get(&hash) != Some(&pending) {
                return Err(format!("{hash} is pending: {pending}, and readers heard {:?}", told.get(&hash)));
            }
        }
        match self.store.commit(&batch) {
            Ok(committed) => {
                self.before = after;
                if let Some(base) = committed.base {
                    self.driver.rebase(base.height(), &base);
                }
            }
            Err(_) if self.disk.has_crashed() => return self.restart(Some(&after)),
            Err(why) => return Err(why.to_string()),
        }
        for event in news.events {
            if let types::Event::Final { hash, .. } = event {
                *self.final_txs.entry(hash).or_default() += 1;
            }
        }
        answers.into_iter().for_each(|(answer, results)| answer.tell(results));
        self.hear();
        for job in jobs {
            match self.driver.packed(job.pack(), self.now) {
                Err(_) if self.disk.has_crashed() => return self.restart(None),
                packed => packed.map_err(|why| why.to_string())?,
            }
        }
        self.sends.extend(sends);
        Ok(())
    }

    /// What clients heard.
    fn hear(&mut self) {
        for (hash, result) in std::mem::take(&mut *self.answers.lock()) {
            self.unanswered.remove(&hash);
            if result.is_ok() || result == Err(txpool::Error::AlreadyKnown) {
                self.accepted.insert(hash);
            }
        }
    }

    fn known(&self) -> Vec<B256> {
        self.accepted.iter().chain(self.unanswered.keys()).copied().collect()
    }

    /// Packages arrive, and guarantors answer.
    fn deliver(&mut self, slot: u32) -> Result<(), String> {
        for outgoing in std::mem::take(&mut self.sends) {
            let (bundle, package) = (outgoing.run().first.number, outgoing.package());
            let sent = if REFUSING.contains(&slot) {
                Sent::Refused
            } else {
                self.chain.take(outgoing)?;
                Sent::Taken
            };
            self.driver.sent(bundle, package, sent, self.now);
        }
        Ok(())
    }

    /// The process died in the middle of a commit, and starts again with what the disk has.
    fn restart(&mut self, after: Option<&Picture>) -> Result<(), String> {
        if self.crashed {
            return Err("the disk crashed twice".into());
        }
        self.crashed = true;
        self.disk = self.disk.restarted(self.disk.operations());
        let said = |why: &dyn std::fmt::Display| format!("after the crash: {why}");
        self.store =
            Store::on_disk(&self.disk, self.options.clone(), &self.genesis).map_err(|why| said(&why))?;
        self.compare(after)?;
        let driver = start(&self.started, &self.builder, &self.store, self.now);
        self.driver = driver.map_err(|why| said(&why))?;
        let pool = self.driver.pool();
        let restored = self
            .known()
            .into_iter()
            .filter_map(|hash| Some((hash, pool.get(&hash)?.status == Status::Pending)));
        self.restored = restored.collect();
        self.sends.clear();
        self.answers.lock().clear();
        self.chain.tell(&mut self.driver, true, self.now);
        for tx in self.unanswered.values().cloned().collect::<Vec<_>>() {
            self.submit(tx);
        }
        self.before = picture(&self.driver, self.known());
        self.step()
    }

    /// What was found is what was there before the interrupted commit, or after it.
    fn compare(&self, after: Option<&Picture>) -> Result<(), String> {
        let recovered = self.store.load().map_err(|why| format!("after the crash: {why}"))?;
        let queue = Queue::replay(
            self.started.queue.clone(),
            self.started.clock,
            recovered.finalized,
            recovered.records.iter().cloned(),
        );
        let queue = queue.map_err(|why| format!("after the crash: {why}"))?;
        let newest = recovered.blocks.last().map_or(recovered.finalized, |block| block.draft.id());
        let transactions = recovered.transactions.iter().map(|lookup| {
            let block = match lookup.status {
                Status::Bundled(block) => Some(block),
                _ => None,
            };
            (lookup.tx.hash(), (block, lookup.attempts, lookup.lone_failures))
        });
        let found = Picture {
            queue: queue.journal_state(),
            newest,
            finalized: recovered.finalized,
            transactions: transactions.collect(),
        };
        if found == self.before || after == Some(&found) {
            return Ok(());
        }
        Err(format!("found {found:?}\nbefore {:?}\nafter {after:?}", self.before))
    }

    /// Whether everything that was accepted is final or has ended.
    fn is_done(&self) -> bool {
        let waits = |hash: &B256| self.driver.pool().get(hash).is_some();
        self.unanswered.is_empty() && !self.accepted.iter().any(waits)
    }

    fn rest(&self) -> String {
        let (queued, submitted, guaranteed) = self.driver.queue().counts();
        let pooled = self.accepted.iter().filter(|hash| self.driver.pool().get(hash).is_some()).count();
        format!("{pooled} pooled, {queued} queued, {submitted} submitted, {guaranteed} guaranteed")
    }

    /// Every accepted transaction is final once, or ended with a reason; the chain and the file agree.
    fn check_end(&mut self) -> Result<(), String> {
        let reader = self.store.reader().map_err(|why| why.to_string())?;
        let mut nonces = BTreeMap::<Address, u64>::new();
        let mut seen = BTreeSet::new();
        for number in 1..=reader.finalized().number {
            let block = reader.block(number).map_err(|why| why.to_string())?;
            let block = block.ok_or_else(|| format!("final block {number} is missing"))?;
            for tx in block.transactions() {
                let nonce = nonces.entry(tx.sender()).or_default();
                if alloy_consensus::Transaction::nonce(&**tx.signed()) != *nonce || !seen.insert(tx.hash()) {
                    return Err(format!("transaction {} is final twice, or out of order", tx.hash()));
                }
                *nonce += 1;
            }
        }
        for hash in &self.accepted {
            let ended = reader.ended(hash).map_err(|why| why.to_string())?;
            if seen.contains(hash) == ended.is_some() {
                return Err(format!("transaction {hash} is neither final nor ended, or both"));
            }
        }
        let (chain, ours) = (self.chain.final_head(), reader.finalized());
        if chain != ours {
            return Err(format!("the service's final head is {chain}, the file's {ours}"));
        }
        let stat = self.store.stat().map_err(|why| why.to_string())?;
        if stat.rollbacks == 0 {
            return Err("no folded block was taken back, which the script is for".into());
        }
        // Every state of the past, and every index.
        self.store.check(|_| ()).map_err(|why| why.to_string())
    }
}

/// What clients send in a slot.
fn script(slot: u32) -> Vec<Transaction> {
    let [alice, bob, carol] = wallets();
    let to = Address::repeat_byte(0x77);
    let nonce = u64::from(slot - 1);
    match slot {
        // A contract, and something that waits for its nonce and is replaced meanwhile.
        1 => vec![
            alice.eip1559(Call::create(contracts::deploy(&contracts::erc20()), 0)),
            bob.eip1559(Call::transfer(to, 1, 1)),
            bob.eip1559(Call { max_fee: 20_000_000_000, tip: 2_000_000_000, ..Call::transfer(to, 1, 2) }),
        ],
        2 => vec![alice.legacy(Call::transfer(to, 1, 3)), bob.eip1559(Call::transfer(to, 0, 4))],
        3..=LAST_SEND if slot.is_multiple_of(3) => {
            vec![alice.eip1559(Call::transfer(to, nonce, 5)), carol.eip2930(Call::transfer(to, nonce / 3, 6))]
        }
        3..=LAST_SEND => vec![alice.eip1559(Call::transfer(to, nonce, 7))],
        _ => vec![],
    }
}

fn picture(driver: &Driver, known: impl IntoIterator<Item = B256>) -> Picture {
    let lookups = known.into_iter().filter_map(|hash| driver.pool().get(&hash));
    let transactions = lookups.map(|lookup| {
        let block = match lookup.status {
            Status::Bundled(block) => Some(block),
            _ => None,
        };
        (lookup.tx.hash(), (block, lookup.attempts, lookup.lone_failures))
    });
    Picture {
        queue: driver.queue().journal_state(),
        newest: driver.blocks().newest_id(),
        finalized: driver.blocks().final_id(),
        transactions: transactions.collect(),
    }
}
