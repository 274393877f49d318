//! Reporting: every check of a block's guarantees (E_G).

use crate::{
    Ed25519Key, Guarantee, Hash, HeaderHash, PackageHash, Params, Purpose, SegmentRoot, WorkReport,
    params::GUARANTEES_MIN,
    rules::{
        assurances::Pending,
        epoch::{Epoch, ValidatorSet},
        history::History,
    },
    shuffle::Assignment,
    state::{AuthPools, PendingReport},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// Why a block's guarantees are refused, in the words and with the numbers of the public vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(u8)]
pub enum ReportRefusal {
    /// There is no such core.
    #[error("bad_core_index")]
    BadCoreIndex = 0,
    /// Signed in a slot that has not come yet.
    #[error("future_report_slot")]
    FutureReportSlot = 1,
    /// Signed before the previous rotation.
    #[error("report_epoch_before_last")]
    ReportEpochBeforeLast = 2,
    /// Fewer than two signatures.
    #[error("insufficient_guarantees")]
    InsufficientGuarantees = 3,
    /// The cores do not ascend.
    #[error("out_of_order_guarantee")]
    OutOfOrderGuarantee = 4,
    /// The guarantors do not ascend.
    #[error("not_sorted_or_unique_guarantors")]
    NotSortedOrUniqueGuarantors = 5,
    /// A guarantor was assigned to another core.
    #[error("wrong_assignment")]
    WrongAssignment = 6,
    /// The core's last report still waits to become available.
    #[error("core_engaged")]
    CoreEngaged = 7,
    /// The anchor is not among the last blocks. The queue's documents call it G15.
    #[error("anchor_not_recent")]
    AnchorNotRecent = 8,
    /// There is no such service.
    #[error("bad_service_id")]
    BadServiceId = 9,
    /// The service has other code now.
    #[error("bad_code_hash")]
    BadCodeHash = 10,
    /// A package that it depends on was not reported lately.
    #[error("dependency_missing")]
    DependencyMissing = 11,
    /// The package was reported already.
    #[error("duplicate_package")]
    DuplicatePackage = 12,
    /// The anchor has another state root.
    #[error("bad_state_root")]
    BadStateRoot = 13,
    /// The anchor has another root of the log of accumulation outputs.
    #[error("bad_beefy_mmr_root")]
    BadBeefyMmrRoot = 14,
    /// The authorizer is not in the core's pool.
    #[error("core_unauthorized")]
    CoreUnauthorized = 15,
    /// There is no such validator.
    #[error("bad_validator_index")]
    BadValidatorIndex = 16,
    /// It wants more gas to accumulate than a report may.
    #[error("work_report_gas_too_high")]
    WorkReportGasTooHigh = 17,
    /// It brings less gas to accumulate than the service wants.
    #[error("service_item_gas_too_low")]
    ServiceItemGasTooLow = 18,
    /// It depends on too many packages.
    #[error("too_many_dependencies")]
    TooManyDependencies = 19,
    /// It names a wrong root for another package's exports.
    #[error("segment_root_lookup_invalid")]
    SegmentRootLookupInvalid = 20,
    /// A signature is not the guarantor's.
    #[error("bad_signature")]
    BadSignature = 21,
    /// Its outputs are too large.
    #[error("work_report_too_big")]
    WorkReportTooBig = 22,
    /// A guarantor was found to have lied.
    #[error("banned_validator")]
    BannedValidator = 23,
    /// The lookup anchor is too old, or not on this branch.
    #[error("lookup_anchor_not_recent")]
    LookupAnchorNotRecent = 24,
    /// It has no results.
    #[error("missing_work_results")]
    MissingWorkResults = 25,
}

/// What must be known of a service to judge a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceFacts {
    /// Its code.
    pub code_hash: Hash,
    /// Gas that a work item must bring at least.
    pub min_item_gas: u64,
}

/// What reports are judged by. What the judge does not know (`None`) refuses nothing.
pub struct ReportContext<'a> {
    /// The chain's parameters.
    pub params: &'a Params,
    /// The slot of the block.
    pub slot: u32,
    /// The validators and their assignment.
    pub epoch: &'a Epoch,
    /// The cores of this rotation and of the one before. The same for a whole rotation, so the caller keeps them.
    pub assignments: [&'a Assignment; 2],
    /// Who was found to have lied.
    pub offenders: &'a BTreeSet<Ed25519Key>,
    /// The last blocks, with the parent's state root (β†).
    pub history: &'a History,
    /// Whether a package was reported, waits or was accumulated already.
    pub is_known: &'a dyn Fn(&PackageHash) -> bool,
    /// The authorizers (α).
    pub pools: Option<&'a AuthPools>,
    /// The services (δ).
    pub services: Option<&'a dyn Fn(u32) -> Option<ServiceFacts>>,
    /// Whether a block of that slot and hash is an ancestor.
    pub is_ancestor: Option<&'a dyn Fn(u32, HeaderHash) -> bool>,
}

/// What a block's guarantees came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reported {
    /// The reports, in core order.
    pub reports: Vec<Arc<PendingReport>>,
    /// Who guaranteed them.
    pub reporters: BTreeSet<Ed25519Key>,
}

impl Reported {
    /// The packages and the roots of their exports, as the history remembers them.
    pub fn packages(&self) -> BTreeMap<PackageHash, SegmentRoot> {
        self.reports
            .iter()
            .map(|pending| (pending.report.package(), pending.report.spec.exports_root))
            .collect()
    }
}

/// Applies a block's guarantees: ρ‡ becomes ρ'. On a refusal nothing changes.
pub fn apply(
    context: &ReportContext<'_>,
    pending: &mut Pending,
    guarantees: &[Guarantee],
) -> Result<Reported, ReportRefusal> {
    let mut reported = context.check(pending, guarantees)?;
    reported.reports = guarantees
        .iter()
        .map(|guarantee| {
            let waiting = Arc::new(PendingReport { report: guarantee.report.clone(), slot: context.slot });
            pending[usize::from(guarantee.report.core)] = Some(Arc::clone(&waiting));
            waiting
        })
        .collect();
    Ok(reported)
}

type Check = Result<(), ReportRefusal>;

fn require(holds: bool, refusal: ReportRefusal) -> Check {
    if holds { Ok(()) } else { Err(refusal) }
}

impl ReportContext<'_> {
    /// Everything, the cheap before the expensive; signatures last.
    fn check(&self, pending: &Pending, guarantees: &[Guarantee]) -> Result<Reported, ReportRefusal> {
        let cores = guarantees.iter().map(|guarantee| guarantee.report.core);
        require(cores.clone().all(|core| core < self.params.cores), ReportRefusal::BadCoreIndex)?;
        require(cores.is_sorted_by(|a, b| a < b), ReportRefusal::OutOfOrderGuarantee)?;
        for guarantee in guarantees {
            self.check_size(&guarantee.report)?;
            self.check_slot(guarantee.slot)?;
            self.check_guarantors(guarantee)?;
            self.check_core(pending, &guarantee.report)?;
            self.check_services(&guarantee.report)?;
            self.check_anchor(&guarantee.report)?;
        }
        self.check_packages(guarantees)?;
        let mut reporters = BTreeSet::new();
        for guarantee in guarantees {
            self.check_signatures(guarantee, &mut reporters)?;
        }
        Ok(Reported { reports: vec![], reporters })
    }

    fn check_size(&self, report: &WorkReport) -> Check {
        require(!report.digests.is_empty(), ReportRefusal::MissingWorkResults)?;
        let dependencies = report.context.prerequisites.len() + report.segment_roots.len();
        let few = dependencies <= usize::from(self.params.dependencies_max);
        require(few, ReportRefusal::TooManyDependencies)?;
        let small = report.output_bytes() <= self.params.report_output_bytes_max as usize;
        require(small, ReportRefusal::WorkReportTooBig)
    }

    fn check_slot(&self, slot: u32) -> Check {
        require(slot <= self.slot, ReportRefusal::FutureReportSlot)?;
        let rotation = u32::from(self.params.rotation_slots);
        let earliest = (self.slot / rotation).saturating_sub(1) * rotation;
        require(slot >= earliest, ReportRefusal::ReportEpochBeforeLast)
    }

    /// Whose turn it was when the guarantee was signed.
    fn assignment(&self, slot: u32) -> (&Assignment, &ValidatorSet) {
        let rotation = u32::from(self.params.rotation_slots);
        let same = slot / rotation == self.slot / rotation;
        let assignment = self.assignments[usize::from(!same)];
        (assignment, self.epoch.validators(assignment.era))
    }

    fn check_guarantors(&self, guarantee: &Guarantee) -> Check {
        let guarantors = guarantee.signatures.iter().map(|signature| signature.validator);
        require(guarantors.len() >= GUARANTEES_MIN, ReportRefusal::InsufficientGuarantees)?;
        let ascending = guarantors.clone().is_sorted_by(|a, b| a < b);
        require(ascending, ReportRefusal::NotSortedOrUniqueGuarantors)?;
        let (assignment, validators) = self.assignment(guarantee.slot);
        for guarantor in guarantors {
            let index = usize::from(guarantor);
            let (Some(core), Some(key)) = (assignment.cores.get(index), validators.keys().get(index)) else {
                return Err(ReportRefusal::BadValidatorIndex);
            };
            require(!self.offenders.contains(key), ReportRefusal::BannedValidator)?;
            require(*core == guarantee.report.core, ReportRefusal::WrongAssignment)?;
        }
        Ok(())
    }

    fn check_core(&self, pending: &Pending, report: &WorkReport) -> Check {
        let core = usize::from(report.core);
        require(pending.get(core).is_some_and(Option::is_none), ReportRefusal::CoreEngaged)?;
        let pool = self.pools.and_then(|pools| pools.cores.get(core));
        let authorized = pool.is_none_or(|pool| pool.authorizers.contains(&report.authorizer));
        require(authorized, ReportRefusal::CoreUnauthorized)
    }

    fn check_services(&self, report: &WorkReport) -> Check {
        let modest = report.accumulate_gas() <= self.params.accumulate_gas_max;
        require(modest, ReportRefusal::WorkReportGasTooHigh)?;
        let Some(services) = self.services else { return Ok(()) };
        for digest in &report.digests {
            let service = services(digest.service).ok_or(ReportRefusal::BadServiceId)?;
            require(digest.code_hash == service.code_hash, ReportRefusal::BadCodeHash)?;
            let enough = digest.accumulate_gas >= service.min_item_gas;
            require(enough, ReportRefusal::ServiceItemGasTooLow)?;
        }
        Ok(())
    }

    fn check_anchor(&self, report: &WorkReport) -> Check {
        let context = &report.context;
        let anchor = self.history.get(context.anchor).ok_or(ReportRefusal::AnchorNotRecent)?;
        let is = |known: Option<Hash>, claimed| known.is_none_or(|known| known == claimed);
        require(is(anchor.state_root, context.state_root), ReportRefusal::BadStateRoot)?;
        require(is(anchor.beefy_root, context.beefy_root), ReportRefusal::BadBeefyMmrRoot)?;
        let oldest = self.slot.saturating_sub(self.params.lookup_anchor_age_max);
        let known =
            self.is_ancestor.is_none_or(|known| known(context.lookup_anchor_slot, context.lookup_anchor));
        let recent = context.lookup_anchor_slot >= oldest && known;
        require(recent, ReportRefusal::LookupAnchorNotRecent)
    }

    /// What concerns the packages of the whole block: none twice, none known, all dependencies there.
    fn check_packages(&self, guarantees: &[Guarantee]) -> Check {
        let reports = || guarantees.iter().map(|guarantee| &guarantee.report);
        let mut seen = HashSet::new();
        let fresh =
            reports().all(|report| seen.insert(report.package()) && !(self.is_known)(&report.package()));
        require(fresh, ReportRefusal::DuplicatePackage)?;
        let here: BTreeMap<_, _> =
            reports().map(|report| (report.package(), report.spec.exports_root)).collect();
        let exports = |package| here.get(package).copied().or_else(|| self.history.reported(package));
        for report in reports() {
            let there = report.context.prerequisites.iter().all(|package| exports(package).is_some());
            require(there, ReportRefusal::DependencyMissing)?;
            let right = report.segment_roots.iter().all(|(package, root)| exports(package) == Some(*root));
            require(right, ReportRefusal::SegmentRootLookupInvalid)?;
        }
        Ok(())
    }

    fn check_signatures(&self, guarantee: &Guarantee, reporters: &mut BTreeSet<Ed25519Key>) -> Check {
        let subject = guarantee.report.hash().0;
        let (_, validators) = self.assignment(guarantee.slot);
        for entry in &guarantee.signatures {
            let signed = validators.verifies(entry.validator, Purpose::Guarantee, subject, &entry.signature);
            require(signed, ReportRefusal::BadSignature)?;
            reporters.extend(validators.keys().get(usize::from(entry.validator)));
        }
        Ok(())
    }
}
