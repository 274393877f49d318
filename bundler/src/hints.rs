//! Hints, with which validators check all signatures of a package together.
//!
//! What a hint says is found when a signature is recovered, at admission, and stays with the transaction. A transaction that was read
//! from disk has lost it, so its signature is recovered again; that happens only when a version is made after a restart.

use alloy_primitives::{Address, Bytes, map::HashSet};
use service::refine::signature_of;
use signatures::Hints;
use std::collections::BTreeSet;
use types::{Signer, Transaction};

/// The hints for these transactions, encoded; `None` if a signature is none.
pub(crate) fn encoded<'a>(transactions: impl Iterator<Item = &'a Transaction> + Clone) -> Option<Bytes> {
    let unknown = transactions.clone().filter(|tx| tx.signer().is_none());
    let unknown = unknown.map(|tx| (*tx.signature(), tx.signature_hash())).collect::<Vec<_>>();
    let mut recovered = ecrecover::keys(&unknown).into_iter();
    let hints = transactions.map(|tx| match tx.signer() {
        Some(signer) => hint(tx, signer),
        None => hint(tx, &recovered.next()??),
    });
    Some(Hints::collect(hints.collect::<Option<Vec<_>>>()?).encode().into())
}

fn hint(tx: &Transaction, signer: &Signer) -> Option<([u8; 64], [u8; 32])> {
    let point = || {
        let signature = signature_of(tx);
        signatures::r_y(&signature.r, signature.odd_y)
    };
    Some((signer.key, signer.r_y.or_else(point)?))
}

/// How many senders these transactions have.
pub(crate) fn senders<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> usize {
    transactions.map(|tx| tx.sender()).collect::<HashSet<Address>>().len()
}

/// How many bytes the hints for these transactions take.
pub(crate) fn bytes<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> usize {
    let (mut count, mut senders) = (0, BTreeSet::new());
    for tx in transactions {
        count += 1;
        senders.insert(tx.sender());
    }
    Hints::bytes_for(senders.len(), count)
}
