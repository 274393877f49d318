//! What an input came to.

use crate::{
    HeaderHash, PackageHash,
    rules::{assurances::AssuranceRefusal, epoch::EpochRefusal, reports::ReportRefusal},
    state::PendingReport,
};
use std::{collections::BTreeSet, sync::Arc};

/// Why a block is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// It is not above the finalized block.
    #[error("it is not above the finalized block")]
    Stale,
    /// Its slot is not after its parent's.
    #[error("its slot is not after its parent's")]
    Slot,
    /// The header does not commit to what the block brings.
    #[error("its header does not commit to its extrinsic")]
    Extrinsic,
    /// Its epoch mark is wrong.
    #[error(transparent)]
    Epoch(#[from] EpochRefusal),
    /// Its assurances are refused.
    #[error("assurances: {0}")]
    Assurances(#[from] AssuranceRefusal),
    /// Its guarantees are refused.
    #[error("guarantees: {0}")]
    Guarantees(#[from] ReportRefusal),
    /// Its parent was refused, or lost.
    #[error("its parent was refused or lost")]
    Parent,
    /// There are too many unfinalized blocks, all of them built on.
    #[error("too many unfinalized blocks")]
    Full,
}

impl Update {
    /// Adds what a later input changed.
    pub fn merge(&mut self, later: Self) {
        self.changed.extend(later.changed);
        self.cores.extend(later.cores);
        self.best_moved |= later.best_moved;
        self.finalized_moved |= later.finalized_moved;
        self.finalized.extend(later.finalized);
        self.refused.extend(later.refused);
    }
}

/// What an input changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Update {
    /// Packages of which a block that came, won, lost or became final spoke. Their fate may be another now.
    pub changed: BTreeSet<PackageHash>,
    /// Cores that another report, or none, keeps busy at the best block now.
    pub cores: BTreeSet<u16>,
    /// Whether the best block is another one.
    pub best_moved: bool,
    /// Whether the finalized block is another one.
    pub finalized_moved: bool,
    /// The blocks that became final, in order, with the reports that each accumulated. They are not kept any longer.
    pub finalized: Vec<(HeaderHash, Vec<Arc<PendingReport>>)>,
    /// Blocks that were not believed, and why.
    pub refused: Vec<(HeaderHash, Refused)>,
}
