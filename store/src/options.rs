//! What a store is opened with.

use alloy_primitives::B256;
use jam::{Ed25519Key, HeaderHash, Params};

/// Whose data it is. A file of another chain is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainIdentity {
    /// The hash of the first EVM block.
    pub genesis: B256,
    /// The service's number.
    pub service: u32,
    /// The builder whose blocks the service takes.
    pub builder: Ed25519Key,
    /// The hash of JAM's first header.
    pub jam_genesis: HeaderHash,
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose data it is.
    pub chain: ChainIdentity,
    /// The parameters of the JAM chain, for its checkpoint.
    pub params: Params,
    /// So many blocks the table of values stays behind the newest one: so many states are in memory, with their trees. At
    /// least one; some more before they are folded together.
    pub window_blocks: u64,
    /// The states of so many blocks below the newest can be read; of all if `None`. Unfinished blocks always can.
    pub history_blocks: Option<u64>,
    /// So many transactions that ended are remembered with their reason.
    pub ended_max: u64,
    /// Memory for pages of the file.
    pub cache_bytes: usize,
}

impl Options {
    /// The usual ones: 256 states in memory, those of all blocks in the file, 65,536 ended transactions, 64 MiB of pages.
    pub const fn new(chain: ChainIdentity, params: Params) -> Self {
        Self {
            chain,
            params,
            window_blocks: 256,
            history_blocks: None,
            ended_max: 1 << 16,
            cache_bytes: 64 << 20,
        }
    }
}
