//! What refine says about a block, and how it is found in a report.

use alloy_primitives::B256;
use jam::{Hash, WorkDigest, WorkResult};
use types::BlockId;

/// What refine claims: the block is valid on its parent. The output of every good refinement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Claim {
    /// The parent's hash.
    pub parent: B256,
    /// The block's number.
    pub number: u64,
    /// The block's hash.
    pub block: B256,
    /// The root of the state before the block.
    pub pre_root: B256,
    /// The root of the state after the block.
    pub post_root: B256,
    /// The gas that its transactions used.
    pub gas_used: u64,
}

impl Claim {
    /// The length of the encoding.
    pub const BYTES: usize = 4 * 32 + 2 * 8;

    /// The block.
    pub const fn id(&self) -> BlockId {
        BlockId::new(self.number, self.block)
    }

    /// The fields in order, numbers little-endian.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..32].copy_from_slice(self.parent.as_slice());
        out[32..40].copy_from_slice(&self.number.to_le_bytes());
        out[40..72].copy_from_slice(self.block.as_slice());
        out[72..104].copy_from_slice(self.pre_root.as_slice());
        out[104..136].copy_from_slice(self.post_root.as_slice());
        out[136..].copy_from_slice(&self.gas_used.to_le_bytes());
        out
    }

    /// Reads what [`Claim::encode`] wrote; `None` if the length is another one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let hash = |at: usize| B256::from_slice(&bytes[at..at + 32]);
        let number =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Some(Self {
            parent: hash(0),
            number: number(32),
            block: hash(40),
            pre_root: hash(72),
            post_root: hash(104),
            gas_used: number(136),
        })
    }
}

/// What a report's digest claims, if it is one of our service with our code, and good.
///
/// Validators and the node look at reports through this and nothing else, so they see the same claims.
pub fn claim_of(digest: &WorkDigest, service: u32, code_hash: Hash) -> Option<Claim> {
    if digest.service != service || digest.code_hash != code_hash {
        return None;
    }
    match &digest.result {
        WorkResult::Output(output) => Claim::decode(output),
        WorkResult::Failed(_) => None,
    }
}
