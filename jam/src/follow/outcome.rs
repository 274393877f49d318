//! What an input came to.

use crate::{
    HeaderHash, PackageHash,
    rules::{
        assurances::AssuranceRefusal, disputes::DisputeRefusal, epoch::EpochRefusal, reports::ReportRefusal,
    },
    state::PendingReport,
};
use std::{collections::BTreeSet, sync::Arc};

/// Why a block is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// It is not above the finalized block, and so nothing that builds on it can be on top of the finalized block.
    #[error("it is not above the finalized block")]
    Stale,
    /// Its slot is not after its parent's.
    #[error("its slot is not after its parent's")]
    Slot,
    /// Its slot has not begun yet, by the clock that [`Follower::note_slot`](super::Follower::note_slot) is told.
    #[error("its slot has not begun yet")]
    Future,
    /// The header does not commit to what the block brings. This says nothing about the header.
    #[error("its header does not commit to its extrinsic")]
    Extrinsic,
    /// The header names other offenders than the disputes do.
    #[error("its header does not name the offenders")]
    Offenders,
    /// Its parent is known to have another state root.
    #[error("its prior state root is not its parent's")]
    StateRoot,
    /// Its epoch mark is wrong.
    #[error(transparent)]
    Epoch(#[from] EpochRefusal),
    /// Its disputes are refused.
    #[error("disputes: {0}")]
    Disputes(#[from] DisputeRefusal),
    /// Its assurances are refused.
    #[error("assurances: {0}")]
    Assurances(#[from] AssuranceRefusal),
    /// Its guarantees are refused.
    #[error("guarantees: {0}")]
    Guarantees(#[from] ReportRefusal),
    /// Its parent was refused, or lost.
    #[error("its parent was refused or lost")]
    Parent,
    /// There are too many unfinalized blocks, and none that could go. Finality that is farther away than
    /// [`Limits::unfinalized_max`](super::Limits::unfinalized_max) blocks cannot be reached: begin anew from a later
    /// state.
    #[error("too many unfinalized blocks")]
    Full,
}

impl Refused {
    /// Whether the block that has this header will never be believed. Otherwise it may be, with another body, at another
    /// time, or when there is room, and nothing is held against those that build on it.
    pub const fn is_lasting(&self) -> bool {
        !matches!(self, Self::Extrinsic | Self::Future | Self::Full)
    }
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
