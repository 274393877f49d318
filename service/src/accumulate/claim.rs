//! What refine says about a run of blocks, and how it is found in a report.

use crate::answer::CLAIM;
use alloy_primitives::B256;
use jam::{WorkDigest, WorkResult, hash::blake2b, merkle::balanced_root};
use types::BlockId;

/// What refine claims: these blocks are valid, one on the other, the first on this parent. The output of every good refinement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Claim {
    /// The hash of the block that the run stands on.
    pub parent: B256,
    /// The number of the first block.
    pub first: u64,
    /// The last block.
    pub last: BlockId,
    /// The root of the state before the first block.
    pub pre_root: B256,
    /// The root of the state after the last block.
    pub post_root: B256,
    /// The gas that all transactions used.
    pub gas_used: u64,
    /// The root of the well-balanced tree over the blocks' hashes, in order: any block of the run can be proved by it.
    pub blocks_root: B256,
}

impl Claim {
    /// The length of the encoding.
    pub const BYTES: usize = 1 + 5 * 32 + 3 * 8;

    /// A claim of this run that says nothing about states. Only simulations claim such things.
    pub fn of_run(parent: B256, first: u64, last: BlockId) -> Self {
        Self { parent, first, last, ..Self::default() }
    }

    /// The root over the hashes of a run's blocks.
    pub fn root_of(blocks: &[B256]) -> B256 {
        balanced_root(blocks, blake2b)
    }

    /// [`CLAIM`] and the fields in order, numbers little-endian.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [CLAIM; Self::BYTES];
        out[1..33].copy_from_slice(self.parent.as_slice());
        out[33..41].copy_from_slice(&self.first.to_le_bytes());
        out[41..49].copy_from_slice(&self.last.number.to_le_bytes());
        out[49..81].copy_from_slice(self.last.hash.as_slice());
        out[81..113].copy_from_slice(self.pre_root.as_slice());
        out[113..145].copy_from_slice(self.post_root.as_slice());
        out[145..153].copy_from_slice(&self.gas_used.to_le_bytes());
        out[153..].copy_from_slice(self.blocks_root.as_slice());
        out
    }

    /// Reads what [`Claim::encode`] wrote; `None` if the first byte or the length is another one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (CLAIM, bytes) = bytes.split_first().map(|(tag, rest)| (*tag, rest))? else { return None };
        let bytes: &[u8; Self::BYTES - 1] = bytes.try_into().ok()?;
        let hash = |at: usize| B256::from_slice(&bytes[at..at + 32]);
        let number =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Some(Self {
            parent: hash(0),
            first: number(32),
            last: BlockId::new(number(40), hash(48)),
            pre_root: hash(80),
            post_root: hash(112),
            gas_used: number(144),
            blocks_root: hash(152),
        })
    }
}

/// What a report's digest claims, if it is one of our service, and good.
///
/// Validators and the node look at reports through this and nothing else, so they see the same claims. The code that a digest names
/// is not looked at: the chain takes a report only if that was the service's code then, and accumulates it by the code that the
/// service has later.
pub fn claim_of(digest: &WorkDigest, service: u32) -> Option<Claim> {
    Claim::decode(output_of(digest, service)?)
}

/// The output of a report's digest, if it is one of our service.
pub fn output_of(digest: &WorkDigest, service: u32) -> Option<&[u8]> {
    match &digest.result {
        WorkResult::Output(output) if digest.service == service => Some(output),
        _ => None,
    }
}
