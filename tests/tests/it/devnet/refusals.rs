//! What a guarantor refuses, by name.

use alloy_primitives::Bytes;
use devnet::event::Deed;
use harness::devnet::Network;
use jam::{Bundle, Hash, HeaderHash, Params, hash::blake2b};
use network::{Connection, Submission};
use std::collections::BTreeMap;

/// Sends a bundle to a guarantor of a core, as whoever does not look at limits would, and gives the name under which it
/// was refused. `assigned`: to one that guarantees the core.
async fn refused(network: &Network, bundle: &Bundle, core: u16, assigned: bool) -> String {
    let mut events = network.devnet.events();
    let params = Params { bundle_bytes_max: 1 << 30, cores: 100, ..*network.builder.follower.params() };
    let submission = Submission::new(core, bundle, &BTreeMap::new(), &params).unwrap();
    let asked = if assigned || core > 1 { core % 2 } else { 1 - core };
    let connection = guarantor_of(network, asked).await;
    // What is found out late is not in the answer, but always in what the guarantor tells.
    let answer = connection.submit(&submission).await;
    loop {
        let event = events.recv().await.unwrap();
        if let Deed::Refused { package, why } = event.deed
            && package == bundle.package.hash()
        {
            println!("{}: {why} (the builder was told: {answer:?})", why.name());
            return why.name();
        }
    }
}

/// A connection to a guarantor of a core.
async fn guarantor_of(network: &Network, asked: u16) -> Connection {
    let guarantors = || {
        let slot = network.builder.clock.slot_at(network.devnet.time().now());
        let view = network.builder.follower.view();
        // The same in this rotation and in the next, so that the answer does not depend on the moment.
        let next = view.guarantors(asked, slot + 1);
        view.guarantors(asked, slot).into_iter().find(|key| next.contains(key))
    };
    let guarantor = loop {
        match guarantors() {
            Some(guarantor) => break guarantor,
            None => tokio::task::yield_now().await,
        }
    };
    network.builder.endpoint.connected(&guarantor).await.unwrap()
}

/// A bundle that must be refused under this name, and where it is sent.
struct Case {
    name: &'static str,
    bundle: Bundle,
    core: u16,
    assigned: bool,
}

impl Case {
    /// What becomes of a good bundle, sent to a guarantor of its core.
    fn of(name: &'static str, good: &Bundle, change: impl FnOnce(&mut Bundle)) -> Self {
        let mut bundle = good.clone();
        change(&mut bundle);
        Self { name, bundle, core: 0, assigned: true }
    }
}

fn tamper(bundle: &mut Bundle) {
    let mut witness = bundle.extrinsics[0].to_vec();
    let at = witness.len() - 1;
    witness[at] ^= 1;
    bundle.extrinsics[0] = witness.into();
}

/// Where the package says that it stands.
fn wrong_contexts(good: &Bundle) -> Vec<Case> {
    let one = Hash::repeat_byte(1);
    vec![
        Case::of("anchor_not_recent", good, |b| b.package.context.anchor = HeaderHash(one)),
        Case::of("bad_state_root", good, |b| b.package.context.state_root = one),
        Case::of("bad_beefy_mmr_root", good, |b| b.package.context.beefy_root = one),
        Case::of("lookup_anchor_not_recent", good, |b| b.package.context.lookup_anchor_slot -= 1),
    ]
}

/// What is in the bundle.
fn wrong_contents(good: &Bundle) -> Vec<Case> {
    vec![
        Case::of("tampered_bundle", good, tamper),
        Case::of("bad_witness", good, |b| {
            tamper(b);
            b.package.items[0].extrinsics[0].hash = blake2b(&[&b.extrinsics[0]]);
        }),
        Case::of("oversize", good, |b| {
            b.package.items[0].extrinsics[2].len = 14_000_000;
            b.extrinsics[2] = vec![0; 14_000_000].into();
        }),
        Case::of("unauthorized", good, |b| b.package.authorization = Bytes::from_static(b"let me in")),
        Case::of("core_unauthorized", good, |b| b.package.authorizer_config = Bytes::from_static(b"other")),
        Case::of("unsigned", good, |b| {
            let mut payload = b.package.items[0].payload.to_vec();
            let at = payload.len() - 64;
            payload[at..].fill(0);
            b.package.items[0].payload = payload.into();
        }),
        Case::of("bad_code_hash", good, |b| b.package.items[0].code_hash = Hash::repeat_byte(1)),
        Case::of("bad_service_id", good, |b| b.package.items[0].service = 1),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packages_are_refused_by_name() {
    // Slow enough that anchors stay recent during all attempts.
    let mut network = Network::start(2000).await;
    let number = network.seal(1000);
    network
        .builder
        .run_until("the block is reported", |builder| !builder.way(number).reported.is_empty())
        .await;
    let reported = network.builder.sent_package(number).unwrap();
    // A block that was sent to no guarantor.
    let next = network.seal(1000);
    let context = network.builder.context().unwrap();
    let good = network.builder.package(next, context).bundle;
    let mut cases = wrong_contexts(&good);
    cases.extend(wrong_contents(&good));
    cases.extend([
        Case { name: "duplicate_package", bundle: reported, core: 0, assigned: true },
        Case { name: "wrong_assignment", bundle: good.clone(), core: 0, assigned: false },
        Case { name: "bad_core_index", bundle: good, core: 9, assigned: true },
    ]);
    for Case { name, bundle, core, assigned } in cases {
        assert_eq!(refused(&network, &bundle, core, assigned).await, name);
    }
    network.heals().await;
}

/// A package does not say what is in its blobs, but which they are. Guarantors remember what a package came to, and once remembered a
/// refusal that was about other blobs: a stranger could have kept any package off its core by sending it first with a byte changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_blobs_do_not_spoil_a_package() {
    let mut network = Network::start(2000).await;
    let number = network.seal(1000);
    let context = network.builder.context().unwrap();
    let good = network.builder.package(number, context).bundle;
    let tampered = Case::of("tampered_bundle", &good, tamper).bundle;
    assert_eq!(tampered.package.hash(), good.package.hash());
    assert_eq!(refused(&network, &tampered, 0, true).await, "tampered_bundle");
    let submission = Submission::new(0, &good, &BTreeMap::new(), network.builder.follower.params()).unwrap();
    guarantor_of(&network, 0).await.submit(&submission).await.unwrap();
    network.heals().await;
}
