//! Six validators, each a process of its own.

use devnet::genesis::{Genesis, params};
use harness::devnet::{Builder, Setup};
use std::{
    net::{SocketAddr, UdpSocket},
    process::{Child, Command, Stdio},
};

/// Processes that end with the test, however it ends.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_addresses(count: usize) -> Vec<SocketAddr> {
    let sockets = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect::<Vec<_>>();
    sockets.iter().map(|socket| socket.local_addr().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_processes_take_a_bundle_from_submission_to_finality() {
    let slot_ms = 1000;
    let setup = Setup::new();
    let addresses = free_addresses(6);
    let mut genesis = Genesis::new(params(2), setup.service, setup.genesis.id());
    genesis.fixed_addresses = Some(addresses.clone());
    let spec = genesis.spec(&addresses);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("chain.json");
    std::fs::write(&file, spec.to_json()).unwrap();
    let start = |index: usize| {
        Command::new(env!("CARGO_BIN_EXE_validator"))
            .arg(&file)
            .args([index.to_string(), slot_ms.to_string()])
            .arg(directory.path().join(format!("validator-{index}")))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut processes = Processes((0..6).map(start).collect());
    let mut builder = Builder::connect(&spec, slot_ms, &setup);
    builder.run_until("packages can be anchored", |builder| builder.context().is_some()).await;
    builder.seal(&setup.transactions(0, 200_000));
    builder.run_until("the first block is final", |builder| builder.is_final(1)).await;
    println!("six processes: {:?}", builder.way(1));
    // One is killed and comes back with what it kept; the chain does not mind.
    processes.0[4].kill().unwrap();
    processes.0[4].wait().unwrap();
    processes.0[4] = start(4);
    builder.seal(&setup.transactions(2, 1000));
    builder.run_until("the second block is final", |builder| builder.is_final(2)).await;
    builder.endpoint.shutdown().await;
}
