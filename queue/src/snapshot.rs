//! What whoever watches the queue sees.

use crate::{
    Bundle, Queue, QueuedBlock, Size,
    bundle::{Phase, Version},
};
use types::{BlockId, ReleasedBy, Run, Time};

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
    /// Bundles that were dead and dissolved into smaller ones.
    pub dissolved: u64,
    /// Further versions guaranteed of a bundle that already was.
    pub duplicate_guarantees: u64,
    /// Releases.
    pub releases: u64,
}

/// Sealed blocks that are in no bundle yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unbundled {
    /// The first and the last of them.
    pub run: Run,
    /// When the first one was sealed.
    pub since: Time,
    /// What they take together.
    pub size: Size,
    /// How many transactions they hold.
    pub transactions: u64,
}

/// The queue at one moment. Cheap to make: it does not grow with the blocks that wait.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last final block.
    pub base: BlockId,
    /// Unfinished bundles in order.
    pub bundles: Vec<Bundle>,
    /// Blocks above them that are in no bundle yet.
    pub unbundled: Option<Unbundled>,
    /// How much of what may wait does, in thousandths.
    pub fullness: u64,
    /// When the newest block was sealed, if it is not final.
    pub newest_at: Option<Time>,
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
    bundles: Vec<(Run, Vec<Version>, Phase)>,
    newest: BlockId,
    size: Size,
}

impl Queue {
    /// What the journal alone determines.
    pub fn journal_state(&self) -> JournalState {
        let timeless = |version: &Version| Version { sent_at: Time::ZERO, ..version.clone() };
        let bundle =
            |bundle: &Bundle| (bundle.run, bundle.versions.iter().map(timeless).collect(), bundle.phase);
        JournalState {
            base: self.bundles.base(),
            abandoned: self.abandonment.from().map(|from| (from, self.abandonment.by())),
            retrying: self.abandonment.is_retrying(),
            bundles: self.bundles.iter().map(bundle).collect(),
            newest: self.bundles.newest(),
            size: self.bundles.size(),
        }
    }

    /// The queue now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            base: self.bundles.base(),
            bundles: self.bundles.iter().cloned().collect(),
            unbundled: self.unbundled(),
            fullness: self.fullness(),
            newest_at: self.bundles.block(self.newest().number).map(|block| block.sealed_at),
            finished: self.bundles.finished().cloned().collect(),
            abandoned_from: self.abandonment.from(),
            halted: self.halted,
            stats: self.stats,
        }
    }

    /// Blocks that are in no bundle yet.
    pub fn unbundled(&self) -> Option<Unbundled> {
        let first = self.bundles.first_unbundled()?;
        let run = Run { first: first.id, last: self.newest() };
        Some(Unbundled {
            run,
            since: first.sealed_at,
            size: self.bundles.unbundled_size(),
            transactions: self.bundles.unbundled_transactions(),
        })
    }

    /// The unfinished bundle that begins with a block.
    pub fn get(&self, first: u64) -> Option<&Bundle> {
        self.bundles.get(first)
    }

    /// The unfinished bundle that a block is in.
    pub fn containing(&self, number: u64) -> Option<&Bundle> {
        self.bundles.containing(number)
    }

    /// An unfinished block.
    pub fn block(&self, number: u64) -> Option<&QueuedBlock> {
        self.bundles.block(number)
    }

    /// How many blocks are not final.
    pub fn unfinished_len(&self) -> usize {
        self.bundles.blocks_len()
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

    /// Bundles that wait, with the blocks that are in none yet; bundles that are submitted; and those that are guaranteed.
    pub fn counts(&self) -> (usize, usize, usize) {
        let waiting = self.bundles.queued() + self.bundles.unbundled_len();
        (waiting, self.cores.given(), self.bundles.guaranteed())
    }

    /// The bundle that a package is a version of, by the number of its first block.
    pub fn bundle_of(&self, package: &jam::PackageHash) -> Option<u64> {
        self.bundles.bundle_of(package)
    }
}
