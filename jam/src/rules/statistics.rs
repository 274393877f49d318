//! What validators, cores and services did (π).

use crate::{
    Block, Params, WorkDigest, WorkReport,
    codec::{Natural, PerCore, PerValidator, wire},
    params::SEGMENT_BYTES,
    rules::{assurances::Availability, epoch::ValidatorSet, reports::Reported},
};
use std::collections::BTreeMap;

wire! {
    /// What a validator did in an epoch.
    pub struct ValidatorRecord {
        /// Blocks authored.
        pub blocks: u32,
        /// Tickets brought.
        pub tickets: u32,
        /// Preimages brought.
        pub preimages: u32,
        /// Bytes of them.
        pub preimage_bytes: u32,
        /// Reports guaranteed.
        pub guarantees: u32,
        /// Assurances given.
        pub assurances: u32,
    }

    /// What a core did in a block.
    pub struct CoreRecord {
        /// Bytes made available.
        pub available_bytes: u32 => Natural,
        /// Validators that assured it.
        pub assurances: u16 => Natural,
        /// Segments imported.
        pub imports: u16 => Natural,
        /// Extrinsics read.
        pub extrinsic_count: u16 => Natural,
        /// Bytes of extrinsics.
        pub extrinsic_bytes: u32 => Natural,
        /// Segments exported.
        pub exports: u16 => Natural,
        /// Bytes of the bundle.
        pub bundle_bytes: u32 => Natural,
        /// Gas that refining took.
        pub gas_used: u64 => Natural,
    }

    /// What a service did in a block.
    pub struct ServiceRecord {
        /// Preimages provided to it.
        pub preimages: u16 => Natural,
        /// Bytes of them.
        pub preimage_bytes: u32 => Natural,
        /// Work items refined.
        pub refinements: u32 => Natural,
        /// Gas that refining took.
        pub refine_gas: u64 => Natural,
        /// Segments imported.
        pub imports: u32 => Natural,
        /// Extrinsics read.
        pub extrinsic_count: u32 => Natural,
        /// Bytes of extrinsics.
        pub extrinsic_bytes: u32 => Natural,
        /// Segments exported.
        pub exports: u32 => Natural,
        /// Work items accumulated.
        pub accumulations: u32 => Natural,
        /// Gas that accumulating took.
        pub accumulate_gas: u64 => Natural,
    }

    /// All of it.
    pub struct Statistics {
        /// By validator, in this epoch.
        pub current: Vec<ValidatorRecord> => PerValidator,
        /// By validator, in the epoch before.
        pub previous: Vec<ValidatorRecord> => PerValidator,
        /// By core, in this block.
        pub cores: Vec<CoreRecord> => PerCore,
        /// By service, in this block.
        pub services: BTreeMap<u32, ServiceRecord>,
    }
}

impl ValidatorRecord {
    const NONE: Self =
        Self { blocks: 0, tickets: 0, preimages: 0, preimage_bytes: 0, guarantees: 0, assurances: 0 };
}

impl CoreRecord {
    const NONE: Self = Self {
        available_bytes: 0,
        assurances: 0,
        imports: 0,
        extrinsic_count: 0,
        extrinsic_bytes: 0,
        exports: 0,
        bundle_bytes: 0,
        gas_used: 0,
    };
}

impl ServiceRecord {
    const NONE: Self = Self {
        preimages: 0,
        preimage_bytes: 0,
        refinements: 0,
        refine_gas: 0,
        imports: 0,
        extrinsic_count: 0,
        extrinsic_bytes: 0,
        exports: 0,
        accumulations: 0,
        accumulate_gas: 0,
    };
}

/// What happened in a block, for whoever counts it.
pub struct Happened<'a> {
    /// The block.
    pub block: &'a Block,
    /// Whether it begins an epoch.
    pub new_epoch: bool,
    /// The validators after it (κ').
    pub validators: &'a ValidatorSet,
    /// What its assurances came to.
    pub availability: &'a Availability,
    /// What its guarantees came to.
    pub reported: &'a Reported,
    /// By service: work items accumulated and the gas that it took.
    pub accumulated: &'a BTreeMap<u32, (u32, u64)>,
}

impl Statistics {
    /// Nothing happened yet.
    pub fn none(params: &Params) -> Self {
        let validators = vec![ValidatorRecord::NONE; usize::from(params.validators)];
        Self {
            current: validators.clone(),
            previous: validators,
            cores: vec![CoreRecord::NONE; usize::from(params.cores)],
            services: BTreeMap::new(),
        }
    }

    /// Counts a block: π becomes π'.
    pub fn apply(&mut self, params: &Params, happened: &Happened<'_>) {
        if happened.new_epoch {
            let none = vec![ValidatorRecord::NONE; usize::from(params.validators)];
            self.previous = std::mem::replace(&mut self.current, none);
        }
        self.count_validators(happened);
        self.count_cores(params, happened);
        self.count_services(happened);
    }

    fn count_validators(&mut self, happened: &Happened<'_>) {
        let extrinsic = &happened.block.extrinsic;
        if let Some(author) = self.current.get_mut(usize::from(happened.block.header.author)) {
            author.blocks += 1;
            author.tickets += extrinsic.tickets.len() as u32;
            author.preimages += extrinsic.preimages.len() as u32;
            author.preimage_bytes += extrinsic.preimages.iter().map(|p| p.blob.len() as u32).sum::<u32>();
        }
        for (record, key) in self.current.iter_mut().zip(happened.validators.keys()) {
            record.guarantees += u32::from(happened.reported.reporters.contains(key));
        }
        for assurance in &extrinsic.assurances {
            if let Some(record) = self.current.get_mut(usize::from(assurance.validator)) {
                record.assurances += 1;
            }
        }
    }

    fn count_cores(&mut self, params: &Params, happened: &Happened<'_>) {
        self.cores = vec![CoreRecord::NONE; usize::from(params.cores)];
        for (core, record) in (0..).zip(&mut self.cores) {
            let assurances = happened.block.extrinsic.assurances.iter();
            record.assurances = assurances.filter(|assurance| assurance.has(core)).count() as u16;
        }
        for report in happened.reported.reports.iter().map(|pending| &pending.report) {
            if let Some(record) = self.cores.get_mut(usize::from(report.core)) {
                record.bundle_bytes = report.spec.bundle_len;
                report.digests.iter().for_each(|digest| record.add(digest));
            }
        }
        for report in happened.availability.reports() {
            if let Some(record) = self.cores.get_mut(usize::from(report.core)) {
                record.available_bytes += available_bytes(report);
            }
        }
    }

    fn count_services(&mut self, happened: &Happened<'_>) {
        self.services.clear();
        for preimage in &happened.block.extrinsic.preimages {
            let record = self.services.entry(preimage.requester).or_insert(ServiceRecord::NONE);
            record.preimages += 1;
            record.preimage_bytes += preimage.blob.len() as u32;
        }
        let reports = happened.reported.reports.iter().map(|pending| &pending.report);
        for digest in reports.flat_map(|report| &report.digests) {
            self.services.entry(digest.service).or_insert(ServiceRecord::NONE).add(digest);
        }
        for (service, (items, gas)) in happened.accumulated {
            let record = self.services.entry(*service).or_insert(ServiceRecord::NONE);
            record.accumulations += items;
            record.accumulate_gas += gas;
        }
    }
}

/// The bundle, and the segments with their pages of proofs.
fn available_bytes(report: &WorkReport) -> u32 {
    let segments = (usize::from(report.spec.exports_count) * 65).div_ceil(64);
    report.spec.bundle_len.saturating_add((segments * SEGMENT_BYTES) as u32)
}

impl CoreRecord {
    fn add(&mut self, digest: &WorkDigest) {
        self.imports += digest.load.imports;
        self.extrinsic_count += digest.load.extrinsic_count;
        self.extrinsic_bytes += digest.load.extrinsic_bytes;
        self.exports += digest.load.exports;
        self.gas_used += digest.load.gas_used;
    }
}

impl ServiceRecord {
    fn add(&mut self, digest: &WorkDigest) {
        self.refinements += 1;
        self.refine_gas += digest.load.gas_used;
        self.imports += u32::from(digest.load.imports);
        self.extrinsic_count += u32::from(digest.load.extrinsic_count);
        self.extrinsic_bytes += digest.load.extrinsic_bytes;
        self.exports += u32::from(digest.load.exports);
    }
}
