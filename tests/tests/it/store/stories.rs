//! What is remembered of transactions whose blocks were given up.

use super::script::{Deed, Writer, at, batch, genesis, options, released, returned, transfer};
use queue::Record;
use store::{Options, Store};
use types::{BlockId, Reason, ReleasedBy};

#[test]
fn a_story_lasts_until_its_transaction_is_final_and_beyond() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let store = Store::open(&path, options(), &genesis()).unwrap();
    let (tx, other) = (transfer(0, 0), transfer(1, 0));
    let mut writer = Writer::new();
    let before = writer.chain.clone();
    let steps = [writer.accept(&[tx.clone(), other.clone()]), writer.seal(std::slice::from_ref(&tx))];
    steps.iter().for_each(|step| drop(store.commit(&batch(step)).unwrap()));
    let first = writer.ids[1];
    let release = [
        Deed::Queue(Record::Released { from: 1 }),
        released(&tx, 0, first, ReleasedBy::Operator),
        returned(&tx, 0),
    ];
    store.commit(&batch(&release)).unwrap();
    writer.chain = harness::blocks::MemoryChain { builds: writer.chain.builds, ..before };
    writer.ids.truncate(1);
    store.commit(&batch(&writer.seal(&[tx.clone(), other.clone()]))).unwrap();
    store.commit(&batch(&[writer.finalize(1)])).unwrap();
    drop(store);

    let store = Store::open(&path, options(), &genesis()).unwrap();
    store.check(|_| {}).unwrap();
    let story = store.reader().unwrap().story(&tx.hash()).unwrap().unwrap();
    assert_eq!((story.accepted_at, story.attempts, story.forgotten), (Some(at(1)), 0, 0));
    let [release] = story.releases[..] else { panic!("{story:?}") };
    assert_eq!((release.block, release.by), (first, ReleasedBy::Operator));
    assert_eq!((release.sealed_at, release.released_at), (at(1_000), at(10_000)));
    assert_eq!(store.reader().unwrap().story(&other.hash()).unwrap(), None, "it was in one block only");
}

#[test]
fn stories_are_bounded() {
    let bounded = Options { ended_max: 2, ..options() };
    let store = Store::in_memory(bounded, &genesis()).unwrap();
    let (often, live) = (transfer(0, 0), transfer(1, 0));
    store.commit(&batch(&Writer::new().accept(&[often.clone(), live.clone()]))).unwrap();
    let block = |number: u64| BlockId::new(number, alloy_primitives::B256::with_last_byte(number as u8));
    for number in 1..=100 {
        let release = released(&often, 1, block(number), ReleasedBy::Chain);
        store.commit(&batch(&[release, returned(&often, 1)])).unwrap();
    }
    store.commit(&batch(&[released(&live, 0, block(1), ReleasedBy::Chain)])).unwrap();
    let story = |tx: &types::Transaction| store.reader().unwrap().story(&tx.hash()).unwrap();
    let told = story(&often).unwrap();
    assert_eq!((told.releases.len(), told.forgotten), (32, 68));
    assert_eq!(told.releases.last().unwrap().block, block(100));
    assert_eq!(told.accepted_at, Some(at(1)));
    // Its end is forgotten when two others have ended since; so is its story.
    let end = |tx: &types::Transaction| Deed::End(tx.hash(), Reason::Flushed, at(9));
    store.commit(&batch(&[end(&often), end(&transfer(2, 0))])).unwrap();
    assert!(story(&often).is_some());
    store.commit(&batch(&[end(&transfer(3, 0))])).unwrap();
    assert_eq!((story(&often), story(&live).is_some()), (None, true));
    store.check(|_| {}).unwrap();
}
