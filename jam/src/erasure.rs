//! Erasure coding: data in V shards, any D of which give it back.
//!
//! ```text
//!   data, padded to a multiple of 2·D
//!   = D chunks, one after the other -> chunk c is shard c     (c < D: the data itself)
//!                                   -> V − D more shards, symbol by symbol over GF(2^16)
//! ```
//! A symbol is a little-endian pair of bytes at the same offset of each chunk. `reed-solomon-simd` wants the low and
//! the high bytes of every 64-byte block apart, so shards are laid out anew on the way in and out.

use crate::{
    Params,
    hash::{Hash, blake2b},
    merkle::balanced_root,
};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use std::borrow::Cow;

/// Why data could not be coded or recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ErasureError {
    /// Nothing to code.
    #[error("there is no data")]
    Empty,
    /// Too few different shards.
    #[error("{found} shards, {needed} needed")]
    TooFew {
        /// Different shards given.
        found: usize,
        /// Shards needed.
        needed: usize,
    },
    /// A shard's length does not fit the length of the data.
    #[error("a shard of {found} bytes, {expected} expected")]
    ShardLength {
        /// Bytes of the shard.
        found: usize,
        /// Bytes that a shard of this data has.
        expected: usize,
    },
    /// A shard with a number that does not exist.
    #[error("there is no shard {index} of {count}")]
    NoSuchShard {
        /// The number.
        index: usize,
        /// How many shards there are.
        count: usize,
    },
    /// The parameters are outside of what the code can do.
    #[error("{data} data shards of {total} cannot be coded")]
    Unsupported {
        /// Data shards.
        data: usize,
        /// All shards.
        total: usize,
    },
}

/// The code of one chain: how many shards there are and how many suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasureCode {
    data: usize,
    total: usize,
}

impl ErasureCode {
    /// The code that a chain with these parameters uses.
    pub fn new(params: &Params) -> Self {
        Self { data: params.data_shards(), total: usize::from(params.validators) }
    }

    /// Bytes of one shard of `len` bytes of data.
    pub const fn shard_len(&self, len: usize) -> usize {
        2 * len.div_ceil(2 * self.data)
    }

    const fn unsupported(&self) -> ErasureError {
        ErasureError::Unsupported { data: self.data, total: self.total }
    }

    /// All shards, in order.
    pub fn encode(&self, data: &[u8]) -> Result<Vec<Vec<u8>>, ErasureError> {
        if data.is_empty() {
            return Err(ErasureError::Empty);
        }
        let len = self.shard_len(data.len());
        let unsupported = |_| self.unsupported();
        let mut coder =
            ReedSolomonEncoder::new(self.data, self.total - self.data, len).map_err(unsupported)?;
        let mut shards = Vec::with_capacity(self.total);
        let mut laid_out = vec![0; len];
        for index in 0..self.data {
            let chunk = padded_chunk(data, index, len);
            split_symbols(&chunk, &mut laid_out);
            coder.add_original_shard(&laid_out).map_err(unsupported)?;
            shards.push(chunk.into_owned());
        }
        let coded = coder.encode().map_err(unsupported)?;
        shards.extend(coded.recovery_iter().map(join_symbols));
        Ok(shards)
    }

    /// The data of `len` bytes, from any D shards with their numbers.
    pub fn recover<'a>(
        &self,
        len: usize,
        shards: impl IntoIterator<Item = (usize, &'a [u8])>,
    ) -> Result<Vec<u8>, ErasureError> {
        if len == 0 {
            return Err(ErasureError::Empty);
        }
        let shard_len = self.shard_len(len);
        let mut known: Vec<Option<&[u8]>> = vec![None; self.total];
        for (index, shard) in shards {
            if shard.len() != shard_len {
                return Err(ErasureError::ShardLength { found: shard.len(), expected: shard_len });
            }
            let count = self.total;
            *known.get_mut(index).ok_or(ErasureError::NoSuchShard { index, count })? = Some(shard);
        }
        let found = known.iter().flatten().count();
        if found < self.data {
            return Err(ErasureError::TooFew { found, needed: self.data });
        }
        let mut data = Vec::with_capacity(shard_len * self.data);
        if known[..self.data].iter().all(Option::is_some) {
            known[..self.data].iter().flatten().for_each(|shard| data.extend_from_slice(shard));
        } else {
            self.recover_missing(&known, shard_len, &mut data)?;
        }
        data.truncate(len);
        Ok(data)
    }

    fn recover_missing(
        &self,
        known: &[Option<&[u8]>],
        shard_len: usize,
        data: &mut Vec<u8>,
    ) -> Result<(), ErasureError> {
        let unsupported = |_| self.unsupported();
        let mut coder =
            ReedSolomonDecoder::new(self.data, self.total - self.data, shard_len).map_err(unsupported)?;
        let mut laid_out = vec![0; shard_len];
        let usable = known.iter().enumerate().filter_map(|(index, shard)| Some((index, (*shard)?)));
        for (index, shard) in usable.take(self.data) {
            split_symbols(shard, &mut laid_out);
            let added = match index.checked_sub(self.data) {
                None => coder.add_original_shard(index, &laid_out),
                Some(index) => coder.add_recovery_shard(index, &laid_out),
            };
            added.map_err(unsupported)?;
        }
        let restored = coder.decode().map_err(unsupported)?;
        for (index, shard) in known[..self.data].iter().enumerate() {
            match (shard, restored.restored_original(index)) {
                (Some(shard), _) => data.extend_from_slice(shard),
                (None, Some(restored)) => data.extend(join_symbols(restored)),
                (None, None) => return Err(self.unsupported()),
            }
        }
        Ok(())
    }
}

/// Chunk `index` of the data, padded with zeros.
fn padded_chunk(data: &[u8], index: usize, len: usize) -> Cow<'_, [u8]> {
    let start = data.len().min(index * len);
    let end = data.len().min(start + len);
    if end - start == len {
        return Cow::Borrowed(&data[start..end]);
    }
    let mut chunk = data[start..end].to_vec();
    chunk.resize(len, 0);
    Cow::Owned(chunk)
}

/// Bytes in which low and high halves of symbols stand apart.
const LAYOUT_BLOCK: usize = 64;

fn split_symbols(shard: &[u8], out: &mut [u8]) {
    for (block, out) in shard.chunks(LAYOUT_BLOCK).zip(out.chunks_mut(LAYOUT_BLOCK)) {
        let (low, high) = out.split_at_mut(block.len() / 2);
        for ((symbol, low), high) in block.chunks_exact(2).zip(low).zip(high) {
            (*low, *high) = (symbol[0], symbol[1]);
        }
    }
}

fn join_symbols(laid_out: &[u8]) -> Vec<u8> {
    let mut shard = vec![0; laid_out.len()];
    for (block, out) in laid_out.chunks(LAYOUT_BLOCK).zip(shard.chunks_mut(LAYOUT_BLOCK)) {
        let (low, high) = block.split_at(block.len() / 2);
        for ((symbol, low), high) in out.chunks_exact_mut(2).zip(low).zip(high) {
            (symbol[0], symbol[1]) = (*low, *high);
        }
    }
    shard
}

/// The leaf of a validator in the tree below the erasure root: the hash of its bundle shard, then the root over its
/// shards of the segments (zero without segments).
pub fn erasure_leaf<T: AsRef<[u8]>>(bundle_shard: &[u8], segment_shards: &[T]) -> [u8; 64] {
    let mut leaf = [0; 64];
    leaf[..32].copy_from_slice(blake2b(&[bundle_shard]).as_slice());
    leaf[32..].copy_from_slice(balanced_root(segment_shards, blake2b).as_slice());
    leaf
}

/// Everything that availability of a package is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shards {
    /// The bundle's shards, one per validator.
    pub bundle: Vec<Vec<u8>>,
    /// For each validator its shards of the segments and of their pages of proofs, in order.
    pub segments: Vec<Vec<Vec<u8>>>,
    /// The leaves below the root, one per validator.
    pub leaves: Vec<[u8; 64]>,
    /// What the report commits to.
    pub root: Hash,
}

impl Shards {
    /// Codes a bundle and its segments (exports followed by their pages of proofs).
    pub fn new<T: AsRef<[u8]>>(
        code: ErasureCode,
        bundle: &[u8],
        segments: &[T],
    ) -> Result<Self, ErasureError> {
        let bundle = code.encode(bundle)?;
        let mut by_validator = vec![Vec::with_capacity(segments.len()); code.total];
        for segment in segments {
            for (shards, shard) in by_validator.iter_mut().zip(code.encode(segment.as_ref())?) {
                shards.push(shard);
            }
        }
        let leaves = bundle.iter().zip(&by_validator).map(|(b, s)| erasure_leaf(b, s)).collect::<Vec<_>>();
        let root = balanced_root(&leaves, blake2b);
        Ok(Self { bundle, segments: by_validator, leaves, root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::{balanced_path, balanced_proves};
    use proptest::prelude::*;

    #[test]
    fn a_published_example() {
        // From davxy/jam-test-vectors (CC0), erasure/tiny/ec-3.
        let shards = ErasureCode::new(&Params::TINY).encode(&[0x61, 0x5d, 0x17]).unwrap();
        let expected = [[0x61, 0x5d], [0x17, 0x00], [0x48, 0xc5], [0x3e, 0x98], [0x73, 0x78], [0x05, 0x25]];
        assert_eq!(shards, expected);
    }

    #[test]
    fn what_cannot_be_recovered_says_why() {
        let code = ErasureCode::new(&Params::TINY);
        let shards = code.encode(&[7; 100]).unwrap();
        assert_eq!(code.encode(&[]), Err(ErasureError::Empty));
        assert_eq!(
            code.recover(100, [(3, &shards[3][..]), (3, &shards[3])]),
            Err(ErasureError::TooFew { found: 1, needed: 2 })
        );
        assert_eq!(
            code.recover(100, [(6, &shards[3][..])]),
            Err(ErasureError::NoSuchShard { index: 6, count: 6 })
        );
        assert_eq!(
            code.recover(100, [(0, &shards[3][1..])]),
            Err(ErasureError::ShardLength { found: 49, expected: 50 })
        );
    }

    #[test]
    fn a_validator_can_check_its_shards_against_the_root() {
        let segments = [[1_u8; 4104], [2; 4104]];
        let shards = Shards::new(ErasureCode::new(&Params::TINY), &[9; 1000], &segments).unwrap();
        for validator in 0..6 {
            let leaf = erasure_leaf(&shards.bundle[validator], &shards.segments[validator]);
            let path = balanced_path(&shards.leaves, validator, blake2b);
            assert!(balanced_proves(shards.root, 6, validator, &leaf, &path, blake2b));
        }
    }

    proptest! {
        #[test]
        fn any_two_of_six_give_the_data_back(
            data in proptest::collection::vec(any::<u8>(), 1..700),
            a in 0_usize..6,
            b in 0_usize..5,
        ) {
            let code = ErasureCode::new(&Params::TINY);
            let shards = code.encode(&data).unwrap();
            let b = if b >= a { b + 1 } else { b };
            let chosen = [(a, &shards[a][..]), (b, &shards[b][..])];
            prop_assert_eq!(code.recover(data.len(), chosen).unwrap(), data);
        }

        #[test]
        fn any_342_of_1023_give_the_data_back(
            data in proptest::collection::vec(any::<u8>(), 1..3000),
            seed in any::<[u8; 32]>(),
        ) {
            let code = ErasureCode::new(&Params::FULL);
            let shards = code.encode(&data).unwrap();
            let chosen = crate::shuffle::shuffled((0..1023).collect::<Vec<usize>>(), seed.into());
            let chosen = chosen[..342].iter().map(|index| (*index, &shards[*index][..]));
            prop_assert_eq!(code.recover(data.len(), chosen).unwrap(), data);
        }
    }
}
