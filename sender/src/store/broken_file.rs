//! A disk that fails and recovers: what the store answers is true, and it goes on.

use super::super::{
    Acquired, Outcome, Store, StoreError,
    counted::broken::{READING, SYNCING, WRITING},
};
use super::{Embedded, EmbeddedOptions};
use sender_model::{Authority, Commit, Precondition, Write};
use std::sync::atomic::Ordering;

fn creation(name: &str) -> Commit {
    Commit {
        authority: Authority::Intake,
        preconditions: vec![Precondition::Absent(name.into())],
        writes: vec![Write::Put(name.into(), b"row".to_vec())],
    }
}

fn store() -> (tempfile::TempDir, Embedded) {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(&directory.path().join("sender.redb"), EmbeddedOptions::default()).unwrap();
    (directory, store)
}

async fn has(store: &Embedded, name: &str) -> bool {
    store.get(vec![name.into()]).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn after_an_error_of_the_disk_the_store_goes_on_and_its_answers_were_true() {
    let (_directory, store) = store();
    assert_eq!(store.commit(creation("r/before")).await, Ok(Outcome::Committed));
    for (index, broken) in [WRITING, SYNCING, READING | WRITING | SYNCING].into_iter().enumerate() {
        let (lost, found) = (format!("r/lost-{index}"), format!("r/found-{index}"));
        store.counters.broken.store(broken, Ordering::Relaxed);
        let answer = store.commit(creation(&lost)).await;
        assert!(answer.is_err(), "{answer:?}");
        assert!(store.trouble().is_some());
        // Also if it takes longer.
        assert!(store.commit(creation(&lost)).await.is_err());
        store.counters.broken.store(0, Ordering::Relaxed);
        assert_eq!(store.commit(creation(&found)).await, Ok(Outcome::Committed));
        assert_eq!(store.trouble(), None);
        assert!(has(&store, "r/before").await && has(&store, &found).await);
        if matches!(answer, Err(StoreError::Unusable(_))) {
            assert!(!has(&store, &lost).await, "it said that nothing has changed");
        }
    }
    let leased = store.acquire("a".into(), "me".into(), 1_000, false).await;
    assert!(matches!(leased, Ok(Acquired::Taken { .. })), "{leased:?}");
}

#[tokio::test]
async fn reading_alone_opens_the_file_again() {
    let (_directory, store) = store();
    assert_eq!(store.commit(creation("r/one")).await, Ok(Outcome::Committed));
    store.counters.broken.store(READING | WRITING | SYNCING, Ordering::Relaxed);
    assert!(store.commit(creation("r/two")).await.is_err());
    store.counters.broken.store(0, Ordering::Relaxed);
    assert!(has(&store, "r/one").await);
    assert!(store.trouble().is_some(), "that one can read does not mean that one can write");
}
