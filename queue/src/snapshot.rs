//! What whoever watches the queue sees.

use crate::{
    Bundle, Queue,
    bundle::{Phase, Version},
};
use types::{BlockId, ReleasedBy, Time};

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Package versions built.
    pub packages: u64,
    /// Times that bytes were sent.
    pub sends: u64,
    /// Guarantees that did not come in time.
    pub timeouts: u64,
    /// Bundles guaranteed.
    pub guaranteed: u64,
    /// Further versions guaranteed of a block that already was.
    pub duplicate_guarantees: u64,
    /// Releases.
    pub releases: u64,
}

/// The queue at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last final block.
    pub base: BlockId,
    /// Unfinished bundles in order.
    pub bundles: Vec<Bundle>,
    /// The last final and released ones, oldest first.
    pub finished: Vec<Bundle>,
    /// The lowest abandoned block.
    pub abandoned_from: Option<u64>,
    /// A head of the service that was not built here.
    pub halted: Option<BlockId>,
    /// Counters.
    pub stats: Stats,
}

/// What the journal alone determines: the same before a crash and after recovery. Without the times of versions, which a
/// corrected clock sets back and no record says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalState {
    base: BlockId,
    abandoned: Option<(u64, ReleasedBy)>,
    retrying: bool,
    bundles: Vec<(BlockId, Vec<Version>, Phase)>,
}

impl Queue {
    /// What the journal alone determines.
    pub fn journal_state(&self) -> JournalState {
        let timeless = |version: &Version| Version { sent_at: Time::ZERO, ..version.clone() };
        let bundle =
            |bundle: &Bundle| (bundle.block, bundle.versions.iter().map(timeless).collect(), bundle.phase);
        JournalState {
            base: self.bundles.base(),
            abandoned: self.abandonment.from().map(|from| (from, self.abandonment.by())),
            retrying: self.abandonment.is_retrying(),
            bundles: self.bundles.iter().map(bundle).collect(),
        }
    }

    /// The queue now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            base: self.bundles.base(),
            bundles: self.bundles.iter().cloned().collect(),
            finished: self.bundles.finished().cloned().collect(),
            abandoned_from: self.abandonment.from(),
            halted: self.halted,
            stats: self.stats,
        }
    }

    /// An unfinished bundle.
    pub fn get(&self, number: u64) -> Option<&Bundle> {
        self.bundles.get(number)
    }

    /// Unfinished bundles in order.
    pub fn bundles(&self) -> impl DoubleEndedIterator<Item = &Bundle> + ExactSizeIterator {
        self.bundles.iter()
    }

    /// A head of the service that was not built here.
    pub const fn halted(&self) -> Option<BlockId> {
        self.halted
    }

    /// Counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Bundles that wait, that are submitted, and that are guaranteed.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.bundles.queued(), self.cores.given(), self.bundles.guaranteed())
    }

    /// The bundle that a package is a version of.
    pub fn block_of(&self, package: &jam::PackageHash) -> Option<u64> {
        self.bundles.block_of(package)
    }
}
