//! A validator that answers everything from the [`World`], and prints what it is told.

use super::World;
use async_trait::async_trait;
use jam::{
    Block, Guarantee, Purpose, ReportHash, WorkPackage, bundle::Import, hash::blake2b, merkle::balanced_path,
    sample::Signer,
};
use network::{
    Announcement, AssuranceMessage, BlockRequest, BundleSubmission, Caller, Direction, Handshake, Note,
    PackageSubmission, Refusal, SegmentRequest, Service, ShardAnswer, ShardRequest, SharedBundle,
    SharedReport, StateRange, StateRequest, StateTrie,
};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::sync::mpsc::UnboundedSender;

/// A validator with the first blocks of the world's chain.
pub struct Validator {
    /// What is talked about.
    pub world: World,
    /// Blocks that it has.
    pub height: AtomicUsize,
    /// Where it tells what it was told.
    pub lines: UnboundedSender<String>,
}

impl Validator {
    fn say(&self, line: String) {
        // Whoever does not listen does not want to know.
        let _ = self.lines.send(line);
    }

    fn chain(&self) -> &[Block] {
        &self.world.chain[..self.height.load(Ordering::SeqCst)]
    }
}

fn lengths(blobs: &[jam::codec::Bytes]) -> String {
    blobs.iter().map(|blob| blob.len().to_string()).collect::<Vec<_>>().join(",")
}

#[async_trait]
impl Service for Validator {
    fn noted(&self, note: Note) {
        self.say(match note {
            Note::HandshakeFailed { why, .. } => format!("handshake failed: {why}"),
            Note::NoRoom { .. } => "no room".into(),
            Note::Violation { kind, error, .. } => format!("violation on {kind:?}: {error}"),
            Note::Expelled { peer } => format!("expelled {}", peer.certificate_name()),
        });
    }

    fn handshake(&self) -> Option<Handshake> {
        let leaf = self.world.id(self.chain().len() - 1);
        Some(Handshake { finalized: self.world.genesis(), leaves: vec![leaf] })
    }

    async fn greeted(&self, caller: &Caller, handshake: Handshake) {
        let leaves = handshake.leaves.len();
        self.say(format!(
            "greeted by builder {} at slot {} with {leaves}",
            caller.builder, handshake.finalized.slot
        ));
    }

    async fn announced(&self, _: &Caller, announcement: Announcement) {
        self.say(format!("announced {}", announcement.header.hash()));
    }

    async fn blocks(&self, _: &Caller, request: BlockRequest) -> Result<Vec<Block>, Refusal> {
        let (chain, max) = (self.chain(), request.max as usize);
        let at = chain.iter().position(|block| block.header.hash() == request.hash);
        match (request.direction, at) {
            (Direction::Descending, Some(at)) => Ok(chain[..=at].iter().rev().take(max).cloned().collect()),
            (Direction::Ascending, Some(at)) => Ok(chain[at + 1..].iter().take(max).cloned().collect()),
            (Direction::Ascending, None) if request.hash == self.world.genesis().hash => {
                Ok(chain.iter().take(max).cloned().collect())
            }
            _ => Err(Refusal::Unknown),
        }
    }

    async fn state(&self, _: &Caller, request: StateRequest) -> Result<StateRange, Refusal> {
        match self.chain().iter().any(|block| block.header.hash() == request.header) {
            true => Ok(StateTrie::new(&self.world.state).range(&request)),
            false => Err(Refusal::Unknown),
        }
    }

    async fn admits(&self, _: &Caller, core: u16, package: &WorkPackage) -> Result<(), Refusal> {
        match core {
            // The second core of this validator is out of order, in two ways.
            1 if package.items.len() == 1 => Err(Refusal::Stale),
            1 => Err(Refusal::Invalid),
            _ => Ok(()),
        }
    }

    async fn package(&self, _: &Caller, submission: PackageSubmission) -> Result<(), Refusal> {
        let PackageSubmission { core, package, extrinsics } = submission;
        let bundle = jam::Bundle { package, extrinsics, imports: vec![] };
        bundle.check(&BTreeMap::new()).map_err(|_| Refusal::Invalid)?;
        let hash = bundle.package.hash();
        self.say(format!("package {hash} core {core} extrinsics {}", lengths(&bundle.extrinsics)));
        Ok(())
    }

    async fn bundle(&self, _: &Caller, submission: BundleSubmission) -> Result<(), Refusal> {
        let BundleSubmission { core, segment_roots, bundle } = submission;
        bundle.check(&segment_roots).map_err(|_| Refusal::Invalid)?;
        let (hash, imports) = (bundle.package.hash(), bundle.imports.len());
        let lengths = lengths(&bundle.extrinsics);
        self.say(format!("bundle {hash} core {core} extrinsics {lengths} imports {imports}"));
        Ok(())
    }

    async fn share(&self, _: &Caller, shared: SharedBundle) -> Result<SharedReport, Refusal> {
        shared.bundle.check(&shared.segment_roots).map_err(|_| Refusal::Invalid)?;
        let report = ReportHash(blake2b(&[&shared.bytes]));
        Ok(SharedReport { report, signature: Signer::real(0).sign(Purpose::Guarantee, report.0) })
    }

    async fn report(&self, _: &Caller, guarantee: Guarantee) -> Result<(), Refusal> {
        self.say(format!("report {} by {}", guarantee.report.hash(), guarantee.signatures.len()));
        Ok(())
    }

    async fn shard(&self, _: &Caller, request: ShardRequest) -> Result<ShardAnswer, Refusal> {
        let (shards, index) = (&self.world.shards, usize::from(request.index));
        if request.erasure_root != shards.root || index >= shards.bundle.len() {
            return Err(Refusal::Unknown);
        }
        Ok(ShardAnswer {
            bundle_shard: shards.bundle[index].clone().into(),
            segment_shards: shards.segments[index].iter().map(|shard| shard.clone().into()).collect(),
            justification: balanced_path(&shards.leaves, index, blake2b),
        })
    }

    async fn assurance(&self, caller: &Caller, assurance: AssuranceMessage) -> Result<(), Refusal> {
        let AssuranceMessage { anchor, bits, signature } = assurance;
        let subject = jam::Assurance::subject(anchor, &bits);
        let valid = caller.key.verifies(Purpose::Available, subject, &signature);
        self.say(format!("assurance for {anchor} bits {bits:?} valid {valid}"));
        Ok(())
    }

    async fn segments(&self, _: &Caller, request: SegmentRequest) -> Result<Vec<Import>, Refusal> {
        let World { exports, tree, .. } = &self.world;
        let import = |(root, index): (jam::SegmentRoot, u16)| {
            let segment = exports.get(usize::from(index)).filter(|_| root == tree.root())?.clone();
            Some(Import { segment, proof: tree.proof(index.into()) })
        };
        request.segments().map(import).collect::<Option<_>>().ok_or(Refusal::Unknown)
    }
}
