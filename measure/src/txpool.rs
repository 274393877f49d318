//! The pool against what nobody can leave out: two plain hash maps, a heap, a signature recovery.

use super::{Ratio, cost, median_of_pairs};
use alloy_consensus::{
    SignableTransaction, Transaction as _, TxEip1559, TxEnvelope, crypto::secp256k1, transaction::Recovered,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{
    Address, B256, Bytes, Signature, TxKind, U256, keccak256,
    map::{B256Map, HashMap},
};
use std::{cmp::Reverse, collections::BinaryHeap, sync::Mutex};
use txpool::{Account, Code, Config, Head, Pool, recover};
use types::{Time, Transaction};

/// How many transactions a sender has here; every fourth insert meets a new sender.
const TXS_PER_SENDER: usize = 4;
const HEAD: Head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };
const CHAIN_ID: u64 = 732846;

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "pool-insert-1k", target: 7.0, measure: || insert(1_000, 1_000, 101) },
    Ratio { name: "pool-insert-100k", target: 7.0, measure: || insert(100_000, 10_000, 21) },
    Ratio { name: "pool-insert-full", target: 10.0, measure: || insert_full(1_000, 1_000, 101) },
    Ratio { name: "pool-drain", target: 2.0, measure: || drain(10_000, 51) },
    Ratio { name: "pool-admission", target: 1.2, measure: || admission(500, 31) },
];

/// The floor of an insert: the transaction by its hash, and the hash by sender and nonce. The maps have the same fast
/// hasher as the pool's own.
#[derive(Default)]
struct Maps {
    by_hash: B256Map<Transaction>,
    by_sender: HashMap<(Address, u64), B256>,
}

impl Maps {
    fn insert(&mut self, tx: Transaction) {
        self.by_sender.insert((tx.sender(), tx.nonce()), tx.hash());
        self.by_hash.insert(tx.hash(), tx);
    }
}

fn insert(pooled: usize, more: usize, pairs: usize) -> f64 {
    let (before, new) = (transactions(0, pooled, 2), transactions(1, more, 2));
    let config = config(pooled + more);
    let ours = || {
        let pool = filled_pool(config.clone(), &before);
        let new = new.clone();
        cost(|| insert_all(pool, new)).0
    };
    let floor = || {
        let maps = filled_maps(&before);
        let new = new.clone();
        cost(|| insert_plain(maps, new)).0
    };
    median_of_pairs(pairs, ours, floor)
}

/// Every insert evicts: all pay more than all that are there. The floor only inserts.
fn insert_full(pooled: usize, more: usize, pairs: usize) -> f64 {
    let (before, new) = (transactions(0, pooled, 2), transactions(1, more, 5));
    let config = config(pooled);
    let ours = || {
        let pool = filled_pool(config.clone(), &before);
        let new = new.clone();
        let (spent, pool) = cost(|| insert_all(pool, new));
        let stats = pool.into_inner().expect("nobody panicked").stats();
        assert_eq!((stats.pending, stats.totals.evicted), (pooled, more as u64));
        spent
    };
    let floor = || {
        let maps = filled_maps(&before);
        let new = new.clone();
        cost(|| insert_plain(maps, new)).0
    };
    median_of_pairs(pairs, ours, floor)
}

fn drain(count: usize, pairs: usize) -> f64 {
    let txs = transactions(0, count, 2);
    let config = config(count);
    let mut senders = HashMap::<Address, Vec<(u128, Reverse<usize>, Transaction)>>::default();
    for (arrival, tx) in txs.iter().enumerate() {
        let tip = tx.max_priority_fee_per_gas().unwrap_or_default();
        senders.entry(tx.sender()).or_default().push((tip, Reverse(arrival), tx.clone()));
    }
    let senders = senders.into_values().collect::<Vec<_>>();
    let ours = || {
        let mut pool = filled_pool(config.clone(), &txs).into_inner().expect("nobody panicked");
        let (spent, drained) = cost(|| pool.best().map(|best| best.tx).collect::<Vec<_>>());
        assert_eq!(drained.len(), count);
        spent
    };
    let floor = || {
        let senders = senders.clone();
        let (spent, drained) = cost(|| merge(&senders));
        assert_eq!(drained.len(), count);
        spent
    };
    median_of_pairs(pairs, ours, floor)
}

/// The floor of a drain: a heap of the senders' heads.
fn merge(senders: &[Vec<(u128, Reverse<usize>, Transaction)>]) -> Vec<Transaction> {
    let head = |sender: usize, index: usize| {
        senders[sender].get(index).map(|(tip, arrival, _)| (*tip, *arrival, sender, index))
    };
    let mut heads = (0..senders.len()).filter_map(|sender| head(sender, 0)).collect::<BinaryHeap<_>>();
    let mut merged = Vec::new();
    while let Some((_, _, sender, index)) = heads.pop() {
        merged.push(senders[sender][index].2.clone());
        heads.extend(head(sender, index + 1));
    }
    merged
}

/// From bytes to pooled, against the recovery of the same signatures alone.
fn admission(count: usize, pairs: usize) -> f64 {
    let raw = (0..count).map(signed).collect::<Vec<_>>();
    let rules = config(count).rules(HEAD);
    let decoded = raw.iter().map(|bytes| recover(bytes.clone(), &rules).expect("it was signed well"));
    let hashes = decoded.map(|tx| (*tx.signature(), tx.signature_hash(), tx.sender())).collect::<Vec<_>>();
    let ours = || {
        let mut pool = Pool::new(config(count), HEAD);
        let raw = raw.clone();
        cost(|| {
            for bytes in raw {
                let tx = recover(bytes, &rules).expect("it was signed well");
                pool.insert(tx, account(), Time::ZERO).expect("there is room");
                pool.drain_events();
            }
            pool.size()
        })
        .0
    };
    let floor = || {
        cost(|| {
            for (signature, hash, sender) in &hashes {
                let found = secp256k1::recover_signer(signature, *hash).expect("it was signed well");
                assert_eq!(found, *sender);
            }
        })
        .0
    };
    median_of_pairs(pairs, ours, floor)
}

fn insert_all(pool: Mutex<Pool>, txs: Vec<Transaction>) -> Mutex<Pool> {
    for tx in txs {
        let mut pool = pool.lock().expect("nobody panicked");
        pool.insert(tx, account(), Time::ZERO).expect("it is valid and there is room");
        pool.drain_events();
    }
    pool
}

fn insert_plain(maps: Mutex<Maps>, txs: Vec<Transaction>) -> Mutex<Maps> {
    for tx in txs {
        maps.lock().expect("nobody panicked").insert(tx);
    }
    maps
}

fn filled_pool(config: Config, txs: &[Transaction]) -> Mutex<Pool> {
    insert_all(Mutex::new(Pool::new(config, HEAD)), txs.to_vec())
}

fn filled_maps(txs: &[Transaction]) -> Mutex<Maps> {
    insert_plain(Mutex::default(), txs.to_vec())
}

fn config(count: usize) -> Config {
    Config { pending_max: count, pool_bytes_max: 1 << 30, ..Config::default() }
}

fn account() -> Account {
    Account { nonce: 0, balance: U256::MAX >> 8, code: Code::None }
}

/// `count` transfers of many senders, mixed but each sender's nonces in order; `group` tells the senders apart. Tips
/// differ, between one and two times `gwei`.
fn transactions(group: u64, count: usize, gwei: u128) -> Vec<Transaction> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ group);
    let mut turns = (0..count).map(|i| i / TXS_PER_SENDER).collect::<Vec<_>>();
    for i in (1..turns.len()).rev() {
        turns.swap(i, random.below(i + 1));
    }
    let mut nonces = vec![0; count.div_ceil(TXS_PER_SENDER)];
    let make = |sender: usize| {
        let nonce = nonces[sender];
        nonces[sender] += 1;
        let sender =
            Address::from_word(keccak256([group, sender as u64].map(u64::to_be_bytes).as_flattened()));
        let tip = gwei * (1_000_000_000 + random.below(1_000_000_000) as u128);
        // Nothing is signed here; the recipient makes the transactions of different senders differ.
        let signed = TxEnvelope::from(transfer(sender, nonce, tip).into_signed(Signature::test_signature()));
        Transaction::new(Recovered::new_unchecked(signed, sender))
    };
    turns.into_iter().map(make).collect()
}

/// The `n`th of many senders' first transactions, signed and encoded.
fn signed(n: usize) -> Bytes {
    let tx = transfer(Address::repeat_byte(0x11), 0, 1_000_000_000 + n as u128);
    let signature = secp256k1::sign_message(keccak256(n.to_be_bytes()), tx.signature_hash());
    TxEnvelope::from(tx.into_signed(signature.expect("a hash is a key"))).encoded_2718().into()
}

fn transfer(to: Address, nonce: u64, tip: u128) -> TxEip1559 {
    TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(to),
        value: U256::from(1),
        ..TxEip1559::default()
    }
}

/// A xorshift generator: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
