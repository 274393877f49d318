//! Disputes: a report that was judged wrong, or that nobody can judge, does not wait any longer.

use crate::{Disputes, Ed25519Key, ReportHash, rules::assurances::Pending, state::PendingReport};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

/// Applies a block's verdicts: ρ becomes ρ†, and the offenders of the block are added to those known. Gives the
/// reports that were dropped.
///
/// The votes are not checked here: a follower cannot weigh them without the keys of an older epoch, and a wrong
/// verdict in a block that validators build on is their fault, not a peer's.
pub fn apply(
    pending: &mut Pending,
    offenders: &mut Arc<BTreeSet<Ed25519Key>>,
    disputes: &Disputes,
) -> Vec<Arc<PendingReport>> {
    if disputes.offenders().any(|key| !offenders.contains(&key)) {
        Arc::make_mut(offenders).extend(disputes.offenders());
    }
    let condemned = disputes
        .verdicts
        .iter()
        .filter(|verdict| !verdict.votes.iter().all(|vote| vote.valid))
        .map(|verdict| verdict.report)
        .collect::<HashSet<ReportHash>>();
    if condemned.is_empty() {
        return vec![];
    }
    let is_condemned = |waiting: &Arc<PendingReport>| condemned.contains(&waiting.report.hash());
    pending.iter_mut().filter_map(|waiting| waiting.take_if(|report| is_condemned(report))).collect()
}
