//! What became of a package, and the book that remembers it.

use super::branch::Branch;
use crate::{HeaderHash, PackageHash};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// What became of a package on one branch of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// No block that is known of mentions it.
    NotSeen,
    /// Guaranteed on a core; it waits to become available.
    Reported {
        /// The core.
        core: u16,
        /// The block that reported it.
        block: HeaderHash,
    },
    /// Available, but it waits for other packages or for gas.
    Available {
        /// The block that made it available.
        block: HeaderHash,
    },
    /// Accumulated: its service has seen it.
    Accumulated {
        /// The block that accumulated it.
        block: HeaderHash,
    },
    /// Dropped, because it did not become available in time. Its core is free again.
    TimedOut {
        /// The block that dropped it.
        block: HeaderHash,
    },
    /// Dropped for another reason: judged wrong, or what it waited for never came.
    Dropped {
        /// The block that dropped it.
        block: HeaderHash,
    },
    /// Not seen on this branch, but on another one that is known. For a sender this means the same as
    /// [`NotSeen`](Self::NotSeen): here it can still be reported. It becomes `NotSeen` when the other branch is
    /// forgotten, and something else if the other branch wins.
    Reorged,
}

/// One thing that one block did to a package.
#[derive(Clone, Copy, Debug)]
struct Entry {
    block: HeaderHash,
    height: u64,
    fate: Fate,
}

/// What blocks did to packages, by package. Bounded: unfinalized blocks are forgotten with their branch, final ones
/// after as many blocks as the chain itself remembers accumulated packages.
#[derive(Debug)]
pub(super) struct Book {
    unfinalized: HashMap<PackageHash, Vec<Entry>>,
    settled: HashMap<PackageHash, (Fate, u64)>,
    by_height: VecDeque<(u64, Vec<PackageHash>)>,
    retained_blocks: u64,
}

impl Book {
    /// Starts with what became of packages before, and how many blocks before the one of `height`. It is forgotten
    /// after `retained_blocks`.
    pub(super) fn new(fates: &BTreeMap<PackageHash, (u64, Fate)>, height: u64, retained_blocks: u64) -> Self {
        let mut by_height = BTreeMap::<u64, Vec<PackageHash>>::new();
        let mut settled = HashMap::new();
        for (package, (age, fate)) in fates {
            let at = height.saturating_sub(*age);
            settled.insert(*package, (*fate, at));
            by_height.entry(at).or_default().push(*package);
        }
        let by_height = by_height.into_iter().collect();
        Self { unfinalized: HashMap::new(), settled, by_height, retained_blocks }
    }

    /// What became of packages up to the finalized block, which has this height, in the form to start with.
    pub(super) fn final_fates(&self, height: u64) -> BTreeMap<PackageHash, (u64, Fate)> {
        let fates = self.settled.iter();
        fates.map(|(package, (fate, at))| (*package, (height.saturating_sub(*at), *fate))).collect()
    }

    /// Notes what a block did.
    pub(super) fn note(&mut self, block: HeaderHash, height: u64, fates: &[(PackageHash, Fate)]) {
        for (package, fate) in fates {
            self.unfinalized.entry(*package).or_default().push(Entry { block, height, fate: *fate });
        }
    }

    /// Forgets what a block did: it is on a branch that lost.
    pub(super) fn forget(&mut self, block: HeaderHash, fates: &[(PackageHash, Fate)]) {
        for (package, _) in fates {
            if let Some(entries) = self.unfinalized.get_mut(package) {
                entries.retain(|entry| entry.block != block);
                if entries.is_empty() {
                    self.unfinalized.remove(package);
                }
            }
        }
    }

    /// What a block did is final now. Blocks are settled in order. Gives the packages that are forgotten instead.
    pub(super) fn settle(
        &mut self,
        block: HeaderHash,
        height: u64,
        fates: &[(PackageHash, Fate)],
    ) -> Vec<PackageHash> {
        let mut forgotten = Vec::new();
        self.forget(block, fates);
        self.settled.extend(fates.iter().map(|(package, fate)| (*package, (*fate, height))));
        self.by_height.push_back((height, fates.iter().map(|(package, _)| *package).collect()));
        while let Some((oldest, packages)) =
            self.by_height.pop_front_if(|(oldest, _)| *oldest + self.retained_blocks <= height)
        {
            for package in packages {
                if self.settled.get(&package).is_some_and(|(_, at)| *at == oldest) {
                    self.settled.remove(&package);
                    forgotten.push(package);
                }
            }
        }
        forgotten
    }

    /// What became of a package on a branch.
    pub(super) fn fate(&self, package: &PackageHash, branch: &Branch<'_>) -> Fate {
        match (self.latest(package, branch), self.settled.get(package)) {
            (Some((fate, _)), _) => fate,
            (None, None) if self.unfinalized.contains_key(package) => Fate::Reorged,
            (None, _) => self.final_fate(package),
        }
    }

    /// What became of a package up to the finalized block.
    pub(super) fn final_fate(&self, package: &PackageHash) -> Fate {
        self.settled.get(package).map_or(Fate::NotSeen, |(fate, _)| *fate)
    }

    /// The latest thing that an unfinalized block of the branch did to a package, and the block's height.
    fn latest(&self, package: &PackageHash, branch: &Branch<'_>) -> Option<(Fate, u64)> {
        let entries = self.unfinalized.get(package)?.iter();
        let here = entries.filter(|entry| branch.contains(entry.block, entry.height));
        // A block notes at most one fate of a package, so the highest entry is the latest.
        here.max_by_key(|entry| entry.height).map(|entry| (entry.fate, entry.height))
    }

    /// Whether the package is among those that the chain remembers as accumulated when a block of `height` comes on
    /// this branch.
    pub(super) fn is_accumulated(&self, package: &PackageHash, branch: &Branch<'_>, height: u64) -> bool {
        let latest = self.latest(package, branch).or_else(|| self.settled.get(package).copied());
        latest.is_some_and(|(fate, at)| {
            matches!(fate, Fate::Accumulated { .. }) && at + self.retained_blocks >= height
        })
    }

    /// How many packages are remembered.
    pub(super) fn len(&self) -> usize {
        self.unfinalized.len() + self.settled.len()
    }
}
