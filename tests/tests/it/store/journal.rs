//! Steps that only accept: one record and one sync each, taken over by the next step of another kind.

use super::script::{Deed, Writer, at, batch, genesis, options, transfer};
use harness::blocks::{Call, Wallet};
use std::fs;
use store::{Store, StoreError, faults::Disk};
use types::{Reason, Transaction};

fn accept(txs: &[Transaction]) -> Vec<Deed> {
    Writer::new().accept(txs)
}

fn accepted(store: &Store) -> Vec<Transaction> {
    store.load().unwrap().transactions.into_iter().map(|lookup| lookup.tx).collect()
}

/// Commits one accept after the other on a disk.
fn on_disk(txs: &[Transaction]) -> (Disk, Store) {
    let disk = Disk::new();
    let store = Store::on_disk(&disk, options(), &genesis()).unwrap();
    for tx in txs {
        let before = disk.operations();
        store.commit(&batch(&accept(std::slice::from_ref(tx)))).unwrap();
        assert_eq!(disk.operations() - before, 2, "one write and one sync");
    }
    (disk, store)
}

fn reopened(disk: &Disk) -> Result<Store, StoreError> {
    Store::on_disk(&disk.restarted(1), options(), &genesis())
}

#[test]
fn what_is_accepted_is_there_after_a_restart_and_in_order() {
    let txs = [transfer(0, 0), transfer(1, 0), transfer(0, 1)];
    let (disk, store) = on_disk(&txs);
    assert_eq!(accepted(&store), txs);
    let again = reopened(&disk).unwrap();
    assert_eq!(accepted(&again), txs);
    assert_eq!(again.fingerprint().unwrap(), store.fingerprint().unwrap());
    again.check(|_| {}).unwrap();
    // It goes on behind them, with accepts and with anything else.
    for store in [&store, &again] {
        store.commit(&batch(&accept(&[transfer(2, 0)]))).unwrap();
        store.commit(&batch(&[Deed::End(txs[1].hash(), Reason::Flushed, at(9))])).unwrap();
        store.commit(&batch(&accept(&[transfer(3, 0)]))).unwrap();
        let left = [txs[0].clone(), txs[2].clone(), transfer(2, 0), transfer(3, 0)];
        assert_eq!(accepted(store), left);
    }
    assert_eq!(again.fingerprint().unwrap(), store.fingerprint().unwrap());
    assert_eq!(reopened(&disk).unwrap().fingerprint().unwrap(), store.fingerprint().unwrap());
}

/// Old records stand behind the new ones; none of them is taken for one that follows.
#[test]
fn records_of_before_are_not_read_again() {
    let (disk, store) = on_disk(&[transfer(0, 0), transfer(1, 0), transfer(2, 0), transfer(3, 0)]);
    store.commit(&batch(&[Deed::End(transfer(1, 0).hash(), Reason::Flushed, at(1))])).unwrap();
    store.commit(&batch(&accept(&[transfer(4, 0)]))).unwrap();
    let left = [transfer(0, 0), transfer(2, 0), transfer(3, 0), transfer(4, 0)];
    assert_eq!(accepted(&reopened(&disk).unwrap()), left);
    store.commit(&batch(&accept(&[transfer(5, 0)]))).unwrap();
    let again = reopened(&disk).unwrap();
    assert_eq!(accepted(&again), [&left[..], &[transfer(5, 0)]].concat());
    assert_eq!(again.fingerprint().unwrap(), store.fingerprint().unwrap());
}

#[test]
fn what_does_not_fit_into_the_log_goes_into_the_tables() {
    let large = |nonce: u64| {
        let call = Call { input: vec![7; 100_000].into(), ..Call::to([8; 20].into(), nonce) };
        Wallet::new(1).eip1559(call)
    };
    let txs = (0..25).map(large).collect::<Vec<_>>();
    let disk = Disk::new();
    let store = Store::on_disk(&disk, options(), &genesis()).unwrap();
    for tx in &txs {
        store.commit(&batch(&accept(std::slice::from_ref(tx)))).unwrap();
    }
    assert_eq!(accepted(&store), txs);
    assert_eq!(accepted(&reopened(&disk).unwrap()), txs);
    // More than the log holds, at once.
    let many = (25..50).map(large).collect::<Vec<_>>();
    store.commit(&batch(&accept(&many))).unwrap();
    assert_eq!(accepted(&reopened(&disk).unwrap()), [txs, many].concat());
}

/// What is accepted again stands last, wherever it stood before.
#[test]
fn a_transaction_is_there_once() {
    let (disk, store) = on_disk(&[transfer(0, 0), transfer(1, 0)]);
    store.commit(&batch(&accept(&[transfer(0, 0)]))).unwrap();
    assert_eq!(accepted(&store), [transfer(1, 0), transfer(0, 0)]);
    store.commit(&batch(&accept(&[transfer(2, 0), transfer(3, 0), transfer(2, 0)]))).unwrap();
    let left = [transfer(1, 0), transfer(0, 0), transfer(3, 0), transfer(2, 0)];
    assert_eq!(accepted(&reopened(&disk).unwrap()), left);
}

/// Only the last record can be torn by a crash. A hole before others is damage, and is not read over.
#[test]
fn a_hole_in_the_log_is_found() {
    let txs = [transfer(0, 0), transfer(1, 0), transfer(2, 0)];
    let (disk, _store) = on_disk(&txs);
    let records = 4096;
    for (record, left) in [(0, None), (1, None), (2, Some(&txs[..2]))] {
        let damaged = disk.restarted(0);
        damaged.damage(records + 512 * record + 40, 0x10);
        let opened = Store::on_disk(&damaged, options(), &genesis());
        match left {
            None => {
                let error = opened.unwrap_err().to_string();
                assert_eq!(error, "disk is damaged: a record is missing in its log");
            }
            Some(left) => assert_eq!(accepted(&opened.unwrap()), left),
        }
    }
}

#[test]
fn copies_and_sizes_know_what_is_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("pectin.redb"), directory.path().join("copy.redb"));
    let store = Store::open(&path, options(), &genesis()).unwrap();
    let syncs = store.stats().syncs;
    store.commit(&batch(&accept(&[transfer(0, 0), transfer(1, 0)]))).unwrap();
    assert_eq!(store.stats().syncs, syncs + 1);
    let stat = store.stat().unwrap();
    let journal = stat.tables.iter().find(|table| table.name == "transactions").unwrap();
    assert!(journal.entries == 2 && journal.bytes > 200, "{journal:?}");
    store.backup(&copy).unwrap();
    let print = store.fingerprint().unwrap();
    drop(store);
    store::verify(&path).unwrap();
    store::compact(&path).unwrap();
    for file in [&path, &copy] {
        let store = Store::open(file, options(), &genesis()).unwrap();
        assert_eq!(accepted(&store), [transfer(0, 0), transfer(1, 0)]);
        assert_eq!(store.fingerprint().unwrap(), print);
    }
    // A hole is found by who only looks, too.
    let mut bytes = fs::read(&path).unwrap();
    let store = Store::open(&path, options(), &genesis()).unwrap();
    store.commit(&batch(&accept(&[transfer(2, 0)]))).unwrap();
    drop(store);
    bytes[4096..4200].fill(0);
    let now = fs::read(&path).unwrap();
    fs::write(&path, [&bytes[..4608], &now[4608..]].concat()).unwrap();
    assert!(matches!(store::verify(&path), Err(StoreError::Damaged { .. })));
}

/// Rows that stand near each other are removed in one go; those between them, and those around, are not.
#[test]
fn what_is_final_leaves_and_the_rest_stays_in_order() {
    let of = |wallet: u64, count: u64| (0..count).map(move |nonce| transfer(wallet, nonce));
    let mut txs =
        (0..5).flat_map(|nonce| (0..3).map(move |wallet| transfer(wallet, nonce))).collect::<Vec<_>>();
    txs.extend((3..8).flat_map(|wallet| of(wallet, 5)));
    let disk = Disk::new();
    let store = Store::on_disk(&disk, options(), &genesis()).unwrap();
    let mut writer = Writer::new();
    store.commit(&batch(&writer.accept(&txs))).unwrap();
    let sealed = [of(0, 4).collect::<Vec<_>>(), of(7, 5).collect(), of(4, 1).collect()].concat();
    store.commit(&batch(&writer.seal(&sealed))).unwrap();
    assert_eq!(accepted(&store), txs, "until it is final it may come back");
    store.commit(&batch(&[writer.finalize(1)])).unwrap();
    let left = txs.into_iter().filter(|tx| !sealed.contains(tx)).collect::<Vec<_>>();
    assert_eq!(accepted(&store), left);
    assert_eq!(accepted(&reopened(&disk).unwrap()), left);
    store.check(|_| {}).unwrap();
}
