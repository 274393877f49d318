//! The sender's stores: the same behaviour on all three, and what each promises when a process dies, stops or restarts.

use harness::redis_server::RedisServer;
use rustix::process::{Pid, Signal, kill_process};
use sender::store::{
    Acquired, Durability, Embedded, EmbeddedOptions, Memory, Outcome, Redis, RedisOptions, Store, StoreError,
};
use sender_model::key;
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tests::sender_store::{acceptance, account, bench, conformance, twins};
use types::Time;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sender-store");

/// A server, unless there is none on this machine; then the test says so and is counted.
fn redis(directory: &Path, fsync: Option<&str>) -> Option<RedisServer> {
    if RedisServer::is_installed() {
        return Some(RedisServer::start(directory, fsync));
    }
    println!("skipped: redis-server is not installed");
    None
}

async fn connect(server: &RedisServer, namespace: &str) -> Redis {
    let options = RedisOptions { url: server.url(), namespace: namespace.into(), answer_ms: 30_000 };
    Redis::connect(&options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    let (store, now) = (Arc::new(Memory::new()), AtomicU64::new(1));
    let clock = store.clone();
    let pass = move |ms| clock.set_now(Time::from_millis(now.fetch_add(ms, Ordering::Relaxed) + ms));
    conformance::run(store, &pass).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_conforms() {
    static NOW: AtomicU64 = AtomicU64::new(1);
    let directory = tempfile::tempdir().unwrap();
    let clock = sender::Clock::new(|| Time::from_millis(NOW.load(Ordering::Relaxed)));
    let options = EmbeddedOptions { clock, ..EmbeddedOptions::default() };
    let store = Arc::new(Embedded::open(&directory.path().join("sender.redb"), options).unwrap());
    conformance::run(store, &|ms| {
        NOW.fetch_add(ms, Ordering::Relaxed);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = redis(directory.path(), Some("always")) else { return };
    let store = connect(&server, "suite").await;
    assert_eq!(store.durability(), Durability::EveryWrite);
    conformance::run(Arc::new(store), &|_| ()).await;
    // Another namespace is another world.
    let other = connect(&server, "other").await;
    assert_eq!(other.scan(String::new(), None, 10).await.unwrap(), []);
    conformance::run(Arc::new(other), &|_| ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stores_are_twins() {
    let directory = tempfile::tempdir().unwrap();
    let server = redis(directory.path(), Some("everysec"));
    for seed in 0..6 {
        let memory = Memory::new();
        let file = directory.path().join(format!("{seed}.redb"));
        let embedded = Embedded::open(&file, EmbeddedOptions::default()).unwrap();
        twins::run(seed, 150, &memory, &embedded).await;
        if let Some(server) = &server {
            let (memory, redis) = (Memory::new(), connect(server, &format!("twin{seed}")).await);
            twins::run(seed, 300, &memory, &redis).await;
        }
    }
}

#[tokio::test]
async fn what_is_not_synced_is_lost_in_a_crash() {
    let store = Memory::new();
    assert_eq!(store.commit(acceptance("kept")).await, Ok(Outcome::Committed));
    assert_eq!(store.apply(&acceptance("lost")), Ok(Outcome::Committed));
    assert!(store.row(&key::request(&"lost".parse().unwrap())).is_some());
    store.crash();
    assert!(store.row(&key::request(&"lost".parse().unwrap())).is_none());
    assert!(store.row(&key::request(&"kept".parse().unwrap())).is_some());
}

/// A server that is killed and started again on its file has everything that it said it had.
#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_commits_and_epochs_over_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = redis(directory.path(), Some("always")) else { return };
    let store = connect(&server, "kill").await;
    assert_eq!(store.commit(acceptance("kept")).await, Ok(Outcome::Committed));
    let take = async |store: &Redis| store.acquire("l".into(), "h".into(), 60_000, true).await.unwrap();
    let Acquired::Taken { epoch, .. } = take(&store).await else { panic!("by force") };
    drop(server);
    let lost = store.commit(acceptance("late")).await;
    assert!(matches!(lost, Err(StoreError::Unknown(_))), "{lost:?}");
    let server = RedisServer::start(directory.path(), Some("always"));
    let store = connect(&server, "kill").await;
    assert_eq!(
        store.commit(acceptance("kept")).await,
        Ok(Outcome::Conflict(key::request(&"kept".parse().unwrap())))
    );
    let Acquired::Taken { epoch: later, .. } = take(&store).await else { panic!("by force") };
    assert!(later > epoch);
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_without_a_durable_file_is_called_so() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = redis(directory.path(), None) else { return };
    let durability = connect(&server, "warn").await.durability();
    assert_eq!(durability, Durability::None);
    assert!(durability.to_string().contains("WARNING"));
    drop(server);
    let server = RedisServer::start(directory.path(), Some("everysec"));
    assert_eq!(connect(&server, "warn").await.durability(), Durability::EverySecond);
}

#[tokio::test]
async fn bad_addresses_are_refused_without_repeating_the_password() {
    for (url, namespace) in
        [("http://user:canary@x", "n"), ("redis://:canary@127.0.0.1:1", "n"), ("redis://x", "{n}")]
    {
        let options = RedisOptions { url: url.into(), namespace: namespace.into(), answer_ms: 500 };
        let error = Redis::connect(&options).await.unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
    }
}

/// A process that tells its lines.
struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("the process speaks").unwrap()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The story of every lock service: the owner stands still, its lease runs out, somebody else takes over, and the owner
/// wakes up in the middle of a write that it still believes to be entitled to.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_stood_still_past_its_lease_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = redis(directory.path(), Some("always")) else { return };
    let store = connect(&server, "stop").await;
    let mut owner = Process::start(&["hold", &server.url(), "stop", "3000"]);
    assert_eq!(owner.line(), "epoch 1");
    owner.tell("awake");
    assert_eq!(owner.line(), "Ok(Committed)");
    owner.signal(Signal::STOP);
    owner.tell("asleep");
    // No force: the new owner waits until the lease has run out.
    let lease = account().to_string();
    let epoch = loop {
        match store.acquire(lease.clone(), "heir".into(), 600_000, false).await.unwrap() {
            Acquired::Taken { epoch, .. } => break epoch,
            Acquired::Held { holder, .. } => assert_eq!(holder, "holder"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(epoch, 2);
    owner.signal(Signal::CONT);
    assert_eq!(owner.line(), "Ok(Stale)");
    let rows = store.get(vec!["held/awake".into(), "held/asleep".into()]).await.unwrap();
    assert_eq!(rows, [Some(b"awake".to_vec()), None]);
}

/// The same without an heir: the lease alone says that it is over.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_stood_still_cannot_write_even_if_nobody_came() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = redis(directory.path(), Some("always")) else { return };
    let store = connect(&server, "alone").await;
    let mut owner = Process::start(&["hold", &server.url(), "alone", "3000"]);
    assert_eq!(owner.line(), "epoch 1");
    owner.signal(Signal::STOP);
    // A lease of another name that begins later and is as long: when it is over, so is the owner's.
    let ours = || store.acquire("clock".into(), "me".into(), 3_000, false);
    assert!(matches!(ours().await, Ok(Acquired::Taken { epoch: 1, .. })));
    while matches!(ours().await.unwrap(), Acquired::Held { .. }) {
        tokio::task::yield_now().await;
    }
    owner.tell("late");
    owner.signal(Signal::CONT);
    assert_eq!(owner.line(), "Ok(Stale)");
}

/// Every name that was printed was durable first, whenever the process is killed.
#[tokio::test]
async fn accepted_means_durable_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sender.redb");
    let path = file.to_str().unwrap();
    for (round, lines) in [40, 7, 1].into_iter().enumerate() {
        let mut process = Process::start(&["accept", path]);
        let mut told: Vec<String> = (0..lines).map(|_| process.line()).collect();
        process.signal(Signal::KILL);
        told.extend(process.lines.by_ref().map_while(Result::ok));
        process.child.wait().unwrap();
        let store = Embedded::open(&file, EmbeddedOptions::default()).unwrap();
        // The last line may be cut in the middle of a name.
        let whole = &told[..lines.max(told.len() - 1)];
        let keys: Vec<String> = whole.iter().map(|name| key::request(&name.parse().unwrap())).collect();
        let rows = store.get(keys.clone()).await.unwrap();
        let lost: Vec<_> = keys.iter().zip(&rows).filter(|(_, row)| row.is_none()).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        drop(store);
        std::fs::remove_file(&file).unwrap();
    }
}

#[tokio::test]
async fn the_embedded_store_refuses_what_is_not_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let open = || Embedded::open(&file, EmbeddedOptions::default());
    std::fs::write(&file, b"this is not a database, and long enough to be looked at").unwrap();
    assert!(matches!(open(), Err(StoreError::Unusable(_))));
    std::fs::remove_file(&file).unwrap();
    let first = open().unwrap();
    assert_eq!(first.commit(acceptance("kept")).await, Ok(Outcome::Committed));
    // Two processes on one file would each have leases of their own.
    assert!(matches!(open(), Err(StoreError::Unusable(_))));
    drop(first);
    let again = open().unwrap();
    let conflict = Outcome::Conflict(key::request(&"kept".parse().unwrap()));
    assert_eq!(again.commit(acceptance("kept")).await, Ok(conflict));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_wait_share_a_sync() {
    let directory = tempfile::tempdir().unwrap();
    let group = bench::run(&directory.path().join("group"), 16, 20, usize::MAX).await.unwrap();
    let single = bench::run(&directory.path().join("single"), 2, 10, 1).await.unwrap();
    assert_eq!((group.syncs.commits, single.syncs.commits), (320, 20));
    assert!(single.syncs.syncs >= 20, "{single:?}");
    assert!(group.syncs.syncs < 320, "{group:?}");
}
