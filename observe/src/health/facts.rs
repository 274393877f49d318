//! What is known of the node at one moment, as far as its health depends on it.

use ::clock::Standing;
use jam::SlotClock;
use types::{BlockId, Time};

/// Everything that [`Health::of`](super::Health::of) judges.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The time now.
    pub now: Time,
    /// Which clock the time follows.
    pub standing: Standing,
    /// When slots begin.
    pub clock: SlotClock,
    /// Why the journal cannot be written, if it cannot.
    pub journal_error: Option<String>,
    /// A head of the service that was not built here; building has stopped because of it.
    pub foreign_head: Option<BlockId>,
    /// Transactions that became final although they were final before.
    pub executed_twice: u64,
    /// Whether the service's storage was found to differ since the start,
    pub service_differs: bool,
    /// or could not be read.
    pub service_unreadable: bool,
    /// Whether the operator paused sealing.
    pub paused: bool,
    /// Whether nothing is ever submitted, because the settings say so.
    pub dry_run: bool,
    /// Who can be reached.
    pub validators: Validators,
    /// The JAM chain.
    pub jam: Jam,
    /// The bundles.
    pub queue: Queue,
    /// When a window was missed last.
    pub missed_at: Option<Time>,
    /// Managed accounts.
    pub accounts: Accounts,
}

/// Who can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Validators {
    /// Connected validators,
    pub connected: usize,
    /// of this many.
    pub of: usize,
    /// Cores of the chain,
    pub cores: usize,
    /// and of them those whose guarantors are known and of whom none is connected.
    pub unreached: usize,
}

/// The JAM chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Jam {
    /// The slot of the best block.
    pub best_slot: Option<u32>,
    /// Whether blocks are missing that others have.
    pub catching_up: bool,
    /// Blocks that finality is behind the best block,
    pub finality_lag_blocks: u64,
    /// and the number from which on the queue takes that into account.
    pub finality_lag_blocks_max: u64,
}

/// The lowest abandoned block, and how many are abandoned with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abandoned {
    /// The number of the block that failed too often or was given up by the operator.
    pub from: u64,
    /// It and all that stand on it.
    pub blocks: usize,
}

/// The bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Queue {
    /// Blocks that wait to be submitted.
    pub waiting: u64,
    /// What they take, each in a bundle of its own.
    pub waiting_bytes: u64,
    /// Whether no more may wait.
    pub is_full: bool,
    /// The oldest block that is not final, and when it was sealed.
    pub oldest: Option<(u64, Time)>,
    /// When the newest block was sealed, if it is not final.
    pub newest_at: Option<Time>,
    /// What was abandoned, while it is unclear what becomes of it.
    pub abandoned: Option<Abandoned>,
}

/// Managed accounts with a problem.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accounts {
    /// Why the rows of managed accounts cannot be read or written, if so.
    pub store_error: Option<String>,
    /// Accounts that cannot see their chain or cannot sign.
    pub degraded: usize,
    /// Accounts whose next transaction has been waiting for long.
    pub stuck: usize,
}
