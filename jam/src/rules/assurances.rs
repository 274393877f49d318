//! Availability: counting a block's assurances (E_A).

use crate::{
    Assurance, Hash, HeaderHash, Params, Purpose, WorkReport, hash::blake2b, rules::epoch::ValidatorSet,
    state::PendingReport,
};
use std::sync::Arc;

/// Why a block's assurances are refused, in the words and with the numbers of the public vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(u8)]
pub enum AssuranceRefusal {
    /// It speaks of another block than the parent.
    #[error("bad_attestation_parent")]
    BadAttestationParent = 0,
    /// There is no such validator.
    #[error("bad_validator_index")]
    BadValidatorIndex = 1,
    /// It vouches for a core without a report.
    #[error("core_not_engaged")]
    CoreNotEngaged = 2,
    /// The signature is not the validator's.
    #[error("bad_signature")]
    BadSignature = 3,
    /// The validators do not ascend.
    #[error("not_sorted_or_unique_assurers")]
    NotSortedOrUniqueAssurers = 4,
}

/// The reports that wait, by core; shared, because most of them outlive a block unchanged.
pub type Pending = Vec<Option<Arc<PendingReport>>>;

/// What a block's assurances did to the reports that wait.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Availability {
    /// Reports that became available, in core order.
    pub available: Vec<Arc<PendingReport>>,
    /// Reports that were dropped because they did not become available in time.
    pub timed_out: Vec<Arc<PendingReport>>,
}

impl Availability {
    /// The available reports themselves.
    pub fn reports(&self) -> impl Iterator<Item = &WorkReport> {
        self.available.iter().map(|pending| &pending.report)
    }
}

/// Applies a block's assurances: ρ† becomes ρ‡. On a refusal nothing changes.
pub fn apply(
    params: &Params,
    pending: &mut Pending,
    validators: &ValidatorSet,
    assurances: &[Assurance],
    parent: HeaderHash,
    slot: u32,
) -> Result<Availability, AssuranceRefusal> {
    check_shape(params, pending, assurances, parent)?;
    if !assurances.iter().all(|assurance| is_signed(assurance, validators)) {
        return Err(AssuranceRefusal::BadSignature);
    }
    let mut outcome = Availability::default();
    for (core, waiting) in (0..).zip(pending.iter_mut()) {
        let votes = assurances.iter().filter(|assurance| assurance.has(core)).count();
        let Some(report) = waiting.take() else { continue };
        if votes >= usize::from(params.super_majority()) {
            outcome.available.push(report);
        } else if slot >= report.slot.saturating_add(u32::from(params.availability_timeout_slots)) {
            outcome.timed_out.push(report);
        } else {
            *waiting = Some(report);
        }
    }
    Ok(outcome)
}

/// Everything but the signatures, which cost the most and come last.
fn check_shape(
    params: &Params,
    pending: &Pending,
    assurances: &[Assurance],
    parent: HeaderHash,
) -> Result<(), AssuranceRefusal> {
    let mut last = None;
    for assurance in assurances {
        if assurance.anchor != parent {
            return Err(AssuranceRefusal::BadAttestationParent);
        }
        if assurance.validator >= params.validators {
            return Err(AssuranceRefusal::BadValidatorIndex);
        }
        if last >= Some(assurance.validator) {
            return Err(AssuranceRefusal::NotSortedOrUniqueAssurers);
        }
        last = Some(assurance.validator);
        if !only_engaged(params, pending, &assurance.bits) {
            return Err(AssuranceRefusal::CoreNotEngaged);
        }
    }
    Ok(())
}

/// Whether the bits are one per core, and set only for cores with a report.
fn only_engaged(params: &Params, pending: &Pending, bits: &[u8]) -> bool {
    let engaged = |core: usize| pending.get(core).is_some_and(Option::is_some);
    let set = |core: usize| bits[core / 8] >> (core % 8) & 1 == 1;
    bits.len() == usize::from(params.cores.div_ceil(8)) && (0..8 * bits.len()).all(|c| !set(c) || engaged(c))
}

fn is_signed(assurance: &Assurance, validators: &ValidatorSet) -> bool {
    let subject = Assurance::subject(assurance.anchor, &assurance.bits);
    validators.verifies(assurance.validator, Purpose::Available, subject, &assurance.signature)
}

impl Assurance {
    /// What a validator signs.
    pub fn subject(anchor: HeaderHash, bits: &[u8]) -> Hash {
        blake2b(&[anchor.as_slice(), bits])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_are_not_one_per_core_are_refused() {
        // Eight thousand bytes are 65,536 bits, which a u16 counts as none.
        let none_waits = vec![None; 2];
        assert!(only_engaged(&Params::TINY, &none_waits, &[0]));
        assert!(!only_engaged(&Params::TINY, &none_waits, &[1]));
        assert!(!only_engaged(&Params::TINY, &none_waits, &vec![0xff; 8192]));
        assert!(!only_engaged(&Params::TINY, &none_waits, &[]));
    }
}
