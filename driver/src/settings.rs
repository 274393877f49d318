//! What the operator decides about building.

use types::Duration;

/// When blocks are sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// This long after the one before, if there is a transaction; without any delay if that was longer ago.
    Every(Duration),
    /// As the queue specification has it: this long after its first transaction, twice as long with every round of cores that
    /// the queue is behind.
    BySpecification(Duration),
}

/// What the operator decides about building; see the command line for the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When blocks are sealed.
    pub pace: Pace,
    /// Empty blocks after the last transaction, one per slot, for clients that wait for confirmations.
    pub empty_blocks: u32,
    /// Build and execute, but never submit.
    pub dry_run: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pace: Pace::Every(Duration::from_millis(150)), empty_blocks: 12, dry_run: false }
    }
}
