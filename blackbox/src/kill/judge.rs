//! One run: lives and deaths of a node, and the verdict.

use super::{
    check::{Findings, check},
    child::{Heard, Node, Recipe},
    client::{Door, Rpc},
    ledger::{Ledger, Said},
    load::{self, Load},
    moment::{Moment, Strike},
    trouble::{Ending, Trouble},
    world::World,
};
use harness::{blocks::Wallet, rng::Rng};
use serde_json::{Value, json};
use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Accounts that send all the time.
const SENDERS: u64 = 6;
/// Accounts that fill the pool.
pub(super) const FILLERS: u64 = 12;
/// The number of the first of those.
pub(super) const FIRST_FILLER: u64 = 100;
/// The number of the account that sends large transactions.
pub(super) const BULKER: u64 = 200;
/// An account's pause after each turn, more or less.
const PAUSE_MS: u64 = 120;
/// The first life lasts so many slots.
const FIRST_SLOTS: u32 = 8;
/// If a moment has not come after so many slots, it is not waited for any longer.
const MOMENT_SLOTS_MAX: u64 = 12;
/// If nothing has got on for so many slots, nothing will.
const STUCK_SLOTS: u32 = 100;

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `pectin`.
    pub binary: PathBuf,
    /// How often the node is killed.
    pub kills: u64,
    /// What the plan follows from.
    pub seed: u64,
    /// How long a slot lasts.
    pub slot_ms: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// How often the node was killed.
    pub kills: u64,
    /// What became of the transactions.
    pub findings: Findings,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub const fn is_good(&self) -> bool {
        self.findings.is_good()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { accepted, finalized, terminal, lost, duplicated, .. } = &self.findings;
        write!(
            f,
            "kill: kills={} accepted={accepted} final={finalized} terminal={terminal} lost={lost} \
             duplicated={duplicated}",
            self.kills
        )
    }
}

/// All accounts that have funds.
pub(super) fn wallets() -> Vec<Wallet> {
    let fillers = FIRST_FILLER..FIRST_FILLER + FILLERS;
    (0..SENDERS).chain(fillers).chain([BULKER, load::MAKER]).map(Wallet::new).collect()
}

/// The judge at work.
pub(super) struct Judge {
    pub(super) world: World,
    pub(super) recipe: Recipe,
    pub(super) node: Option<Node>,
    pub(super) door: Door,
    pub(super) rpc: Rpc,
    pub(super) ledger: Arc<Ledger>,
    pub(super) rng: Rng,
    pub(super) load: Option<Load>,
    pub(super) kills: u64,
    /// The fillers' next nonces.
    pub(super) filler_nonces: Vec<u64>,
    /// Trouble that lasts into the next life.
    pub(super) left: Ending,
    /// Whoever sends large transactions.
    pub(super) bulk: Option<std::thread::JoinHandle<()>>,
    restarts: Vec<Duration>,
    begun: Instant,
}

impl Judge {
    /// Starts validators and a first node, and sets accounts to work.
    pub(super) fn start(options: &Options) -> Result<Self, String> {
        let world = World::start(options.slot_ms, &wallets())?;
        let flags = [
            ["--pool-sender-max", "256"],
            ["--pool-pending-max", "4000"],
            ["--block-ms", "60"],
            ["--log", "info,pool=debug"],
        ];
        let recipe = world.recipe(options.binary.clone(), flags.as_flattened());
        let door = Door::default();
        Ok(Self {
            rpc: Rpc::new(door.clone()),
            node: None,
            ledger: Arc::new(Ledger::default()),
            rng: Rng::new(options.seed),
            load: None,
            kills: 0,
            filler_nonces: vec![0; FILLERS as usize],
            left: Ending::default(),
            bulk: None,
            restarts: vec![],
            begun: Instant::now(),
            world,
            recipe,
            door,
        })
    }

    pub(super) fn say(&self, what: impl fmt::Display) {
        println!("{:7.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    pub(super) fn node(&self) -> Result<&Node, String> {
        self.node.as_ref().ok_or_else(|| "there is no node".to_owned())
    }

    /// Starts a node, without waiting for it.
    pub(super) fn spawn(&mut self) -> Result<(), String> {
        self.node = Some(Node::start(&self.recipe)?);
        Ok(())
    }

    /// Waits for the node, and lets everybody talk to it.
    pub(super) fn await_ready(&mut self) -> Result<Duration, String> {
        let url = self.node()?.ready()?;
        self.door.open(&url);
        self.rpc.ask("eth_blockNumber", json!([]))?;
        let took = self.node()?.age();
        self.restarts.push(took);
        Ok(took)
    }

    /// Kills the node.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        let node = self.node.take().ok_or("there is no node")?;
        let killed = node.kill();
        self.door.shut();
        self.kills += 1;
        killed
    }

    /// Sets accounts to work, once there is the contract that they call.
    pub(super) fn start_load(&mut self, seed: u64) -> Result<(), String> {
        let creation = load::creation();
        if load::offer(&mut self.rpc, &self.ledger, &creation) != Some(Said::Accepted) {
            return Err("the contract was not accepted".to_owned());
        }
        let receipt = json!([creation.hash()]);
        while self.rpc.ask("eth_getTransactionReceipt", receipt.clone())?.is_null() {
            self.hear_of_progress(self.world.slots(4))?;
        }
        let senders = (0..SENDERS).map(Wallet::new).collect::<Vec<_>>();
        self.load = Some(Load::start(&senders, PAUSE_MS, seed, &self.door, &self.ledger));
        Ok(())
    }

    /// Waits until a block gets on, but not for ever.
    pub(super) fn hear_of_progress(&self, at_most: Duration) -> Result<(), String> {
        let is_progress = |line: &str| line.contains(" bundle=");
        match self.node()?.hear(is_progress, at_most) {
            Heard::Ended => Err("the node ended by itself".to_owned()),
            _ => Ok(()),
        }
    }

    pub(super) fn status(&mut self) -> Result<Value, String> {
        self.rpc.ask("builder_status", json!([]))
    }

    /// Starts a node and waits for it; says how long that took.
    pub(super) fn live(&mut self) -> Result<Duration, String> {
        self.spawn()?;
        let ready = self.await_ready()?;
        self.end_trouble()?;
        Ok(ready)
    }

    /// Waits for a moment and kills the node.
    pub(super) fn die(&mut self, strike: Strike, ready: Duration) -> Result<(), String> {
        let heard = self.wait_for(strike)?;
        self.say(format_args!(
            "kill {:>3}  {:?} after {:?}{heard}; had been ready in {:.2} s; {} accepted",
            self.kills + 1,
            strike.delay,
            strike.moment,
            ready.as_secs_f64(),
            self.ledger.accepted(),
        ));
        self.kill()
    }

    /// One life: from the start to a moment after which the node is killed. Trouble, if there is some, comes before.
    fn life(&mut self, strike: Strike, trouble: Option<Trouble>) -> Result<(), String> {
        if strike.moment == Moment::Starting {
            self.spawn()?;
            std::thread::sleep(strike.delay);
            self.say(format_args!("kill {:>3}  {:?} after it was started", self.kills + 1, strike.delay));
            return self.kill();
        }
        let ready = self.live()?;
        if let Some(trouble) = trouble {
            self.begin(trouble)?;
            // Half of the time it is over when the node dies, else it lasts into the next life.
            if self.rng.chance(500) {
                self.end_trouble()?;
            }
        }
        self.die(strike, ready)
    }

    /// Waits for the moment of a strike; says so if it did not come.
    fn wait_for(&mut self, strike: Strike) -> Result<&'static str, String> {
        let node = self.node()?;
        let heard = match strike.moment {
            Moment::Ready => Heard::Line(String::new()),
            moment => {
                node.forget_lines();
                node.hear(|line| moment.is_said_by(line), self.world.slots(MOMENT_SLOTS_MAX))
            }
        };
        std::thread::sleep(strike.delay);
        match heard {
            Heard::Line(_) => Ok(""),
            Heard::Nothing => Ok(" did not come"),
            Heard::Ended => Err("the node ended by itself".to_owned()),
        }
    }

    /// All lives but the last.
    fn lives(&mut self, kills: u64) -> Result<(), String> {
        let mut plan = Trouble::plan(kills, &mut self.rng);
        for kind in Trouble::left_out(&plan) {
            self.say(format_args!("left out: {kind:?}, since there are too few kills"));
        }
        let mut deck = vec![];
        while self.kills < kills {
            let trouble = plan.remove(&self.kills);
            let needs_life = trouble.is_some() || !self.left.is_over();
            let strike = Strike::draw(&mut deck, &mut self.rng, needs_life);
            match trouble {
                Some(Trouble::Outage) => self.outage(strike)?,
                Some(Trouble::FullDisk) => self.full_disk(strike)?,
                trouble => self.life(strike, trouble)?,
            }
        }
        self.live().map(drop)
    }

    /// Lets all accounts finish.
    fn end_load(&mut self) {
        if let Some(load) = self.load.take() {
            load.finish();
        }
        if let Some(bulk) = self.bulk.take() {
            let _ = bulk.join();
        }
    }

    pub(super) fn pause_load(&self, is_paused: bool) {
        if let Some(load) = &self.load {
            load.pause(is_paused);
        }
    }

    /// Waits until all that was accepted is final, or nothing gets on any more.
    fn settle(&mut self) -> Result<(), String> {
        let (mut last, mut since) = (Value::Null, self.world.slot());
        loop {
            let status = self.status()?;
            let pool = &status["pool"];
            let waits = ["pending", "queued"].iter().filter_map(|name| pool[*name].as_u64()).sum::<u64>();
            let open = status["openTransactions"].as_u64().unwrap_or_default();
            let is_final = status["latest"] == status["finalized"];
            if waits == 0 && open == 0 && is_final {
                return Ok(());
            }
            let now = json!([status["latest"], status["finalized"], status["pool"]]);
            if now != last {
                (last, since) = (now, self.world.slot());
            } else if self.world.slot() > since.saturating_add(STUCK_SLOTS) {
                return Err(format!("nothing got on for {STUCK_SLOTS} slots: {status}"));
            }
            self.hear_of_progress(self.world.slots(2))?;
        }
    }

    fn say_restarts(&mut self) {
        self.restarts.sort_unstable();
        let seconds = |at: usize| self.restarts.get(at).map_or(0.0, Duration::as_secs_f64);
        let (count, last) = (self.restarts.len(), self.restarts.len().saturating_sub(1));
        self.say(format_args!(
            "restart: {count} times, ready in p50 {:.2} s, max {:.2} s",
            seconds(last / 2),
            seconds(last)
        ));
    }

    /// Starts, lives as `lives` says, and judges what came of it. What `lives` says is wrong is a problem too.
    pub(super) fn judge(
        options: &Options,
        lives: impl FnOnce(&mut Self) -> Result<Vec<String>, String>,
    ) -> Result<Verdict, String> {
        let mut judge = Self::start(options)?;
        let found = lives(&mut judge).and_then(|problems| {
            let mut findings = judge.finish()?;
            findings.problems.extend(problems);
            Ok(findings)
        });
        let kills = judge.kills;
        judge.end(found.as_ref().is_ok_and(Findings::is_good));
        Ok(Verdict { kills, findings: found? })
    }

    /// Lets everything settle, looks at it, and stops the node.
    fn finish(&mut self) -> Result<Findings, String> {
        self.end_load();
        self.say("the load has ended; waiting for all to be final");
        self.settle()?;
        self.say("all is final; executing the chain again");
        let findings = check(&self.world, &mut self.rpc, &self.ledger)?;
        let node = self.node.take().ok_or("there is no node")?;
        let status = node.stop()?;
        if !status.success() {
            return Err(format!("the node was asked to stop and ended with {status}"));
        }
        self.say_restarts();
        Ok(findings)
    }

    /// Ends everything; the files are kept if something was wrong.
    pub(super) fn end(mut self, is_good: bool) {
        self.door.close();
        self.node = None;
        self.end_load();
        if !is_good {
            println!("the node's log and data are in {}", self.world.keep().display());
        }
    }
}

/// Runs the judge; an error says what kept it from a verdict.
pub fn run(options: &Options) -> Result<Verdict, String> {
    Judge::judge(options, |judge| {
        judge.live()?;
        judge.start_load(options.seed)?;
        judge.world.wait_for_slot(judge.world.slot() + FIRST_SLOTS);
        judge.say("kill   1  after the first slots");
        judge.kill()?;
        judge.lives(options.kills)?;
        Ok(vec![])
    })
}
