//! Nothing grows for ever, and nothing goes while somebody may still want it.

use super::{CHAIN, World, config, group, receiver, submission};
use crate::{
    Error,
    facade::{DeliveryFilter, ErrorKind, Funding, NewEndpoint, NewGroup, SendFrom},
    forget::Forgetting,
    store::{Acquired, LEASE_MS, Outcome},
};
use alloy_primitives::{Address, B256, U256};
use sender_model::{
    AcceptError, AccountId, Authority, Commit, Config, Delivery, Event, EventKind, Fence, Intent, Request,
    RequestId, State, StateName, Subject, UsedName, Write, delivery::TRIES_MAX, key,
};
use types::Time;

/// A world that keeps nothing for longer than a millisecond, except dead letters and names.
async fn forgetful(dead_letter_ms: u64) -> World {
    let first = World::new(1).await;
    restarted(&first, Config { retention_ms: 1, dead_letter_ms, ..config() }).await
}

/// The same rows under another configuration.
async fn restarted(world: &World, config: Config) -> World {
    world.sender.shutdown().await;
    World::with(world.chain.clone(), world.store.clone(), world.keys.clone(), config, None).await
}

impl World {
    async fn rows(&self, prefix: &str) -> Vec<String> {
        let rows = crate::store::scan_all(&*self.store, prefix).await.unwrap();
        rows.into_iter().map(|(name, _)| name).collect()
    }

    /// Writes rows in an account's name.
    async fn write(&self, account: AccountId, writes: Vec<Write>) {
        let lease = account.to_string();
        let Ok(Acquired::Taken { epoch, .. }) =
            self.store.acquire(lease, "somebody".into(), LEASE_MS, true).await
        else {
            panic!("force takes it")
        };
        let fence = Fence::of(account, epoch);
        let authority = Authority::Holder(fence.clone());
        let commit = Commit { authority, preconditions: vec![], writes };
        assert_eq!(self.store.commit(commit).await, Ok(Outcome::Committed));
        assert_eq!(self.store.release(fence).await, Ok(true));
    }

    async fn endpoint(&self) -> String {
        self.sender.create_endpoint(NewEndpoint::at("https://a.example/")).await.unwrap().0.id
    }

    async fn forget(&self) {
        // So that all is older than a millisecond.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        Forgetting::default().pass(self.sender.shared()).await.unwrap();
    }
}

fn put(key: String, row: &impl serde::Serialize) -> Write {
    Write::Put(key, serde_json::to_vec(row).unwrap())
}

#[tokio::test]
async fn a_dead_letter_is_kept_for_its_own_time_with_what_it_is_about() {
    let mut world = forgetful(600_000).await;
    let (account, endpoint) = (world.account(0), world.endpoint().await);
    world.sender.submit(submission("a", SendFrom::Account(account), 1)).await.unwrap();
    let done = world.confirmed("a").await;
    world.sender.shutdown().await;
    // The last try of each of them fails.
    let waiting = world.rows("d/").await;
    assert_eq!(waiting.len(), 4);
    let mut writes = Vec::new();
    for name in waiting {
        let row = world.store.get(vec![name]).await.unwrap().pop().flatten().unwrap();
        let delivery: Delivery = serde_json::from_slice(&row).unwrap();
        let last = Delivery { tries: TRIES_MAX - 1, ..delivery };
        writes.extend(last.fail(0, None, world.sender.shared().now()).unwrap().writes);
    }
    world.write(account, writes).await;
    world.forget().await;
    let letters = world.sender.dead_letters(Default::default()).await.unwrap();
    assert_eq!((letters.items.len(), world.rows("e/r/a/").await.len()), (4, 4));
    assert_eq!(letters.items[0].tries, TRIES_MAX);
    // All at once they are pending again; a page at a time if there are many.
    let mut again = World::on(world.chain.clone(), world.store.clone(), world.keys.clone()).await;
    let two = DeliveryFilter { limit: 2, ..Default::default() };
    let replayed = again.sender.replay_all(two).await.unwrap();
    assert_eq!((replayed.replayed, replayed.next.is_some()), (2, true));
    let of_another = DeliveryFilter { endpoint: Some("wh-other".into()), ..Default::default() };
    assert_eq!(again.sender.replay_all(of_another).await.unwrap().replayed, 0);
    let rest = again.sender.replay_all(Default::default()).await.unwrap();
    assert_eq!((rest.replayed, rest.next), (2, None));
    assert_eq!(again.rows("d/").await.len(), 4);
    again.confirmed("a").await;
    again.sender.shutdown().await;
    let mut writes = Vec::new();
    for name in again.rows("d/").await {
        let row = world.store.get(vec![name]).await.unwrap().pop().flatten().unwrap();
        let last = Delivery { tries: TRIES_MAX - 1, ..serde_json::from_slice(&row).unwrap() };
        writes.extend(last.fail(0, None, world.sender.shared().now()).unwrap().writes);
    }
    world.write(account, writes).await;
    assert_eq!(world.sender.get(&done.request.id).await.unwrap(), done);
    // Nobody can be told any more: then all of it goes.
    world.sender.remove_endpoint(&endpoint).await.unwrap();
    world.forget().await;
    world.forget().await;
    for prefix in ["x/", "e/", "r/", "t/", "h/"] {
        assert_eq!(world.rows(prefix).await, Vec::<String>::new(), "{prefix}");
    }
}

#[tokio::test]
async fn dead_letters_and_events_of_accounts_go_in_their_time() {
    let world = forgetful(1).await;
    let (account, endpoint) = (world.account(0), world.endpoint().await);
    let subject = Subject::Account(account);
    let event = |sequence| Event {
        account,
        subject: subject.clone(),
        since: None,
        sequence,
        kind: EventKind::Stalled,
        at: Time::from_millis(1),
        data: serde_json::Value::Null,
    };
    let delivery = |sequence| Delivery {
        account,
        subject: subject.clone(),
        since: None,
        sequence,
        endpoint: endpoint.clone(),
        tries: 0,
        next_at: Time::from_millis(1),
    };
    let mut writes: Vec<Write> = (1..=3).map(|n| put(key::event(&subject, n), &event(n))).collect();
    // The second is still to be told; telling the third was given up.
    writes.push(put(delivery(2).key(), &delivery(2)));
    writes.push(put(key::dead_letter(account, &subject, 3, &endpoint), &delivery(3)));
    world.write(account, writes).await;
    world.forget().await;
    assert_eq!(world.rows("x/").await, Vec::<String>::new());
    assert_eq!(world.rows("e/").await, [key::event(&subject, 2)]);
}

#[tokio::test]
async fn what_cannot_go_yet_stands_in_nobodys_way() {
    let world = forgetful(600_000).await;
    let (endpoint, at) = (world.endpoint().await, Time::from_millis(1));
    let account = AccountId { chain_id: CHAIN, address: Address::repeat_byte(9) };
    let ended = |name: &str| Request {
        id: name.parse().unwrap(),
        account,
        intent: Intent::default(),
        body: B256::ZERO,
        accepted_at: at,
        expires_at: None,
        options: Default::default(),
        raw: false,
        state: State::Cancelled,
        events: 1,
        rebinds: 0,
        past: vec![],
        completed_at: Some(at),
    };
    let mut writes = Vec::new();
    for index in 0..1_200 {
        let request = ended(&format!("r{index:04}"));
        let subject = Subject::Request(request.id.clone());
        let waiting = Delivery {
            account,
            subject,
            since: Some(at),
            sequence: 1,
            endpoint: endpoint.clone(),
            tries: 0,
            next_at: at,
        };
        writes.push(put(key::request(&request.id), &request));
        writes.push(Write::Put(key::done(at, &request.id), vec![]));
        // Of all but the last somebody is still to be told.
        if index < 1_199 {
            writes.push(put(waiting.key(), &waiting));
        }
    }
    // These lead nowhere: to no request, and to one that ended at another time.
    writes.push(Write::Put(key::done(at, &"nobody".parse().unwrap()), vec![]));
    writes.push(Write::Put(key::done(Time::from_millis(2), &"r0000".parse().unwrap()), vec![]));
    world.write(account, writes).await;
    world.forget().await;
    assert_eq!((world.rows("r/").await.len(), world.rows("t/").await.len()), (1_199, 1_199));
    assert!(world.sender.by_key("r1199").await.is_err());
}

#[tokio::test]
async fn a_name_stays_used_when_its_request_is_forgotten() {
    let mut world = forgetful(1).await;
    let new = |value| submission("a", SendFrom::Account(world.account(0)), value);
    let (same, other) = (new(1), new(2));
    world.sender.submit(same.clone()).await.unwrap();
    let done = world.confirmed("a").await;
    world.forget().await;
    assert_eq!((world.rows("r/").await.len(), world.rows("t/").await.len()), (0, 0));
    let keep = |name_retention_ms| Config { retention_ms: 1, name_retention_ms, ..config() };
    // Also for a process that knows nothing but the rows.
    for _ in 0..2 {
        let used = world.sender.submit(same.clone()).await.unwrap_err();
        assert_eq!((used.kind(), used.should_retry()), (ErrorKind::Gone, false));
        let Error::Forgotten(used) = used else { panic!("{used}") };
        assert_eq!((used.outcome, used.hash), (StateName::Confirmed, done.hash()));
        let mismatch = world.sender.submit(other.clone()).await.unwrap_err();
        assert!(matches!(mismatch, Error::Accept(AcceptError::Mismatch(_))), "{mismatch}");
        let asked = world.sender.by_key("a").await.unwrap_err();
        assert!(matches!(asked, Error::Forgotten(_)), "{asked}");
        assert!(matches!(world.sender.cancel(&done.request.id).await, Err(Error::Forgotten(_))));
        assert_eq!(world.sender.by_hash(done.hash().unwrap()).await.unwrap(), None);
        world = restarted(&world, keep(600_000)).await;
        world.forget().await;
    }
    assert_eq!(world.chain.received(receiver("a")), 1);
    assert_eq!(world.rows("k/").await, ["k/a"]);
    // After its time the name is as good as new.
    world = restarted(&world, keep(1)).await;
    world.forget().await;
    assert_eq!((world.rows("k/").await.len(), world.rows("u/").await.len()), (0, 0));
    assert_eq!(world.sender.by_key("a").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!world.sender.submit(same).await.unwrap().replayed);
    world.confirmed("a").await;
}

#[tokio::test]
async fn the_name_of_a_forgotten_request_is_a_small_row() {
    let longest = "n".repeat(RequestId::BYTES_MAX);
    let used = UsedName {
        id: longest.parse().unwrap(),
        account: AccountId { chain_id: u64::MAX, address: Address::repeat_byte(255) },
        body: B256::repeat_byte(255),
        outcome: StateName::Confirmed,
        hash: Some(B256::repeat_byte(255)),
        block: Some(u64::MAX),
        completed_at: Time::from_millis(u64::MAX),
    };
    let bytes = serde_json::to_vec(&used).unwrap().len();
    assert!(bytes <= 600, "{bytes}");
}

#[tokio::test]
async fn top_ups_go_on_after_the_last_one_is_forgotten() {
    let first = World::new(2).await;
    let config = Config { retention_ms: 1, ..config() };
    let mut world = restarted(&first, config).await;
    let (member, owner) = (world.account(0).address, world.account(1).address);
    let (balance, amount) = (world.chain.balance(member), U256::from(10));
    let funding = Funding { owner, threshold: balance + amount + amount, amount };
    let new = NewGroup { funding: Some(funding), ..group("g", vec![member]) };
    world.sender.create_group(new).await.unwrap();
    world.confirmed(&format!("top-up:g:{member:x}:0")).await;
    world.forget().await;
    world.sender.tend_groups().await;
    world.confirmed(&format!("top-up:g:{member:x}:1")).await;
    assert_eq!(world.chain.received(member), 2);
}
