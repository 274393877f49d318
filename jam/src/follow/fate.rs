//! What became of a package, and the book that remembers it.

use crate::{HeaderHash, PackageHash, state::Accumulated};
use std::collections::{HashMap, VecDeque};

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
    /// Seen on another branch, not on this one.
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
#[derive(Debug, Default)]
pub(super) struct Book {
    unfinalized: HashMap<PackageHash, Vec<Entry>>,
    settled: HashMap<PackageHash, (Fate, u64)>,
    by_height: VecDeque<(u64, Vec<PackageHash>)>,
    retained_blocks: u64,
}

impl Book {
    /// Starts with what the state at `height` says was accumulated.
    pub(super) fn new(accumulated: &Accumulated, height: u64, head: HeaderHash) -> Self {
        let mut book = Self { retained_blocks: accumulated.blocks.len() as u64, ..Self::default() };
        for (back, packages) in accumulated.blocks.iter().rev().enumerate() {
            let height = height.saturating_sub(back as u64);
            let packages = packages.iter().copied().collect::<Vec<_>>();
            for package in &packages {
                book.settled.insert(*package, (Fate::Accumulated { block: head }, height));
            }
            book.by_height.push_front((height, packages));
        }
        book
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

    /// What became of a package on the branch whose unfinalized blocks are `branch`.
    pub(super) fn fate(&self, package: &PackageHash, branch: &[HeaderHash]) -> Fate {
        let entries = self.unfinalized.get(package).map_or(&[][..], Vec::as_slice);
        let here = entries.iter().filter(|entry| branch.contains(&entry.block));
        // A block notes at most one fate of a package, so the highest entry is the latest.
        match (here.max_by_key(|entry| entry.height), self.settled.get(package)) {
            (Some(entry), _) => entry.fate,
            (None, Some((fate, _))) => *fate,
            (None, None) if entries.is_empty() => Fate::NotSeen,
            (None, None) => Fate::Reorged,
        }
    }

    /// Whether the package is among those that the chain remembers as accumulated when a block of `height` comes on
    /// this branch.
    pub(super) fn is_accumulated(&self, package: &PackageHash, branch: &[HeaderHash], height: u64) -> bool {
        let at = match self.fate(package, branch) {
            Fate::Accumulated { block } => self.height_of(package, block),
            _ => None,
        };
        at.is_some_and(|at| at + self.retained_blocks >= height)
    }

    fn height_of(&self, package: &PackageHash, block: HeaderHash) -> Option<u64> {
        let entries = self.unfinalized.get(package).map_or(&[][..], Vec::as_slice);
        let here = entries.iter().find(|entry| entry.block == block).map(|entry| entry.height);
        here.or_else(|| self.settled.get(package).map(|(_, height)| *height))
    }

    /// How many packages are remembered.
    pub(super) fn len(&self) -> usize {
        self.unfinalized.len() + self.settled.len()
    }
}
