//! A block's bundle, made again from what is durable: everything that a validator gets, as files.
//!
//! A bundle is never stored. It follows from the block, from the state before it, and, for the package alone, from the
//! context of one of its versions. The queue remembers contexts while a block is unfinished and a little longer; without
//! one, the package is made with an empty context and says so.

use alloy_primitives::Bytes;
use alloy_rlp::Encodable;
use bundler::{Bundler, Parent, RebuildError, Sealed};
use jam::{RefineContext, codec::Encode};
use queue::Version;
use serde_json::{Value, json};
use service::{accumulate::Claim, exports};
use state::Values;
use store::{Store, StoreError};
use types::BlockId;

/// Why a bundle cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum NoBundle {
    /// There is no such block, or it is the first.
    #[error("there is no block {number}: blocks with a bundle are {first} to {newest}")]
    NoBlock {
        /// The number.
        number: u64,
        /// The first block that has a bundle.
        first: u64,
        /// The newest block.
        newest: u64,
    },
    /// The state before it is not kept any more.
    #[error(
        "the state before block {number} is not kept any more: the oldest block with one is {oldest} (--history keeps more)"
    )]
    NoState {
        /// The number.
        number: u64,
        /// The oldest block whose bundle can be made.
        oldest: u64,
    },
    /// The package came out as another one than was sent.
    #[error("version {version} of block {block} came out as another package than the one that was sent")]
    OtherPackage {
        /// The block.
        block: BlockId,
        /// The version.
        version: u32,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The block cannot be executed again.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

/// A bundle, as the files it is looked at in.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The block.
    pub block: BlockId,
    /// Names and contents.
    pub files: Vec<(&'static str, Bytes)>,
}

impl Rebuilt {
    /// The content of a file.
    pub fn file(&self, name: &str) -> Option<&Bytes> {
        self.files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes)
    }
}

/// Executes a block again and makes its bundle. `versions` are those of the block, the newest last.
pub fn rebuild(
    store: &Store,
    bundler: &Bundler,
    number: u64,
    versions: &[Version],
    progress: impl FnMut(u64),
) -> Result<Rebuilt, NoBundle> {
    let reader = store.reader()?;
    let (first, newest) = (reader.genesis() + 1, reader.newest().number);
    let draft = if number < first { None } else { reader.draft(number)? };
    let draft = draft.ok_or(NoBundle::NoBlock { number, first, newest })?;
    drop(reader);
    let layer = match store.state_with_tree(number - 1, progress) {
        Err(StoreError::Pruned { oldest, .. }) => {
            return Err(NoBundle::NoState { number, oldest: oldest + 1 });
        }
        layer => layer?.ok_or(NoBundle::NoBlock { number, first, newest })?,
    };
    let parent = Parent::new(draft.parent.clone(), layer);
    let sealed = bundler.replay(&draft, &parent, store.codes())?;
    let refined = bundler.refine(&sealed).map_err(RebuildError::from)?;
    let version = versions.last();
    let packaged =
        bundler.package(&refined, version.map_or_else(no_context, |version| version.context.clone()));
    if let Some(version) = version.filter(|version| version.package != packaged.hash) {
        return Err(NoBundle::OtherPackage { block: draft.id(), version: version.number });
    }
    let rlp = |header: &alloy_consensus::Header| {
        let mut out = Vec::with_capacity(header.length());
        header.encode(&mut out);
        Bytes::from(out)
    };
    let [witness, codes, transactions] = sealed.extrinsics.clone();
    let bundle = packaged.bytes();
    let summary = summary(&sealed, refined.claim(), version, bundle.len());
    let files = vec![
        ("witness.bin", witness),
        ("codes.bin", codes),
        ("transactions.bin", transactions),
        ("header.rlp", rlp(draft.block.header())),
        ("parent.rlp", rlp(&draft.parent)),
        ("package.bin", packaged.bundle.package.encode().into()),
        ("bundle.bin", bundle),
        ("bundle.json", format!("{summary:#}\n").into_bytes().into()),
    ];
    Ok(Rebuilt { block: draft.id(), files })
}

/// The context of a package that nobody ever sent.
fn no_context() -> RefineContext {
    RefineContext {
        anchor: jam::HeaderHash::ZERO,
        state_root: jam::Hash::ZERO,
        beefy_root: jam::Hash::ZERO,
        lookup_anchor: jam::HeaderHash::ZERO,
        lookup_anchor_slot: 0,
        prerequisites: Default::default(),
    }
}

fn summary<V: Values + Clone>(
    sealed: &Sealed<V>,
    claim: &Claim,
    version: Option<&Version>,
    bundle_bytes: usize,
) -> Value {
    let block = sealed.block();
    let [witness, codes, transactions] = sealed.extrinsics.each_ref().map(|bytes| bytes.len());
    json!({
        "block": { "number": block.id().number, "hash": block.id().hash },
        "parent": { "number": block.id().number - 1, "hash": block.header().parent_hash },
        "preRoot": claim.pre_root,
        "postRoot": claim.post_root,
        "gasUsed": block.header().gas_used,
        "transactions": block.transactions().len(),
        "bytes": {
            "witness": witness, "codes": codes, "transactions": transactions, "bundle": bundle_bytes,
        },
        "exportsRoot": exports::root(&sealed.exports()).0,
        // Without a version the package has an empty context, and its hash is on no chain.
        "version": version.map(|version| json!({
            "number": version.number,
            "packageHash": version.package.0,
            "anchor": version.context.anchor.0,
            "anchorStateRoot": version.context.state_root,
            "lookupAnchor": version.context.lookup_anchor.0,
            "lookupAnchorSlot": version.context.lookup_anchor_slot,
        })),
    })
}
