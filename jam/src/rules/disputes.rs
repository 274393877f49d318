//! Disputes: a report that was judged wrong, or that nobody can judge, does not wait any longer (E_D).

use crate::{
    Disputes, Ed25519Key, Hash, Params, Purpose, ReportHash, Signature,
    block::Verdict,
    rules::{
        assurances::Pending,
        epoch::{Epoch, ValidatorSet},
    },
    state::{DisputeRecords, PendingReport},
};
use std::{collections::HashSet, sync::Arc};

/// Why a block's disputes are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DisputeRefusal {
    /// The verdicts, the votes of one, the culprits or the faults do not ascend.
    #[error("not_sorted_or_unique")]
    NotSortedOrUnique,
    /// The report was judged before.
    #[error("already_judged")]
    AlreadyJudged,
    /// The votes are of an epoch that is neither this one nor the one before.
    #[error("bad_judgement_age")]
    BadJudgementAge,
    /// So many votes for and against make no verdict.
    #[error("bad_vote_split")]
    BadVoteSplit,
    /// A signature is not the validator's.
    #[error("bad_signature")]
    BadSignature,
    /// A report was judged wrong, but fewer than two of those who guaranteed it are named.
    #[error("not_enough_culprits")]
    NotEnoughCulprits,
    /// A report was judged right, but nobody who said otherwise is named.
    #[error("not_enough_faults")]
    NotEnoughFaults,
    /// Somebody is accused of guaranteeing a report that was not judged wrong.
    #[error("culprits_verdict_not_bad")]
    CulpritsVerdictNotBad,
    /// Somebody is accused of a vote that agrees with the verdict.
    #[error("fault_verdict_wrong")]
    FaultVerdictWrong,
    /// The accused was found to have lied before.
    #[error("offender_already_reported")]
    OffenderAlreadyReported,
    /// The accused validates neither now nor did in the epoch before.
    #[error("bad_offender_key")]
    BadOffenderKey,
}

/// Applies a block's disputes: ρ becomes ρ†, and ψ becomes ψ'. `epoch` is that of the block before. Gives the reports
/// that were dropped. On a refusal nothing changes.
pub fn apply(
    params: &Params,
    epoch: &Epoch,
    pending: &mut Pending,
    records: &mut Arc<DisputeRecords>,
    disputes: &Disputes,
) -> Result<Vec<Arc<PendingReport>>, DisputeRefusal> {
    if *disputes == Disputes::NONE {
        return Ok(vec![]);
    }
    let mut after = DisputeRecords::clone(records);
    judge(params, epoch, &mut after, disputes)?;
    check_accused(records, &after, epoch, disputes)?;
    check_signatures(epoch, disputes)?;
    after.offenders.extend(disputes.offenders());
    *records = Arc::new(after);
    Ok(drop_condemned(pending, disputes))
}

type Check = Result<(), DisputeRefusal>;

fn require(holds: bool, refusal: DisputeRefusal) -> Check {
    if holds { Ok(()) } else { Err(refusal) }
}

/// The validators that a verdict's votes are of.
fn judges<'a>(epoch: &'a Epoch, verdict: &Verdict) -> Result<&'a ValidatorSet, DisputeRefusal> {
    match epoch.number.checked_sub(verdict.epoch) {
        Some(0) => Ok(&epoch.current),
        Some(1) => Ok(&epoch.previous),
        _ => Err(DisputeRefusal::BadJudgementAge),
    }
}

/// Adds the verdicts to the records, if their form is right.
fn judge(params: &Params, epoch: &Epoch, records: &mut DisputeRecords, disputes: &Disputes) -> Check {
    let ascending = disputes.verdicts.is_sorted_by(|a, b| a.report < b.report)
        && disputes
            .verdicts
            .iter()
            .all(|verdict| verdict.votes.is_sorted_by(|a, b| a.validator < b.validator))
        && disputes.culprits.is_sorted_by(|a, b| a.key < b.key)
        && disputes.faults.is_sorted_by(|a, b| a.key < b.key);
    require(ascending, DisputeRefusal::NotSortedOrUnique)?;
    let majority = usize::from(params.super_majority());
    for verdict in &disputes.verdicts {
        let report = verdict.report;
        judges(epoch, verdict)?;
        let judged = [&records.good, &records.bad, &records.wonky].iter().any(|set| set.contains(&report));
        require(!judged, DisputeRefusal::AlreadyJudged)?;
        require(verdict.votes.len() == majority, DisputeRefusal::BadVoteSplit)?;
        let valid = verdict.votes.iter().filter(|vote| vote.valid).count();
        if valid == majority {
            let accused = disputes.faults.iter().any(|fault| fault.report == report);
            require(accused, DisputeRefusal::NotEnoughFaults)?;
            records.good.insert(report);
        } else if valid == 0 {
            let accused = disputes.culprits.iter().filter(|culprit| culprit.report == report).count();
            require(accused >= 2, DisputeRefusal::NotEnoughCulprits)?;
            records.bad.insert(report);
        } else {
            require(valid == usize::from(params.validators / 3), DisputeRefusal::BadVoteSplit)?;
            records.wonky.insert(report);
        }
    }
    Ok(())
}

/// Whether the accused can be accused of this.
fn check_accused(
    before: &DisputeRecords,
    after: &DisputeRecords,
    epoch: &Epoch,
    disputes: &Disputes,
) -> Check {
    for key in disputes.offenders() {
        require(!before.offenders.contains(&key), DisputeRefusal::OffenderAlreadyReported)?;
        let validates = epoch.current.has_voter(&key) || epoch.previous.has_voter(&key);
        require(validates, DisputeRefusal::BadOffenderKey)?;
    }
    let wrong = disputes.culprits.iter().all(|culprit| after.bad.contains(&culprit.report));
    require(wrong, DisputeRefusal::CulpritsVerdictNotBad)?;
    let against = disputes.faults.iter().all(|fault| {
        let (bad, good) = (after.bad.contains(&fault.report), after.good.contains(&fault.report));
        if fault.valid { bad } else { good }
    });
    require(against, DisputeRefusal::FaultVerdictWrong)
}

fn check_signatures(epoch: &Epoch, disputes: &Disputes) -> Check {
    for verdict in &disputes.verdicts {
        let judges = judges(epoch, verdict)?;
        let signed = verdict.votes.iter().all(|vote| {
            judges.verifies(vote.validator, vote_purpose(vote.valid), verdict.report.0, &vote.signature)
        });
        require(signed, DisputeRefusal::BadSignature)?;
    }
    let signed = |key: &Ed25519Key, purpose, subject: Hash, signature: &Signature| {
        require(key.verifies(purpose, subject, signature), DisputeRefusal::BadSignature)
    };
    for culprit in &disputes.culprits {
        signed(&culprit.key, Purpose::Guarantee, culprit.report.0, &culprit.signature)?;
    }
    for fault in &disputes.faults {
        signed(&fault.key, vote_purpose(fault.valid), fault.report.0, &fault.signature)?;
    }
    Ok(())
}

const fn vote_purpose(valid: bool) -> Purpose {
    if valid { Purpose::Valid } else { Purpose::Invalid }
}

/// Takes away what was not judged right by all votes.
fn drop_condemned(pending: &mut Pending, disputes: &Disputes) -> Vec<Arc<PendingReport>> {
    let condemned = disputes.verdicts.iter().filter(|verdict| !verdict.votes.iter().all(|vote| vote.valid));
    let condemned = condemned.map(|verdict| verdict.report).collect::<HashSet<ReportHash>>();
    if condemned.is_empty() {
        return vec![];
    }
    let is_condemned = |waiting: &Arc<PendingReport>| condemned.contains(&waiting.report.hash());
    pending.iter_mut().filter_map(|waiting| waiting.take_if(|report| is_condemned(report))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ed25519Secret,
        block::{Culprit, Fault, Judgement},
    };

    const PARAMS: Params = Params::TINY;

    fn epoch() -> Epoch {
        let set = |from: u32| {
            ValidatorSet::new((from..from + 6).map(|i| Ed25519Secret::trivial(i).public()).collect())
        };
        let zero = Hash::ZERO;
        Epoch {
            number: 3,
            current: set(0),
            previous: set(6),
            next: set(0),
            next_entropy: zero,
            entropy: zero,
            previous_entropy: zero,
        }
    }

    fn records() -> Arc<DisputeRecords> {
        Arc::new(DisputeRecords::none())
    }

    fn report(n: u8) -> ReportHash {
        ReportHash(Hash::repeat_byte(n))
    }

    /// Votes of an epoch whose keys begin at `from`, the first `valid` of them for the report.
    fn verdict(n: u8, epoch: u32, from: u32, valid: u16) -> Verdict {
        let vote = |validator: u16| Judgement {
            valid: validator < valid,
            validator,
            signature: Ed25519Secret::trivial(from + u32::from(validator))
                .sign(vote_purpose(validator < valid), report(n).0),
        };
        Verdict { report: report(n), epoch, votes: (0..5).map(vote).collect() }
    }

    fn culprits(n: u8, secrets: &[u32]) -> Vec<Culprit> {
        let culprit = |i: &u32| {
            let secret = Ed25519Secret::trivial(*i);
            let signature = secret.sign(Purpose::Guarantee, report(n).0);
            Culprit { report: report(n), key: secret.public(), signature }
        };
        let mut culprits = secrets.iter().map(culprit).collect::<Vec<_>>();
        culprits.sort_by_key(|culprit| culprit.key);
        culprits
    }

    fn fault(n: u8, valid: bool, i: u32) -> Fault {
        let secret = Ed25519Secret::trivial(i);
        let signature = secret.sign(vote_purpose(valid), report(n).0);
        Fault { report: report(n), valid, key: secret.public(), signature }
    }

    /// One report judged wrong by this epoch, one right and one neither by the epoch before.
    fn honest() -> Disputes {
        Disputes {
            verdicts: vec![verdict(1, 3, 0, 0), verdict(2, 2, 6, 5), verdict(3, 2, 6, 2)],
            culprits: culprits(1, &[1, 2]),
            faults: vec![fault(2, false, 11)],
        }
    }

    fn outcome(disputes: &Disputes) -> Result<Arc<DisputeRecords>, DisputeRefusal> {
        let mut records = records();
        apply(&PARAMS, &epoch(), &mut vec![None; 2], &mut records, disputes).map(|_| records)
    }

    #[test]
    fn verdicts_of_this_epoch_and_of_the_one_before_count() {
        let after = outcome(&honest()).unwrap();
        assert_eq!(
            (&after.bad, &after.good, &after.wonky),
            (&[report(1)].into(), &[report(2)].into(), &[report(3)].into())
        );
        assert_eq!(after.offenders.len(), 3);
        let mut again = after;
        let result = apply(&PARAMS, &epoch(), &mut vec![None; 2], &mut again, &honest());
        assert_eq!(result, Err(DisputeRefusal::AlreadyJudged));
    }

    type Change<'a> = &'a dyn Fn(&mut Disputes);

    #[test]
    fn made_up_disputes_are_refused() {
        let with = |change: &dyn Fn(&mut Disputes)| {
            let mut disputes = honest();
            change(&mut disputes);
            outcome(&disputes).unwrap_err()
        };
        let cases: [(Change<'_>, DisputeRefusal); 13] = [
            (&|d| d.verdicts.swap(0, 1), DisputeRefusal::NotSortedOrUnique),
            (&|d| d.verdicts[0].votes[1] = d.verdicts[0].votes[0].clone(), DisputeRefusal::NotSortedOrUnique),
            (&|d| d.culprits.swap(0, 1), DisputeRefusal::NotSortedOrUnique),
            (&|d| d.verdicts[0].epoch = 1, DisputeRefusal::BadJudgementAge),
            (&|d| d.verdicts[0].epoch = 4, DisputeRefusal::BadJudgementAge),
            // The votes are those of the other epoch's validators.
            (&|d| d.verdicts[0].epoch = 2, DisputeRefusal::BadSignature),
            (&|d| d.verdicts[2] = verdict(3, 2, 6, 3), DisputeRefusal::BadVoteSplit),
            (&|d| d.verdicts[0].votes[4].signature.0[3] ^= 1, DisputeRefusal::BadSignature),
            (&|d| d.culprits[0].signature.0[3] ^= 1, DisputeRefusal::BadSignature),
            (&|d| d.culprits.truncate(1), DisputeRefusal::NotEnoughCulprits),
            (&|d| d.faults.clear(), DisputeRefusal::NotEnoughFaults),
            (&|d| d.culprits = culprits(1, &[1, 2, 77]), DisputeRefusal::BadOffenderKey),
            (&|d| d.faults[0] = fault(2, true, 11), DisputeRefusal::FaultVerdictWrong),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            assert_eq!(with(change), expected, "case {number}");
        }
    }
}
