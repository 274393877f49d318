//! What a guarantor refuses, by name.

use alloy_primitives::Bytes;
use devnet::event::Deed;
use harness::devnet::Network;
use jam::{Bundle, Hash, HeaderHash, Params, hash::blake2b};
use network::Submission;
use std::collections::BTreeMap;

/// Sends a bundle to a guarantor of a core, as whoever does not look at limits would, and gives the name under which it
/// was refused. `assigned`: to one that guarantees the core.
async fn refused(network: &Network, bundle: &Bundle, core: u16, assigned: bool) -> String {
    let mut events = network.devnet.events();
    let params = Params { bundle_bytes_max: 1 << 30, cores: 100, ..*network.builder.follower.params() };
    let submission = Submission::new(core, bundle, &BTreeMap::new(), &params).unwrap();
    let asked = if assigned || core > 1 { core % 2 } else { 1 - core };
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
    let connection = network.builder.endpoint.connected(&guarantor).await.unwrap();
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
    // A block that nobody has sent.
    let next = network.seal(1000);
    let context = network.builder.context().unwrap();
    let good = network.builder.package(next, context).bundle;
    let with = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        bundle
    };
    let tampered = |bundle: &mut Bundle| {
        let mut witness = bundle.extrinsics[0].to_vec();
        let at = witness.len() - 1;
        witness[at] ^= 1;
        bundle.extrinsics[0] = witness.into();
    };
    let cases: Vec<(&str, Bundle, u16, bool)> = vec![
        (
            "anchor_not_recent",
            with(&|b| b.package.context.anchor = HeaderHash(Hash::repeat_byte(1))),
            0,
            true,
        ),
        ("bad_state_root", with(&|b| b.package.context.state_root = Hash::repeat_byte(1)), 0, true),
        ("bad_beefy_mmr_root", with(&|b| b.package.context.beefy_root = Hash::repeat_byte(1)), 0, true),
        ("lookup_anchor_not_recent", with(&|b| b.package.context.lookup_anchor_slot -= 1), 0, true),
        ("tampered_bundle", with(&tampered), 0, true),
        (
            "bad_witness",
            with(&|b| {
                tampered(b);
                b.package.items[0].extrinsics[0].hash = blake2b(&[&b.extrinsics[0]]);
            }),
            0,
            true,
        ),
        (
            "oversize",
            with(&|b| {
                b.package.items[0].extrinsics[2].len = 14_000_000;
                b.extrinsics[2] = vec![0; 14_000_000].into();
            }),
            0,
            true,
        ),
        ("duplicate_package", reported, 0, true),
        ("wrong_assignment", good.clone(), 0, false),
        ("bad_core_index", good.clone(), 9, true),
        ("unauthorized", with(&|b| b.package.authorization = Bytes::from_static(b"let me in")), 0, true),
        ("core_unauthorized", with(&|b| b.package.authorizer_config = Bytes::from_static(b"other")), 0, true),
        (
            "unsigned",
            with(&|b| {
                let mut payload = b.package.items[0].payload.to_vec();
                let at = payload.len() - 64;
                payload[at..].fill(0);
                b.package.items[0].payload = payload.into();
            }),
            0,
            true,
        ),
        ("bad_code_hash", with(&|b| b.package.items[0].code_hash = Hash::repeat_byte(1)), 0, true),
        ("bad_service_id", with(&|b| b.package.items[0].service = 1), 0, true),
    ];
    for (name, bundle, core, assigned) in cases {
        assert_eq!(refused(&network, &bundle, core, assigned).await, name);
    }
    network.heals().await;
}
