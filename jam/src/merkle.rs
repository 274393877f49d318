//! The Gray Paper's Merkle trees: well-balanced over blobs, constant-depth over segments, and the mountain range that
//! the chain's log of accumulation outputs is kept in.

use crate::{
    codec::{AtMost, wire},
    hash::{Hash, SegmentRoot, blake2b, keccak},
    params::{SEGMENT_BYTES, SEGMENTS_PER_PAGE},
};
use alloc::{borrow::Cow, vec, vec::Vec};
use alloy_primitives::Bytes;

/// Which hash function a tree uses: most use BLAKE2b, the accumulation outputs keccak.
pub type HashFn = fn(&[&[u8]]) -> Hash;

/// A node: a hash, or the data itself where a tree has a single leaf.
fn node<'a, T: AsRef<[u8]>>(leaves: &'a [T], hash: HashFn) -> Cow<'a, [u8]> {
    match leaves {
        [] => Cow::Borrowed(Hash::ZERO.as_slice()).into_owned().into(),
        [leaf] => Cow::Borrowed(leaf.as_ref()),
        _ => {
            let (left, right) = leaves.split_at(leaves.len().div_ceil(2));
            hash(&[b"node", &node(left, hash), &node(right, hash)]).to_vec().into()
        }
    }
}

/// The root of the well-balanced tree over blobs (M_B).
pub fn balanced_root<T: AsRef<[u8]>>(leaves: &[T], hash: HashFn) -> Hash {
    match leaves {
        [leaf] => hash(&[leaf.as_ref()]),
        _ => Hash::from_slice(&node(leaves, hash)),
    }
}

/// The sibling hashes from the root down to leaf `index` of the well-balanced tree: its justification.
pub fn balanced_path<T: AsRef<[u8]>>(leaves: &[T], index: usize, hash: HashFn) -> Vec<Bytes> {
    let (mut leaves, mut index, mut path) = (leaves, index, Vec::new());
    while leaves.len() > 1 {
        let (left, right) = leaves.split_at(leaves.len().div_ceil(2));
        let (ours, sibling) = if index < left.len() { (left, right) } else { (right, left) };
        index -= if index < left.len() { 0 } else { left.len() };
        path.push(Bytes::copy_from_slice(&node(sibling, hash)));
        leaves = ours;
    }
    path
}

/// Whether `leaf` stands at `index` of the `count` leaves of a well-balanced tree with this root.
pub fn balanced_proves(
    root: Hash,
    count: usize,
    index: usize,
    leaf: &[u8],
    path: &[Bytes],
    hash: HashFn,
) -> bool {
    if index >= count {
        return false;
    }
    // From the root down: does the way to the leaf go left at each level?
    let (mut count, mut index, mut goes_left) = (count, index, Vec::new());
    while count > 1 {
        let half = count.div_ceil(2);
        goes_left.push(index < half);
        (count, index) = if index < half { (half, index) } else { (count - half, index - half) };
    }
    if path.len() != goes_left.len() {
        return false;
    }
    if path.is_empty() {
        return hash(&[leaf]) == root;
    }
    let mut here = Bytes::copy_from_slice(leaf);
    for (sibling, left) in path.iter().zip(goes_left).rev() {
        let (a, b) = if left { (&here, sibling) } else { (sibling, &here) };
        here = Bytes::copy_from_slice(hash(&[b"node", a, b]).as_slice());
    }
    here[..] == root[..]
}

/// The constant-depth tree over segments: all levels, so that every proof is a look-up.
#[derive(Clone, Debug)]
pub struct SegmentTree {
    /// From the leaves (padded to a power of two) up to the root; empty without segments.
    levels: Vec<Vec<Hash>>,
    count: usize,
}

impl SegmentTree {
    /// Hashes the segments, each of [`SEGMENT_BYTES`] bytes.
    pub fn new<T: AsRef<[u8]>>(segments: &[T]) -> Self {
        let mut levels = Vec::new();
        if !segments.is_empty() {
            let mut level = segments.iter().map(|segment| leaf_hash(segment.as_ref())).collect::<Vec<_>>();
            level.resize(segments.len().next_power_of_two(), Hash::ZERO);
            levels.push(level);
            while let Some(level) = levels.last().filter(|level| level.len() > 1) {
                let above = level.chunks_exact(2).map(|pair| inner_hash(pair[0], pair[1])).collect();
                levels.push(above);
            }
        }
        Self { levels, count: segments.len() }
    }

    /// The root; zero without segments.
    pub fn root(&self) -> SegmentRoot {
        self.levels.last().map_or(SegmentRoot::ZERO, |top| SegmentRoot(top[0]))
    }

    /// The sibling hashes from the root down to segment `index`; empty if there is no such segment.
    pub fn proof(&self, index: usize) -> Vec<Hash> {
        self.path_above(index, 0)
    }

    fn path_above(&self, index: usize, lowest: usize) -> Vec<Hash> {
        if index >= self.count {
            return vec![];
        }
        let below_root = self.levels.len() - 1;
        (lowest..below_root).rev().map(|level| self.levels[level][(index >> level) ^ 1]).collect()
    }

    /// The pages of proofs (P) that are kept beside the segments: each holds the path to a run of 64 segments and
    /// their hashes, and is itself padded to a segment.
    pub fn pages(&self) -> Vec<Vec<u8>> {
        use crate::codec::Encode;
        let run_level = SEGMENTS_PER_PAGE.ilog2() as usize;
        (0..self.count)
            .step_by(SEGMENTS_PER_PAGE)
            .map(|first| {
                let run = first..self.count.min(first + SEGMENTS_PER_PAGE);
                let mut page = self.path_above(first, run_level).encode();
                self.levels[0][run].to_vec().encode_to(&mut page);
                page.resize(SEGMENT_BYTES, 0);
                page
            })
            .collect()
    }
}

fn leaf_hash(segment: &[u8]) -> Hash {
    blake2b(&[b"leaf", segment])
}

fn inner_hash(left: Hash, right: Hash) -> Hash {
    blake2b(&[b"node", left.as_slice(), right.as_slice()])
}

/// Whether `segment` stands at `index` below `root`.
pub fn segment_proves(root: SegmentRoot, index: usize, segment: &[u8], proof: &[Hash]) -> bool {
    // A longer proof than any tree has could otherwise reach past the leaves.
    if proof.len() > 16 || index >> proof.len() != 0 {
        return false;
    }
    let mut here = leaf_hash(segment);
    for (level, sibling) in proof.iter().rev().enumerate() {
        here = if index >> level & 1 == 0 { inner_hash(here, *sibling) } else { inner_hash(*sibling, here) };
    }
    here == root.0
}

/// Peaks of a range with as many entries as a `u64` counts.
const PEAKS_MAX: usize = 64;

wire! {
    /// A Merkle mountain range: the roots of its perfect trees, lowest first.
    pub struct MountainRange {
        /// The tree of 2^i entries at place i, if there is one.
        pub peaks: Vec<Option<Hash>> => AtMost<PEAKS_MAX>,
    }
}

impl MountainRange {
    /// A range without entries.
    pub const EMPTY: Self = Self { peaks: vec![] };

    /// Appends an entry.
    pub fn append(&mut self, entry: Hash) {
        let mut carried = entry;
        for peak in &mut self.peaks {
            match peak.take() {
                None => {
                    *peak = Some(carried);
                    return;
                }
                Some(left) => carried = keccak(&[left.as_slice(), carried.as_slice()]),
            }
        }
        self.peaks.push(Some(carried));
    }

    /// One hash for all of it (M_R).
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().flatten();
        let lowest = peaks.next().copied().unwrap_or_default();
        peaks.fold(lowest, |root, peak| keccak(&[b"peak", root.as_slice(), peak.as_slice()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_has_at_most_64_peaks() {
        use crate::{
            Params,
            codec::{Decode, Encode},
        };
        let range = |peaks| MountainRange { peaks: vec![None; peaks] }.encode();
        assert!(MountainRange::decode(&range(64), &Params::TINY).is_ok());
        assert!(MountainRange::decode(&range(65), &Params::TINY).is_err());
    }

    fn segments(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|i| vec![i as u8; SEGMENT_BYTES]).collect()
    }

    #[test]
    fn every_segment_is_proved_at_its_place_only() {
        for count in [1, 2, 3, 64, 65, 130] {
            let segments = segments(count);
            let tree = SegmentTree::new(&segments);
            for (index, segment) in segments.iter().enumerate() {
                let proof = tree.proof(index);
                assert!(segment_proves(tree.root(), index, segment, &proof), "{index} of {count}");
                assert!(!segment_proves(tree.root(), index ^ 1, segment, &proof));
            }
            assert_eq!(tree.pages().len(), count.div_ceil(64));
            assert!(tree.pages().iter().all(|page| page.len() == SEGMENT_BYTES));
            assert!(tree.proof(count).is_empty());
        }
        assert_eq!(SegmentTree::new(&segments(0)).root(), SegmentRoot::ZERO);
    }

    #[test]
    fn a_single_leaf_is_hashed_and_none_is_zero() {
        assert_eq!(balanced_root(&[b"x"], blake2b), blake2b(&[b"x"]));
        assert_eq!(balanced_root::<&[u8]>(&[], blake2b), Hash::ZERO);
        assert_eq!(balanced_root(&[b"x", b"y"], blake2b), blake2b(&[b"node", b"x", b"y"]));
    }

    proptest! {
        #[test]
        fn balanced_paths_prove_their_leaf(count in 1_usize..40, pick: usize, flip: usize) {
            let leaves = (0..count).map(|i| vec![i as u8; 1 + i % 40]).collect::<Vec<_>>();
            let index = pick % count;
            let root = balanced_root(&leaves, blake2b);
            let mut path = balanced_path(&leaves, index, blake2b);
            prop_assert!(balanced_proves(root, count, index, &leaves[index], &path, blake2b));
            prop_assert!(!balanced_proves(root, count, index, b"other", &path, blake2b));
            prop_assert!(!balanced_proves(root, count, count + index, &leaves[index], &path, blake2b));
            if !path.is_empty() {
                let at = flip % path.len();
                let mut bytes = path[at].to_vec();
                bytes[0] ^= 1;
                path[at] = bytes.into();
                prop_assert!(!balanced_proves(root, count, index, &leaves[index], &path, blake2b));
            }
        }
    }
}
