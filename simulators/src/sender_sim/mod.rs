//! The sender's simulator: the real model and the real store rules, in virtual time, with two or three owners that fight
//! for one account on a chain on which everything goes wrong that can.
//!
//! A seed decides which faults there are and how often, then everything else. First faults happen; then they heal, and
//! every accepted request must come to its one end. After every commit, send and block the invariants are checked by one
//! who sees everything. The same seed gives the same run.

mod chain;
mod check;
mod faults;
mod provider;
pub mod report;
mod rules;
mod users;
mod webhooks;
mod wire;
mod worker;
mod world;

use alloy_primitives::B256;
use sender_model::Mistake;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A known mistake to put back.
    pub bug: Option<Bug>,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// A known mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// In the model.
    Model(Mistake),
    /// In the store: it does not look at epochs.
    NoEpochCheck,
}

/// The mistakes by the names that `--bug` takes.
pub const BUGS: &[(&str, Bug)] = &[
    ("no-epoch-check", Bug::NoEpochCheck),
    ("timeout-is-failure", Bug::Model(Mistake::TimeoutIsFailure)),
    ("receipt-error-is-replaced", Bug::Model(Mistake::ReceiptErrorIsReplaced)),
    ("reset-in-flight", Bug::Model(Mistake::ResetInFlight)),
    ("bump-from-quote", Bug::Model(Mistake::BumpFromQuote)),
    ("recycle-after-send", Bug::Model(Mistake::RecycleAfterSend)),
    ("send-before-record", Bug::Model(Mistake::SendBeforeRecord)),
    ("old-copy-is-new", Bug::Model(Mistake::OldCopyIsNew)),
    ("name-goes-with-request", Bug::Model(Mistake::NameGoesWithRequest)),
    ("trust-any-hash", Bug::Model(Mistake::TrustAnyHash)),
    ("zero-gas", Bug::Model(Mistake::ZeroGas)),
    ("provider-error-is-final", Bug::Model(Mistake::ProviderErrorIsFinal)),
    ("search-from-zero", Bug::Model(Mistake::SearchFromZero)),
    ("sweep-starves", Bug::Model(Mistake::SweepStarves)),
    ("parent-ignored", Bug::Model(Mistake::ParentIgnored)),
    ("budget-halves", Bug::Model(Mistake::BudgetHalves)),
    ("one-voice", Bug::Model(Mistake::OneVoice)),
    ("dynamic-fees-everywhere", Bug::Model(Mistake::DynamicFeesEverywhere)),
];

impl Options {
    fn mistake(&self) -> Option<Mistake> {
        match self.bug {
            Some(Bug::Model(mistake)) => Some(mistake),
            _ => None,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Faults that happened.
    pub faults: u64,
    /// Requests accepted.
    pub accepted: usize,
    /// Of these: confirmed or reverted, cancelled, expired, failed.
    pub ends: [usize; 4],
    /// Commits.
    pub commits: usize,
    /// Attempts signed and bound.
    pub attempts: usize,
    /// What was wrong.
    pub violations: Vec<String>,
    /// A hash over all commits with their times.
    pub log: B256,
    /// What happened, if asked for.
    pub trace: Vec<String>,
    /// From accepted to the end, in milliseconds.
    pub latencies_ms: Vec<u64>,
}

/// Whether a seed's faults are frequent.
pub const fn is_harsh(seed: u64) -> bool {
    seed % 2 == 1
}

/// Whether a seed's owners take several answers in before they write.
pub const fn takes_together(seed: u64) -> bool {
    seed.is_multiple_of(5)
}

/// Whether a seed's requests are forgotten soon after their end, and some callers withdraw theirs.
pub const fn forgets(seed: u64) -> bool {
    seed % 7 == 4
}

/// Whether a seed's chain has no EIP-1559.
pub const fn is_legacy(seed: u64) -> bool {
    seed % 8 == 3
}

/// Whether a seed's nodes still have the states of their final blocks, as this node's own chain has.
pub const fn has_old_states(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

/// Whether a seed's nodes can simulate a transaction on top of others.
pub const fn simulates_on_top(seed: u64) -> bool {
    seed % 4 == 1
}

/// Whether blocks become final late.
pub const fn is_late(seed: u64) -> bool {
    seed % 6 == 1
}

/// Runs one seed. A panic is a violation.
pub fn run(seed: u64, options: &Options) -> Outcome {
    let run = AssertUnwindSafe(|| world::Simulation::new(seed, options).run());
    catch_unwind(run)
        .unwrap_or_else(|_| Outcome { violations: vec!["it panicked".into()], ..Outcome::default() })
}
