//! What is refused, each with one clear sentence, and that nothing is changed by it.

use super::script::{Deed, Writer, batch, genesis, identity, life, options, transfer};
use alloy_primitives::B256;
use jam::{Ed25519Secret, HeaderHash};
use queue::Record;
use redb::ReadableTable;
use std::{fs, path::Path};
use store::{ChainIdentity, Options, Store, StoreError, faults::Disk};
use types::BlockId;

fn sentence(path: &Path, options: Options) -> String {
    let error = Store::open(path, options, &genesis()).unwrap_err();
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn a_second_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let store = Store::open(&path, options(), &genesis()).unwrap();
    assert_eq!(sentence(&path, options()), "another process uses FILE");
    assert!(matches!(store::compact(&path), Err(StoreError::InUse(_))));
    drop(store);
    Store::open(&path, options(), &genesis()).unwrap();
}

#[test]
fn what_is_no_file_of_ours_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    assert_eq!(sentence(directory.path(), options()), "FILE is a directory, not a data file");
    for content in [&b"hello"[..], &[7; 100_000]] {
        fs::write(&path, content).unwrap();
        assert_eq!(sentence(&path, options()), "FILE is not a data file of Pectin");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    fs::remove_file(&path).unwrap();
    // The same engine, somebody else's tables.
    let foreign = redb::Database::create(&path).unwrap();
    let write = foreign.begin_write().unwrap();
    write.open_table(redb::TableDefinition::<u64, u64>::new("theirs")).unwrap();
    write.commit().unwrap();
    drop(foreign);
    assert_eq!(sentence(&path, options()), "FILE is not a data file of Pectin");
    // Nowhere to be.
    let nowhere = directory.path().join("missing").join("pectin.redb");
    assert_eq!(sentence(&nowhere, options()), "FILE: No such file or directory (os error 2)");
}

#[test]
fn a_file_that_was_being_made_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    drop(Store::open(&path, options(), &genesis()).unwrap());
    let log = fs::read(&path).unwrap()[..LOG_BYTES].to_vec();
    let unfinished = [log.clone(), vec![0; 4096]].concat();
    for content in [vec![], vec![0; 4096], vec![0; 2 * LOG_BYTES], log[..4096].to_vec(), log, unfinished] {
        fs::write(&path, content).unwrap();
        Store::open(&path, options(), &genesis()).unwrap().check(|_| {}).unwrap();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn the_data_of_another_chain_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    drop(Store::open(&path, options(), &genesis()).unwrap());
    let ours = identity();
    let others = [
        ("genesis block", ChainIdentity { genesis: B256::repeat_byte(1), ..ours }),
        ("service", ChainIdentity { service: 8, ..ours }),
        ("builder", ChainIdentity { builder: Ed25519Secret::trivial(1).public(), ..ours }),
        ("JAM genesis", ChainIdentity { jam_genesis: HeaderHash(B256::repeat_byte(2)), ..ours }),
    ];
    for (what, chain) in others {
        let sentence = sentence(&path, Options { chain, ..options() });
        assert!(
            sentence.starts_with(&format!("FILE holds the data of another chain: its {what} is ")),
            "{sentence}"
        );
    }
    Store::open(&path, options(), &genesis()).unwrap();
}

/// The tables stand behind a log of this length.
const LOG_BYTES: usize = 1 << 20;

/// The schema stands behind eight bytes in the entry `identity`.
fn with_schema(path: &Path, schema: u32) {
    const META: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
    let (bytes, tables) = (fs::read(path).unwrap(), path.with_extension("tables"));
    fs::write(&tables, &bytes[LOG_BYTES..]).unwrap();
    let database = redb::Database::open(&tables).unwrap();
    let write = database.begin_write().unwrap();
    {
        let mut table = write.open_table(META).unwrap();
        let mut identity = table.get("identity").unwrap().unwrap().value().to_vec();
        identity[8..12].copy_from_slice(&schema.to_le_bytes());
        table.insert("identity", &identity[..]).unwrap();
    }
    write.commit().unwrap();
    drop(database);
    fs::write(path, [&bytes[..LOG_BYTES], &fs::read(&tables).unwrap()].concat()).unwrap();
}

#[test]
fn other_formats_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    drop(Store::open(&path, options(), &genesis()).unwrap());
    with_schema(&path, 8);
    assert_eq!(
        sentence(&path, options()),
        "FILE was written by a newer Pectin: its format is 8, this one knows up to 7"
    );
    with_schema(&path, 1);
    assert_eq!(
        sentence(&path, options()),
        "FILE was written by an older Pectin (format 1), which this one cannot take over; start the Pectin that wrote it, or name another --data-dir"
    );
    with_schema(&path, 6);
    assert_eq!(
        sentence(&path, options()),
        "FILE was written by an older Pectin (format 6), which this one cannot take over; start the Pectin that wrote it, or name another --data-dir"
    );
    // Before there was a log, a file began with the tables.
    with_schema(&path, 2);
    fs::write(&path, &fs::read(&path).unwrap()[LOG_BYTES..]).unwrap();
    assert_eq!(
        sentence(&path, options()),
        "FILE was written by an older Pectin (format 2), which this one cannot take over; start the Pectin that wrote it, or name another --data-dir"
    );
    // An empty database of somebody else does not become ours.
    fs::remove_file(&path).unwrap();
    drop(redb::Database::create(&path).unwrap());
    assert_eq!(sentence(&path, options()), "FILE is not a data file of Pectin");
}

#[test]
fn damage_is_found_or_harmless() {
    let script = life();
    let disk = Disk::new();
    let store = Store::on_disk(&disk, options(), &genesis()).unwrap();
    script.iter().for_each(|step| drop(store.commit(&batch(step)).unwrap()));
    let print = store.fingerprint().unwrap();
    drop(store);
    let (mut found, mut harmless) = (0, 0);
    let bytes = disk.bytes() as usize;
    for at in (0..400).map(|turn| if turn < 80 { turn * 4 } else { turn * 7919 * 131 % bytes }) {
        let damaged = disk.restarted(0);
        damaged.damage(at, 0x40);
        let all = || -> Result<_, StoreError> {
            let store = Store::on_disk(&damaged, options(), &genesis())?;
            store.check(|_| {})?;
            store.fingerprint()
        };
        // The engine itself may give up on such a page; then there is no answer at all.
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(all)) {
            Ok(Ok(same)) if same == print => harmless += 1,
            Ok(Ok(_)) => panic!("byte {at} changed what is read"),
            Ok(Err(_)) | Err(_) => found += 1,
        }
    }
    println!("{found} found, {harmless} harmless");
    assert!(found > 0 && harmless > 0);
}

#[test]
fn a_step_that_does_not_fit_changes_nothing() {
    let store = Store::in_memory(options(), &genesis()).unwrap();
    let mut writer = Writer::new();
    let first = writer.seal(&[transfer(0, 0)]);
    let second = writer.seal(&[transfer(0, 1)]);
    store.commit(&batch(&first)).unwrap();
    let print = store.fingerprint().unwrap();
    let queue = |record| Deed::Queue(record);
    let through = |block| queue(Record::Finalized { through: block });
    let wrong = [
        vec![first[1].clone()],
        vec![queue(Record::Released { from: 0 })],
        vec![through(writer.ids[2])],
        vec![through(BlockId::new(1, B256::ZERO))],
        vec![through(writer.ids[0])],
        // The good part of it is not done either.
        vec![Deed::Accept(transfer(3, 0), super::script::at(1)), first[1].clone()],
    ];
    for step in wrong {
        let error = store.commit(&batch(&step)).unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
        assert_eq!(store.fingerprint().unwrap(), print);
    }
    store.commit(&batch(&second)).unwrap();
    store.commit(&batch(&[through(writer.ids[2])])).unwrap();
    let final_again = store.commit(&batch(&[queue(Record::Released { from: 2 })])).unwrap_err();
    assert!(final_again.to_string().contains("cannot be released"));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    drop(Store::open(&path, options(), &genesis()).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    // Whoever may do everything is not stopped by it.
    match Store::open(&path, options(), &genesis()) {
        Err(error) => assert!(matches!(error, StoreError::Permission(_)), "{error}"),
        Ok(_) => assert!(fs::OpenOptions::new().write(true).open(&path).is_ok()),
    }
}
