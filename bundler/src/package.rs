//! From sealed blocks to work packages.

use crate::{
    Bundler, Parent,
    draft::Draft,
    seal::{SealError, Sealed},
};
use alloy_primitives::Bytes;
use jam::{
    Bundle, Hash, HeaderHash, PackageHash, RefineContext, WorkItem, WorkPackage, codec::Encode,
    hash::blake2b, package::ExtrinsicSpec,
};
use service::{
    accumulate::Claim,
    execution::{Execution, Rules},
    header::{self, Choice, HeaderError},
    refine::{Known, RefineError, refine_known},
};
use state::{Codes, Values};
use std::collections::BTreeSet;
use types::BlockId;

/// Gas to accumulate one block: to compare a hash and to write two entries. Two reports fit into the smallest chain's
/// block many times over.
const ACCUMULATE_GAS: u64 = 1_000_000;

/// A context for refining at home: the block's validity does not depend on where it is anchored.
const NOWHERE: RefineContext = RefineContext {
    anchor: HeaderHash::ZERO,
    state_root: Hash::ZERO,
    beefy_root: Hash::ZERO,
    lookup_anchor: HeaderHash::ZERO,
    lookup_anchor_slot: 0,
    prerequisites: BTreeSet::new(),
};

/// What lets a package onto a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authorizer {
    /// The service that keeps the authorizer's code.
    pub host: u32,
    /// The authorizer's code.
    pub code_hash: Hash,
    /// What the authorizer was set up with.
    pub config: Bytes,
    /// What convinces it.
    pub token: Bytes,
}

impl Authorizer {
    pub(crate) fn bytes(&self) -> usize {
        self.config.len() + self.token.len()
    }
}

/// A block that validators will accept: the builder refined it itself. What all its versions have in common.
#[derive(Clone, Debug)]
pub struct Refined {
    claim: Claim,
    item: WorkItem,
    extrinsics: Vec<Bytes>,
}

impl Refined {
    /// What it claims, as every validator will say too.
    pub const fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The bytes that the limit of a bundle is for: all extrinsics and the payload.
    pub fn bundle_bytes(&self) -> usize {
        self.extrinsic_bytes() + self.item.payload.len()
    }

    /// The bytes of all extrinsics.
    pub fn extrinsic_bytes(&self) -> usize {
        self.extrinsics.iter().map(|blob| blob.len()).sum()
    }
}

/// One version of a block, ready to be sent.
#[derive(Clone, Debug)]
pub struct Packaged {
    /// The block.
    pub block: BlockId,
    /// Its identity on the chain.
    pub hash: PackageHash,
    /// The package and its extrinsics. Nothing large is copied from version to version.
    pub bundle: Bundle,
}

impl Packaged {
    /// The encoded bundle.
    pub fn bytes(&self) -> Bytes {
        self.bundle.encode().into()
    }
}

/// Why a block cannot be built again from its draft.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RebuildError {
    /// The state is not that of the parent.
    #[error("the state is not the one after the parent of block {0}")]
    OtherState(BlockId),
    /// The block cannot follow its parent.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// It cannot be executed.
    #[error("block {block} cannot be executed again: {why}")]
    Execution {
        /// The block.
        block: BlockId,
        /// Why.
        why: String,
    },
    /// It came out as another block.
    #[error("block {expected} came out as {found}")]
    OtherBlock {
        /// The draft's.
        expected: BlockId,
        /// What came out.
        found: BlockId,
    },
    /// The state cannot be read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Validators would refuse it.
    #[error("validators would refuse it: {0}")]
    Refine(#[from] RefineError),
}

impl Bundler {
    /// Refines a block as validators will. Whatever they would refuse goes no further.
    pub fn refine<V: Values + Clone>(&self, sealed: &Sealed<V>) -> Result<Refined, RefineError> {
        let refined = self.unrefined(sealed);
        let bundle = self.bundle(&refined, NOWHERE);
        let known = Known {
            transactions: sealed.block().transactions(),
            receipts: &sealed.receipts,
            header: sealed.block().header(),
        };
        let claim = refine_known(&bundle, &self.config, &self.params, known)?;
        Ok(Refined { claim, ..refined })
    }

    /// One version of a block. Versions differ in the context alone.
    pub fn package(&self, refined: &Refined, context: RefineContext) -> Packaged {
        let bundle = self.bundle(refined, context);
        Packaged { block: refined.claim.id(), hash: bundle.package.hash(), bundle }
    }

    /// Executes the block of a draft again, on the state after its parent. It must come out the same.
    pub fn replay<V: Values + Clone, C: Codes>(
        &self,
        draft: &Draft,
        parent: &Parent<V>,
        codes: C,
    ) -> Result<Sealed<V>, RebuildError> {
        let sealed = draft.block.header();
        if parent.layer.root() != parent.header.state_root || parent.hash != sealed.parent_hash {
            return Err(RebuildError::OtherState(draft.id()));
        }
        let header = header::next(&parent.header, parent.hash, &Choice::of(sealed), &self.config)?;
        let failed = |why: String| RebuildError::Execution { block: draft.id(), why };
        let execution = Execution::new(parent.layer.clone(), codes, &header, Rules::of(&self.config));
        let execution = execution.map_err(|error| failed(error.to_string()))?;
        let mut execution = execution.expecting(draft.block.transactions().len());
        for tx in draft.block.transactions() {
            let attempt = execution.attempt(tx, tx.sender()).map_err(|error| failed(error.to_string()))?;
            execution.keep(attempt);
        }
        let executed = execution.finish().map_err(|error| failed(error.to_string()))?;
        let transactions = draft.block.transactions().to_vec();
        let sealed = Sealed::new(parent, header, transactions, executed, |_| draft.signature)?;
        if sealed.block().id() != draft.id() {
            return Err(RebuildError::OtherBlock { expected: draft.id(), found: sealed.block().id() });
        }
        Ok(sealed)
    }

    /// A new version from the original draft: executes it again, refines it again, and packages it.
    pub fn rebuild<V: Values + Clone, C: Codes>(
        &self,
        draft: &Draft,
        parent: &Parent<V>,
        codes: C,
        context: RefineContext,
    ) -> Result<Packaged, RebuildError> {
        let sealed = self.replay(draft, parent, codes)?;
        Ok(self.package(&self.refine(&sealed)?, context))
    }

    /// The gas that every package declares: it follows from the chain's specification alone, so that a package made again
    /// after a restart with other limits is the same.
    pub(crate) fn refine_gas(&self) -> u64 {
        self.config.gas_limit.min(self.params.refine_gas_max)
    }

    fn unrefined<V: Values + Clone>(&self, sealed: &Sealed<V>) -> Refined {
        let specs = sealed.extrinsics.iter().map(|blob| ExtrinsicSpec {
            hash: blake2b(&[blob]),
            len: u32::try_from(blob.len()).unwrap_or(u32::MAX),
        });
        let item = WorkItem {
            service: self.config.service,
            code_hash: self.config.code_hash,
            refine_gas: self.refine_gas(),
            accumulate_gas: ACCUMULATE_GAS,
            export_count: u16::try_from(sealed.export_segments).unwrap_or(u16::MAX),
            payload: sealed.draft.payload().encode(),
            imports: vec![],
            extrinsics: specs.collect(),
        };
        let extrinsics = sealed.extrinsics.to_vec();
        Refined { claim: Claim::default(), item, extrinsics }
    }

    fn bundle(&self, refined: &Refined, context: RefineContext) -> Bundle {
        let package = WorkPackage {
            auth_code_host: self.authorizer.host,
            auth_code_hash: self.authorizer.code_hash,
            context,
            authorization: self.authorizer.token.clone(),
            authorizer_config: self.authorizer.config.clone(),
            items: vec![refined.item.clone()],
        };
        Bundle { package, extrinsics: refined.extrinsics.clone(), imports: vec![] }
    }
}
