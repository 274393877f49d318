//! The judge of managed accounts in use: the real node, killed again and again, while requests come in by its REST
//! interface; sending to its own pool, or to anvil behind a proxy that loses, delays and refuses; and a webhook receiver.
//!
//! What is expected is written down here and not asked of the node: which requests were acknowledged. In the end the
//! blocks of the chain are read and each payload is counted, and what the receiver heard is compared with what each
//! request says it has told.

mod accepts;
mod anvil;
mod dependents;
mod faults;
mod front;
mod hook;
mod judge;
mod measure;
mod proxy;
mod server;

pub use accepts::{accept_cost, run_accepts};
pub use dependents::run_dependents;
pub use faults::{FAULTS, run_faults};
pub use judge::{Report, run};
pub use measure::{accept_ratio, measure};

use std::time::Duration;

/// Where requests are sent to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The node's own pool.
    Pectin,
    /// anvil, behind a proxy.
    Anvil,
}

impl Target {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pectin => "pectin",
            Self::Anvil => "anvil",
        }
    }
}

/// What the judge does.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where requests are sent to.
    pub target: Target,
    /// How many.
    pub requests: usize,
    /// From how many accounts.
    pub accounts: usize,
    /// How often the node is killed.
    pub kills: usize,
    /// Chooses moments and faults.
    pub seed: u64,
    /// Whether the second provider of another chain is only slow, instead of losing answers and being busy.
    pub is_second_good: bool,
}

/// What does not happen in this time does not happen.
const PATIENCE: Duration = Duration::from_secs(480);
