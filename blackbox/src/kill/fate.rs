//! What became of each transaction: final exactly once, ended for a reason, or lost.

use super::{
    check::Findings,
    client::Rpc,
    ledger::{Entry, Said},
};
use alloy_primitives::{B256, map::HashMap};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Of lost transactions so many are told.
const TOLD_MAX: usize = 5;

/// Whoever knows where transactions are, if they are not final.
pub(super) trait Witness {
    /// What `builder_transaction` says of each.
    fn shown(&mut self, hashes: &[B256]) -> Result<Vec<Value>, String>;
}

impl Witness for Rpc {
    fn shown(&mut self, hashes: &[B256]) -> Result<Vec<Value>, String> {
        let calls = hashes.iter().map(|hash| ("builder_transaction", json!([hash]))).collect::<Vec<_>>();
        let answers = self.batch(&calls).ok_or("the node does not answer")?;
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|why| json!({ "error": why }))).collect())
    }
}

/// Each accepted transaction is final once, or ended for a reason. Nothing else is final.
pub(super) fn check_fates(
    is_final: impl Iterator<Item = B256>,
    entries: &BTreeMap<B256, Entry>,
    witness: &mut impl Witness,
    found: &mut Findings,
) -> Result<(), String> {
    let mut times = HashMap::<B256, usize>::default();
    is_final.for_each(|hash| *times.entry(hash).or_default() += 1);
    for (hash, count) in &times {
        found.duplicated += usize::from(*count > 1);
        let said = entries.get(hash).map(|entry| &entry.said);
        found.expect(said == Some(&Said::Accepted), || {
            format!("{hash} is final although it was not accepted: {said:?}")
        });
    }
    let unanswered = entries.values().filter(|entry| entry.said == Said::Nothing).count();
    found.expect(unanswered == 0, || format!("{unanswered} transactions were never answered"));
    let accepted = entries.iter().filter(|(_, entry)| entry.said == Said::Accepted);
    let (finished, others) = accepted.partition::<Vec<_>, _>(|(hash, _)| times.contains_key(*hash));
    found.accepted = finished.len() + others.len();
    found.finalized = finished.len();
    let hashes = others.iter().map(|(hash, _)| **hash).collect::<Vec<_>>();
    for ((hash, entry), shown) in others.into_iter().zip(witness.shown(&hashes)?) {
        check_ended(hash, entry, &shown, entries, found);
    }
    Ok(())
}

/// What is not final has ended, and the node says why.
fn check_ended(
    hash: &B256,
    entry: &Entry,
    shown: &Value,
    entries: &BTreeMap<B256, Entry>,
    found: &mut Findings,
) {
    let Some(reason) = shown["ended"]["reason"].as_str().filter(|_| shown["status"] == "ended") else {
        found.lost += 1;
        if found.lost <= TOLD_MAX {
            let Entry { sender, nonce, .. } = entry;
            found.problems.push(format!("{hash} (nonce {nonce} of {sender}) is lost: {shown}"));
        }
        return;
    };
    found.terminal += 1;
    // Whatever replaced it is a transaction of the same account and nonce that was accepted.
    let Some(by) = reason.strip_prefix("replaced by ") else { return };
    let replaced = by.parse::<B256>().ok().and_then(|by| entries.get(&by));
    let is_sound = replaced.is_some_and(|other| {
        (other.sender, other.nonce, &other.said) == (entry.sender, entry.nonce, &Said::Accepted)
    });
    found.expect(is_sound, || format!("{hash} is said to have been replaced by {by}, which cannot be"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Address;

    struct Told(BTreeMap<B256, Value>);

    impl Witness for Told {
        fn shown(&mut self, hashes: &[B256]) -> Result<Vec<Value>, String> {
            Ok(hashes.iter().map(|hash| self.0.get(hash).cloned().unwrap_or_default()).collect())
        }
    }

    fn ended(by: B256) -> Value {
        let reason = format!("replaced by {by}");
        json!({ "status": "ended", "ended": { "reason": reason } })
    }

    /// A judge that cannot find anything is worth nothing: each kind of wrong is found.
    #[test]
    fn every_kind_of_wrong_is_found() {
        let hash = B256::with_last_byte;
        let entry = |nonce, said| Entry { sender: Address::ZERO, nonce, said };
        let accepted = |nonce| entry(nonce, Said::Accepted);
        let entries = BTreeMap::from([
            (hash(1), accepted(0)),
            (hash(2), accepted(1)),
            (hash(3), accepted(1)),
            (hash(4), accepted(2)),
        ]);
        let told = BTreeMap::from([(hash(3), ended(hash(2)))]);
        let judged = |is_final: &[u8], entries: &BTreeMap<B256, Entry>, told: &BTreeMap<B256, Value>| {
            let mut found = Findings::default();
            let is_final = is_final.iter().map(|last| hash(*last));
            check_fates(is_final, entries, &mut Told(told.clone()), &mut found).unwrap();
            found
        };
        let numbers = |found: &Findings| {
            [found.accepted, found.finalized, found.terminal, found.lost, found.duplicated]
        };

        let good = judged(&[1, 2, 4], &entries, &told);
        assert!(good.is_good(), "{good:?}");
        assert_eq!(numbers(&good), [4, 3, 1, 0, 0]);

        let duplicated = judged(&[1, 2, 4, 1], &entries, &told);
        assert_eq!((numbers(&duplicated), duplicated.is_good()), ([4, 3, 1, 0, 1], false));

        let forgotten = judged(&[1, 2], &entries, &told);
        assert_eq!((numbers(&forgotten), forgotten.is_good()), ([4, 2, 1, 1, 0], false));

        let pending = BTreeMap::from([(hash(4), json!({ "status": "pending", "ended": null }))]);
        let stuck = judged(&[1, 2], &entries, &told.clone().into_iter().chain(pending).collect());
        assert_eq!((stuck.lost, stuck.is_good()), (1, false));

        let by_another = BTreeMap::from([(hash(3), ended(hash(4)))]);
        assert!(!judged(&[1, 2, 4], &entries, &by_another).is_good());

        for said in [Said::Nothing, Said::Refused("nonce too low".to_owned())] {
            let mut others = entries.clone();
            others.insert(hash(1), entry(0, said));
            assert!(!judged(&[1, 2, 4], &others, &told).is_good(), "it is final and was not accepted");
        }
        assert!(!judged(&[1, 2, 4, 9], &entries, &told).is_good(), "nobody sent it");
    }
}
