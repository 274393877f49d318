//! What a validator answers. Faults that concern a question are looked at here.

use super::Inner;
use crate::{data, faults::SubmissionFault, guarantor::PackageRefusal};
use async_trait::async_trait;
use jam::{Block, Bundle, Guarantee, SegmentRoot, WorkPackage, bundle::Import, merkle::SegmentTree};
use network::{
    Announcement, AssuranceMessage, BlockId, BlockRequest, BundleSubmission, Caller, Direction, Handshake,
    PackageSubmission, Refusal, SegmentRequest, Service, ShardAnswer, ShardRequest, SharedBundle,
    SharedReport, StateRange, StateRequest, StateTrie,
};
use std::sync::{Arc, Weak};

/// Blocks in one answer.
const BLOCKS_MAX: u32 = 256;

/// Answers for a validator as long as there is one.
pub(super) struct Server(Weak<Inner>);

impl Server {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        Self(Arc::downgrade(inner))
    }

    /// The validator, if it hears this caller.
    fn heard(&self, caller: &Caller) -> Result<Arc<Inner>, Refusal> {
        let inner = self.0.upgrade().ok_or(Refusal::Busy)?;
        if *inner.closing.borrow() || inner.is_parted(&caller.key) { Err(Refusal::Busy) } else { Ok(inner) }
    }

    /// The validator, if the caller is one too: only validators have blocks that are worth fetching.
    fn told_by_validator(&self, caller: &Caller) -> Result<Arc<Inner>, Refusal> {
        let inner = self.heard(caller)?;
        let is_validator = inner.core.lock().tree.is_validator(&caller.key);
        if is_validator { Ok(inner) } else { Err(Refusal::Invalid) }
    }

    async fn submitted(&self, caller: &Caller, core: u16, bundle: Bundle) -> Result<(), Refusal> {
        let inner = self.heard(caller)?;
        match inner.faults.submission(inner.index) {
            None => {}
            Some(SubmissionFault::Dropped) => std::future::pending().await,
            Some(SubmissionFault::Delayed(by)) => tokio::time::sleep(by).await,
            Some(SubmissionFault::Silent) => return Ok(()),
            Some(SubmissionFault::Doubled) => {
                tokio::spawn(Arc::clone(&inner).take(core, bundle.clone()));
            }
            Some(SubmissionFault::Refused) => {
                inner.refuse(bundle.package.hash(), &PackageRefusal::OnDemand);
                return Err(PackageRefusal::OnDemand.code());
            }
        }
        inner.duty(core, &bundle.package).map_err(|why| why.code())?;
        let patience = inner.patience();
        // The builder may go away; a package that refines is guaranteed nevertheless.
        let taken = tokio::spawn(inner.take(core, bundle));
        match tokio::time::timeout(patience, taken).await {
            Ok(Ok(taken)) => taken.map_err(|why| why.code()),
            Ok(Err(_)) => Err(Refusal::Busy),
            Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Service for Server {
    fn handshake(&self) -> Option<Handshake> {
        let inner = self.0.upgrade()?;
        let core = inner.core.lock();
        let leaves = core.tree.leaves().map(|node| BlockId { hash: node.hash, slot: node.slot() });
        Some(Handshake { finalized: core.word(), leaves: leaves.collect() })
    }

    async fn greeted(&self, caller: &Caller, handshake: Handshake) {
        let Ok(inner) = self.told_by_validator(caller) else { return };
        for leaf in handshake.leaves {
            inner.sync(caller.key, leaf.hash, false).await;
        }
        inner.hear_word(caller.key, handshake.finalized.hash);
    }

    async fn announced(&self, caller: &Caller, announcement: Announcement) {
        let Ok(inner) = self.told_by_validator(caller) else { return };
        let alone = inner.core.lock().tree.contains(announcement.header.parent);
        inner.sync(caller.key, announcement.header.hash(), alone).await;
        inner.hear_word(caller.key, announcement.finalized.hash);
    }

    async fn blocks(&self, caller: &Caller, request: BlockRequest) -> Result<Vec<Block>, Refusal> {
        let inner = self.heard(caller)?;
        let core = inner.core.lock();
        let first = match request.direction {
            Direction::Descending => core.tree.block(request.hash),
            Direction::Ascending => core.tree.next(request.hash),
        };
        let step = |block: &&Arc<Block>| match request.direction {
            Direction::Descending => core.tree.block(block.header.parent),
            Direction::Ascending => core.tree.next(block.header.hash()),
        };
        if first.is_none() && !core.tree.contains(request.hash) {
            return Err(Refusal::Unknown);
        }
        let blocks = std::iter::successors(first, step).take(request.max.min(BLOCKS_MAX) as usize);
        Ok(blocks.map(|block| Block::clone(block)).collect())
    }

    async fn state(&self, caller: &Caller, request: StateRequest) -> Result<StateRange, Refusal> {
        let inner = self.heard(caller)?;
        let entries = inner.core.lock().tree.entries(request.header).cloned().ok_or(Refusal::Unknown)?;
        Ok(StateTrie::new(&entries).range(&request))
    }

    async fn admits(&self, caller: &Caller, core: u16, package: &WorkPackage) -> Result<(), Refusal> {
        let inner = self.heard(caller)?;
        if inner.faults.submission(inner.index).is_some() {
            return Ok(());
        }
        inner.duty(core, package).map(|_| ()).map_err(|why| why.code())
    }

    async fn package(&self, caller: &Caller, submission: PackageSubmission) -> Result<(), Refusal> {
        let PackageSubmission { core, package, extrinsics } = submission;
        self.submitted(caller, core, Bundle { package, extrinsics, imports: vec![] }).await
    }

    async fn bundle(&self, caller: &Caller, submission: BundleSubmission) -> Result<(), Refusal> {
        self.submitted(caller, submission.core, submission.bundle).await
    }

    async fn share(&self, caller: &Caller, bundle: SharedBundle) -> Result<SharedReport, Refusal> {
        let inner = self.told_by_validator(caller)?;
        inner.second(bundle).await.map_err(|why| why.code())
    }

    async fn report(&self, caller: &Caller, guarantee: Guarantee) -> Result<(), Refusal> {
        let inner = self.heard(caller)?;
        if inner.hear_guarantee(guarantee) { Ok(()) } else { Err(Refusal::Invalid) }
    }

    async fn shard(&self, caller: &Caller, request: ShardRequest) -> Result<ShardAnswer, Refusal> {
        let inner = self.heard(caller)?;
        let core = inner.core.lock();
        core.data.shard(&request.erasure_root, request.index).ok_or(Refusal::Unknown)
    }

    async fn assurance(&self, caller: &Caller, assurance: AssuranceMessage) -> Result<(), Refusal> {
        let inner = self.heard(caller)?;
        if inner.hear_assurance(caller.key, assurance) { Ok(()) } else { Err(Refusal::Unknown) }
    }

    async fn segments(&self, caller: &Caller, request: SegmentRequest) -> Result<Vec<Import>, Refusal> {
        let inner = self.heard(caller)?;
        let segments = request.segments().map(|(root, index)| inner.segment(&root, index));
        segments.collect::<Option<_>>().ok_or(Refusal::Unknown)
    }
}

impl Inner {
    /// An exported segment with its proof, from memory or from disk.
    fn segment(&self, root: &SegmentRoot, index: u16) -> Option<Import> {
        let held = self.core.lock().data.segment(root, index);
        held.or_else(|| {
            let segments = self.store.as_ref()?.segments(root);
            let segments =
                segments.inspect_err(|error| tracing::warn!(%error, "reading segments failed")).ok()??;
            data::import(&segments, &SegmentTree::new(&segments), index)
        })
    }
}
