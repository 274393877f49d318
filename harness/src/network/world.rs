//! What there is to talk about: an EVM block in a bundle, its report on a JAM chain, shards, segments, a state.

use crate::blocks::{Call, MemoryChain, Wallet};
use alloy_primitives::{Address, U256};
use jam::{
    Assurance, Block, Bundle, ErasureCode, Guarantee, Hash, Header, ImportRoot, ImportSpec, PackageHash,
    Params, Purpose, SegmentRoot, Shards, WorkPackage,
    bundle::Import,
    codec::{Bytes, Encode},
    follow::{Follower, Limits, Start},
    hash::blake2b,
    merkle::SegmentTree,
    package::ExtrinsicSpec,
    params::SEGMENT_BYTES,
    sample::{Author, Body, Sample, Signer, Source},
    spec::StateKey,
    state::{Entropy, PendingReports, RecentBlocks, StateIndex, ValidatorKeys, Validators, storage_key},
};
use network::{AssuranceMessage, BlockId};
use std::collections::BTreeMap;

/// The chain's parameters.
pub const PARAMS: Params = Params::TINY;

/// Everything that is talked about.
pub struct World {
    /// A block of transfers, packaged.
    pub bundle: Bundle,
    /// The shards of bundle and exports.
    pub shards: Shards,
    /// What the block exports.
    pub exports: Vec<Bytes>,
    /// The tree over them.
    pub tree: SegmentTree,
    /// The guaranteed report of the package.
    pub guarantee: Guarantee,
    /// A chain with the report in it, and its availability.
    pub chain: Vec<Block>,
    /// The state after every block, as far as anybody asks.
    pub state: BTreeMap<StateKey, Bytes>,
    /// A validator's assurance.
    pub assurance: AssuranceMessage,
    author: Author,
}

impl World {
    /// Makes it; always the same.
    pub fn new() -> Self {
        let (bundle, exports) = evm_bundle();
        let tree = SegmentTree::new(&exports);
        let segments = exports.iter().map(|segment| segment.to_vec()).chain(tree.pages());
        let segments = segments.collect::<Vec<_>>();
        let shards =
            Shards::new(ErasureCode::new(&PARAMS), &bundle.encode(), &segments).expect("a bundle has bytes");
        let author = Author::new(PARAMS);
        let (chain, guarantee) = jam_chain(&author, &bundle, &shards, &tree, exports.len());
        let last = chain.last().expect("there are blocks").header.hash();
        let bits = vec![0b01];
        let signature = Signer::real(2).sign(Purpose::Available, Assurance::subject(last, &bits));
        let assurance = AssuranceMessage { anchor: last, bits, signature };
        let state = state(&author);
        Self { bundle, shards, exports, tree, guarantee, chain, state, assurance, author }
    }

    /// The first block.
    pub fn genesis(&self) -> BlockId {
        BlockId { hash: Header::genesis(None).hash(), slot: 0 }
    }

    /// Where a follower begins.
    pub fn start(&self) -> Start {
        self.author.start()
    }

    /// A block's name.
    pub fn id(&self, at: usize) -> BlockId {
        let header = &self.chain[at].header;
        BlockId { hash: header.hash(), slot: header.slot }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// A block of 40 transfers as the bundler packages it, and its exports.
fn evm_bundle() -> (Bundle, Vec<Bytes>) {
    let ether = U256::from(10).pow(U256::from(18));
    let wallets = (0..4).map(Wallet::new).collect::<Vec<_>>();
    let funded = wallets.iter().map(|wallet| (wallet.address(), ether, Bytes::new())).collect::<Vec<_>>();
    let mut chain = MemoryChain::new(&funded);
    let transfers = wallets.iter().flat_map(|wallet| {
        (0..10).map(|nonce| wallet.eip1559(Call::transfer(Address::repeat_byte(nonce as u8 + 1), nonce, 5)))
    });
    let sealed = chain.build(&transfers.collect::<Vec<_>>());
    let (_, packaged) = chain.package(&sealed);
    let output = chain.refine(&packaged.bytes()).expect("validators take what the builder made");
    (packaged.bundle, output.exports)
}

/// Twenty slots: the package is reported in the second block and available in the fourth.
fn jam_chain(
    author: &Author,
    bundle: &Bundle,
    shards: &Shards,
    tree: &SegmentTree,
    exports: usize,
) -> (Vec<Block>, Guarantee) {
    let mut follower = Follower::new(PARAMS, author.start(), Limits::default());
    let (mut chain, mut guarantee) = (vec![], None);
    for slot in 1..=20 {
        let view = follower.view();
        let mut body = Body::default();
        if slot == 2 {
            let mut report = author.report(&view, bundle.package.hash(), 0, view.head().hash);
            report.spec.bundle_len = bundle.encode().len() as u32;
            report.spec.erasure_root = shards.root;
            report.spec.exports_root = tree.root();
            report.spec.exports_count = exports as u16;
            body.reports.push(report);
        }
        if slot == 4 {
            body.available.push(0);
        }
        let block = author.block(&view, slot, body);
        guarantee = guarantee.or_else(|| block.extrinsic.guarantees.first().cloned());
        let update = follower.import(block.clone());
        assert!(update.refused.is_empty(), "{:?}", update.refused);
        chain.push(block);
    }
    (chain, guarantee.expect("the report is in a block"))
}

fn state(author: &Author) -> BTreeMap<StateKey, Bytes> {
    let keys = |signer: &Signer| ValidatorKeys {
        bandersnatch: Hash::ZERO,
        ed25519: signer.public(),
        bls: Default::default(),
        metadata: Default::default(),
    };
    let validators = Validators { keys: author.secrets().iter().map(keys).collect() };
    let entropy = [0, 1, 2, 3].map(Hash::repeat_byte);
    let entropy = Entropy {
        now: entropy[0],
        epoch: entropy[1],
        assignment: entropy[2],
        previous_assignment: entropy[3],
    };
    [
        (StateIndex::RecentBlocks.key(), RecentBlocks::EMPTY.encode()),
        (StateIndex::Entropy.key(), entropy.encode()),
        (StateIndex::Validators.key(), validators.encode()),
        (StateIndex::PreviousValidators.key(), validators.encode()),
        (StateIndex::PendingReports.key(), PendingReports::none(&PARAMS).encode()),
        (StateIndex::Slot.key(), 20_u32.encode()),
        (storage_key(7, b"head"), vec![7; 32]),
        (storage_key(7, b"waiting"), vec![9; 5000]),
    ]
    .map(|(key, value)| (key, Bytes::from(value)))
    .into()
}

/// A package with one blob of so many bytes.
pub fn bundle_of(bytes: usize) -> Bundle {
    let mut source = Source::new(&PARAMS, bytes as u64);
    let blob = Bytes::from(source.bytes(bytes));
    let mut package = WorkPackage::sample(&mut source);
    package.items.truncate(1);
    if package.items.is_empty() {
        package.items.push(jam::WorkItem::sample(&mut source));
    }
    for item in &mut package.items {
        item.imports.clear();
        item.extrinsics = vec![ExtrinsicSpec { hash: blake2b(&[&blob]), len: bytes as u32 }];
        (item.refine_gas, item.accumulate_gas, item.export_count) = (1000, 1000, 1);
    }
    Bundle { package, extrinsics: vec![blob], imports: vec![] }
}

/// A package with one blob of so many bytes and so many imports, with the tree that they are from. One is named by the
/// package that exported it.
pub fn importing_bundle(bytes: usize, imports: usize) -> (Bundle, BTreeMap<PackageHash, SegmentRoot>) {
    let mut bundle = bundle_of(bytes);
    let segments = (0..imports).map(|i| Bytes::from(vec![i as u8; SEGMENT_BYTES])).collect::<Vec<_>>();
    let tree = SegmentTree::new(&segments);
    let exporter = PackageHash(Hash::repeat_byte(0xee));
    let root = |i| if i == 0 { ImportRoot::Package(exporter) } else { ImportRoot::Segments(tree.root()) };
    bundle.package.items[0].imports =
        (0..imports).map(|i| ImportSpec { root: root(i), index: i as u16 }).collect();
    let import = |(i, segment): (usize, Bytes)| Import { segment, proof: tree.proof(i) };
    bundle.imports = segments.into_iter().enumerate().map(import).collect();
    (bundle, [(exporter, tree.root())].into())
}
