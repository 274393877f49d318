//! Garbage in every message, of requests and of answers.

use super::{
    Target, limits,
    rogue::{Papers, connect, listen, speak},
};
use harness::network::{PARAMS, World, bundle_of, config};
use jam::{Ed25519Secret, codec::Encode, sample::Source, spec::StateKey};
use network::{
    AssuranceMessage, Direction, Endpoint, Kind, Limits, Role, SegmentRequest, ShardRequest, SharedBundle,
    Silent, StateRequest, StreamError, Submission,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How many messages the request of a kind has.
fn messages(kind: Kind) -> usize {
    match kind {
        Kind::Package | Kind::Share => 2,
        Kind::Bundle => 5,
        _ => 1,
    }
}

#[tokio::test]
async fn garbage_in_every_request() {
    let mut target = Target::start(limits());
    let addr = target.endpoint.local_addr().unwrap();
    let rogue = connect(&Papers::proper(9, target.genesis), addr).await.unwrap();
    let mut source = Source::new(&PARAMS, 1);
    for kind in Kind::ALL {
        for length in [0, 1, 31, 100, 3000] {
            let garbage = (0..messages(kind)).map(|_| source.bytes(length)).collect::<Vec<_>>();
            let garbage = garbage.iter().map(Vec::as_slice).collect::<Vec<_>>();
            let (_send, mut recv) = speak(&rogue, kind as u8, &garbage, true).await;
            let answer = timeout(Duration::from_secs(20), recv.read_to_end(1 << 20)).await.unwrap();
            // Announcements begin with the target's own words; all else is refused. No trees are no segments.
            let innocent = (kind, length) == (Kind::Segments, 0);
            assert!(answer.is_err() || kind == Kind::Announcements || innocent, "{kind:?} {length}");
            if !innocent {
                let note = target.notes("violation").await;
                assert!(note.contains(&format!("{kind:?}")), "{kind:?} {length}: {note}");
            }
        }
    }
    assert!(rogue.close_reason().is_none());
    target.holds_nothing().await;
    target.is_well().await;
}

#[tokio::test]
async fn garbage_of_the_right_length() {
    let mut target = Target::start(limits());
    let addr = target.endpoint.local_addr().unwrap();
    let rogue = connect(&Papers::proper(9, target.genesis), addr).await.unwrap();
    let mut source = Source::new(&PARAMS, 2);
    // A package that is right, with extrinsics that are not as long as it says.
    let mut head = 0_u16.encode();
    bundle_of(100).package.encode_to(&mut head);
    let _stream = speak(&rogue, Kind::Package as u8, &[&head, &source.bytes(99)], true).await;
    target.notes("the extrinsics are not as long as the package says").await;
    // A direction that does not exist.
    let _stream = speak(&rogue, Kind::Blocks as u8, &[&[2; 37]], true).await;
    target.notes("2 is no choice here").await;
    // A list of leaves longer than the message.
    let handshake = [vec![0; 36], vec![0xff; 9]].concat();
    let _stream = speak(&rogue, Kind::Announcements as u8, &[&handshake], true).await;
    target.notes("entries declared, at most 0 possible").await;
    // Announcements after a proper greeting.
    let greeting = [vec![0; 36], vec![0]].concat();
    let noise = source.bytes(500);
    let _stream = speak(&rogue, Kind::Announcements as u8, &[&greeting, &noise], true).await;
    target.notes("greeted").await;
    target.notes("violation on Some(Announcements): malformed").await;
    target.is_well().await;
}

/// A peer that answers every request with messages of noise.
fn babbler(genesis: jam::HeaderHash, messages: Vec<Vec<u8>>) -> std::net::SocketAddr {
    listen(&Papers::proper(5, genesis), move |connection| {
        let messages = messages.clone();
        async move {
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                let messages = messages.clone();
                tokio::spawn(async move {
                    let _ = recv.read_to_end(1 << 24).await;
                    for message in &messages {
                        let _ = send.write_all(&(message.len() as u32).to_le_bytes()).await;
                        let _ = send.write_all(message).await;
                    }
                    let _ = send.finish();
                });
            }
        }
    })
}

#[tokio::test]
async fn garbage_in_every_answer() {
    let world = World::new();
    let genesis = world.genesis().hash;
    let mut source = Source::new(&PARAMS, 3);
    let noise = vec![source.bytes(77), source.bytes(77), source.bytes(77), source.bytes(77)];
    let addr = babbler(genesis, noise);
    let ours = Endpoint::bind(&config(8, Role::Node, genesis, limits()), Arc::new(Silent)).unwrap();
    let peer = ours.dial(Ed25519Secret::trivial(5).public(), addr).await.unwrap();
    let shared = SharedBundle::new(0, Default::default(), world.bundle.encode().into(), &PARAMS).unwrap();
    let submission = Submission::new(0, &world.bundle, &Default::default(), &PARAMS).unwrap();
    let AssuranceMessage { .. } = &world.assurance;
    let request = SegmentRequest { trees: vec![(world.tree.root(), vec![0])] };
    let errors = [
        peer.blocks(genesis, Direction::Ascending, 5).await.unwrap_err(),
        peer.state(StateRequest::key(genesis, StateKey::ZERO)).await.unwrap_err(),
        peer.submit(&submission).await.unwrap_err(),
        peer.share(&shared).await.unwrap_err(),
        peer.report(&world.guarantee).await.unwrap_err(),
        peer.shard(ShardRequest { erasure_root: world.shards.root, index: 0 }).await.unwrap_err(),
        peer.assurance(&world.assurance).await.unwrap_err(),
        peer.segments(&request).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_violation(), "{error}");
    }
    assert!(peer.is_open());
}

#[tokio::test]
async fn answers_to_other_questions() {
    let world = World::new();
    let genesis = world.genesis().hash;
    let ask = async |message: Vec<u8>, max: u32| {
        let addr = babbler(genesis, vec![message]);
        let ours =
            Endpoint::bind(&config(8, Role::Node, genesis, Limits::default()), Arc::new(Silent)).unwrap();
        let peer = ours.dial(Ed25519Secret::trivial(5).public(), addr).await.unwrap();
        peer.blocks(genesis, Direction::Ascending, max).await
    };
    let blocks = |range: std::ops::Range<usize>| {
        world.chain[range].iter().flat_map(Encode::encode).collect::<Vec<u8>>()
    };
    assert_eq!(ask(blocks(0..3), 3).await.unwrap(), world.chain[..3]);
    let other = StreamError::Wrong("other blocks than were asked for");
    assert_eq!(ask(blocks(1..3), 3).await, Err(other));
    // More than were asked for are not looked at.
    assert_eq!(ask(blocks(0..3), 2).await.unwrap(), world.chain[..2]);
    let mut forged = world.chain[0].clone();
    forged.extrinsic.preimages.push(jam::block::Preimage { requester: 1, blob: vec![1].into() });
    let body = StreamError::Wrong("a block whose header does not commit to its body");
    assert_eq!(ask(forged.encode(), 3).await, Err(body));
}
