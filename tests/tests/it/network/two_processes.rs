//! Every protocol between two processes, with real data.

use super::process::Process;
use harness::network::{PARAMS, World, bundle_of, config, importing_bundle};
use jam::{
    Ed25519Key, ErasureCode, Hash, HeaderHash,
    codec::Encode,
    erasure::erasure_leaf,
    follow::{Fate, Follower, Limits as Depth},
    hash::blake2b,
    merkle::balanced_proves,
    spec::Bootnode,
};
use network::{
    Announcement, Connection, Direction, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Refusal,
    Retry, Role, SegmentRequest, ShardRequest, SharedBundle, Silent, StateRequest, StateTrie, StateWanted,
    StreamError, Submission, SubmitError, Taken, submit,
};
use std::{sync::Arc, time::Duration};
use tokio::{process::Command, time::Instant};

/// A validator in a process of its own.
async fn validator(index: u32) -> (Process, Bootnode) {
    let mut process = Process::start(Command::new(env!("CARGO_BIN_EXE_peer")).arg(index.to_string()));
    let line = process.line_with("listening").await;
    let [_, name, addr] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let key = Ed25519Key::from_certificate_name(name).unwrap();
    (process, Bootnode { key, addr: addr.parse().unwrap() })
}

fn endpoint(index: u32, role: Role, world: &World) -> Endpoint {
    let config = config(index, role, world.genesis().hash, Limits::default());
    Endpoint::bind(&config, Arc::new(Silent)).unwrap()
}

async fn connect(world: &World, role: Role) -> (Process, Endpoint, Connection) {
    let (process, node) = validator(0).await;
    let endpoint = endpoint(2, role, world);
    let connection = endpoint.dial(node.key, node.addr).await.unwrap();
    (process, endpoint, connection)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[tokio::test]
async fn blocks_and_state_are_what_the_other_process_has() {
    let world = World::new();
    let (process, endpoint, peer) = connect(&world, Role::Builder).await;
    let genesis = world.genesis().hash;
    let (up, down) = (Direction::Ascending, Direction::Descending);
    assert_eq!(peer.blocks(genesis, up, 4).await.unwrap(), world.chain[..4]);
    let mut backwards = peer.blocks(world.id(9).hash, down, 100).await.unwrap();
    backwards.reverse();
    assert_eq!(backwards, world.chain[..10]);
    let unknown = peer.blocks(HeaderHash(Hash::repeat_byte(1)), down, 1).await;
    assert_eq!(unknown, Err(StreamError::Refused(Refusal::Unknown)));

    let root = StateTrie::new(&world.state).root();
    let header = world.id(3).hash;
    for (key, value) in &world.state {
        let range = peer.state(StateRequest::key(header, *key)).await.unwrap();
        assert_eq!(range.root(*key, *key), Ok(root));
        assert_eq!(range.entries, [(*key, value.clone())]);
    }
    let (first, last) = (*world.state.keys().next().unwrap(), *world.state.keys().last().unwrap());
    let all = StateRequest { header, start: first, end: last, bytes_max: 1 << 20 };
    let range = peer.state(all).await.unwrap();
    assert_eq!(range.root(first, last), Ok(root));
    assert!(range.entries.into_iter().eq(world.state.clone()));
    endpoint.shutdown().await;
    assert!(process.end().await);
}

#[tokio::test]
async fn packages_and_bundles_arrive_whole_or_are_refused_with_a_reason() {
    let world = World::new();
    let (mut process, endpoint, peer) = connect(&world, Role::Builder).await;
    let (key, none) = (peer.peer(), Default::default());
    let big = bundle_of(12 << 20);
    let (importing, roots) = importing_bundle(1 << 20, 40);
    let (widest, widest_roots) = importing_bundle(1000, 3072);
    let cases = [(&world.bundle, &none), (&big, &none), (&importing, &roots), (&widest, &widest_roots)];
    for (bundle, roots) in cases {
        let submission = Submission::new(0, bundle, roots, &PARAMS).unwrap();
        let taken = submit(&endpoint, &[key], &submission, soon()).await;
        assert_eq!(taken, Ok(Taken { by: key, tried: 1 }));
        let lengths = bundle.extrinsics.iter().map(|blob| blob.len().to_string()).collect::<Vec<_>>();
        let expected = format!("{} core 0 extrinsics {}", bundle.package.hash(), lengths.join(","));
        let line = process.line_with(&expected).await;
        assert_eq!(line.starts_with("bundle"), !bundle.imports.is_empty(), "{line}");
    }
    // While the data is on its way: core 1 wants another anchor.
    let stale = submit(&endpoint, &[key], &Submission::new(1, &big, &none, &PARAMS).unwrap(), soon()).await;
    assert_eq!(stale, Err(SubmitError::Stale { tried: 1 }));
    assert_eq!(stale.unwrap_err().retry(), Retry::Rebuild);
    // A blob that is not the one that the package names.
    let mut wrong = bundle_of(1000);
    wrong.extrinsics[0] = vec![1; 1000].into();
    let refused =
        submit(&endpoint, &[key], &Submission::new(0, &wrong, &none, &PARAMS).unwrap(), soon()).await;
    assert_eq!(refused, Err(SubmitError::Refused { tried: 1 }));
    let too_big = Submission::new(0, &bundle_of(14 << 20), &none, &PARAMS).unwrap_err();
    assert_eq!(too_big.retry(), Retry::Never);
    assert_eq!(Submission::new(2, &big, &none, &PARAMS).unwrap_err(), SubmitError::NoSuchCore(2));
    assert!(process.end().await);
}

#[tokio::test]
async fn the_next_guarantor_is_tried_until_the_window_closes() {
    let world = World::new();
    let (mut first, near) = validator(0).await;
    let (mut second, far) = validator(1).await;
    let endpoint = endpoint(2, Role::Builder, &world);
    let absent = jam::Ed25519Secret::trivial(5).public();
    let submission = Submission::new(0, &world.bundle, &Default::default(), &PARAMS).unwrap();
    let guarantors = [absent, near.key, far.key];
    let nobody = submit(&endpoint, &guarantors, &submission, soon()).await.unwrap_err();
    assert_eq!((&nobody, nobody.retry()), (&SubmitError::NoGuarantor { known: 3 }, Retry::Resend));
    let connection = endpoint.dial(near.key, near.addr).await.unwrap();
    endpoint.dial(far.key, far.addr).await.unwrap();
    let closed = submit(&endpoint, &guarantors, &submission, Instant::now()).await.unwrap_err();
    assert_eq!((&closed, closed.retry()), (&SubmitError::Closed { tried: 0 }, Retry::Resend));
    let taken = submit(&endpoint, &guarantors, &submission, soon()).await;
    assert_eq!(taken, Ok(Taken { by: near.key, tried: 1 }));
    first.line_with("package").await;
    // The first one goes away; the second takes the same bytes.
    assert!(first.end().await);
    connection.closed().await;
    let taken = submit(&endpoint, &guarantors, &submission, soon()).await;
    assert_eq!(taken.map(|taken| taken.by), Ok(far.key));
    let line = second.line_with("package").await;
    assert!(line.contains(&world.bundle.package.hash().to_string()), "{line}");
    assert!(second.end().await);
}

#[tokio::test]
async fn validators_share_report_assure_and_hand_out_shards_and_segments() {
    let world = World::new();
    let (mut process, _endpoint, peer) = connect(&world, Role::Node).await;
    // 134
    let bytes = world.bundle.encode();
    let shared = SharedBundle::new(0, Default::default(), bytes.clone().into(), &PARAMS).unwrap();
    let report = peer.share(&shared).await.unwrap();
    assert_eq!(report.report.0, blake2b(&[&bytes]));
    assert!(peer.peer().verifies(jam::Purpose::Guarantee, report.report.0, &report.signature));
    // 135
    peer.report(&world.guarantee).await.unwrap();
    process.line_with(&format!("report {} by 3", world.guarantee.report.hash())).await;
    // 137: any two shards give the bundle back.
    let mut shards = vec![];
    for index in [5, 3] {
        let answer = peer.shard(ShardRequest { erasure_root: world.shards.root, index }).await.unwrap();
        let leaf = erasure_leaf(&answer.bundle_shard, &answer.segment_shards);
        let root = world.shards.root;
        assert!(balanced_proves(root, 6, index.into(), &leaf, &answer.justification, blake2b));
        shards.push((usize::from(index), answer.bundle_shard));
    }
    let parts = shards.iter().map(|(index, shard)| (*index, &shard[..]));
    assert_eq!(ErasureCode::new(&PARAMS).recover(bytes.len(), parts), Ok(bytes));
    let unknown = peer.shard(ShardRequest { erasure_root: Hash::ZERO, index: 0 }).await;
    assert_eq!(unknown, Err(StreamError::Refused(Refusal::Unknown)));
    // 141
    peer.assurance(&world.assurance).await.unwrap();
    assert!(process.line_with("assurance").await.ends_with("bits [1] valid true"));
    // 148
    let root = world.tree.root();
    let last = world.exports.len() as u16 - 1;
    let request = SegmentRequest { trees: vec![(root, vec![0, last]), (root, vec![last])] };
    let segments = peer.segments(&request).await.unwrap();
    let expected = [0, usize::from(last), usize::from(last)].map(|at| world.exports[at].clone());
    assert!(segments.iter().map(|import| &import.segment).eq(&expected));
    let beyond = SegmentRequest { trees: vec![(root, vec![last + 1])] };
    assert_eq!(peer.segments(&beyond).await, Err(StreamError::Refused(Refusal::Unknown)));
    assert!(process.end().await);
}

#[tokio::test]
async fn announcements_go_both_ways_and_a_follower_sees_the_package_accumulated() {
    let world = World::new();
    let (mut process, node) = validator(0).await;
    let genesis = world.genesis();
    let status = Handshake { finalized: genesis, leaves: vec![genesis] };
    let (feed, mut chain) = Follow::start(status, FollowLimits::default());
    let config = config(2, Role::Builder, genesis.hash, Limits::default());
    let endpoint = Endpoint::bind(&config, feed).unwrap();
    let mut peers = Peers::new(endpoint.clone(), 5);
    peers.set([node]);
    let mut follower = Follower::new(PARAMS, world.start(), Depth::default());
    let package = world.bundle.package.hash();
    let mut announced = 0;
    process.line_with("greeted by builder true at slot 0 with 1").await;
    while follower.view().head().hash != world.id(19).hash {
        // Once it has what there was, the peer announces block after block.
        if follower.view().head().slot as usize == 10 + announced {
            process.say("next").await;
            announced += 1;
        }
        let update = chain.next().await.unwrap().apply(&mut follower);
        assert!(update.refused.is_empty(), "{:?}", update.refused);
        chain.want(follower.wanted());
        chain.tell(&follower);
    }
    assert_eq!(follower.view().fate(package), Fate::Accumulated { block: world.id(3).hash });
    let announcement = Announcement { header: world.chain[19].header.clone(), finalized: genesis };
    endpoint.announce(&announcement);
    process.line_with(&format!("announced {}", world.id(19).hash)).await;
    // The state that decides about packages, by its root.
    let root = StateTrie::new(&world.state).root();
    assert!(chain.want_state(StateWanted::of_chain(world.id(19).hash, Some(root), &[], 1)));
    loop {
        if let network::ChainEvent::State { entries, root: proved, .. } = chain.next().await.unwrap() {
            assert_eq!(proved, root);
            let guarantors = |core| network::guarantors_of_state(&PARAMS, &entries, core, 20).unwrap();
            assert_eq!((guarantors(0).len(), guarantors(1).len()), (3, 3));
            break;
        }
    }
    endpoint.shutdown().await;
    assert!(process.end().await);
}
