//! What the operator's page and the metrics show beyond the queue and the pool: what lies ahead of the bundles, how large
//! blocks came out, and what the cores were used for.

use std::{collections::BTreeMap, sync::Arc};
use types::{RefineGases, Sizes, SlotCores};

/// What only those who watch the node want to know.
#[derive(Clone, Debug, Default)]
pub struct Insight {
    /// How many transactions had been accepted when the snapshot was made.
    pub accepted: u64,
    /// What lies ahead of the bundles; `None` if there is no queue that is driven.
    pub outlook: Option<Arc<queue::Outlook>>,
    /// How large the newest blocks came out, by number. Not known of blocks from before a restart.
    pub sizes: Arc<BTreeMap<u64, Sizes>>,
    /// What runs take to refine that were packed lately.
    pub refine_gas: RefineGases,
    /// The cores in the last slots on the best branch, oldest first.
    pub slots: Arc<[SlotCores]>,
}
