//! A crash or an error at every single operation of the disk, in a whole life.

use super::script::{Deed, batch, genesis, life, options};
use jam::Hash;
use store::{
    Retry, Store, StoreError,
    faults::{Disk, Fault},
};

fn open(disk: &Disk) -> Result<Store, StoreError> {
    Store::on_disk(disk, options(), &genesis())
}

/// What is stored before the first and after each step, when nothing goes wrong.
fn undisturbed(script: &[Vec<Deed>]) -> (Vec<Hash>, u64) {
    let disk = Disk::new();
    let store = open(&disk).unwrap();
    let mut prints = vec![store.fingerprint().unwrap()];
    for step in script {
        store.commit(&batch(step)).unwrap();
        prints.push(store.fingerprint().unwrap());
    }
    // Without what it takes to look.
    let disk = Disk::new();
    let store = open(&disk).unwrap();
    for step in script {
        store.commit(&batch(step)).unwrap();
    }
    drop(store);
    (prints, disk.operations())
}

/// Runs until the disk crashes; gives how many steps were acknowledged, or `None` if not even the file was made.
fn run_into(disk: &Disk, script: &[Vec<Deed>]) -> Option<usize> {
    let store = open(disk).ok()?;
    let done = script.iter().take_while(|step| store.commit(&batch(step)).is_ok());
    Some(done.count())
}

#[test]
fn after_a_crash_at_any_operation_there_is_the_state_before_or_after_the_step() {
    let script = life();
    let (prints, operations) = undisturbed(&script);
    let mut interrupted = [0, 0];
    for operation in 0..operations {
        for (fault, seed) in [(Fault::Crash, 2 * operation), (Fault::Torn, 2 * operation + 1)] {
            let disk = Disk::new();
            disk.plan(operation, fault);
            let done = run_into(&disk, &script);
            assert!(disk.has_crashed());
            let disk = disk.restarted(seed);
            let store = open(&disk).unwrap_or_else(|error| panic!("{fault:?} at {operation}: {error}"));
            let print = store.fingerprint().unwrap();
            let done = done.unwrap_or(0);
            let after = prints.get(done + 1) == Some(&print);
            assert!(after || prints[done] == print, "{fault:?} at {operation}: step {done} is half done");
            interrupted[usize::from(after)] += 1;
            if operation % 6 != 0 {
                continue;
            }
            // All of it fits together, and it goes on to the same end.
            store.check(|_| {}).unwrap();
            for step in &script[done + usize::from(after)..] {
                store.commit(&batch(step)).unwrap();
            }
            assert_eq!(store.fingerprint().unwrap(), *prints.last().unwrap());
        }
    }
    println!("{operations} operations: {} steps undone, {} done", interrupted[0], interrupted[1]);
    assert!(interrupted.iter().all(|count| *count > 0), "both happen: {interrupted:?}");
}

#[test]
fn an_error_at_any_operation_leaves_a_step_to_try_again() {
    let script = life();
    let (prints, operations) = undisturbed(&script);
    let mut failed = 0;
    for operation in 0..operations {
        let disk = Disk::new();
        disk.plan(operation, Fault::Error);
        // Opening fails as a whole and can be tried again.
        let store = open(&disk).or_else(|_| open(&disk)).unwrap();
        for (step, print) in script.iter().zip(&prints[1..]) {
            let batch = batch(step);
            if let Err(error) = store.commit(&batch) {
                failed += 1;
                assert_ne!(error.retry(), Retry::Never, "{operation}: {error}");
                store.commit(&batch).unwrap();
                assert_eq!(store.fingerprint().unwrap(), *print, "{operation}");
            }
        }
        assert_eq!(store.fingerprint().ok().as_ref(), prints.last(), "{operation}");
    }
    println!("{operations} operations: {failed} steps were tried again");
    assert!(failed > 0);
}

/// While the disk is away nobody can say whether the step was written. The same step finds out; another one may not.
#[test]
fn an_outage_at_any_operation_leaves_the_same_step_to_try_again() {
    let script = life();
    let (prints, operations) = undisturbed(&script);
    let mut outcomes = [0, 0, 0];
    for operation in (0..operations).step_by(3) {
        let disk = Disk::new();
        disk.plan(operation, Fault::Outage);
        let Ok(store) = open(&disk) else { continue };
        for (step, print) in script.iter().zip(&prints[1..]) {
            let batch = batch(step);
            if let Err(error) = store.commit(&batch) {
                outcomes[0] += 1;
                assert_eq!(error.retry(), Retry::SameStep, "{operation}: {error}");
                assert!(store.commit(&batch).is_err(), "the disk is still away");
                disk.mend();
                let mut other = store::Batch::new();
                other.ended(Hash::repeat_byte(1), types::Reason::Flushed, types::Time::ZERO);
                if operation % 2 == 0 && operation > 0 {
                    match store.commit(&other) {
                        // The step was not written, and another one came instead. This run is over.
                        Ok(_) => outcomes[1] += 1,
                        Err(error) => {
                            outcomes[2] += 1;
                            assert_eq!(error.retry(), Retry::SameStep, "{operation}: {error}");
                            store.commit(&batch).unwrap();
                            assert_eq!(store.fingerprint().unwrap(), *print, "{operation}");
                        }
                    }
                    break;
                }
                store.commit(&batch).unwrap();
            }
            assert_eq!(store.fingerprint().unwrap(), *print, "{operation}");
        }
        store.check(|_| {}).unwrap();
    }
    println!("outages {}, steps replaced {}, refused {}", outcomes[0], outcomes[1], outcomes[2]);
    assert!(outcomes[0] > 0 && outcomes[1] > 0);
}

#[test]
fn a_full_disk_says_so_and_the_step_works_when_there_is_room() {
    let script = life();
    let (prints, _) = undisturbed(&script);
    let disk = Disk::new();
    let store = open(&disk).unwrap();
    disk.set_room(Some(disk.bytes()));
    let mut full = 0;
    // Large transactions fill what is left of the file.
    let filler = |nonce: u64| {
        let wallet = harness::blocks::Wallet::new(9);
        let call = harness::blocks::Call {
            input: vec![7; 100_000].into(),
            ..harness::blocks::Call::to([8; 20].into(), nonce)
        };
        vec![Deed::Accept(wallet.eip1559(call), types::Time::ZERO)]
    };
    let mut nonce = 0;
    while full == 0 {
        let before = store.fingerprint().unwrap();
        let batch = batch(&filler(nonce));
        match store.commit(&batch) {
            Ok(_) => nonce += 1,
            Err(error) => {
                full += 1;
                assert!(matches!(error, StoreError::Full(_)), "{error}");
                assert_eq!(
                    (error.retry(), error.to_string()),
                    (Retry::Later, "the disk with disk is full".into())
                );
                assert_eq!(store.fingerprint().unwrap(), before, "nothing of it was written");
                // Reads go on.
                store.check(|_| {}).unwrap();
                disk.set_room(None);
                store.commit(&batch).unwrap();
                assert_ne!(store.fingerprint().unwrap(), before);
            }
        }
        assert!(nonce < 1_000);
    }
    let hashes = (0..=nonce).flat_map(filler).filter_map(|deed| match deed {
        Deed::Accept(tx, _) => Some(tx.hash()),
        _ => None,
    });
    let ends = hashes.map(|hash| Deed::End(hash, types::Reason::Flushed, types::Time::ZERO));
    store.commit(&batch(&ends.collect::<Vec<_>>())).unwrap();
    for step in &script {
        store.commit(&batch(step)).unwrap();
    }
    assert_eq!(prints.len(), script.len() + 1);
    store.check(|_| {}).unwrap();
}
