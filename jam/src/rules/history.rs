//! Recent history: which blocks an anchor may be, and which packages were reported lately (β).

use crate::{
    Hash, HeaderHash, PackageHash, Params, SegmentRoot,
    codec::Encode,
    hash::keccak,
    merkle::balanced_root,
    state::{AccumulationOutput, RecentBlock, RecentBlocks},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// What is remembered of a block. A follower may not know all of it; what is not known refuses nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remembered {
    /// Its hash.
    pub hash: HeaderHash,
    /// The state root after it. The next block tells.
    pub state_root: Option<Hash>,
    /// The root of the log of accumulation outputs after it. Only the state tells.
    pub beefy_root: Option<Hash>,
    /// The packages reported in it, and the roots of their exports.
    pub reported: Arc<BTreeMap<PackageHash, SegmentRoot>>,
}

/// The last blocks of one branch, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    blocks: VecDeque<Remembered>,
}

impl History {
    /// The blocks, oldest first.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = &Remembered> + ExactSizeIterator {
        self.blocks.iter()
    }

    /// A block, if it is among them.
    pub fn get(&self, hash: HeaderHash) -> Option<&Remembered> {
        self.blocks.iter().find(|block| block.hash == hash)
    }

    /// Takes the roots of a block that are not known yet from the state.
    pub fn learn(&mut self, told: &RecentBlock) {
        if let Some(known) = self.blocks.iter_mut().find(|block| block.hash == told.hash) {
            known.beefy_root = known.beefy_root.or(Some(told.beefy_root));
            let told_root = Some(told.state_root).filter(|root| *root != Hash::ZERO);
            known.state_root = known.state_root.or(told_root);
        }
    }

    /// The root of a reported package's exports, if it was reported lately.
    pub fn reported(&self, package: &PackageHash) -> Option<SegmentRoot> {
        self.blocks.iter().find_map(|block| block.reported.get(package)).copied()
    }

    /// Notes the state root after the newest block, which the next block's header tells (β†); whether it is not
    /// another one than was known.
    #[must_use]
    pub fn note_state_root(&mut self, root: Hash) -> bool {
        let Some(newest) = self.blocks.back_mut() else { return true };
        *newest.state_root.get_or_insert(root) == root
    }

    /// Remembers a block and forgets the oldest one if there are too many (β').
    pub fn push(&mut self, params: &Params, block: Remembered) {
        self.blocks.push_back(block);
        while self.blocks.len() > usize::from(params.recent_blocks) {
            self.blocks.pop_front();
        }
    }
}

impl From<Vec<Remembered>> for History {
    /// From the blocks, oldest first.
    fn from(blocks: Vec<Remembered>) -> Self {
        Self { blocks: blocks.into() }
    }
}

impl From<&RecentBlocks> for History {
    /// From the state. The newest block's state root stands there as zero: it is not known yet.
    fn from(recent: &RecentBlocks) -> Self {
        let newest = recent.blocks.len().saturating_sub(1);
        let remember = |(i, block): (usize, &RecentBlock)| Remembered {
            hash: block.hash,
            state_root: (i < newest || block.state_root != Hash::ZERO).then_some(block.state_root),
            beefy_root: Some(block.beefy_root),
            reported: Arc::new(block.reported.clone()),
        };
        Self { blocks: recent.blocks.iter().enumerate().map(remember).collect() }
    }
}

/// Applies a block to the state's own form of the history: β becomes β'.
///
/// `accumulate_root` commits to what services said when they accumulated in this block; [`accumulate_root`] computes
/// it.
pub fn apply(
    params: &Params,
    recent: &mut RecentBlocks,
    header_hash: HeaderHash,
    prior_state_root: Hash,
    accumulate_root: Hash,
    reported: BTreeMap<PackageHash, SegmentRoot>,
) {
    if let Some(newest) = recent.blocks.last_mut() {
        newest.state_root = prior_state_root;
    }
    recent.log.append(accumulate_root);
    recent.blocks.push(RecentBlock {
        hash: header_hash,
        beefy_root: recent.log.root(),
        state_root: Hash::ZERO,
        reported,
    });
    let surplus = recent.blocks.len().saturating_sub(usize::from(params.recent_blocks));
    recent.blocks.drain(..surplus);
}

/// The root over what services said when they accumulated.
pub fn accumulate_root(outputs: &[AccumulationOutput]) -> Hash {
    let leaves = outputs.iter().map(Encode::encode).collect::<Vec<_>>();
    balanced_root(&leaves, keccak)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ninth_block_pushes_the_first_one_out() {
        let params = Params::TINY;
        let mut recent = RecentBlocks::EMPTY;
        for i in 1..=9_u8 {
            let hash = HeaderHash(Hash::repeat_byte(i));
            apply(&params, &mut recent, hash, Hash::repeat_byte(100 + i), Hash::ZERO, BTreeMap::new());
        }
        let history = History::from(&recent);
        assert_eq!(history.blocks().len(), 8);
        assert_eq!(history.get(HeaderHash(Hash::repeat_byte(1))), None);
        let second = history.get(HeaderHash(Hash::repeat_byte(2))).unwrap();
        // Told by the third block.
        assert_eq!(second.state_root, Some(Hash::repeat_byte(103)));
        assert_eq!(history.blocks().next_back().unwrap().state_root, None);
    }
}
