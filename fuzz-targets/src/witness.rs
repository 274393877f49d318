//! A witness: no bytes make reading or verifying it panic, it has one encoding, and what it proves can be read, written
//! and hashed again.

use alloy_primitives::{Address, B256, U256};
use harness::blocks::{Call, MemoryChain, Wallet, contracts};
use state::{Blake2b, Hash, PartialTree, Witness, Writes, witness::CoverageError};
use std::collections::BTreeSet;

/// Where the root stands, after the version.
const ROOT: std::ops::Range<usize> = 1..33;
/// Asking for the covered keys takes time for each.
const KEYS_MAX: usize = 40;

pub(super) fn run(bytes: &[u8]) {
    let Ok(witness) = Witness::decode(bytes) else { return };
    assert!(witness.encode() == bytes, "another encoding of a witness");
    match witness.verify::<Blake2b>(witness.root()) {
        Ok(tree) => explore(tree, witness.root()),
        // Somebody who inverts the hash function could have had this root.
        Err(wrong) => {
            let Some(witness) = with_root(bytes, wrong.computed) else { return };
            let tree = witness.verify::<Blake2b>(wrong.computed);
            explore(tree.expect("it hashes to what it hashes to"), wrong.computed);
        }
    }
}

/// The witness with the root that it hashes to. That of an empty tree claims no root but that one.
pub(super) fn with_root(bytes: &[u8], root: Hash) -> Option<Witness> {
    let mut bytes = bytes.to_vec();
    bytes[ROOT].copy_from_slice(root.as_slice());
    Witness::decode(&bytes).ok()
}

fn explore(mut tree: PartialTree, root: Hash) {
    assert_eq!(tree.root(), root);
    let mut keys = BTreeSet::new();
    while let Err(CoverageError::Excess(key)) = tree.covers_exactly(keys.iter().copied()) {
        assert!(keys.insert(key), "{key} is covered and is not");
        if keys.len() == KEYS_MAX {
            break;
        }
    }
    let values = keys.iter().map(|key| (*key, tree.get(key).expect("a covered key is known")));
    let values = values.collect::<Vec<_>>();
    let same = values.iter().filter_map(|(key, value)| Some((*key, (*value)?))).collect::<Writes>();
    assert_eq!(tree.update(&same), Ok(root), "the same values, another root");
    let other = keys.iter().map(|key| (*key, B256::repeat_byte(0x77))).collect::<Writes>();
    let after = tree.update(&other).expect("covered keys can be written");
    let unchanged = values.iter().all(|(key, value)| *value == Some(other[key]));
    assert_eq!(after == root, unchanged, "other values, the same root");
    assert!(other.iter().all(|(key, value)| tree.get(key) == Ok(Some(*value))));
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let accounts = [
        (Wallet::new(0).address(), U256::from(u128::MAX >> 8), Default::default()),
        (Address::repeat_byte(0x70), U256::ZERO, contracts::erc20()),
        (Address::repeat_byte(0x71), U256::ZERO, contracts::COUNT.to_vec().into()),
    ];
    let mut chain = MemoryChain::new(&accounts);
    let calls = [
        vec![],
        vec![Call::transfer(Address::repeat_byte(9), 0, 1)],
        vec![
            Call { input: contracts::erc20_transfer(Address::ZERO, 5), ..Call::to(accounts[1].0, 0) },
            Call::to(accounts[2].0, 1),
        ],
        vec![Call::create(contracts::deploy(contracts::LOG), 0)],
    ];
    let mut seed = |(number, calls): (usize, Vec<Call>)| {
        let transactions = calls.into_iter().map(|call| Wallet::new(0).eip1559(call)).collect::<Vec<_>>();
        let sealed = chain.build(&transactions);
        let (_, packaged) = chain.package(&sealed);
        let witness = packaged.bundle.extrinsics[service::refine::WITNESS].to_vec();
        (format!("block-{number}"), witness)
    };
    calls.into_iter().enumerate().map(&mut seed).collect()
}
