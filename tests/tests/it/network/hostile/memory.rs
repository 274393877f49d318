//! Many peers that declare much, send some of it and wait: the memory of a node in a process of its own.

use super::{
    super::process::Process,
    rogue::{Papers, connect, speak},
};
use harness::network::{World, bundle_of, config};
use jam::codec::Encode;
use network::{Direction, Endpoint, Kind, Limits, Role, Silent};
use std::sync::Arc;
use tokio::process::Command;

/// The most memory that a process has ever had, in KiB, if this system tells.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test]
async fn declared_and_half_sent() {
    let mut process = Process::start(Command::new(env!("CARGO_BIN_EXE_peer")).arg("0"));
    let line = process.line_with("listening").await;
    let addr = line.rsplit(' ').next().unwrap().parse().unwrap();
    let world = World::new();
    let genesis = world.genesis().hash;
    let before = peak_kib(process.id());
    let bundle = bundle_of(13 << 20);
    let head = [0_u16.encode(), bundle.package.encode()].concat();
    let blob = &bundle.extrinsics[0];
    let part = &blob[..blob.len() - 1];
    let mut held = vec![];
    for index in 0..20 {
        let rogue = connect(&Papers::proper(100 + index, genesis), addr).await.unwrap();
        for _ in 0..6 {
            // All but the last byte, as far as the other side takes it.
            let (mut send, recv) = speak(&rogue, Kind::Package as u8, &[&head], false).await;
            let part = part.to_vec();
            let len = (blob.len() as u32).to_le_bytes();
            held.push(tokio::spawn(async move {
                let _ = send.write_all(&len).await;
                let _ = send.write_all(&part).await;
                let _recv = recv;
                let _ = send.stopped().await;
            }));
        }
        held.push(tokio::spawn(async move { drop(rogue.closed().await) }));
    }
    // It gives up on them, by name, and goes on serving.
    process.line_with("violation on Some(Package): a request took more than").await;
    let honest =
        Endpoint::bind(&config(77, Role::Node, genesis, Limits::default()), Arc::new(Silent)).unwrap();
    let peer = honest.dial(jam::Ed25519Secret::trivial(0).public(), addr).await.unwrap();
    assert_eq!(peer.blocks(genesis, Direction::Ascending, 2).await.unwrap(), world.chain[..2]);
    if let (Some(before), Some(peak)) = (before, peak_kib(process.id())) {
        // 20 × 6 × 13 MiB = 1.5 GiB were declared; requests may take 256 MiB, and each connection has a window of 4 MiB.
        let grown = (peak - before) / 1024;
        println!("the node grew by {grown} MiB while 1,560 MiB were declared");
        assert!(grown < 256 + 20 * 4 + 64, "{grown} MiB");
    }
    held.iter().for_each(tokio::task::JoinHandle::abort);
    assert!(process.end().await);
}
