//! A bundle, made again from what is durable: everything that a validator gets, as files.
//!
//! A bundle is never stored. It follows from its blocks, from the state before them, and, for the package alone, from the
//! context of one of its versions. The queue remembers bundles and contexts while blocks are unfinished and a little longer; of an
//! older block nobody knows which run it was in, so it is made as one of its own, with an empty context, and says so.

use alloy_primitives::Bytes;
use alloy_rlp::Encodable;
use bundler::{Bundler, Draft, Parent, RebuildError, Refined, Token};
use jam::{RefineContext, codec::Encode};
use queue::{Bundle, Version};
use serde_json::{Value, json};
use service::refine::{CODES, HEADERS, HINTS, TRANSACTIONS, WITNESS, refine_bundle};
use store::{Store, StoreError};
use types::Run;

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
    #[error(
        "version {version} of the bundle of {run} came out as another package than the one that was sent"
    )]
    OtherPackage {
        /// The blocks.
        run: Run,
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
    /// The blocks in it.
    pub run: Run,
    /// Names and contents.
    pub files: Vec<(&'static str, Bytes)>,
}

impl Rebuilt {
    /// The content of a file.
    pub fn file(&self, name: &str) -> Option<&Bytes> {
        self.files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes)
    }
}

/// What is known of the bundle that a block is in.
#[derive(Clone, Debug)]
pub struct Known {
    /// The numbers of its first and last block.
    pub blocks: (u64, u64),
    /// Its versions, the newest last.
    pub versions: Vec<Version>,
}

impl Known {
    /// The bundle of a block, if it is one of these; a run of its own otherwise.
    pub fn of<'a>(number: u64, mut bundles: impl Iterator<Item = &'a Bundle>) -> Self {
        match bundles.find(|bundle| bundle.run.contains(number)) {
            Some(Bundle { run, versions, .. }) => {
                Self { blocks: (run.first.number, run.last.number), versions: versions.clone() }
            }
            None => Self { blocks: (number, number), versions: vec![] },
        }
    }
}

/// Executes the blocks of a bundle again and makes it.
pub fn rebuild(
    store: &Store,
    bundler: &Bundler,
    known: &Known,
    progress: impl FnMut(u64),
) -> Result<Rebuilt, NoBundle> {
    let reader = store.reader()?;
    let (first, newest) = (reader.genesis() + 1, reader.newest().number);
    let (number, last) = known.blocks;
    let mut drafts = Vec::<Draft>::new();
    for number in number..=last {
        let draft = if number < first { None } else { reader.draft(number)? };
        drafts.push(draft.ok_or(NoBundle::NoBlock { number, first, newest })?);
    }
    drop(reader);
    let layer = match store.state_with_tree(number - 1, progress) {
        Err(StoreError::Pruned { oldest, .. }) => {
            return Err(NoBundle::NoState { number, oldest: oldest + 1 });
        }
        layer => layer?.ok_or(NoBundle::NoBlock { number, first, newest })?,
    };
    let parent = Parent::new(drafts[0].parent.clone(), layer);
    let pieces = bundler.replay_run(&drafts, &parent, store.codes())?;
    let refined = bundler.pack_exactly(&parent, &pieces).map_err(RebuildError::from)?;
    let version = known.versions.last();
    let packaged =
        bundler.package(&refined, version.map_or_else(no_context, |version| version.context.clone()));
    // Without the builder's key the package lacks its signature, so its hash says nothing.
    let is_whole = !matches!(bundler.authorizer.token, Token::Unsigned);
    if let Some(version) = version.filter(|version| is_whole && version.package != packaged.hash) {
        return Err(NoBundle::OtherPackage { run: refined.run(), version: version.number });
    }
    let mut header = Vec::with_capacity(parent.header.length());
    parent.header.encode(&mut header);
    let bundle = packaged.bytes();
    let exports_root = refine_bundle(&packaged.bundle, &bundler.config, &bundler.params);
    let exports_root = exports_root.map(|output| output.exports_root().0).ok();
    let mut summary = summary(&drafts, &refined, version, bundle.len(), exports_root);
    summary["refineGas"] = json!({ "estimate": refined.work().gas(), "max": bundler.params.refine_gas_max });
    let extrinsic = |index: usize| refined.extrinsics().get(index).cloned().unwrap_or_default();
    let files = vec![
        ("witness.bin", extrinsic(WITNESS)),
        ("codes.bin", extrinsic(CODES)),
        ("transactions.bin", extrinsic(TRANSACTIONS)),
        ("headers.rlp", extrinsic(HEADERS)),
        ("hints.bin", extrinsic(HINTS)),
        ("parent.rlp", header.into()),
        ("package.bin", packaged.bundle.package.encode().into()),
        ("bundle.bin", bundle),
        ("bundle.json", format!("{summary:#}\n").into_bytes().into()),
    ];
    Ok(Rebuilt { run: refined.run(), files })
}

/// The context of a package that nobody ever sent.
fn no_context() -> RefineContext {
    RefineContext {
        anchor: jam::HeaderHash::ZERO,
        state_root: jam::Hash::ZERO,
        beefy_root: jam::Hash::ZERO,
        lookup_anchor: jam::HeaderHash::ZERO,
        // Late enough for any block.
        lookup_anchor_slot: u32::MAX,
        prerequisites: Default::default(),
    }
}

fn summary(
    drafts: &[Draft],
    refined: &Refined,
    version: Option<&Version>,
    bundle_bytes: usize,
    exports_root: Option<jam::Hash>,
) -> Value {
    let (Run { first, last }, claim) = (refined.run(), refined.claim());
    let bytes = |index: usize| refined.extrinsics().get(index).map_or(0, |blob| blob.len());
    json!({
        "first": { "number": first.number, "hash": first.hash },
        "last": { "number": last.number, "hash": last.hash },
        "blocks": drafts.len(),
        "blocksRoot": claim.blocks_root,
        "parent": { "number": first.number - 1, "hash": claim.parent },
        "preRoot": claim.pre_root,
        "postRoot": claim.post_root,
        "gasUsed": claim.gas_used,
        "transactions": drafts.iter().map(|draft| draft.block.transactions().len()).sum::<usize>(),
        "bytes": {
            "witness": bytes(WITNESS), "codes": bytes(CODES), "transactions": bytes(TRANSACTIONS),
            "headers": bytes(HEADERS), "bundle": bundle_bytes,
        },
        "exportsRoot": exports_root,
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
