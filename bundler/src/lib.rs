//! Blocks from transactions, and work packages from blocks.

#[cfg(feature = "bugs")]
mod bugs;
mod draft;
mod limits;
mod meter;
mod open;
mod package;
mod refused;
mod seal;

#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use draft::{Draft, DraftError};
pub use limits::{BUNDLE_BYTES_MAX, Limit, Limits, TRANSACTIONS_MAX};
pub use open::{OpenBlock, OpenError};
pub use package::{Authorizer, Packaged, RebuildError, Refined};
pub use refused::{NotNow, Refused};
pub use seal::{SealError, Sealed};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256};
use jam::Params;
use service::{Config, header::Choice};
use state::{Codes, Layer, Values};
use types::BlockId;

/// Builds blocks and packages. Holds what they all have in common, and no state.
#[derive(Clone, Debug)]
pub struct Bundler {
    /// The service that the blocks are for.
    pub config: Config,
    /// The chain that the packages are for.
    pub params: Params,
    /// What lets them onto a core.
    pub authorizer: Authorizer,
    /// How large a block may become.
    pub limits: Limits,
}

/// What a block stands on: a header and the state after it.
#[derive(Clone, Debug)]
pub struct Parent<V> {
    /// The header.
    pub header: Header,
    /// Its hash.
    pub hash: B256,
    /// The state.
    pub layer: Layer<V>,
}

/// What is decided when a block is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// Wall time in seconds; the block gets its parent's if that is later.
    pub now_secs: u64,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// Counts every block that this builder ever opened, so that no two sealed ones share a hash.
    pub build: u64,
}

impl<V> Parent<V> {
    /// A header and the state after it.
    pub fn new(header: Header, layer: Layer<V>) -> Self {
        Self { hash: header.hash_slow(), header, layer }
    }

    /// Number and hash.
    pub const fn id(&self) -> BlockId {
        BlockId::new(self.header.number, self.hash)
    }
}

impl Opening {
    fn choice(&self, parent: &Header) -> Choice {
        Choice {
            timestamp: self.now_secs.max(parent.timestamp),
            beneficiary: self.beneficiary,
            extra_data: self.build.to_be_bytes().into(),
        }
    }
}

impl Bundler {
    /// For this service on this chain, with the largest blocks that both allow.
    pub fn new(config: Config, params: Params, authorizer: Authorizer) -> Self {
        Self { limits: Limits::new(&config, &params), config, params, authorizer }
    }

    /// Opens a block on a parent.
    pub fn open<V: Values + Clone, C: Codes + Clone>(
        &self,
        parent: Parent<V>,
        codes: C,
        opening: Opening,
    ) -> Result<OpenBlock<V, C>, OpenError> {
        let choice = opening.choice(&parent.header);
        OpenBlock::new(self, parent, codes, &choice)
    }
}
