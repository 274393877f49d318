//! What the queue keeps of the last chain view.

use crate::ServiceView;
use jam::{
    Hash, HeaderHash, PackageHash, RefineContext,
    follow::{BlockRef, ChainView},
};
use std::collections::BTreeSet;

/// What happened on the chain.
pub struct ChainInput<'a> {
    /// The chain as seen from the best block.
    pub view: &'a ChainView<'a>,
    /// The service there and at the finalized block.
    pub service: &'a ServiceView,
    /// Packages whose fate may have changed since the last input.
    pub packages: &'a BTreeSet<PackageHash>,
    /// Cores that another report, or none, keeps busy since the last input.
    pub cores: &'a BTreeSet<u16>,
}

/// A block that can be an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Anchor {
    hash: HeaderHash,
    /// Its state root and its beefy root, once they are known.
    roots: Option<(Hash, Hash)>,
}

/// The heads of the chain and of the service, and the blocks that can be anchors: the last view, and no part of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChainHead {
    best: BlockRef,
    finalized: BlockRef,
    service: ServiceView,
    /// The best block first.
    anchors: Vec<Anchor>,
    /// Blocks that an anchor may be among.
    history: u16,
}

impl ChainHead {
    pub(crate) fn of(input: &ChainInput<'_>, history: u16) -> Self {
        let anchors = input
            .view
            .recent()
            .map(|block| Anchor { hash: block.hash, roots: block.state_root.zip(block.beefy_root) });
        Self {
            best: input.view.head(),
            finalized: input.view.finalized(),
            service: input.service.clone(),
            anchors: anchors.collect(),
            history,
        }
    }

    pub(crate) const fn best(&self) -> BlockRef {
        self.best
    }

    pub(crate) const fn finalized(&self) -> BlockRef {
        self.finalized
    }

    pub(crate) const fn service(&self) -> &ServiceView {
        &self.service
    }

    /// The number of the last block that the service applied at the best block.
    pub(crate) fn applied(&self) -> u64 {
        self.service.best.head().number
    }

    /// Blocks that finality is behind.
    pub(crate) const fn finality_lag(&self) -> u64 {
        self.best.height.saturating_sub(self.finalized.height)
    }

    /// How far back a block is, if it can be an anchor.
    pub(crate) fn age(&self, anchor: HeaderHash) -> Option<usize> {
        self.anchors.iter().position(|known| known.hash == anchor)
    }

    /// In how many of the next blocks a package with this anchor can still be reported.
    pub(crate) fn anchor_life(&self, anchor: HeaderHash) -> u16 {
        self.age(anchor).map_or(0, |age| self.history.saturating_sub(age as u16))
    }

    /// What to build a version against, and the height of its anchor: the block so many blocks back, else an older one up
    /// to `oldest`, else a younger one, whichever has known roots; and the finalized block.
    pub(crate) fn context(&self, wanted: usize, oldest: usize) -> Option<(RefineContext, u64)> {
        let mut offsets = (wanted..=oldest).chain((0..wanted).rev());
        let known = |offset: usize| {
            let anchor = self.anchors.get(offset)?;
            Some((offset, anchor.hash, anchor.roots?))
        };
        let (offset, anchor, (state_root, beefy_root)) = offsets.find_map(known)?;
        let context = RefineContext {
            anchor,
            state_root,
            beefy_root,
            lookup_anchor: self.finalized.hash,
            lookup_anchor_slot: self.finalized.slot,
            prerequisites: [].into(),
        };
        Some((context, self.best.height.saturating_sub(offset as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceCode;
    use service::accumulate::ServiceState;
    use std::sync::Arc;
    use types::BlockId;

    fn hash(offset: usize) -> HeaderHash {
        HeaderHash(Hash::repeat_byte(offset as u8))
    }

    /// Five blocks that can be anchors, at heights 100 down to 96; only these offsets have known roots.
    fn head(known: &[usize]) -> ChainHead {
        let block = |offset: usize| BlockRef {
            hash: hash(offset),
            slot: 200 - offset as u32,
            height: 100 - offset as u64,
        };
        let roots = |offset: usize| known.contains(&offset).then_some((Hash::ZERO, Hash::ZERO));
        let service = Arc::new(ServiceState::new(BlockId::new(7, [1; 32].into())));
        ChainHead {
            best: block(0),
            finalized: block(3),
            service: ServiceView {
                best: Arc::clone(&service),
                finalized: service,
                best_code: ServiceCode::new(Hash::ZERO),
                finalized_code: ServiceCode::new(Hash::ZERO),
            },
            anchors: (0..5).map(|offset| Anchor { hash: hash(offset), roots: roots(offset) }).collect(),
            history: 8,
        }
    }

    #[test]
    fn an_anchor_lives_as_long_as_it_is_among_the_recent_blocks() {
        let head = head(&[]);
        assert_eq!([0, 4, 5].map(|offset| head.anchor_life(hash(offset))), [8, 4, 0]);
        assert_eq!((head.applied(), head.finality_lag()), (7, 3));
    }

    #[test]
    fn the_wanted_anchor_else_an_older_one_else_a_younger_one() {
        let chosen =
            |known: &[usize]| head(known).context(2, 4).map(|(context, height)| (context.anchor, height));
        assert_eq!(chosen(&[0, 1, 2, 3, 4]), Some((hash(2), 98)));
        assert_eq!(chosen(&[1, 3]), Some((hash(3), 97)));
        assert_eq!(chosen(&[0, 1]), Some((hash(1), 99)));
        assert_eq!(chosen(&[]), None);
        let (context, _) = head(&[2]).context(2, 4).unwrap();
        assert_eq!((context.lookup_anchor, context.lookup_anchor_slot), (hash(3), 197));
    }
}
