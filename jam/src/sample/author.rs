//! Blocks that a follower believes, made by one who holds all validators' keys.

use super::{Sample, Signer, Source};
use crate::{
    Assurance, Block, Ed25519Key, Extrinsic, Guarantee, Hash, Header, HeaderHash, PackageHash, Params,
    Purpose, RefineContext, Signature, WorkReport,
    block::{EpochKeys, EpochMark, UnsealedHeader, ValidatorSignature},
    follow::{ChainView, Start},
    hash::blake2b,
    keys::VrfSignature,
    report::WorkDigest,
    rules::epoch::{Epoch, ValidatorSet},
    shuffle::Assignment,
};
use std::collections::HashMap;

/// What a block shall bring.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Packages to report, each on a core and with an anchor, maybe waiting for others.
    pub reports: Vec<WorkReport>,
    /// Cores whose reports become available.
    pub available: Vec<u16>,
    /// Makes blocks that are otherwise alike different.
    pub salt: u64,
}

/// The one who holds all keys: trivial ones.
#[derive(Clone, Debug)]
pub struct Author {
    params: Params,
    /// Everybody who validates at some time. The validators of an epoch follow each other in this ring.
    ring: Vec<Signer>,
    by_key: HashMap<Ed25519Key, usize>,
    /// How many validators leave with every epoch.
    turnover: usize,
}

impl Author {
    /// For a chain with these parameters and the same validators in every epoch.
    pub fn new(params: Params) -> Self {
        Self::with(params, 0, Signer::real)
    }

    /// The same with simulated keys, which must be [allowed](super::allow_simulated_keys).
    pub fn simulated(params: Params) -> Self {
        Self::with(params, 0, Signer::simulated)
    }

    /// With every epoch `turnover` validators leave, and as many come who have not validated for a while.
    pub fn changing(params: Params, turnover: u16) -> Self {
        Self::with(params, turnover.into(), Signer::real)
    }

    fn with(params: Params, turnover: usize, signer: fn(u32) -> Signer) -> Self {
        let everybody = u32::from(params.validators) + 5 * turnover as u32;
        let ring = (0..everybody).map(signer).collect::<Vec<_>>();
        let by_key = ring.iter().enumerate().map(|(i, signer)| (signer.public(), i)).collect();
        Self { params, ring, by_key, turnover }
    }

    /// The keys of the first epoch's validators.
    pub fn secrets(&self) -> &[Signer] {
        &self.ring[..usize::from(self.params.validators)]
    }

    /// The keys of an epoch's validators, unless epochs without a block are before it.
    pub fn secrets_of(&self, epoch: u32) -> impl Iterator<Item = &Signer> {
        let first = epoch as usize * self.turnover;
        (0..usize::from(self.params.validators)).map(move |i| &self.ring[(first + i) % self.ring.len()])
    }

    fn sign(&self, key: Ed25519Key, purpose: Purpose, subject: Hash) -> Signature {
        self.ring[self.by_key[&key]].sign(purpose, subject)
    }

    /// Where the chain begins.
    pub fn start(&self) -> Start {
        let set = |epoch| ValidatorSet::new(self.secrets_of(epoch).map(Signer::public).collect());
        let epoch = Epoch {
            number: 0,
            current: set(0),
            previous: set(0),
            next: set(1),
            next_entropy: Hash::repeat_byte(1),
            entropy: Hash::repeat_byte(2),
            previous_entropy: Hash::repeat_byte(3),
        };
        Start::fresh(&self.params, Header::genesis(None).hash(), epoch)
    }

    /// A report of a package on a core, anchored at a block that `view` remembers.
    pub fn report(
        &self,
        view: &ChainView<'_>,
        package: PackageHash,
        core: u16,
        anchor: HeaderHash,
    ) -> WorkReport {
        let mut source = Source::new(&self.params, u64::from(core));
        let mut report = WorkReport::sample(&mut source);
        let anchor = view.recent().find(|block| block.hash == anchor);
        report.spec.package = package;
        report.core = core;
        report.segment_roots.clear();
        report.context = RefineContext {
            anchor: anchor.map_or(HeaderHash::ZERO, |block| block.hash),
            state_root: anchor.map_or(Hash::ZERO, |block| state_root_after(block.hash)),
            beefy_root: anchor.and_then(|block| block.beefy_root).unwrap_or_default(),
            lookup_anchor: view.finalized().hash,
            lookup_anchor_slot: view.finalized().slot,
            prerequisites: [].into(),
        };
        let digest = WorkDigest { accumulate_gas: 1000, ..WorkDigest::sample(&mut source) };
        report.digests = vec![digest];
        report
    }

    /// The report, guaranteed by all guarantors of its core, who are of the first epoch's validators.
    pub fn guarantee(&self, report: WorkReport, slot: u32, assignment: &Assignment) -> Guarantee {
        let keys = self.secrets().iter().map(Signer::public).collect::<Vec<_>>();
        self.guarantee_by(&keys, report, slot, assignment)
    }

    /// The report, guaranteed by all guarantors of its core, who are of these validators.
    pub fn guarantee_by(
        &self,
        validators: &[Ed25519Key],
        report: WorkReport,
        slot: u32,
        assignment: &Assignment,
    ) -> Guarantee {
        let subject = report.hash().0;
        let sign = |validator: u16| ValidatorSignature {
            validator,
            signature: self.sign(validators[usize::from(validator)], Purpose::Guarantee, subject),
        };
        let signatures = assignment.guarantors(report.core).map(sign).collect();
        Guarantee { report, slot, signatures }
    }

    /// A block as busy as it can be: a report on every core and, if wanted, every validator's word that all earlier
    /// reports are there.
    pub fn full_block(&self, view: &ChainView<'_>, slot: u32, available: bool) -> Block {
        let cores = 0..self.params.cores;
        let package = |core: u16| PackageHash(blake2b(&[&slot.to_le_bytes(), &core.to_le_bytes()]));
        let report = |core: u16| self.report(view, package(core), core, view.head().hash);
        let reports = cores.clone().map(report).collect();
        self.block(view, slot, Body { reports, available: cores.filter(|_| available).collect(), salt: 0 })
    }

    /// A block on top of the view's head.
    pub fn block(&self, view: &ChainView<'_>, slot: u32, body: Body) -> Block {
        let parent = view.head();
        let mut header = self.header(view, parent.hash, slot, body.salt);
        let epoch = view.epoch().after(&self.params, &header).expect("the mark is there when it must be");
        let epoch = epoch.as_ref().unwrap_or(view.epoch());
        let assignment = epoch.assignment(&self.params, slot);
        let mut reports = body.reports;
        reports.sort_by_key(|report| report.core);
        let guarantee = |report| self.guarantee_by(epoch.current.keys(), report, slot, &assignment);
        let guarantees = reports.into_iter().map(guarantee).collect();
        let assurances = self.assurances(view.epoch().current.keys(), parent.hash, &body.available);
        let extrinsic = Extrinsic { guarantees, assurances, ..Extrinsic::EMPTY };
        header.unsealed.extrinsic_hash = extrinsic.hash();
        Block { header, extrinsic }
    }

    fn assurances(&self, validators: &[Ed25519Key], parent: HeaderHash, available: &[u16]) -> Vec<Assurance> {
        let mut bits = vec![0; usize::from(self.params.cores.div_ceil(8))];
        available.iter().for_each(|core| bits[usize::from(core / 8)] |= 1 << (core % 8));
        if available.is_empty() {
            return vec![];
        }
        let subject = Assurance::subject(parent, &bits);
        let sign = |(validator, key): (u16, &Ed25519Key)| Assurance {
            anchor: parent,
            bits: bits.clone(),
            validator,
            signature: self.sign(*key, Purpose::Available, subject),
        };
        (0..).zip(validators).map(sign).collect()
    }

    fn header(&self, view: &ChainView<'_>, parent: HeaderHash, slot: u32, salt: u64) -> Header {
        let new_epoch = self.params.epoch_of(slot) > self.params.epoch_of(view.head().slot);
        let keys = |secret: &Signer| EpochKeys { bandersnatch: Hash::ZERO, ed25519: secret.public() };
        let mark = || EpochMark {
            entropy: blake2b(&[b"entropy", parent.as_slice()]),
            tickets_entropy: view.epoch().next_entropy,
            validators: self.secrets_of(self.params.epoch_of(slot) + 1).map(keys).collect(),
        };
        let unsealed = UnsealedHeader {
            parent,
            prior_state_root: state_root_after(parent),
            extrinsic_hash: Hash::ZERO,
            slot,
            epoch_mark: new_epoch.then(mark),
            tickets_mark: None,
            author: 0,
            entropy_source: VrfSignature::ZERO,
            offenders: vec![],
        };
        let mut seal = VrfSignature::ZERO;
        seal[..8].copy_from_slice(&salt.to_le_bytes());
        Header { unsealed, seal }
    }
}

/// The state root after a block, on a chain without a state.
fn state_root_after(block: HeaderHash) -> Hash {
    blake2b(&[b"state", block.as_slice()])
}
