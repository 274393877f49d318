//! Deliveries: who gets what, in which order, and what happens when an endpoint fails.

mod wakeups;

use super::{
    signature::{LEGACY, LEGACY_TIMESTAMP},
    *,
};
use crate::{
    endpoint::Secret,
    facade::NewEndpoint,
    store::{Acquired, LEASE_MS, Memory, Outcome},
};
use alloy_primitives::{Address, hex};
use bytes::Bytes;
use hyper::HeaderMap;
use sender_model::{
    Authority, Commit, Event, EventKind, Fence, Subject, Write,
    delivery::{PAUSE_MS, TRIES_MAX},
};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use std::sync::Mutex;
use tokio::{sync::Notify, time::Instant};

const ACCOUNT: AccountId = AccountId { chain_id: 1337, address: Address::repeat_byte(7) };
const LONG_MS: u64 = 1_000 * LEASE_MS;

/// A request: when, to which URL, and what it said.
type Got = (Time, String, HeaderMap, Bytes);

/// Which status a URL answers with; none answers never.
type Answer = Box<dyn Fn(&str) -> Option<u16> + Send + Sync>;

/// An endpoint's inbox: every request in order, with its time, and what it answers.
struct Inbox {
    clock: Clock,
    got: Mutex<Vec<Got>>,
    changed: Notify,
    /// The answer for a URL; none answers never.
    answer: Answer,
}

impl Inbox {
    fn of(&self, url: &str) -> Vec<(Time, Value)> {
        let got = self.got.lock().unwrap();
        let mine = got.iter().filter(|(_, to, ..)| to == url);
        mine.map(|(at, _, _, body)| (*at, serde_json::from_slice(body).unwrap())).collect()
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            if done(self) {
                return;
            }
            changed.await;
        }
    }
}

impl Post for Inbox {
    fn post(&self, request: Request) -> Posting<'_> {
        Box::pin(async move {
            let Request { url, headers, body, .. } = request;
            self.got.lock().unwrap().push((self.clock.now(), url.clone(), headers, body));
            self.changed.notify_one();
            match (self.answer)(&url) {
                Some(status) => Ok(Response { status, headers: HeaderMap::new(), body: Bytes::new() }),
                None => std::future::pending().await,
            }
        })
    }
}

struct World {
    store: Arc<Memory>,
    inbox: Arc<Inbox>,
    clock: Clock,
    messages: mpsc::UnboundedSender<DeliveryMessage>,
    endpoints: watch::Sender<Arc<Vec<Endpoint>>>,
    epoch: u64,
    stats: Arc<Stats>,
}

/// The runtime's time, which tests let fly.
fn flying_clock() -> Clock {
    let (started, begun) = (Clock::default().now(), Instant::now());
    Clock::new(move || started + begun.elapsed())
}

fn endpoint(id: &str) -> Endpoint {
    Endpoint {
        id: id.to_owned(),
        settings: NewEndpoint {
            url: format!("https://{id}.example/"),
            events: vec![],
            accounts: vec![],
            chain_ids: vec![],
            legacy_signature: false,
        },
        secret: signature::fresh_secret().unwrap(),
        previous: None,
        created_at: 0,
    }
}

impl World {
    fn start(endpoints: Vec<Endpoint>, answer: impl Fn(&str) -> Option<u16> + Send + Sync + 'static) -> Self {
        Self::start_over(endpoints, answer, |rows| rows)
    }

    /// The same, over a store that stands before the rows.
    fn start_over(
        endpoints: Vec<Endpoint>,
        answer: impl Fn(&str) -> Option<u16> + Send + Sync + 'static,
        before: impl FnOnce(Arc<Memory>) -> Arc<dyn Store>,
    ) -> Self {
        let (store, clock) = (Arc::new(Memory::new()), flying_clock());
        let inbox = Inbox {
            clock: clock.clone(),
            got: Mutex::default(),
            changed: Notify::new(),
            answer: Box::new(answer),
        };
        let inbox = Arc::new(inbox);
        let (messages, given) = mpsc::unbounded_channel();
        let (endpoints, watched) = watch::channel(Arc::new(endpoints));
        let stats = Arc::<Stats>::default();
        let deliveries = Deliveries {
            store: before(store.clone()),
            messages: given,
            endpoints: watched,
            stats: stats.clone(),
        };
        tokio::spawn(run(deliveries, inbox.clone(), clock.clone()));
        let Acquired::Taken { epoch, .. } = store.acquire_now(&ACCOUNT.to_string(), "us", LONG_MS, false)
        else {
            panic!("nobody else is there")
        };
        messages.send(DeliveryMessage::Taken(ACCOUNT, epoch)).unwrap();
        Self { store, inbox, clock, messages, endpoints, epoch, stats }
    }

    /// Writes an event about a request, and its deliveries.
    fn happened(&self, request: &str, sequence: u32, kind: EventKind) {
        let subject = Subject::Request(request.parse().unwrap());
        let at = self.clock.now();
        let data = json!({ "text": "ü \"quoted\"" });
        let since = Some(Time::from_millis(0x18));
        let event = Event { account: ACCOUNT, subject: subject.clone(), since, sequence, kind, at, data };
        let mut writes =
            vec![Write::Put(key::event(&subject, sequence), serde_json::to_vec(&event).unwrap())];
        for endpoint in self.endpoints.borrow().iter() {
            let (subject, endpoint) = (subject.clone(), endpoint.id.clone());
            let delivery =
                Delivery { account: ACCOUNT, subject, since, sequence, endpoint, tries: 0, next_at: at };
            writes.push(Write::Put(delivery.key(), serde_json::to_vec(&delivery).unwrap()));
        }
        let authority = Authority::Holder(Fence::of(ACCOUNT, self.epoch));
        let commit = Commit { authority, preconditions: vec![], writes };
        assert_eq!(self.store.apply(&commit), Ok(Outcome::Committed));
        self.messages.send(DeliveryMessage::News(ACCOUNT)).unwrap();
    }

    fn rows(&self, prefix: &str) -> usize {
        self.store.rows(prefix, None, 1000).len()
    }

    /// Lets the deliverer finish what it can do now.
    async fn until_rows(&self, left: usize) {
        while self.rows(&key::deliveries(ACCOUNT)) != left {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn events_come_in_order_and_a_stock_library_verifies_them() {
    let old = signature::fresh_secret().unwrap();
    let mut rotating = endpoint("a");
    rotating.previous = Some((old.clone(), u64::MAX));
    rotating.settings.legacy_signature = true;
    let newest = rotating.secret.clone();
    let world = World::start(vec![rotating], |_| Some(204));
    let kinds = [EventKind::Accepted, EventKind::Submitted, EventKind::Mined, EventKind::Confirmed];
    for (sequence, kind) in (1..).zip(kinds) {
        world.happened("one", sequence, kind);
        world.happened("two", sequence, kind);
    }
    world.until_rows(0).await;
    for request in ["one", "two"] {
        let got = world.inbox.of("https://a.example/");
        let sequences = got.iter().filter(|(_, body)| body["subject"]["request"] == request);
        assert_eq!(
            sequences.map(|(_, body)| body["sequence"].as_u64().unwrap()).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
    }
    let got = world.inbox.got.lock().unwrap();
    for (_, _, headers, body) in got.iter() {
        for secret in [&newest, &old] {
            Webhook::new(secret.expose()).unwrap().verify(body, headers).unwrap();
        }
        let stranger = signature::fresh_secret().unwrap();
        assert!(Webhook::new(stranger.expose()).unwrap().verify(body, headers).is_err());
        let mut mac =
            <hmac::Hmac<sha2::Sha256> as hmac::Mac>::new_from_slice(newest.expose().as_bytes()).unwrap();
        // What engine-core's receivers compute: over the timestamp, a dot and the body.
        let timestamp = headers[LEGACY_TIMESTAMP].to_str().unwrap();
        assert_eq!(headers[LEGACY_TIMESTAMP], headers["webhook-timestamp"]);
        hmac::Mac::update(&mut mac, format!("{timestamp}.").as_bytes());
        hmac::Mac::update(&mut mac, body);
        let expected = hex::encode(hmac::Mac::finalize(mac).into_bytes());
        assert_eq!(headers[LEGACY], expected);
        let body = serde_json::from_slice::<Value>(body).unwrap();
        assert_eq!(headers["webhook-id"], body["id"].as_str().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_takes_is_tried_longer_and_longer_and_then_kept() {
    let world = World::start(vec![endpoint("broken"), endpoint("fine")], |url| {
        Some(if url.contains("broken") { 500 } else { 200 })
    });
    world.happened("one", 1, EventKind::Accepted);
    world.happened("one", 2, EventKind::Submitted);
    let begun = world.clock.now();
    let tries = TRIES_MAX as usize;
    world.inbox.until(|inbox| inbox.of("https://broken.example/").len() == 2 * tries).await;
    world.until_rows(0).await;
    // The other one has everything at once.
    let fine = world.inbox.of("https://fine.example/");
    assert_eq!(fine.len(), 2);
    assert!(fine.iter().all(|(at, _)| at.since(begun) < Duration::from_millis(PAUSE_MS)));
    // The name stays the same, and the pauses double.
    let broken = world.inbox.of("https://broken.example/");
    assert!(broken[..tries].iter().all(|(_, body)| body["id"] == "evt_r_one_18_1"));
    for (index, pair) in broken[..tries].windows(2).enumerate() {
        let pause = pair[1].0.since(pair[0].0).as_millis() as u64;
        let expected = PAUSE_MS << index;
        assert!((expected..expected + 100).contains(&pause), "{index}: {pause}");
    }
    assert_eq!(world.rows(&key::dead_letters(ACCOUNT)), 2);
    let totals = world.stats.snapshot().totals;
    assert_eq!((totals.webhooks_delivered, totals.webhooks_dead), (2, 2));
    assert_eq!(totals.webhooks_failed, 2 * u64::from(TRIES_MAX));
    // Replayed, it is tried again at once.
    let (_, row) = world.store.rows(&key::dead_letters(ACCOUNT), None, 1).remove(0);
    let dead = serde_json::from_slice::<Delivery>(&row).unwrap();
    assert_eq!(dead.tries, TRIES_MAX);
    assert!(
        world.clock.now().since(dead.next_at) < Duration::from_secs(3600),
        "it says when it was given up"
    );
    let replay = dead.replay(world.epoch, world.clock.now()).unwrap();
    assert_eq!(world.store.apply(&replay), Ok(Outcome::Committed));
    world.messages.send(DeliveryMessage::News(ACCOUNT)).unwrap();
    world.inbox.until(|inbox| inbox.of("https://broken.example/").len() > 2 * tries).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answers_delays_nobody_and_holds_few_places() {
    let world =
        World::start(vec![endpoint("asleep"), endpoint("awake")], |url| url.contains("awake").then_some(200));
    for request in 0..100 {
        world.happened(&format!("r{request}"), 1, EventKind::Accepted);
    }
    world.until_rows(100).await;
    assert_eq!(world.inbox.of("https://awake.example/").len(), 100);
    assert_eq!(world.inbox.of("https://asleep.example/").len(), RUNNING_MAX);
}

#[tokio::test(start_paused = true)]
async fn only_what_was_asked_for_is_told_and_nothing_to_those_who_left() {
    let mut picky = endpoint("picky");
    picky.settings.events = vec![EventKind::Confirmed];
    let world = World::start(vec![picky, endpoint("gone")], |url| url.contains("picky").then_some(200));
    world.endpoints.send_modify(|all| *all = Arc::new(all[..1].to_vec()));
    // Written for both, before it left.
    let two = vec![world.endpoints.borrow()[0].clone(), endpoint("gone")];
    let one = world.endpoints.send_replace(Arc::new(two));
    world.happened("one", 1, EventKind::Accepted);
    world.happened("one", 2, EventKind::Confirmed);
    world.endpoints.send_replace(one);
    world.until_rows(0).await;
    let told = world.inbox.of("https://picky.example/");
    assert_eq!(
        told.iter().map(|(_, body)| body["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["confirmed"]
    );
    assert!(world.inbox.of("https://gone.example/").is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_lost_the_account_records_nothing_and_the_next_owner_goes_on() {
    let world = World::start(vec![endpoint("a")], |_| Some(200));
    let Acquired::Taken { epoch, .. } = world.store.acquire_now(&ACCOUNT.to_string(), "they", LONG_MS, true)
    else {
        panic!("force takes it")
    };
    let behind = World { epoch, ..world };
    behind.happened("one", 1, EventKind::Accepted);
    behind.inbox.until(|inbox| inbox.of("https://a.example/").len() == 1).await;
    tokio::task::yield_now().await;
    assert_eq!(behind.rows(&key::deliveries(ACCOUNT)), 1, "the old epoch may not write");
    behind.messages.send(DeliveryMessage::Taken(ACCOUNT, epoch)).unwrap();
    behind.until_rows(0).await;
    let ids = behind.inbox.of("https://a.example/");
    assert!(ids.iter().all(|(_, body)| body["id"] == "evt_r_one_18_1"));
}

#[test]
fn secrets_are_not_printed() {
    let canary = Secret::new("whsec_canary".to_owned());
    let mut told = endpoint("a");
    // A receiver that cannot check signatures may rely on a path that nobody can guess.
    told.settings.url.push_str("canary");
    let printed = format!("{:?}", Endpoint { secret: canary.clone(), previous: Some((canary, 1)), ..told });
    assert!(!printed.contains("canary"), "{printed}");
}
