//! Requests that are right and expensive, many at once.

use super::{
    connection::{Connection, Tally},
    happening,
    node::{CALL, READ, SPIN, Target},
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
    flood(node, &requests, Instant::now() + each).await
}

/// Traces that record far more than what they cost: storage that is shown again with every step, calls that return much,
/// and a tracer that keeps everything.
pub(super) async fn traces(node: SocketAddr, each: Duration) -> Tally {
    let call = |to| json!({ "to": to, "gas": "0x2faf080" });
    let trace = |to, options: Value| ("debug_traceCall", json!([call(to), "latest", options]));
    let mux = json!({ "callTracer": { "withLog": true }, "flatCallTracer": {}, "prestateTracer": {} });
    let requests = [
        trace(READ, json!({})),
        trace(READ, json!({ "enableMemory": true, "enableReturnData": true })),
        trace(READ, json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } })),
        trace(CALL, json!({ "tracer": "callTracer" })),
        trace(CALL, json!({ "tracer": "flatCallTracer" })),
        trace(CALL, json!({ "tracer": "muxTracer", "tracerConfig": mux })),
        trace(CALL, json!({ "tracer": "4byteTracer" })),
        trace(CALL, json!({ "enableReturnData": true })),
        trace(SPIN, json!({ "tracer": "erc7562Tracer" })),
    ];
    flood(node, &requests, Instant::now() + each).await
}

/// Filters, far more than there may be, and such that are asked again and again while much is logged.
pub(super) async fn filters(node: SocketAddr, target: &Target, each: Duration) -> Tally {
    let until = Instant::now() + each;
    let polls = target.filters.iter().map(|filter| ("eth_getFilterChanges", json!([filter])));
    let new = [
        ("eth_newFilter", json!([{ "fromBlock": "0x0", "topics": [null, null] }])),
        ("eth_newBlockFilter", json!([])),
        ("eth_newPendingTransactionFilter", json!([true])),
    ];
    let again = target.filters.iter().map(|filter| ("eth_getFilterLogs", json!([filter])));
    let requests = polls.chain(new).chain(again.take(1)).collect::<Vec<_>>();
    let happening = happening::send(node, &target.unsent_logs, Duration::from_millis(20), until);
    let (happened, flooded) = tokio::join!(happening, flood(node, &requests, until));
    Tally::sum(&[happened, flooded])
}

/// Logs of everything, for one topic or any.
pub(super) async fn logs(node: SocketAddr, each: Duration) -> Tally {
    let topic = format!("0x{:064x}", 1);
    let addresses = (0..1_000).map(|index| format!("0x{:040x}", 0xa0000 + index)).collect::<Vec<_>>();
    let requests = [
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])),
        ("eth_getLogs", json!([{ "fromBlock": "earliest", "topics": [[topic]] }])),
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "topics": [null, [topic]] }])),
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "topics": [null, null, null, null] }])),
        ("eth_getLogs", json!([{ "fromBlock": "0x0", "address": addresses }])),
        ("eth_getBlockReceipts", json!(["0x1"])),
    ];
    flood(node, &requests, Instant::now() + each).await
}

async fn flood(node: SocketAddr, requests: &[(&str, Value)], until: Instant) -> Tally {
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
