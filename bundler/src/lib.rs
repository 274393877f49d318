//! Blocks from transactions, and work packages from blocks.
//!
//! ```text
//!   Parent (header, state)
//!     | open                          Opening: time, beneficiary, build counter
//!     v
//!   OpenBlock <-- push(transaction) --> receipt, or Refused: Full | NotNow | Never(reason) | Broken
//!     | seal                          the builder signs; from here on the block never changes
//!     v
//!   Sealed: Draft (what the journal keeps), receipts, the state after it, Piece (what it adds to a package)
//!     | check: this block alone; what validators would refuse goes no further
//!     | pack(parent, pieces): a run of consecutive blocks, as many as a package holds; refined as a whole
//!     v
//!   Refined -- package(context) --> Packaged: one version. Versions differ in their context alone.
//!     ^
//!     | rebuild(drafts, parent): execute again, refine again; they must be the same blocks
//! ```
//!
//! A block is fixed at its seal: its hash is its identity. A package carries a run of consecutive blocks; a version that is sent
//! again on another anchor has the same blocks in another package. A [`Draft`] holds what the builder decided and nothing that
//! follows from it; witness and bundle are made again when they are needed.
//!
//! **Limits.** Gas, transactions, bytes of the bundle, refine gas ([`Work`]) and exported segments ([`Limits`]) are looked at before a
//! transaction is taken, so that each block fits into a package of its own; a run ends where the next block does not fit. The witness is bounded while it grows; where the bound is too much, its real length decides.
//! What does not even fit into a block of its own is dropped with a reason, and the block goes on.
//!
//! **Errors.** [`Refused`] says what to do with the transaction. [`RebuildError`] and [`SealError`] mean that the state
//! is damaged or not the right one.
//!
//! Nothing here knows a pool, a queue, a clock or a file. A `Bundler` has no state: any number of blocks can be open at
//! once, each with its own.
//!
//! ```
//! use alloy_primitives::{Address, Bytes};
//! use bundler::{Authorizer, Bundler, Draft, Opening, Parent, Token};
//! use jam::{Ed25519Secret, Params};
//! use service::{Config, genesis::Genesis};
//!
//! let secret = Ed25519Secret::trivial(9);
//! let config = Config::new(7, [1; 32].into(), secret.public());
//! let genesis = Genesis::dev(&config);
//! let authorizer =
//!     Authorizer { host: 0, code_hash: [2; 32].into(), config: Bytes::new(), token: Token::Fixed(Bytes::new()) };
//! let bundler = Bundler::new(config, Params::TINY, authorizer);
//!
//! let parent = Parent::new(genesis.header.clone(), genesis.layer());
//! let opening = Opening { now_secs: 1_735_732_800, beneficiary: Address::ZERO, build: 1 };
//! let first = bundler.open(parent.clone(), genesis.codes.clone(), opening)?.seal(&secret)?;
//! bundler.check(&parent, &first)?;
//! let second = bundler.open(first.as_parent(), genesis.codes.clone(), Opening { build: 2, ..opening })?.seal(&secret)?;
//! let packed = bundler.pack(&parent, &[first.piece.clone(), second.piece.clone()])?;
//! let claim = packed.refined.claim();
//! assert_eq!((claim.first, claim.last), (1, second.block().id()));
//! assert_eq!(Draft::decode(&first.draft.encode())?, first.draft);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "bugs")]
mod bugs;
mod draft;
mod hints;
mod limits;
mod meter;
mod open;
mod package;
mod refused;
mod run;
mod seal;
mod work;

#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use draft::{Draft, DraftError};
pub use limits::{BUNDLE_BYTES_MAX, Limit, Limits, RUN_GAS_MAX, TRANSACTIONS_MAX};
pub use open::{OpenBlock, OpenError};
pub use package::{Authorizer, Checked, Packaged, RebuildError, Refined, Token};
pub use refused::{NotNow, Refused};
pub use run::{PackError, PackedRun, Piece};
pub use seal::{SealError, Sealed};
pub use work::{Counter, FEATURES, FRACTION, Feature, PROGRAM, Witnessed, Work, name_of};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256};
use jam::{Ed25519Secret, Params};
use service::{Config, header::Choice};
use state::{Codes, Layer, Values};
use types::BlockId;

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "bugs")]
    "bundler/bugs",
];

/// Builds blocks and packages. Holds what they all have in common, and no state.
#[derive(Clone, Debug)]
pub struct Bundler {
    /// The service that the blocks are for.
    pub config: Config,
    /// The chain that the packages are for.
    pub params: Params,
    /// What lets them onto a core.
    pub authorizer: Authorizer,
    /// How large a block and a run may become.
    pub limits: Limits,
    /// Signs runs of blocks that were sealed under another builder's key, after the service got another configuration.
    pub signer: Option<Ed25519Secret>,
    /// One known mistake, put back.
    #[cfg(feature = "bugs")]
    pub mistake: Option<Mistake>,
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
        Self {
            limits: Limits::new(&config, &params),
            config,
            params,
            authorizer,
            signer: None,
            #[cfg(feature = "bugs")]
            mistake: None,
        }
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
