//! The data that a validator holds for others: shards of bundles until they are available, and the newest exported
//! segments; older ones are on disk.

use alloy_primitives::Bytes;
use jam::{
    Hash, Params, SegmentRoot, Shards,
    bundle::Import,
    erasure::erasure_leaf,
    hash::blake2b,
    merkle::{SegmentTree, balanced_path, balanced_proves},
};
use network::ShardAnswer;
use std::collections::{HashMap, VecDeque};

/// How much is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataLimits {
    /// Bytes of shards; the oldest go.
    pub shard_bytes_max: usize,
    /// Bytes of exported segments in memory; the oldest go.
    pub segment_bytes_max: usize,
}

impl Default for DataLimits {
    fn default() -> Self {
        Self { shard_bytes_max: 512 << 20, segment_bytes_max: 4 << 20 }
    }
}

/// All shards of a package, as its guarantors have them.
#[derive(Debug)]
struct AllShards {
    bundle: Vec<Bytes>,
    segments: Vec<Vec<Bytes>>,
    leaves: Vec<[u8; 64]>,
}

/// Shards that are held.
#[derive(Clone, Copy, Debug)]
struct Held {
    root: Hash,
    bytes: usize,
    /// When they came, and when their report last waited for availability.
    since: u32,
    pending: Option<u32>,
}

/// A report cannot be made that many slots after its package was evaluated: its anchor is not recent any more.
const REPORTED_WITHIN_SLOTS: u32 = 10;
/// So many slots after a report stopped waiting its shards are kept, should the chain be another one.
const AVAILABLE_SLOTS: u32 = 3;

/// What a validator holds.
#[derive(Debug, Default)]
pub struct Data {
    limits: DataLimits,
    /// As guarantor, by erasure root.
    all: HashMap<Hash, AllShards>,
    /// As assurer: the erasure roots whose shard was checked.
    own: HashMap<Hash, ShardAnswer>,
    order: VecDeque<Held>,
    shard_bytes: usize,
    segments: HashMap<SegmentRoot, Exported>,
    segment_order: VecDeque<SegmentRoot>,
    segment_bytes: usize,
}

/// Exported segments with their tree.
#[derive(Debug)]
struct Exported {
    segments: Vec<Bytes>,
    tree: SegmentTree,
}

/// Which shard a validator holds of a core's packages.
pub fn shard_index(params: &Params, core: u16, validator: u16) -> u16 {
    let place = usize::from(core) * params.data_shards() + usize::from(validator);
    (place % usize::from(params.validators).max(1)) as u16
}

/// Whether an answer holds the shards that an erasure root commits to.
pub fn is_justified(params: &Params, erasure_root: Hash, index: u16, answer: &ShardAnswer) -> bool {
    let leaf = erasure_leaf(&answer.bundle_shard, &answer.segment_shards);
    let count = usize::from(params.validators);
    balanced_proves(erasure_root, count, index.into(), &leaf, &answer.justification, blake2b)
}

impl Data {
    /// Holds nothing yet.
    pub fn new(limits: DataLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Holds all shards of a package that was evaluated here.
    pub fn hold_all(&mut self, shards: Shards, slot: u32) {
        if self.all.contains_key(&shards.root) {
            return;
        }
        let bytes = |shards: Vec<Vec<u8>>| shards.into_iter().map(Bytes::from).collect::<Vec<_>>();
        let size = |shards: &[Bytes]| shards.iter().map(|shard| shard.len()).sum::<usize>();
        let (bundle, segments) =
            (bytes(shards.bundle), shards.segments.into_iter().map(bytes).collect::<Vec<_>>());
        let held = size(&bundle) + segments.iter().map(|shards| size(shards)).sum::<usize>();
        self.all.insert(shards.root, AllShards { bundle, segments, leaves: shards.leaves });
        self.note(shards.root, held, slot);
    }

    /// Holds this validator's shard, which [is justified](is_justified).
    pub fn hold_own(&mut self, erasure_root: Hash, answer: ShardAnswer, slot: u32) {
        let segments = answer.segment_shards.iter().map(|shard| shard.len()).sum::<usize>();
        let size = answer.bundle_shard.len() + segments;
        if self.own.insert(erasure_root, answer).is_none() {
            self.note(erasure_root, size, slot);
        }
    }

    fn note(&mut self, root: Hash, bytes: usize, slot: u32) {
        self.order.push_back(Held { root, bytes, since: slot, pending: None });
        self.shard_bytes += bytes;
        while self.shard_bytes > self.limits.shard_bytes_max && self.order.len() > 1 {
            if let Some(oldest) = self.order.pop_front() {
                self.forget(&oldest);
            }
        }
    }

    fn forget(&mut self, held: &Held) {
        self.shard_bytes -= held.bytes;
        self.all.remove(&held.root);
        self.own.remove(&held.root);
    }

    /// Lets go of shards that no validator will ask for: their report became available some slots ago, or was never made. `pending`
    /// are the erasure roots of reports that wait for availability in this slot.
    pub fn retain(&mut self, slot: u32, pending: &[Hash]) {
        let mut order = core::mem::take(&mut self.order);
        order.retain_mut(|held| {
            if pending.contains(&held.root) {
                held.pending = Some(slot);
            }
            let stays = match held.pending {
                Some(last) => slot.saturating_sub(last) <= AVAILABLE_SLOTS,
                None => slot.saturating_sub(held.since) <= REPORTED_WITHIN_SLOTS,
            };
            if !stays {
                self.forget(held);
            }
            stays
        });
        self.order = order;
    }

    /// Whether this validator holds its shard.
    pub fn holds(&self, erasure_root: &Hash) -> bool {
        self.all.contains_key(erasure_root) || self.own.contains_key(erasure_root)
    }

    /// The shards with a number, for the validator whose they are.
    pub fn shard(&self, erasure_root: &Hash, index: u16) -> Option<ShardAnswer> {
        let all = self.all.get(erasure_root)?;
        let at = usize::from(index);
        Some(ShardAnswer {
            bundle_shard: all.bundle.get(at)?.0.clone(),
            segment_shards: all.segments.get(at)?.iter().map(|shard| shard.0.clone()).collect(),
            justification: balanced_path(&all.leaves, at, blake2b),
        })
    }

    /// Keeps exported segments.
    pub fn keep_segments(&mut self, segments: Vec<Bytes>) {
        let tree = SegmentTree::new(&segments);
        let root = tree.root();
        let size = segments.iter().map(|segment| segment.len()).sum::<usize>();
        if segments.is_empty() || self.segments.insert(root, Exported { segments, tree }).is_some() {
            return;
        }
        self.segment_order.push_back(root);
        self.segment_bytes += size;
        while self.segment_bytes > self.limits.segment_bytes_max && self.segment_order.len() > 1 {
            let oldest = self.segment_order.pop_front().and_then(|oldest| self.segments.remove(&oldest));
            let freed =
                oldest.iter().flat_map(|old| &old.segments).map(|segment| segment.len()).sum::<usize>();
            self.segment_bytes -= freed;
        }
    }

    /// Whether segments are kept.
    pub fn has_segments(&self, root: &SegmentRoot) -> bool {
        self.segments.contains_key(root)
    }

    /// A segment with its proof.
    pub fn segment(&self, root: &SegmentRoot, index: u16) -> Option<Import> {
        let Exported { segments, tree } = self.segments.get(root)?;
        import(segments, tree, index)
    }
}

/// A segment with its proof.
pub fn import(segments: &[Bytes], tree: &SegmentTree, index: u16) -> Option<Import> {
    let segment = segments.get(usize::from(index))?.clone();
    Some(Import { segment, proof: tree.proof(index.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::ErasureCode;

    #[test]
    fn a_shard_is_checked_against_the_root() {
        let params = Params::TINY;
        let bundle = (0..5000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        let shards = Shards::new(ErasureCode::new(&params), &bundle, &[Bytes::from(vec![1; 4104])]).unwrap();
        let root = shards.root;
        let mut data = Data::new(DataLimits::default());
        data.hold_all(shards, 0);
        for index in 0..6 {
            let mut answer = data.shard(&root, index).unwrap();
            assert!(is_justified(&params, root, index, &answer));
            assert!(!is_justified(&params, root, (index + 1) % 6, &answer));
            answer.bundle_shard = vec![8; answer.bundle_shard.len()].into();
            assert!(!is_justified(&params, root, index, &answer));
        }
        assert_eq!(data.shard(&root, 6), None);
    }

    #[test]
    fn what_is_held_is_bounded_and_the_newest_stays() {
        let limits = DataLimits { shard_bytes_max: 1000, segment_bytes_max: 10_000 };
        let mut data = Data::new(limits);
        for byte in 0..5 {
            let answer = ShardAnswer { bundle_shard: vec![byte; 400].into(), ..ShardAnswer::default() };
            data.hold_own(Hash::repeat_byte(byte), answer, 0);
            data.keep_segments(vec![Bytes::from(vec![byte; 4104])]);
        }
        let held = (0..5).filter(|byte| data.holds(&Hash::repeat_byte(*byte))).collect::<Vec<_>>();
        assert_eq!(held, [3, 4]);
        assert_eq!(data.segments.len(), 2);
        let root = SegmentTree::new(&[vec![4; 4104]]).root();
        let import = data.segment(&root, 0).unwrap();
        assert!(jam::merkle::segment_proves(root, 0, &import.segment, &import.proof));
        assert!(data.segment(&root, 1).is_none());
    }

    #[test]
    fn shards_go_when_they_are_available_or_come_too_late() {
        let mut data = Data::new(DataLimits::default());
        let [available, waiting, never] = [1, 2, 3].map(Hash::repeat_byte);
        for root in [available, waiting, never] {
            let answer = ShardAnswer { bundle_shard: vec![1; 400].into(), ..ShardAnswer::default() };
            data.hold_own(root, answer, 5);
        }
        let held = |data: &Data| [available, waiting, never].map(|root| data.holds(&root));
        data.retain(6, &[available, waiting]);
        data.retain(7 + AVAILABLE_SLOTS, &[waiting]);
        assert_eq!(held(&data), [false, true, true]);
        data.retain(5 + REPORTED_WITHIN_SLOTS, &[waiting]);
        assert_eq!(held(&data), [false, true, true]);
        data.retain(6 + REPORTED_WITHIN_SLOTS, &[waiting]);
        assert_eq!((held(&data), data.shard_bytes), ([false, true, false], 400));
    }

    #[test]
    fn shards_of_different_cores_are_spread() {
        let params = Params::TINY;
        let indices = (0..6).map(|validator| shard_index(&params, 1, validator)).collect::<Vec<_>>();
        assert_eq!(indices, [2, 3, 4, 5, 0, 1]);
    }
}
