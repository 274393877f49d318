//! Why a package is not guaranteed, by name.

use jam::{BundleError, ErasureError, PackageLimit, WorkError, rules::reports::ReportRefusal};
use network::Refusal;
use pvm::Fault;
use service::refine::RefineError;

/// Why a guarantor does not take a package.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackageRefusal {
    /// The chain would refuse its report, for this reason.
    #[error("{0}")]
    Chain(#[from] ReportRefusal),
    /// It is more than the chain allows.
    #[error("oversize: {0}")]
    Limit(#[from] PackageLimit),
    /// The authorizer's code does not let it pass.
    #[error("unauthorized: the authorizer ended with: {0}")]
    Unauthorized(WorkError),
    /// It does not hold what its package names.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A service's code failed.
    #[error("does not refine: {0}")]
    Failed(WorkError),
    /// Our service's code refuses it.
    #[error("does not refine: {why}")]
    Answer {
        /// The number of the reason.
        code: u8,
        /// The reason.
        why: String,
    },
    /// This validator cannot run the code.
    #[error("this validator cannot run it: {0}")]
    Machine(Fault),
    /// It does not refine.
    #[error("does not refine: {0}")]
    Refine(#[from] RefineError),
    /// It cannot be made available.
    #[error("cannot be erasure coded: {0}")]
    Erasure(#[from] ErasureError),
    /// This validator does not know enough of the chain yet.
    #[error("this validator is not in step with the chain")]
    Behind,
    /// A fault that somebody asked for.
    #[error("refused on demand")]
    OnDemand,
}

impl PackageRefusal {
    /// A short name.
    pub fn name(&self) -> String {
        match self {
            Self::Chain(refusal) => refusal.to_string(),
            Self::Limit(_) | Self::Refine(RefineError::Package(_)) => "oversize".into(),
            Self::Unauthorized(_) => "unauthorized".into(),
            Self::Answer { code, .. } => answered(*code).into(),
            Self::Failed(_) => "does_not_refine".into(),
            Self::Bundle(_) => "tampered_bundle".into(),
            Self::Machine(_) => "machine".into(),
            Self::Refine(RefineError::Signature) => "unsigned".into(),
            Self::Refine(RefineError::Bundle(_)) => "tampered_bundle".into(),
            Self::Refine(RefineError::Witness(_) | RefineError::PreState(_) | RefineError::Coverage(_)) => {
                "bad_witness".into()
            }
            Self::Refine(_) => "does_not_refine".into(),
            Self::Erasure(_) => "cannot_be_coded".into(),
            Self::Behind => "behind".into(),
            Self::OnDemand => "on_demand".into(),
        }
    }

    /// What the builder is told.
    pub const fn code(&self) -> Refusal {
        match self {
            Self::Chain(ReportRefusal::AnchorNotRecent | ReportRefusal::LookupAnchorNotRecent) => {
                Refusal::Stale
            }
            Self::Behind | Self::Machine(_) | Self::Chain(ReportRefusal::WrongAssignment) => Refusal::Busy,
            _ => Refusal::Invalid,
        }
    }
}

/// The names of the reasons that our service's code gives as numbers ([`RefineError::code`]).
const fn answered(code: u8) -> &'static str {
    match code {
        1 => "tampered_bundle",
        2 => "oversize",
        8 => "unsigned",
        15 | 16 | 23 => "bad_witness",
        _ => "does_not_refine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_same_name_natively_and_by_code() {
        let reasons = [
            RefineError::Signature,
            RefineError::Empty,
            RefineError::Bundle(BundleError::Extrinsic(0)),
            RefineError::Package(PackageLimit::Items { found: 0, max: 1 }),
            RefineError::Items(2),
        ];
        for reason in reasons {
            let by_code = PackageRefusal::Answer { code: reason.code(), why: reason.to_string() };
            assert_eq!(PackageRefusal::Refine(reason).name(), by_code.name());
        }
    }
}
