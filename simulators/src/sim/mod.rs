//! The simulator: the product's driver and clock, in virtual time, against a chain in which everything goes wrong that can.
//!
//! What is driven is `driver::Driver`, as in a node. One seed in sixteen also has a node's blocks with revm, and validators
//! that refine what they are sent; the others have blocks that only hash.
//!
//! A seed decides which faults there are and how often, then everything else. First faults happen; then they heal, and
//! all that was accepted must become final. After every step the invariants are checked by one who sees everything.
//! The same seed gives the same run.

mod blocks;
mod check;
mod faults;
mod journal;
mod network;
mod node;
mod owner;
mod users;
mod world;

use jam::Hash;
use network::{PARAMS, SLOT_MS};
use queue::{Config, Mistake, Policy, Size};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub mod report;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The queue's policy.
    pub policy: Policy,
    /// A known mistake to put back.
    pub bug: Option<Bug>,
    /// Whether to sign with real keys, which is slow.
    pub real_signatures: bool,
    /// Whether blocks are made by the real bundler and refined by the validators, which is slower.
    pub real_blocks: bool,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// A known mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// In the queue.
    Queue(Mistake),
    /// In the driver.
    Driver(driver::Mistake),
    /// In the service.
    Service(service::accumulate::Mistake),
    /// In the bundler.
    Bundler(bundler::Mistake),
}

/// The mistakes by the names that `--bug` takes.
pub const BUGS: &[(&str, Bug)] = &[
    ("drop-loses-txs", Bug::Queue(Mistake::DropLosesTxs)),
    ("core-order", Bug::Service(service::accumulate::Mistake::CoreOrder)),
    ("late-guarantee-double", Bug::Queue(Mistake::LateGuaranteeDouble)),
    ("global-inflight", Bug::Queue(Mistake::GlobalInflight)),
    ("dead-by-best-block", Bug::Queue(Mistake::DeadByBestBlock)),
    ("guaranteed-is-final", Bug::Queue(Mistake::GuaranteedIsFinal)),
    ("act-before-record", Bug::Queue(Mistake::ActBeforeRecord)),
    ("accumulated-is-applied", Bug::Queue(Mistake::AccumulatedIsApplied)),
    ("split-release", Bug::Queue(Mistake::SplitRelease)),
    ("rebuild-changes-block", Bug::Bundler(bundler::Mistake::RebuildChangesBlock)),
    ("forget-versions", Bug::Queue(Mistake::ForgetVersions)),
    ("no-descendants", Bug::Queue(Mistake::NoDescendants)),
    ("resend-at-once", Bug::Queue(Mistake::ResendAtOnce)),
    ("unreachable-cores", Bug::Driver(driver::Mistake::UnreachableCores)),
    ("hot-loop", Bug::Driver(driver::Mistake::HotLoop)),
    ("frozen-clock", Bug::Driver(driver::Mistake::FrozenClock)),
    ("wrong-dates", Bug::Driver(driver::Mistake::WrongDates)),
    ("expires-in-doubt", Bug::Driver(driver::Mistake::ExpiresInDoubt)),
    ("run-changes-on-rebuild", Bug::Bundler(bundler::Mistake::RunChangesOnRebuild)),
    ("run-overlaps", Bug::Bundler(bundler::Mistake::RunOverlaps)),
    ("witness-of-last-block-only", Bug::Bundler(bundler::Mistake::WitnessOfLastBlock)),
    ("signature-of-first-block", Bug::Bundler(bundler::Mistake::SignatureOfFirstBlock)),
    ("release-half-a-run", Bug::Queue(Mistake::ReleaseHalfRun)),
    ("probe-shares-a-run", Bug::Queue(Mistake::ProbeSharesRun)),
    ("suspects-share-a-run", Bug::Queue(Mistake::SuspectsShareRun)),
    ("upgrade-forgets-in-flight", Bug::Queue(Mistake::UpgradeForgetsInFlight)),
    ("dissolved-blocks-change", Bug::Bundler(bundler::Mistake::DissolvedBlocksChange)),
];

impl Options {
    fn queue_config(&self) -> Config {
        let mistake = match self.bug {
            Some(Bug::Queue(mistake)) => Some(mistake),
            _ => None,
        };
        let config = Config {
            run_max: Size { bytes: RUN_BYTES_MAX, ..Size::MAX },
            unsent_max: Size { bytes: UNSENT_BYTES_MAX, ..Size::MAX },
            mistake,
            ..Config::new(&PARAMS, SLOT_MS)
        };
        match self.policy {
            Policy::Pectin => config,
            Policy::Spec => config.by_specification(),
        }
    }

    fn driver_mistake(&self) -> Option<driver::Mistake> {
        match self.bug {
            Some(Bug::Driver(mistake)) => Some(mistake),
            _ => None,
        }
    }

    fn bundler_mistake(&self) -> Option<bundler::Mistake> {
        match self.bug {
            Some(Bug::Bundler(mistake)) => Some(mistake),
            _ => None,
        }
    }

    fn service_mistake(&self) -> Option<service::accumulate::Mistake> {
        match self.bug {
            Some(Bug::Service(mistake)) => Some(mistake),
            _ => None,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Faults that happened.
    pub faults: u64,
    /// Transactions accepted.
    pub accepted: usize,
    /// Blocks final.
    pub final_blocks: usize,
    /// What was wrong.
    pub violations: Vec<String>,
    /// Releases.
    pub releases: usize,
    /// Further versions guaranteed of a block that already was.
    pub duplicate_guarantees: u64,
    /// Packages built.
    pub packages: usize,
    /// Transactions dropped as poisonous that were not.
    pub dropped_innocents: usize,
    /// A hash over all events with their times.
    pub log: Hash,
    /// What happened, if asked for.
    pub trace: Vec<String>,
    /// From accepted to final, in milliseconds.
    pub latencies_ms: Vec<u64>,
}

impl Outcome {
    fn panicked() -> Self {
        Self { violations: vec!["it panicked".into()], ..Self::default() }
    }
}

/// Whether a seed's faults are frequent.
pub const fn is_harsh(seed: u64) -> bool {
    seed % 2 == 1
}

/// What the blocks of a package may take, and what may wait: a few floods.
const RUN_BYTES_MAX: u64 = 20_000;
const UNSENT_BYTES_MAX: u64 = 400_000;

/// One seed in so many signs with real keys.
const REAL_SIGNATURES_EVERY: u64 = 32;

/// One seed in so many builds real blocks.
const REAL_BLOCKS_EVERY: u64 = 16;

/// Runs one seed. A panic is a violation.
pub fn run(seed: u64, options: &Options) -> Outcome {
    jam::sample::allow_simulated_keys();
    let options = Options {
        real_signatures: options.real_signatures || seed.is_multiple_of(REAL_SIGNATURES_EVERY),
        real_blocks: options.real_blocks
            || seed % REAL_BLOCKS_EVERY == 5
            || options.bundler_mistake().is_some(),
        ..options.clone()
    };
    let run = AssertUnwindSafe(|| match options.real_blocks {
        true => world::Simulation::<blocks::RealBlocks>::new(seed, &options).run(),
        false => world::Simulation::<blocks::HashBlocks>::new(seed, &options).run(),
    });
    catch_unwind(run).unwrap_or_else(|_| Outcome::panicked())
}
