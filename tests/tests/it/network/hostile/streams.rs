//! Streams that are too long, too many, or never go on.

use super::{
    Target, limits,
    rogue::{Papers, connect, listen, speak},
};
use harness::network::{PARAMS, bundle_of, config};
use jam::{Ed25519Secret, codec::Encode};
use network::{
    Direction, Endpoint, Kind, Limits, Role, Silent, StreamError, Submission, SubmitError, Taken, submit,
};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};

async fn rogue(target: &Target) -> quinn::Connection {
    connect(&Papers::proper(9, target.genesis), target.endpoint.local_addr().unwrap()).await.unwrap()
}

#[tokio::test]
async fn oversized_frame() {
    let mut target = Target::start(limits());
    let rogue = rogue(&target).await;
    for kind in Kind::ALL {
        let (mut send, _recv) = speak(&rogue, kind as u8, &[], false).await;
        send.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
        let note = target.notes("4294967295 bytes, at most").await;
        assert!(note.contains(&format!("{kind:?}")), "{note}");
        // The stream is stopped, the connection lives.
        assert!(timeout(Duration::from_secs(10), send.stopped()).await.unwrap().is_ok());
    }
    assert!(rogue.close_reason().is_none());
    target.holds_nothing().await;
    // No such kind.
    let (_send, mut recv) = speak(&rogue, 200, &[], true).await;
    assert!(recv.read_to_end(1).await.is_err());
    target.notes("no stream kind 200").await;
    target.is_well().await;
}

#[tokio::test]
async fn endless_stream() {
    let mut target = Target::start(limits());
    let rogue = rogue(&target).await;
    // A request that goes on after its end.
    let request = [target.genesis.encode(), vec![0], 1_u32.encode()].concat();
    let (mut send, _recv) = speak(&rogue, Kind::Blocks as u8, &[&request], false).await;
    let chunk = vec![0; 1 << 16];
    let stopped = send.stopped();
    let endless = async { while send.write_all(&chunk).await.is_ok() {} };
    let stopped = async {
        tokio::select! { () = endless => {}, _ = stopped => {} }
    };
    timeout(Duration::from_secs(30), stopped).await.expect("it is stopped");
    target.notes("goes on after its last message").await;
    drop(send);
    // A message within its limit that never ends.
    let (mut send, _recv) = speak(&rogue, Kind::Share as u8, &[&[0, 0, 0]], false).await;
    send.write_all(&(13_000_000_u32).to_le_bytes()).await.unwrap();
    send.write_all(&chunk).await.unwrap();
    timeout(Duration::from_secs(30), send.stopped()).await.expect("it is stopped").unwrap();
    target.notes("a request took more than 400 ms").await;
    target.holds_nothing().await;
    target.is_well().await;
}

#[tokio::test]
async fn stream_flood() {
    let mut target = Target::start(Limits { violations_max: 80, ..limits() });
    let rogue = rogue(&target).await;
    let mut streams = vec![];
    for _ in 0..64 {
        streams.push(speak(&rogue, Kind::Package as u8, &[], false).await);
    }
    // More are not to be had while these are open.
    assert!(timeout(Duration::from_millis(50), rogue.open_bi()).await.is_err());
    // Meanwhile others are served.
    target.is_well().await;
    target.notes("violation on Some(Package): a request took more than 400 ms").await;
    // Opened again as fast as they are closed, until the target has had enough.
    streams.clear();
    let flood = async {
        while let Ok((mut send, _recv)) = rogue.open_bi().await {
            let _ = send.write_all(&[250]).await;
        }
    };
    timeout(Duration::from_secs(60), flood).await.expect("it is expelled");
    assert!(rogue.closed().await.to_string().contains("too many violations"));
    target.notes("expelled").await;
    target.holds_nothing().await;
    target.is_well().await;
}

#[tokio::test]
async fn half_open() {
    let mut target = Target::start(limits());
    let rogue = rogue(&target).await;
    // Half a kind is nothing; half a length; half a message; everything but the end.
    let request = [target.genesis.encode(), vec![0], 1_u32.encode()].concat();
    let silent = rogue.open_bi().await.unwrap();
    let (mut half_length, _answer) = speak(&rogue, Kind::Blocks as u8, &[], false).await;
    half_length.write_all(&[37, 0]).await.unwrap();
    let (mut half, _answer) = speak(&rogue, Kind::Blocks as u8, &[], false).await;
    half.write_all(&[37, 0, 0, 0, 1, 2, 3]).await.unwrap();
    let (endless, _answer) = speak(&rogue, Kind::Blocks as u8, &[&request], false).await;
    let mut late = vec![];
    for _ in 0..4 {
        late.push(target.notes("took more than 400 ms").await);
    }
    late.sort();
    let (request, kind) = ("violation on Some(Blocks): a request", "violation on None: the kind of a stream");
    assert_eq!(late, [kind, request, request, request].map(|what| format!("{what} took more than 400 ms")));
    // A stream that is opened and ended at once.
    let (mut empty, _answer) = rogue.open_bi().await.unwrap();
    empty.finish().unwrap();
    target.notes("violation on None: the stream ended too early").await;
    let (mut cut, _answer) = speak(&rogue, Kind::State as u8, &[], false).await;
    cut.write_all(&[98, 0, 0, 0, 1]).await.unwrap();
    cut.finish().unwrap();
    target.notes("violation on Some(State): the stream ended too early").await;
    drop((silent, half_length, half, endless));
    target.is_well().await;
}

#[tokio::test]
async fn stalled_peer() {
    let genesis = Target::start(limits()).genesis;
    // It lets us in, and never reads or answers.
    let stalls = listen(&Papers::proper(5, genesis), |connection| async move {
        let mut streams = vec![];
        while let Ok(stream) = connection.accept_bi().await {
            streams.push(stream);
        }
    });
    let target = Target::start(Limits::default());
    let impatient = Limits { answer_ms: 300, ..Limits::default() };
    let ours = Endpoint::bind(&config(8, Role::Builder, genesis, impatient), Arc::new(Silent)).unwrap();
    let stalled = Ed25519Secret::trivial(5).public();
    let connection = ours.dial(stalled, stalls).await.unwrap();
    let late = connection.blocks(genesis, Direction::Ascending, 1).await;
    assert_eq!(late, Err(StreamError::Timeout { what: "an answer", ms: 300 }));
    // A bundle that does not fit into the peer's window is given up too, and the next guarantor gets it.
    let submission = Submission::new(0, &bundle_of(12 << 20), &Default::default(), &PARAMS).unwrap();
    let guarantors = [stalled, target.endpoint.key()];
    let alone = submit(&ours, &guarantors, &submission, Instant::now() + Duration::from_millis(100)).await;
    assert_eq!(alone, Err(SubmitError::Closed { tried: 1 }));
    ours.dial(guarantors[1], target.endpoint.local_addr().unwrap()).await.unwrap();
    let patient = Endpoint::bind(
        &config(8, Role::Builder, genesis, Limits { answer_ms: 5_000, ..impatient }),
        Arc::new(Silent),
    )
    .unwrap();
    patient.dial(stalled, stalls).await.unwrap();
    patient.dial(guarantors[1], target.endpoint.local_addr().unwrap()).await.unwrap();
    let taken = submit(&patient, &guarantors, &submission, Instant::now() + Duration::from_secs(60)).await;
    assert_eq!(taken, Ok(Taken { by: guarantors[1], tried: 2 }));
    // One that takes the bytes and says nothing gets its part of the window; then the next one is tried as well.
    let ours =
        Endpoint::bind(&config(8, Role::Builder, genesis, Limits::default()), Arc::new(Silent)).unwrap();
    ours.dial(stalled, stalls).await.unwrap();
    ours.dial(guarantors[1], target.endpoint.local_addr().unwrap()).await.unwrap();
    let small = Submission::new(0, &bundle_of(1000), &Default::default(), &PARAMS).unwrap();
    let taken = submit(&ours, &guarantors, &small, Instant::now() + Duration::from_secs(8)).await;
    assert_eq!(taken, Ok(Taken { by: guarantors[1], tried: 2 }));
    target.is_well().await;
}
