//! How much gas of JAM's virtual machine it takes to refine blocks, before anyone has run the service's program.
//!
//! ```text
//!   Counter (while a transaction is executed) ─┐
//!   transaction, receipt, what it touched ─────┼─▶ Work: counts of Features ── Weights ──▶ gas, an upper bound
//!   witness, writes ───────────────────────────┘
//! ```
//!
//! [`Work`] counts what a validator has to do: opcodes executed, words copied, precompiles by the size of their input, signatures, nodes of
//! the tree. Each count has a weight, and the sum is the estimate. The weights come from blocks that were measured with the program: the
//! judge `gas --calibrate` prints the table ([`weights`]) anew, which is needed whenever the program gets slower.
//!
//! Work adds up over the blocks of a run, except for what the run does once: [`Work::of_run`].

mod count;
mod counter;
mod features;
mod precompiles;
mod weights;

pub(crate) use count::{Transacted, transacted};
pub use counter::Counter;
pub use features::{FEATURES, Feature, name_of};
pub use weights::PROGRAM;

use state::Opened;
use std::ops::AddAssign;
use weights::WEIGHTS;

/// Weights are multiples of 1/16 gas.
pub const FRACTION: u64 = 16;

/// How much there is to do, by [`Feature`] and opcode.
#[derive(Clone, PartialEq, Eq)]
pub struct Work(Box<[u64; FEATURES]>);

impl Default for Work {
    fn default() -> Self {
        Self(Box::new([0; FEATURES]))
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        f.debug_map().entries(named.map(|(index, count)| (name_of(index), count))).finish()
    }
}

impl AddAssign<&Self> for Work {
    fn add_assign(&mut self, other: &Self) {
        self.0.iter_mut().zip(&*other.0).for_each(|(own, other)| *own += other);
    }
}

impl Work {
    /// That of a block without transactions.
    pub(crate) fn of_block() -> Self {
        let mut work = Self::default();
        work.set(Feature::Block, 1);
        work
    }

    /// The counts, opcodes first.
    pub fn counts(&self) -> &[u64; FEATURES] {
        &self.0
    }

    /// How often something is done.
    pub fn count(&self, feature: Feature) -> u64 {
        self.0[feature as usize]
    }

    pub(crate) fn add(&mut self, feature: Feature, count: usize) {
        self.0[feature as usize] += count as u64;
    }

    fn set(&mut self, feature: Feature, count: usize) {
        self.0[feature as usize] = count as u64;
    }

    pub(crate) fn opcode(&mut self, opcode: u8) {
        self.0[usize::from(opcode)] += 1;
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// What it costs, in sixteenths of gas.
    pub(crate) fn cost(&self) -> u64 {
        let cost = self.0.iter().zip(&WEIGHTS).map(|(count, weight)| count.saturating_mul(*weight));
        cost.fold(0, u64::saturating_add)
    }

    /// The gas that a validator needs at most.
    pub fn gas(&self) -> u64 {
        self.cost().div_ceil(FRACTION)
    }

    /// The work of a run with this much in its blocks: the signatures are checked together, and there is one witness.
    #[must_use]
    pub(crate) fn of_run(mut self, senders: usize, witness: &Witnessed) -> Self {
        let signatures = self.count(Feature::Signatures) as usize;
        once(signatures, senders, witness).into_iter().for_each(|(feature, count)| self.set(feature, count));
        self
    }

    /// The same with these nodes written.
    #[must_use]
    pub(crate) fn writing(mut self, written: &Opened) -> Self {
        writing(written).into_iter().for_each(|(feature, count)| self.set(feature, count));
        self
    }
}

/// What a run does once.
fn once(signatures: usize, senders: usize, witness: &Witnessed) -> [(Feature, usize); 9] {
    let Witnessed { opened: Opened { inner, stems, keys, below }, hashes } = *witness;
    let additions = if signatures > 0 { signatures::additions(signatures, senders) } else { 0 };
    [
        (Feature::Run, 1),
        (Feature::Senders, senders),
        (Feature::Additions, additions),
        (Feature::WitnessInner, inner),
        (Feature::WitnessStems, stems),
        (Feature::WitnessKeys, keys),
        (Feature::WitnessBelow, below),
        (Feature::WitnessHashes, hashes),
        // Keys are sorted and found in sorted maps.
        (Feature::WitnessOrder, keys * (keys.max(1).ilog2() as usize + 1)),
    ]
}

/// What a block writes.
fn writing(written: &Opened) -> [(Feature, usize); 4] {
    [
        (Feature::WrittenInner, written.inner),
        (Feature::WrittenStems, written.stems),
        (Feature::WrittenKeys, written.keys),
        (Feature::WrittenBelow, written.below),
    ]
}

/// What the run of one block costs besides its transactions, in sixteenths of gas.
pub(crate) fn cost_around(signatures: usize, senders: usize, witness: &Witnessed, written: &Opened) -> u64 {
    let counts = once(signatures, senders, witness).into_iter().chain(writing(written));
    let counts = counts.chain([(Feature::Block, 1)]);
    counts.fold(0, |cost, (feature, count)| {
        cost.saturating_add((count as u64).saturating_mul(WEIGHTS[feature as usize]))
    })
}

/// How much a witness proves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Witnessed {
    /// The nodes that it opens.
    pub opened: Opened,
    /// Hashes beside them.
    pub hashes: usize,
}

impl From<state::witness::Counts> for Witnessed {
    fn from(counts: state::witness::Counts) -> Self {
        let state::witness::Counts { stems, hashes, keys, inner, below, .. } = counts;
        Self { opened: Opened { inner, stems, keys, below }, hashes }
    }
}
