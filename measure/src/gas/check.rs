//! Random blocks, filled under a small limit as a builder fills them: is the estimate a bound, and how far off is it?

use super::{
    bodies::{self, Body},
    inputs,
    samples::{SHAPES, Sample, chain, looping, shaped},
};
use bundler::{Refused, Sealed};
use harness::{
    blocks::{MemoryChain, Values},
    rng::Rng,
};
use pvm::{EngineKind, Machines};
use std::fmt;
use types::Transaction;

/// Limits are between these.
const LIMIT_MIN: u64 = 20_000_000;
const LIMIT_MAX: u64 = 120_000_000;
/// Transactions that are offered to a block at most.
const TRANSACTIONS_MAX: u64 = 150;
/// Of so many blocks in a thousand several are made into one run.
const RUNS: u64 = 200;

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Blocks, or runs of them, that the program refined.
    pub blocks: usize,
    /// Those that took more than the limit under which they were made.
    pub over: usize,
    /// Those that took more than was estimated.
    pub below: usize,
    /// How far the estimate was above what each took, ascending.
    pub above: Vec<f64>,
    /// Those that are wrong, and the ones that are furthest off.
    pub remarkable: Vec<String>,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |part: f64| {
            let last = self.above.len().saturating_sub(1);
            self.above.get((last as f64 * part) as usize).copied().unwrap_or_default() * 100.0
        };
        for line in &self.remarkable {
            writeln!(f, "{line}")?;
        }
        write!(
            f,
            "estimate above the exact gas, in percent: p1={:.1} p10={:.1} p25={:.1}",
            at(0.01),
            at(0.1),
            at(0.25)
        )?;
        writeln!(f, " p50={:.1} p75={:.1} p90={:.1} p99={:.1}", at(0.5), at(0.75), at(0.9), at(0.99))?;
        let Self { blocks, over, below, .. } = self;
        let (max, middle) = (at(1.0), at(0.5));
        write!(
            f,
            "gas-bound: blocks={blocks} over={over} below={below} above_max={max:.1}% above_p50={middle:.1}%"
        )
    }
}

/// Makes so many blocks and compares.
pub fn check(blocks: u64, seed: u64) -> Result<Checked, String> {
    let machines = Machines::new(EngineKind::Auto).map_err(|why| why.to_string())?;
    let mut checked = Checked::default();
    let mut all = vec![];
    for block in 0..blocks {
        let mut rng = Rng::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(block));
        let limit = rng.within(LIMIT_MIN, LIMIT_MAX);
        let sample = random(&machines, &mut rng, limit, block)?;
        checked.blocks += 1;
        let above = sample.estimate as f64 / sample.gas as f64 - 1.0;
        let is_wrong =
            [(sample.gas > limit, &mut checked.over), (sample.gas > sample.estimate, &mut checked.below)]
                .into_iter()
                .filter(|(is_wrong, _)| *is_wrong)
                .map(|(_, count)| *count += 1)
                .count()
                > 0;
        let line = format!("{:+.1} % of {} under {limit}: {}", above * 100.0, sample.gas, sample.name);
        if is_wrong {
            checked.remarkable.push(line.clone());
        }
        all.push((above, line));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    checked.remarkable.extend(all.iter().rev().take(5).map(|(_, line)| line.clone()));
    checked.above = all.into_iter().map(|(above, _)| above).collect();
    Ok(checked)
}

/// What the contract of a block does in each round: precompiles and what else is costly, or anything. One of the things may want
/// something in memory.
fn mixed(rng: &mut Rng) -> (Body, String) {
    let worst = || -> Vec<Body> {
        let mut rng = Rng::new(7);
        inputs::all(&mut rng).iter().map(bodies::precompile).collect()
    };
    let bodies = if rng.chance(500) { worst() } else { bodies::all(&mut Rng::new(rng.below(1000))) };
    let (mut code, mut memory, mut weight, mut evm) = (vec![], vec![], 0, 0);
    let mut name = String::new();
    for _ in 0..rng.within(1, 3) {
        let index = rng.below(bodies.len() as u64) as usize;
        let body = &bodies[index];
        if !body.memory.is_empty() && !memory.is_empty() || code.len() + body.code.len() > 20_000 {
            continue;
        }
        name.push_str(&format!(" {index}/{}", bodies.len()));
        code.extend_from_slice(&body.code);
        memory.extend_from_slice(&body.memory);
        weight += body.weight;
        evm += body.evm;
    }
    (Body { code, memory, weight: weight.max(50), evm }, name)
}

pub(super) fn random(machines: &Machines, rng: &mut Rng, limit: u64, block: u64) -> Result<Sample, String> {
    let (body, mut name) = mixed(rng);
    let others = 1 << rng.within(3, 12);
    let mut start = chain(TRANSACTIONS_MAX, others, bodies::looped(&[&body.code]));
    start.bundler.limits.refine_gas_max = limit;
    let shape = SHAPES[rng.below(SHAPES.len() as u64) as usize];
    let loops = [0, 100, 500, 1000][rng.below(4) as usize];
    name.push_str(&format!(" {shape:?} loops={loops} others={others}"));
    let blocks = if rng.chance(RUNS) { rng.within(2, 5) } else { 1 };
    let (mut chain, mut sealed) = (start.clone(), vec![]);
    for _ in 0..blocks {
        let share = limit / rng.within(1, 12);
        let mut nonce = vec![0; TRANSACTIONS_MAX as usize];
        for (wallet, nonce) in nonce.iter_mut().enumerate() {
            *nonce = sealed
                .iter()
                .flat_map(|sealed: &Sealed<Values>| sealed.block().transactions())
                .filter(|tx| tx.sender() == harness::blocks::Wallet::new(wallet as u64).address())
                .count() as u64;
        }
        let count = rng.within(1, TRANSACTIONS_MAX);
        let list = (0..count).map(|index| {
            let rounds = rng.within(0, 2 * share / body.weight);
            match rng.chance(loops) || (loops > 0 && index == 0) {
                true => looping(index, nonce[index as usize], rounds, &body),
                false if shape == super::samples::Shape::OneSender => {
                    shaped(rng, super::samples::Shape::Transfer, index, nonce[index as usize], others)
                }
                false => shaped(rng, shape, index, nonce[index as usize], others),
            }
        });
        let list = list.collect::<Vec<_>>();
        let built = filled(&mut chain, &list)?;
        chain.advance(&built);
        sealed.push(built);
    }
    // As many as one package holds.
    let pieces = sealed.iter().map(|sealed| sealed.piece.clone()).collect::<Vec<_>>();
    let packed = start.bundler.pack(&start.parent, &pieces).map_err(|why| why.to_string())?;
    let last = packed.refined.run().last;
    let count = sealed.iter().position(|sealed| sealed.block().id() == last).map_or(1, |at| at + 1);
    Sample::of(format!("block {block}:{name} blocks={count}"), machines, &start, &sealed[..count])
}

/// A block of as many of these as it takes.
fn filled(chain: &mut MemoryChain, list: &[Transaction]) -> Result<Sealed<Values>, String> {
    let mut open = chain.open();
    for tx in list {
        match open.push(tx) {
            Ok(_) | Err(Refused::Never(_) | Refused::Unrefinable(_) | Refused::NotNow(_)) => {}
            Err(Refused::Full(_)) => break,
            Err(Refused::Broken(why)) => return Err(why),
        }
    }
    open.seal(&chain.secret).map_err(|why| why.to_string())
}
