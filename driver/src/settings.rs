//! What the operator decides about building.

use types::Duration;

/// What the operator decides about building; see the command line for the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long after its first transaction a block is sealed while the queue is empty.
    pub seal_after: Duration,
    /// Empty blocks after the last transaction, one per slot, for clients that wait for confirmations.
    pub empty_blocks: u32,
    /// Build and execute, but never submit.
    pub dry_run: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seal_after: Duration::from_millis(500), empty_blocks: 12, dry_run: false }
    }
}
