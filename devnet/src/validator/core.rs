//! What a validator knows, behind one lock; and importing a block, which changes most of it.

use super::Inner;
use crate::{
    chain::{BlockRefusal, Imported, Node, Tree, TreeLimits},
    data::Data,
    event::Deed,
    faults::Fork,
    guarantor::PackageRefusal,
    pool::Pool,
};
use jam::{Block, Ed25519Key, Hash, HeaderHash, PackageHash, WorkReport};
use network::{Announcement, BlockId};
use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};
use tokio::sync::OnceCell;

/// Packages of which it is remembered what they came to.
const EVALUATIONS_KEPT_MAX: usize = 64;

/// What a package came to.
pub(super) type Evaluation = Result<WorkReport, PackageRefusal>;
/// The place for it, before it is known.
pub(super) type EvaluationCell = Arc<OnceCell<Evaluation>>;

/// What a validator knows.
pub(super) struct Core {
    pub(super) tree: Tree,
    pub(super) pool: Pool,
    pub(super) data: Data,
    pub(super) limits: TreeLimits,
    /// The block that this validator takes for final.
    pub(super) word: HeaderHash,
    /// Erasure roots whose shard is being asked for.
    pub(super) fetching: HashSet<Hash>,
    /// What packages came to, or will, by core and package; the newest last.
    evaluations: VecDeque<((u16, PackageHash), EvaluationCell)>,
    /// Packages whose guarantors' signatures are being collected.
    pub(super) collecting: HashSet<PackageHash>,
    /// Blocks that are being asked for.
    pub(super) syncing: HashSet<HeaderHash>,
    /// What was assured last.
    pub(super) assured: Option<(HeaderHash, Vec<u8>)>,
}

impl Core {
    pub(super) fn new(tree: Tree, data: Data, limits: TreeLimits) -> Self {
        Self {
            word: tree.finalized().hash,
            tree,
            pool: Pool::default(),
            data,
            limits,
            fetching: HashSet::new(),
            evaluations: VecDeque::new(),
            collecting: HashSet::new(),
            syncing: HashSet::new(),
            assured: None,
        }
    }

    /// The place for what a package comes to on a core.
    pub(super) fn evaluation(&mut self, core: u16, package: PackageHash) -> EvaluationCell {
        let name = (core, package);
        if let Some((_, cell)) = self.evaluations.iter().find(|(known, _)| *known == name) {
            return Arc::clone(cell);
        }
        let cell = Arc::new(OnceCell::new());
        self.evaluations.push_back((name, Arc::clone(&cell)));
        if self.evaluations.len() > EVALUATIONS_KEPT_MAX {
            self.evaluations.pop_front();
        }
        cell
    }

    pub(super) fn word(&self) -> BlockId {
        let slot = self.tree.block(self.word).map_or(0, |block| block.header.slot);
        BlockId { hash: self.word, slot }
    }
}

impl Inner {
    /// Imports a block, stores it, and tells everybody what is new. `own`: we made it, so it is on disk before it leaves.
    pub(super) fn import(self: &Arc<Self>, block: &Arc<Block>, own: bool) -> Result<Imported, BlockRefusal> {
        if block.header.slot > self.slot_now().saturating_add(1) {
            return Err(BlockRefusal::Future);
        }
        let hash = block.header.hash();
        let mut core = self.core.lock();
        let imported = core.tree.import(Arc::clone(block));
        match imported {
            Ok(Imported::Known) => return Ok(Imported::Known),
            Ok(_) => {}
            Err(why) => {
                drop(core);
                self.tell(Deed::Disbelieved { block: hash, why });
                return Err(why);
            }
        }
        if let Some(store) = &self.store {
            self.note_disk(store.put_block(hash, block, own));
        }
        let became = self.advance_finality(&mut core);
        let slot = self.slot_now();
        let Core { pool, tree, .. } = &mut *core;
        pool.trim(tree, slot);
        let announcement = Announcement { header: block.header.clone(), finalized: core.word() };
        let best = (core.tree.best().slot(), core.tree.best().hash);
        drop(core);
        if let Some(endpoint) = self.endpoint() {
            endpoint.announce(&announcement);
        }
        if imported == Ok(Imported::Best) {
            self.tell(Deed::Best { slot: best.0, block: best.1 });
        }
        self.tell_final(&became);
        self.fetch_shards();
        self.assure_if_due();
        imported
    }

    pub(super) fn note_disk(&self, result: Result<(), crate::store::StoreError>) {
        if let Err(error) = result {
            self.tell(Deed::Disk(error.to_string()));
        }
    }

    /// A validator's word on finality.
    pub(super) fn hear_word(&self, validator: Ed25519Key, word: HeaderHash) {
        let mut core = self.core.lock();
        core.tree.note_word(validator, word);
        let became = self.advance_finality(&mut core);
        drop(core);
        self.tell_final(&became);
    }

    fn tell_final(&self, became: &[Node]) {
        for node in became {
            self.tell(Deed::Finalized { slot: node.slot(), block: node.hash });
        }
    }

    /// Says what we take for final, unless a fault holds it back, and makes final what most say is.
    fn advance_finality(&self, core: &mut Core) -> Vec<Node> {
        if !self.faults.is_stalled() {
            core.word = self.own_word(&core.tree, core.word);
        }
        core.tree.note_word(self.own, core.word);
        let became = core.tree.finalize();
        if let Some(store) = self.store.as_ref().filter(|_| !became.is_empty()) {
            self.note_disk(store.finalize(&became, &core.tree, &core.limits));
        }
        became
    }

    fn own_word(&self, tree: &Tree, before: HeaderHash) -> HeaderHash {
        let candidate = tree.candidate(self.finality_lag).hash;
        match self.faults.running_fork() {
            // What will be lost must not be called final.
            Some(Fork::Running { base, lost, .. }) if tree.is_ancestor_of(lost, candidate) => {
                if tree.get(base).is_some() { base } else { before }
            }
            _ => candidate,
        }
    }
}
