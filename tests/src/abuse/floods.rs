//! Requests that are right and expensive, many at once.

use super::{
    connection::{Connection, Tally},
    node::{SPIN, Target},
};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::time::Instant;

/// Connections at once.
const CONNECTIONS: usize = 64;

/// Calls, estimates, simulations and traces that only their limits end.
pub(super) async fn calls(node: SocketAddr, target: &Target, each: Duration) -> Tally {
    let spin = json!({ "to": SPIN, "gas": "0x2faf080" });
    let twice = json!({ "blockStateCalls": [{ "calls": [spin, spin] }] });
    let requests = [
        ("eth_call", json!([spin, "latest"])),
        ("eth_estimateGas", json!([{ "to": SPIN }, "latest"])),
        ("debug_traceCall", json!([spin, "latest", { "enableMemory": true }])),
        ("debug_traceCall", json!([spin, "latest", { "tracer": "prestateTracer" }])),
        ("debug_traceTransaction", json!([target.transaction, { "tracer": "callTracer" }])),
        ("debug_traceBlockByNumber", json!(["0x1", {}])),
        ("trace_block", json!(["0x1"])),
        ("eth_simulateV1", json!([twice, "latest"])),
        ("eth_createAccessList", json!([spin, "latest"])),
        ("eth_feeHistory", json!(["0x400", "latest", [1, 50, 99]])),
    ];
    flood(node, &requests, each).await
}

/// Logs of everything, for one topic or any.
pub(super) async fn logs(node: SocketAddr, each: Duration) -> Tally {
    let topic = format!("0x{:064x}", 1);
    let requests = [
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])),
        ("eth_getLogs", json!([{ "fromBlock": "earliest", "topics": [[topic]] }])),
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "topics": [null, [topic]] }])),
        ("eth_getBlockReceipts", json!(["0x1"])),
    ];
    flood(node, &requests, each).await
}

async fn flood(node: SocketAddr, requests: &[(&str, Value)], each: Duration) -> Tally {
    let until = Instant::now() + each;
    let bodies = requests.iter().map(|(method, params)| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string().into_bytes()
    });
    let bodies = bodies.collect::<Vec<_>>();
    let abuser = |first: usize| {
        let bodies = &bodies;
        async move {
            let mut tally = Tally::default();
            let mut connection = None;
            for turn in first.. {
                if Instant::now() >= until {
                    break;
                }
                let open = match connection.take() {
                    Some(open) => Ok(open),
                    None => Connection::open(node).await,
                };
                let Ok(mut open) = open else { continue };
                // Whoever does not wait for the answer has the work done all the same.
                let asked = open.post(&bodies[turn % bodies.len()..][..1], &mut tally);
                match tokio::time::timeout_at(until + Duration::from_secs(1), asked).await {
                    Ok(Ok(())) => connection = Some(open),
                    Ok(Err(error)) => tally.add(&Err(error)),
                    Err(_) => {}
                }
            }
            tally
        }
    };
    Tally::sum(&futures_util::future::join_all((0..CONNECTIONS).map(abuser)).await)
}
