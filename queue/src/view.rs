//! What the queue keeps of the last chain view.

use crate::{Config, ServiceView};
use jam::{
    Hash, HeaderHash, PackageHash,
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
pub(crate) struct Anchor {
    pub(crate) hash: HeaderHash,
    pub(crate) roots: Option<(Hash, Hash)>,
}

/// The heads of the chain and of the service, and the blocks that can be anchors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) best: BlockRef,
    pub(crate) finalized: BlockRef,
    pub(crate) service: ServiceView,
    /// The best block first.
    pub(crate) anchors: Vec<Anchor>,
}

impl Head {
    pub(crate) fn of(input: &ChainInput<'_>) -> Self {
        let anchors = input
            .view
            .recent()
            .map(|block| Anchor { hash: block.hash, roots: block.state_root.zip(block.beefy_root) });
        Self {
            best: input.view.head(),
            finalized: input.view.finalized(),
            service: input.service.clone(),
            anchors: anchors.collect(),
        }
    }

    /// In how many of the next blocks a package with this anchor can still be reported.
    pub(crate) fn anchor_life(&self, anchor: HeaderHash, config: &Config) -> u16 {
        let age = self.anchors.iter().position(|known| known.hash == anchor);
        age.map_or(0, |age| config.history.saturating_sub(age as u16))
    }
}
