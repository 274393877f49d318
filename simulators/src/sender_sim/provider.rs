//! Providers: what stands between an owner and the simulated nodes, and answers in its own way.

use super::{
    chain::Chain,
    faults::Fault,
    wire::{Question, Reply},
    world::{Simulation, World},
};
use alloy_primitives::{B256, Bytes, U256};
use harness::rng::Rng;
use sender_model::{
    BlockCheck, Head, Identified, Inclusion, ReceiptAnswer, RequestId, SendResponse, Simulation as Simulated,
    View,
    providers::{self, Failed, Panel, Providers, Trouble},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
};
use types::{Duration, Time};

/// What a provider is like, for the whole run. The others of a chain are honest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It answers as its nodes do.
    Honest,
    /// It says that one must be authenticated, to everything and for ever.
    Denied,
    /// It is not there, or is a web page.
    Dead,
    /// Until faults heal, some of its answers are made up.
    Liar,
    /// It takes so many questions per second.
    Limited(u64),
}

/// The providers of a run. At least one is honest, or only limited.
pub(super) fn kinds(rng: &mut Rng) -> Vec<Kind> {
    let odd = match rng.below(6) {
        0 => Kind::Denied,
        1 => Kind::Dead,
        2 | 3 => Kind::Liar,
        _ => Kind::Limited(rng.within(2, 20)),
    };
    match rng.below(5) {
        0 => vec![Kind::Honest],
        1 => vec![Kind::Honest, Kind::Honest],
        2 => vec![Kind::Honest, odd],
        3 => vec![odd, Kind::Honest, Kind::Honest],
        _ => vec![odd, Kind::Honest],
    }
}

/// An owner's providers, as it asks them during one event.
struct Asking<'a> {
    world: RefCell<&'a mut World>,
    providers: RefCell<&'a mut Providers>,
    taken: RefCell<&'a mut Taken>,
    /// Providers that said during this event that it was too much.
    refused: RefCell<Vec<usize>>,
}

/// When each provider took a question of an owner, in the last second.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(BTreeMap<usize, VecDeque<u64>>);

impl Taken {
    fn note(&mut self, index: usize, now_ms: u64) {
        let times = self.0.entry(index).or_default();
        times.push_back(now_ms);
        while times.front().is_some_and(|at| at + 1_000 <= now_ms) {
            times.pop_front();
        }
    }

    fn within_a_second(&self, index: usize, now_ms: u64) -> usize {
        let times = self.0.get(&index).into_iter().flatten();
        times.filter(|at| **at + 1_000 > now_ms).count()
    }
}

impl Panel for Asking<'_> {
    fn with<R>(&self, look: impl FnOnce(&mut Providers, Time) -> R) -> R {
        let now = self.world.borrow().now();
        look(&mut self.providers.borrow_mut(), now)
    }
}

impl Asking<'_> {
    /// Whether a provider answers at all, and by which node; none if it makes its answer up.
    fn reach(&self, index: usize) -> Result<Option<usize>, Failed> {
        let mut world = self.world.borrow_mut();
        let (kind, now) = (world.kinds[index], world.now_ms);
        match kind {
            Kind::Denied => return Err(Trouble::Denied("must be authenticated (-32600)".into()).into()),
            Kind::Dead => return Err(Trouble::Garbage("<html>".into()).into()),
            Kind::Limited(limit) => {
                self.providers.borrow_mut().spend(index, 1, Time::from_millis(now));
                if !world.limits[index].takes(limit, now) {
                    self.refused.borrow_mut().push(index);
                    let wait = Some(Duration::from_millis(500));
                    return Err(Failed { trouble: Trouble::RateLimited("429".into()), wait });
                }
                self.providers.borrow_mut().took(index, 1, Time::from_millis(now));
                self.taken.borrow_mut().note(index, now);
            }
            Kind::Honest | Kind::Liar => {}
        }
        if world.strikes(Fault::NodeBusy) {
            return Err(Trouble::Status(if world.rng.chance(500) { 429 } else { 500 }).into());
        }
        let lies = world.healed_at.is_none() && kind == Kind::Liar && world.rng.chance(400);
        if lies {
            return Ok(None);
        }
        let stale = world.strikes(Fault::StaleBranch);
        let behind = if world.strikes(Fault::Lagging) { world.rng.within(1, 5) } else { 0 };
        Ok(Some(world.chain.node(behind, stale)))
    }

    /// Whether the provider answers "0x0" now, whatever it is asked.
    fn is_nonsense(&self) -> bool {
        self.world.borrow_mut().strikes(Fault::Nonsense)
    }

    async fn view(&self, index: usize) -> Result<View, Failed> {
        let node = self.reach(index)?;
        if self.is_nonsense() {
            return Err(Trouble::Implausible("a block without number or hash".into()).into());
        }
        let mut world = self.world.borrow_mut();
        match node {
            Some(node) => Ok(world.look(node)),
            None => {
                let best = world.chain.node(0, false);
                let view = world.look(best);
                let rng = &mut world.rng;
                let latest_count = (view.latest_count + rng.below(12)).saturating_sub(rng.below(12));
                let finalized_number =
                    if rng.chance(500) { view.latest.number } else { view.finalized_number };
                let balance = if rng.chance(500) { U256::ZERO } else { view.balance };
                Ok(View { latest_count, finalized_number, finalized_count: None, balance, ..view })
            }
        }
    }

    async fn simulate(&self, index: usize, id: &str, before: &[RequestId]) -> Result<Simulated, Failed> {
        let node = self.reach(index)?;
        let nonsense = self.is_nonsense();
        let mut world = self.world.borrow_mut();
        let traits = world.traits.get(id).copied().unwrap_or_default();
        let on_top = world.simulates_on_top && !before.is_empty();
        let reverted =
            || Simulated::Reverted { reason: "execution reverted".into(), data: Bytes::new(), on_top };
        let lacks = node.is_some_and(|node| {
            traits.needs.is_some_and(|parent| {
                let parent = format!("q{parent}");
                let simulated = on_top && before.iter().any(|id| id.as_str() == parent);
                !simulated && !world.chain.has_payload(node, &parent)
            })
        });
        Ok(match node {
            _ if nonsense => Simulated::Gas(0),
            None if world.rng.chance(500) => reverted(),
            None => Simulated::Gas(0),
            Some(_) if traits.fails_simulation || lacks => reverted(),
            Some(_) => Simulated::Gas(traits.gas),
        })
    }

    async fn send(&self, index: usize, hash: B256) -> Result<SendResponse, Failed> {
        let node = self.reach(index)?;
        if self.is_nonsense() {
            return Ok(SendResponse::Hash(B256::ZERO));
        }
        let mut world = self.world.borrow_mut();
        let Some(node) = node else {
            let texts = ["exceeds block gas limit", "insufficient funds", "underpriced", "nonce too low"];
            let message = texts[world.rng.below(4) as usize].to_owned();
            return Ok(SendResponse::Error { http_status: None, code: Some(-32000), message });
        };
        Ok(world.chain.send(node, hash))
    }

    async fn receipts(&self, index: usize, hashes: &[B256]) -> Result<Vec<(B256, ReceiptAnswer)>, Failed> {
        let node = self.reach(index)?;
        if self.is_nonsense() {
            return Err(Trouble::Implausible("a receipt".into()).into());
        }
        let mut world = self.world.borrow_mut();
        let answer = |world: &mut World, hash: B256| match node {
            Some(node) => world.chain.receipt(node, hash),
            None => {
                let block = made_up(&world.chain, &mut world.rng);
                ReceiptAnswer::Found(Inclusion { block, success: true, receipt: None })
            }
        };
        Ok(hashes.iter().map(|hash| (*hash, answer(&mut world, *hash))).collect())
    }

    async fn check(&self, index: usize, number: u64) -> Result<BlockCheck, Failed> {
        let node = self.reach(index)?;
        if self.is_nonsense() {
            return Err(Trouble::Implausible("a block without number or hash".into()).into());
        }
        let mut world = self.world.borrow_mut();
        Ok(match node {
            Some(node) => world.chain.check(node, number),
            None => {
                let true_one = world.chain.check(world.chain.node(0, false), number);
                let hash = if world.rng.chance(500) { true_one.hash } else { Some(made_up_hash(number)) };
                BlockCheck { hash, finalized_number: number + 1, ..true_one }
            }
        })
    }

    async fn identify(&self, index: usize, nonce: u64, from: u64) -> Result<Identified, Failed> {
        // A transaction that is made up has no valid signature, so a liar has nothing to show.
        Ok(match self.reach(index)? {
            Some(node) => self.world.borrow().chain.identify(node, nonce, from),
            None => Identified::Unknown,
        })
    }
}

fn made_up_hash(number: u64) -> B256 {
    B256::repeat_byte(number as u8)
}

fn made_up(chain: &Chain, rng: &mut Rng) -> Head {
    let number = chain.head_number().saturating_sub(rng.below(4));
    Head { number, hash: made_up_hash(number) }
}

/// How many questions a provider has taken in this second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    second: u64,
    taken: u64,
}

impl Limit {
    fn takes(&mut self, limit: u64, now_ms: u64) -> bool {
        if self.second != now_ms / 1_000 {
            *self = Self { second: now_ms / 1_000, taken: 0 };
        }
        self.taken += 1;
        self.taken <= limit
    }
}

impl Simulation {
    /// What an owner's providers answer together. The future is ready at once: nothing in it waits.
    pub(super) fn ask_providers(&mut self, owner: usize, question: &Question) -> Option<Reply> {
        let worker = &mut self.workers[owner];
        let asking = Asking {
            world: RefCell::new(&mut self.world),
            providers: RefCell::new(&mut worker.providers),
            taken: RefCell::new(&mut worker.taken),
            refused: RefCell::default(),
        };
        let reply = {
            let answer = std::pin::pin!(answer(&asking, question));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            match answer.poll(&mut context) {
                std::task::Poll::Ready(reply) => reply,
                std::task::Poll::Pending => unreachable!("simulated nodes answer at once"),
            }
        };
        let refused = asking.refused.into_inner();
        self.check_budgets(owner, &refused);
        reply
    }

    /// P1: what is learned from a refusal is not far below what the provider takes. What it took in any second lies in two
    /// counted ones at most, so the greater of these is at least half of it.
    fn check_budgets(&mut self, owner: usize, refused: &[usize]) {
        let (worker, now_ms) = (&self.workers[owner], self.world.now_ms);
        let health = worker.providers.health(self.world.now());
        for index in refused {
            let taken = worker.taken.within_a_second(*index, now_ms);
            let learned = health[*index].calls_per_second_max;
            if learned.is_some_and(|learned| 2 * learned < taken as u64) {
                let wrong =
                    format!("P1: provider {index} took {taken} in a second, and may be asked {learned:?}");
                self.world.checker.violations.push(wrong);
            }
        }
    }
}

async fn answer(asking: &Asking<'_>, question: &Question) -> Option<Reply> {
    match question {
        Question::Look(known) => {
            let ask = |index| asking.view(index);
            let merge = |view: View, other: &View| view.tempered(other, *known);
            let view = providers::confirmed(asking, ask, |view| !view.is_expected(*known), merge).await;
            Some(Reply::Look(view.ok()))
        }
        Question::Simulate(id, before) => {
            let fails = |simulated: &Simulated| matches!(simulated, Simulated::Reverted { .. });
            let ask = |index| asking.simulate(index, id.as_str(), before);
            let simulated = providers::confirmed(asking, ask, fails, providers::milder).await;
            Some(Reply::Simulated(id.clone(), simulated.unwrap_or(Simulated::Error)))
        }
        Question::Send(nonce, hash) => {
            let answer = providers::send(asking, *hash, |index| asking.send(index, *hash)).await;
            Some(Reply::Sent(*nonce, *hash, answer))
        }
        Question::Receipts(nonce, hashes) => {
            let found = providers::first(asking, |index| asking.receipts(index, hashes)).await;
            let silence = || hashes.iter().map(|hash| (*hash, ReceiptAnswer::Error)).collect();
            Some(Reply::Receipts(*nonce, found.map_or_else(|_| silence(), |(_, found)| found)))
        }
        Question::CheckBlock(number) => {
            let ask = |index| asking.check(index, *number);
            let merge = |check: BlockCheck, other: &BlockCheck| Some(check.agreed(other));
            let check = providers::confirmed(asking, ask, BlockCheck::claims_finality, merge).await;
            check.ok().map(Reply::Block)
        }
        Question::Identify(nonce, from) => {
            let found = providers::first(asking, |index| asking.identify(index, *nonce, *from)).await;
            Some(Reply::Identified(*nonce, found.map_or(Identified::Unknown, |(_, found)| found)))
        }
    }
}
