//! What every store must do, in the order in which one would explain it. A store that differs in any of it panics here.

use super::{acceptance, account};
use sender::store::{Acquired, Outcome, Store, StoreError};
use sender_model::{
    Authority, Commit, Config, Fence, Precondition, Request, State, UsedName, Write, key, retention,
};
use std::sync::Arc;
use types::{Duration, Time};

/// Longer than any check takes.
const LONG_MS: u64 = 600_000;
/// Over soon.
const SHORT_MS: u64 = 40;

/// Runs everything. `pass` lets so many milliseconds pass on the store's clock, if somebody sets it.
pub async fn run(store: Arc<dyn Store>, pass: &(dyn Fn(u64) + Sync)) {
    creation(&*store).await;
    all_or_nothing(&*store).await;
    malformed(&*store).await;
    epochs(&*store).await;
    expiry(&*store, pass).await;
    values(&*store).await;
    scans(&*store).await;
    one_acceptance(&store).await;
    names_stay_used(&*store).await;
    no_lost_update(&store).await;
}

fn put(key: &str, value: &[u8]) -> Write {
    Write::Put(key.to_owned(), value.to_vec())
}

fn absent(key: &str) -> Precondition {
    Precondition::Absent(key.to_owned())
}

fn is(key: &str, value: &[u8]) -> Precondition {
    Precondition::Is(key.to_owned(), value.to_vec())
}

fn intake(preconditions: Vec<Precondition>, writes: Vec<Write>) -> Commit {
    Commit { authority: Authority::Intake, preconditions, writes }
}

fn holder(lease: &str, epoch: u64, preconditions: Vec<Precondition>, writes: Vec<Write>) -> Commit {
    let fence = Fence { lease: lease.to_owned(), epoch };
    Commit { authority: Authority::Holder(fence), preconditions, writes }
}

async fn row(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    store.get(vec![key.to_owned()]).await.unwrap().pop().unwrap()
}

async fn take(store: &dyn Store, lease: &str, holder: &str, ttl_ms: u64, force: bool) -> u64 {
    match store.acquire(lease.into(), holder.into(), ttl_ms, force).await.unwrap() {
        Acquired::Taken { epoch, .. } => epoch,
        held @ Acquired::Held { .. } => panic!("{lease} is {held:?}"),
    }
}

async fn creation(store: &dyn Store) {
    let commit = intake(vec![absent("new/1")], vec![put("new/1", b"one")]);
    assert_eq!(store.commit(commit.clone()).await, Ok(Outcome::Committed));
    assert_eq!(row(store, "new/1").await.as_deref(), Some(&b"one"[..]));
    // Once only: the second time the row is there.
    assert_eq!(store.commit(commit).await, Ok(Outcome::Conflict("new/1".into())));
    assert_eq!(row(store, "new/2").await, None);
    assert_eq!(store.get(vec![]).await, Ok(vec![]));
    let rows = store.get(vec!["new/2".into(), "new/1".into()]).await.unwrap();
    assert_eq!(rows, [None, Some(b"one".to_vec())]);
}

async fn all_or_nothing(store: &dyn Store) {
    let epoch = take(store, "atomic", "a", LONG_MS, false).await;
    let first = holder("atomic", epoch, vec![], vec![put("all/1", b"1"), put("all/2", b"2")]);
    assert_eq!(store.commit(first).await, Ok(Outcome::Committed));
    let writes = vec![put("all/1", b"x"), Write::Delete("all/2".into()), put("all/3", b"x")];
    let wrong = holder("atomic", epoch, vec![is("all/1", b"1"), is("all/2", b"other")], writes.clone());
    assert_eq!(store.commit(wrong).await, Ok(Outcome::Conflict("all/2".into())));
    let rows = store.get(["all/1", "all/2", "all/3"].map(String::from).to_vec()).await.unwrap();
    assert_eq!(rows, [Some(b"1".to_vec()), Some(b"2".to_vec()), None]);
    // A row that is not there is not an empty row.
    let wrong = holder("atomic", epoch, vec![is("all/9", b"")], writes.clone());
    assert_eq!(store.commit(wrong).await, Ok(Outcome::Conflict("all/9".into())));
    let right = holder("atomic", epoch, vec![is("all/1", b"1"), is("all/2", b"2")], writes);
    assert_eq!(store.commit(right).await, Ok(Outcome::Committed));
    let rows = store.get(["all/1", "all/2", "all/3"].map(String::from).to_vec()).await.unwrap();
    assert_eq!(rows, [Some(b"x".to_vec()), None, Some(b"x".to_vec())]);
    // Of two writes to one row the later one counts.
    let twice = vec![put("all/4", b"1"), Write::Delete("all/4".into()), put("all/4", b"2")];
    assert_eq!(store.commit(holder("atomic", epoch, vec![], twice)).await, Ok(Outcome::Committed));
    assert_eq!(row(store, "all/4").await.as_deref(), Some(&b"2"[..]));
}

async fn malformed(store: &dyn Store) {
    let refused = [
        intake(vec![], vec![put("bad/1", b"")]),
        intake(vec![absent("bad/1")], vec![put("bad/1", b""), put("bad/2", b"")]),
        intake(vec![absent("bad/1")], vec![put("bad/1", b""), Write::Delete("new/1".into())]),
        intake(vec![absent("")], vec![put("", b"")]),
        intake(vec![absent(&"k".repeat(513))], vec![]),
    ];
    for commit in refused {
        assert!(matches!(store.commit(commit).await, Err(StoreError::Malformed(_))));
    }
    assert_eq!(row(store, "bad/1").await, None);
    assert!(row(store, "new/1").await.is_some());
}

async fn epochs(store: &dyn Store) {
    let write = |epoch| holder("lease", epoch, vec![], vec![put("lease/row", b"x")]);
    assert_eq!(store.commit(write(0)).await, Ok(Outcome::Stale));
    assert_eq!(store.commit(write(1)).await, Ok(Outcome::Stale));
    let first = take(store, "lease", "a", LONG_MS, false).await;
    assert_eq!(store.commit(write(first + 1)).await, Ok(Outcome::Stale));
    assert_eq!(store.commit(write(first)).await, Ok(Outcome::Committed));
    match store.acquire("lease".into(), "b".into(), LONG_MS, false).await.unwrap() {
        Acquired::Held { holder, .. } => assert_eq!(holder, "a"),
        taken @ Acquired::Taken { .. } => panic!("{taken:?}"),
    }
    // By force, and from then on the first owner can do nothing.
    let second = take(store, "lease", "b", LONG_MS, true).await;
    assert!(second > first);
    let fence = |epoch| Fence { lease: "lease".into(), epoch };
    assert_eq!(store.commit(write(first)).await, Ok(Outcome::Stale));
    assert_eq!(store.renew(fence(first), LONG_MS).await, Ok(false));
    assert_eq!(store.release(fence(first)).await, Ok(false));
    assert_eq!(store.commit(write(second)).await, Ok(Outcome::Committed));
    assert_eq!(store.renew(fence(second), LONG_MS).await, Ok(true));
    // Given back, it is anybody's, and whoever gave it back has lost it.
    assert_eq!(store.release(fence(second)).await, Ok(true));
    assert_eq!(store.commit(write(second)).await, Ok(Outcome::Stale));
    let third = take(store, "lease", "a", LONG_MS, false).await;
    assert!(third > second);
    // One lease says nothing about another.
    assert_eq!(store.commit(holder("other", third, vec![], vec![])).await, Ok(Outcome::Stale));
}

async fn expiry(store: &dyn Store, pass: &(dyn Fn(u64) + Sync)) {
    let epoch = take(store, "short", "a", SHORT_MS, false).await;
    pass(SHORT_MS / 2);
    assert_eq!(store.renew(Fence { lease: "short".into(), epoch }, SHORT_MS).await, Ok(true));
    pass(SHORT_MS + 1);
    let write = || holder("short", epoch, vec![], vec![put("short/row", b"x")]);
    // Late writers are refused although nobody else has come. Where the clock is real, the end is waited for.
    while store.commit(write()).await.unwrap() == Outcome::Committed {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.commit(write()).await, Ok(Outcome::Stale));
    assert_eq!(store.renew(Fence { lease: "short".into(), epoch }, LONG_MS).await, Ok(false));
    assert!(take(store, "short", "b", LONG_MS, false).await > epoch);
}

async fn values(store: &dyn Store) {
    let epoch = take(store, "values", "a", LONG_MS, false).await;
    let all: Vec<u8> = (0..=255).collect();
    for value in [&b""[..], b"\0", b"\xff\xfe", b"{\"a\": 1}\r\n", &all, &vec![7; 100_000]] {
        let commit = holder("values", epoch, vec![], vec![put("value", value)]);
        assert_eq!(store.commit(commit).await, Ok(Outcome::Committed));
        assert_eq!(row(store, "value").await.as_deref(), Some(value));
        let same = holder("values", epoch, vec![is("value", value)], vec![]);
        assert_eq!(store.commit(same).await, Ok(Outcome::Committed));
        let mut other = value.to_vec();
        other.push(0);
        let other = holder("values", epoch, vec![is("value", &other)], vec![]);
        assert_eq!(store.commit(other).await, Ok(Outcome::Conflict("value".into())));
    }
}

async fn scans(store: &dyn Store) {
    let epoch = take(store, "scan", "a", LONG_MS, false).await;
    let names = ["s/1/a", "s/1/b", "s/1/c", "s/10/a", "s/2", "s/1", "s/1-", "s/10", "t/1/a"];
    let writes = names.iter().map(|name| put(name, name.as_bytes())).collect();
    store.commit(holder("scan", epoch, vec![], writes)).await.unwrap();
    store.commit(holder("scan", epoch, vec![], vec![put("s/1/b", b"")])).await.unwrap();
    let keys = async |prefix: &str, after: Option<&str>, limit| {
        let rows = store.scan(prefix.to_owned(), after.map(String::from), limit).await.unwrap();
        rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys("s/1/", None, 100).await, ["s/1/a", "s/1/b", "s/1/c"]);
    assert_eq!(keys("s/1/", Some("s/1/a"), 100).await, ["s/1/b", "s/1/c"]);
    assert_eq!(keys("s/1/", Some("s/1/aa"), 1).await, ["s/1/b"]);
    assert_eq!(keys("s/1/", Some("s/1/c"), 100).await, [""; 0]);
    assert_eq!(keys("s/1/", Some("s/2"), 100).await, [""; 0]);
    assert_eq!(keys("s/1/", Some("a"), 2).await, ["s/1/a", "s/1/b"]);
    assert_eq!(keys("s/1", None, 100).await, ["s/1", "s/1-", "s/1/a", "s/1/b", "s/1/c", "s/10", "s/10/a"]);
    assert_eq!(keys("nothing", None, 100).await, [""; 0]);
    let rows = store.scan("s/1/b".into(), None, 1).await.unwrap();
    assert_eq!(rows, [("s/1/b".to_owned(), vec![])]);
    store.commit(holder("scan", epoch, vec![], vec![Write::Delete("s/1/a".into())])).await.unwrap();
    assert_eq!(keys("s/1/", None, 100).await, ["s/1/b", "s/1/c"]);
    let many: Vec<Write> = (0..1_500).map(|n| put(&format!("m/{n:05}"), b"x")).collect();
    store.commit(holder("scan", epoch, vec![], many)).await.unwrap();
    assert_eq!(keys("m/", None, usize::MAX).await.len(), sender::store::SCAN_ROWS_MAX);
    assert_eq!(keys("m/", Some("m/00999"), usize::MAX).await.len(), 500);
}

/// However many callers hand over one request at once, one of them makes it and the others find it.
async fn one_acceptance(store: &Arc<dyn Store>) {
    let tries: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(acceptance("same")).await.unwrap() })
        })
        .collect();
    let mut made = 0;
    for attempt in tries {
        made += usize::from(attempt.await.unwrap() == Outcome::Committed);
    }
    assert_eq!(made, 1);
    let name = "same".parse().unwrap();
    assert!(row(&**store, &key::request(&name)).await.is_some());
}

/// Sixteen writers add to one number, each on the condition that it is still what they read.
/// A request is forgotten, and its name is not: no acceptance, also one that was decided before, makes it again.
async fn names_stay_used(store: &dyn Store) {
    let accepted = acceptance("forgotten");
    assert_eq!(store.commit(accepted.clone()).await, Ok(Outcome::Committed));
    let id = "forgotten".parse().unwrap();
    let stored = row(store, &key::request(&id)).await.unwrap();
    let end = Time::from_millis(2);
    let mut request: Request = serde_json::from_slice(&stored).unwrap();
    (request.state, request.completed_at) = (State::Cancelled, Some(end));
    let lease = account().to_string();
    let epoch = take(store, &lease, "a", LONG_MS, true).await;
    let name = key::request(&id);
    let ended = vec![
        Write::Put(name.clone(), serde_json::to_vec(&request).unwrap()),
        Write::Delete(key::live(account(), request.accepted_at, &id)),
        put(&key::done(end, &id), b""),
    ];
    let commit = holder(&lease, epoch, vec![is(&name, &stored)], ended);
    assert_eq!(store.commit(commit).await, Ok(Outcome::Committed));
    let config = Config::default();
    let later = end + Duration::from_millis(config.retention_ms);
    let forget = retention::forget(&request, epoch, &config, later).unwrap().unwrap();
    assert_eq!(store.commit(forget).await, Ok(Outcome::Committed));
    assert_eq!(row(store, &name).await, None);
    let kept = key::used_name(&id);
    let used: UsedName = serde_json::from_slice(&row(store, &kept).await.unwrap()).unwrap();
    // The delivery of the first acceptance is still there, and would conflict by itself.
    let own = |precondition: &Precondition| !precondition.key().starts_with("d/");
    let again = Commit {
        preconditions: accepted.preconditions.into_iter().filter(own).collect(),
        writes: accepted.writes.into_iter().filter(|write| !write.key().starts_with("d/")).collect(),
        ..accepted
    };
    assert_eq!(store.commit(again.clone()).await, Ok(Outcome::Conflict(kept.clone())));
    let much_later = end + Duration::from_millis(config.name_retention_ms);
    let forget = retention::forget_name(&used, epoch, &config, much_later).unwrap().unwrap();
    assert_eq!(store.commit(forget).await, Ok(Outcome::Committed));
    assert_eq!(store.commit(again).await, Ok(Outcome::Committed));
}

async fn no_lost_update(store: &Arc<dyn Store>) {
    const EACH: u64 = 10;
    let epoch = take(&**store, "count", "a", LONG_MS, false).await;
    store.commit(holder("count", epoch, vec![], vec![put("count", b"0")])).await.unwrap();
    let writers: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut left = EACH;
                while left > 0 {
                    let before = row(&*store, "count").await.unwrap();
                    let number: u64 = String::from_utf8(before.clone()).unwrap().parse().unwrap();
                    let after = put("count", (number + 1).to_string().as_bytes());
                    let commit = holder("count", epoch, vec![is("count", &before)], vec![after]);
                    left -= u64::from(store.commit(commit).await.unwrap() == Outcome::Committed);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(row(&**store, "count").await.unwrap(), (16 * EACH).to_string().into_bytes());
}
