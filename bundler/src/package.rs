//! From refined runs to packages, and from drafts back to blocks.

use crate::{
    Bundler, Parent,
    draft::Draft,
    run::{ACCUMULATE_GAS, PackError, Piece},
    seal::Sealed,
    work::{Counter, Transacted, Work, transacted},
};
use alloy_primitives::Bytes;
use jam::{
    Bundle, Ed25519Secret, Hash, HeaderHash, PackageHash, RefineContext, WorkItem, WorkPackage, codec::Encode,
};
use service::{
    accumulate::Claim,
    execution::{Execution, Rules},
    header::{self, Choice, HeaderError},
};
use state::{Codes, Values};
use std::collections::BTreeSet;
use types::{BlockId, Run};

/// A context for refining at home: whether blocks are valid does not depend on where their package is anchored, but for how late
/// they may be dated, which [`Bundler::latest_timestamp`] says of a context.
pub(crate) const NOWHERE: RefineContext = RefineContext {
    anchor: HeaderHash::ZERO,
    state_root: Hash::ZERO,
    beefy_root: Hash::ZERO,
    lookup_anchor: HeaderHash::ZERO,
    lookup_anchor_slot: u32::MAX,
    prerequisites: BTreeSet::new(),
};

/// What lets a package onto a core.
#[derive(Clone, Debug)]
pub struct Authorizer {
    /// The service that keeps the authorizer's code.
    pub host: u32,
    /// The authorizer's code.
    pub code_hash: Hash,
    /// What the authorizer was set up with.
    pub config: Bytes,
    /// What convinces it.
    pub token: Token,
}

/// What convinces an authorizer.
#[derive(Clone, Debug)]
pub enum Token {
    /// The same for every package.
    Fixed(Bytes),
    /// A signature of the package with this key.
    Signature(Box<Ed25519Secret>),
    /// A signature with a key that is not here: zeros in its place. Such a package is to be looked at, not to be sent.
    Unsigned,
}

/// What a signature of a package begins with, so that it is one of nothing else.
const CONTEXT: &[u8] = b"pectin_package";
/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 64;

impl Authorizer {
    pub(crate) fn bytes(&self) -> usize {
        self.config.len() + self.token.placeholder().len()
    }
}

impl Token {
    /// What stands in a package before it is signed.
    fn placeholder(&self) -> Bytes {
        match self {
            Self::Fixed(token) => token.clone(),
            Self::Signature(_) | Self::Unsigned => Bytes::from_static(&[0; SIGNATURE_BYTES]),
        }
    }

    /// Signs a package in which the placeholder stands. The same package gets the same signature.
    fn complete(&self, package: &mut WorkPackage) {
        if let Self::Signature(secret) = self {
            let message = [CONTEXT, &package.encode()].concat();
            package.authorization = secret.sign_bytes(&message).to_vec().into();
        }
    }
}

/// A run of blocks that validators will accept: the builder refined it itself. What all its versions have in common.
#[derive(Clone, Debug)]
pub struct Refined {
    pub(crate) claim: Claim,
    pub(crate) run: Run,
    pub(crate) item: WorkItem,
    pub(crate) extrinsics: Vec<Bytes>,
    pub(crate) work: Work,
}

impl Refined {
    /// The blocks in it.
    pub const fn run(&self) -> Run {
        self.run
    }

    /// Witness, codes, transactions, headers and hints, as they travel.
    pub fn extrinsics(&self) -> &[Bytes] {
        &self.extrinsics
    }

    /// The code of the service that it was refined by, which its packages name.
    pub const fn code_hash(&self) -> Hash {
        self.item.code_hash
    }

    /// Segments that it exports.
    pub fn export_segments(&self) -> usize {
        usize::from(self.item.export_count)
    }

    /// What a validator does to refine it; its gas is a bound of what that takes.
    pub const fn work(&self) -> &Work {
        &self.work
    }

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

/// A block that validators will accept by itself. It cannot be packaged: that needs hints, which only a packed run has.
#[derive(Clone, Debug)]
pub struct Checked(Refined);

impl Checked {
    /// A bound of the gas of JAM's virtual machine that it takes by itself.
    pub fn refine_gas(&self) -> u64 {
        self.0.work.gas()
    }

    /// What it claims by itself.
    pub const fn claim(&self) -> &Claim {
        self.0.claim()
    }

    /// The bytes of an extrinsic that it needs by itself.
    pub fn extrinsic_bytes(&self, index: usize) -> usize {
        self.0.extrinsics.get(index).map_or(0, |blob| blob.len())
    }

    /// The bytes that the limit of a bundle is for: all extrinsics and the payload.
    pub fn bundle_bytes(&self) -> usize {
        self.0.bundle_bytes()
    }

    /// Segments that it exports.
    pub fn export_segments(&self) -> usize {
        self.0.export_segments()
    }
}

/// One version of a run, ready to be sent.
#[derive(Clone, Debug)]
pub struct Packaged {
    /// The blocks in it.
    pub run: Run,
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

/// Why blocks cannot be built again from their drafts.
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
    /// Its run cannot be packed again.
    #[error(transparent)]
    Pack(#[from] PackError),
}

impl Bundler {
    /// Refines a block by itself, as validators will. Whatever they would refuse goes no further.
    ///
    /// Signatures were recovered at admission, so hints for them are not made before the block is packed.
    pub fn check<V: Values + Clone>(
        &self,
        parent: &Parent<V>,
        sealed: &Sealed<V>,
    ) -> Result<Checked, PackError> {
        self.check_alone(parent, &sealed.piece).map(Checked)
    }

    /// One version of a run. Versions for one code of the service differ in the context alone.
    pub fn package(&self, refined: &Refined, context: RefineContext) -> Packaged {
        let mut bundle = self.bundle(refined, context);
        self.authorizer.token.complete(&mut bundle.package);
        Packaged { run: refined.run, hash: bundle.package.hash(), bundle }
    }

    /// The package with an order of the service's owner, for the code that the service has.
    pub fn order_bundle(&self, payload: Bytes, code_hash: Hash, context: RefineContext) -> Bundle {
        let item = WorkItem {
            service: self.config.service,
            code_hash,
            refine_gas: self.refine_gas(),
            accumulate_gas: ACCUMULATE_GAS,
            export_count: 0,
            payload,
            imports: vec![],
            extrinsics: vec![],
        };
        let (claim, run, work) = (Claim::default(), Run::default(), Work::default());
        let refined = Refined { claim, run, item, extrinsics: vec![], work };
        let mut bundle = self.bundle(&refined, context);
        self.authorizer.token.complete(&mut bundle.package);
        bundle
    }

    /// The latest time that a block may have in a package with this context, in seconds since the Unix epoch.
    pub fn latest_timestamp(&self, context: &RefineContext) -> u64 {
        self.config.latest_timestamp(context.lookup_anchor_slot)
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
        let execution = execution.expecting(draft.block.transactions().len());
        let (mut execution, mut work) = (execution.watched_by(Counter::default()), Work::of_block());
        for tx in draft.block.transactions() {
            execution.inspector_mut().clear();
            let attempt = execution.attempt_watched(tx, tx.sender());
            let attempt = attempt.map_err(|error| failed(error.to_string()))?;
            let touched = execution.state().touched_since(attempt.before);
            let (_, created_bytes) = execution.state().written_by(&attempt.changes);
            let seen = Transacted { tx, attempt: &attempt, touched: &touched, created_bytes };
            transacted(execution.inspector_mut().work_mut(), &seen);
            work += execution.inspector().work();
            execution.keep(attempt);
        }
        let executed = execution.finish().map_err(|error| failed(error.to_string()))?;
        let transactions = draft.block.transactions().to_vec();
        let sealed = Sealed::new(parent, header, transactions, executed, work, |_| draft.signature);
        if sealed.block().id() != draft.id() {
            return Err(RebuildError::OtherBlock { expected: draft.id(), found: sealed.block().id() });
        }
        Ok(sealed)
    }

    /// The pieces of consecutive drafts: executes each again, the first on this parent.
    pub fn replay_run<V: Values + Clone, C: Codes + Clone>(
        &self,
        drafts: &[Draft],
        parent: &Parent<V>,
        codes: C,
    ) -> Result<Vec<Piece>, RebuildError> {
        let mut pieces = Vec::with_capacity(drafts.len());
        let (mut parent, mut created) = (parent.clone(), state::CodeSet::default());
        for draft in drafts {
            let codes = WithCreated { created: &created, all: codes.clone() };
            let sealed = self.replay(draft, &parent, codes)?;
            created.extend(&sealed.created);
            parent = sealed.as_parent();
            pieces.push(sealed.piece);
        }
        Ok(pieces)
    }

    /// A new version from the original drafts of a run: executes them again, refines them again, and packages them.
    pub fn rebuild<V: Values + Clone, C: Codes + Clone>(
        &self,
        drafts: &[Draft],
        parent: &Parent<V>,
        codes: C,
        context: RefineContext,
    ) -> Result<Packaged, RebuildError> {
        let pieces = self.replay_run(drafts, parent, codes)?;
        Ok(self.package(&self.pack_exactly(parent, &pieces)?, context))
    }

    /// The gas that every package declares: it follows from the chain's specification alone, so that a package made again
    /// after a restart with other limits is the same.
    pub(crate) const fn refine_gas(&self) -> u64 {
        self.params.refine_gas_max
    }

    pub(crate) fn bundle(&self, refined: &Refined, context: RefineContext) -> Bundle {
        let package = WorkPackage {
            auth_code_host: self.authorizer.host,
            auth_code_hash: self.authorizer.code_hash,
            context,
            authorization: self.authorizer.token.placeholder(),
            authorizer_config: self.authorizer.config.clone(),
            items: vec![refined.item.clone()],
        };
        Bundle { package, extrinsics: refined.extrinsics.clone(), imports: vec![] }
    }
}

/// Codes of all, and those that blocks of the same run created.
#[derive(Clone)]
pub(crate) struct WithCreated<'a, C> {
    pub(crate) created: &'a state::CodeSet,
    pub(crate) all: C,
}

impl<C: Codes> Codes for WithCreated<'_, C> {
    type Error = C::Error;

    fn code(&self, hash: &Hash) -> Result<Option<Bytes>, C::Error> {
        match self.created.get(hash) {
            Some(code) => Ok(Some(code.clone())),
            None => self.all.code(hash),
        }
    }
}
