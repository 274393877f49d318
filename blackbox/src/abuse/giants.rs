//! Bodies that are too large or too deep, and clients that take their time.

use super::{
    connection::{Connection, Tally, head},
    node::Target,
};
use std::{net::SocketAddr, time::Duration};
use tokio::{io::AsyncWriteExt, time::Instant};

const MIB: usize = 1024 * 1024;
const CONNECTIONS: usize = 16;
/// Slow clients: more than the node has places for.
const SLOW: usize = 300;
/// They send a byte so often.
const BYTE_EVERY: Duration = Duration::from_millis(500);

fn giants() -> Vec<Vec<u8>> {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    let params =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":{params}}}"#);
    let text = "a".repeat(2 * MIB - 200);
    let numbers = "1,".repeat(MIB - 200);
    let all = [
        "[".repeat(MIB),
        r#"{"a":"#.repeat(300_000),
        params(&format!("{}{}", "[".repeat(500_000), "]".repeat(500_000))),
        params(&format!("[\"{text}\"]")),
        params(&format!("[{numbers}1]")),
        format!("[{}{call}]", format!("{call},").repeat(40_000)),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{text}"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"{text}","method":"eth_chainId"}}"#),
        "x".repeat(3 * MIB),
    ];
    all.into_iter().map(String::into_bytes).collect()
}

/// Sends giants for a while; among them promises of bodies that never come.
pub(super) async fn send(node: SocketAddr, each: Duration) -> Tally {
    let (giants, until) = (giants(), Instant::now() + each);
    let abuser = |first: usize| {
        let giants = &giants;
        async move {
            let mut tally = Tally::default();
            let mut turn = first;
            while Instant::now() < until {
                turn += 1;
                let Ok(mut connection) = Connection::open(node).await else { continue };
                if turn.is_multiple_of(7) {
                    let promise = head(100_000 * MIB);
                    let sent = connection.stream.write_all(promise.as_bytes()).await;
                    let answer = match sent {
                        Ok(()) => connection.answer().await,
                        Err(error) => Err(error),
                    };
                    tally.add(&answer);
                } else if let Err(error) =
                    connection.post(&giants[turn % giants.len()..][..1], &mut tally).await
                {
                    tally.add(&Err(error));
                }
            }
            tally
        }
    };
    Tally::sum(&futures_util::future::join_all((0..CONNECTIONS).map(abuser)).await)
}

/// Clients that send their headers, or their bodies, byte by byte, and such that never read their answers.
pub(super) async fn dawdle(node: SocketAddr, target: &Target, each: Duration) -> Tally {
    let until = Instant::now() + each;
    let trace = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":[{},{{"enableMemory":true}}]}}"#,
        target.transaction
    );
    let logs = r#"{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0"}]}"#;
    let abuser = |index: usize| {
        let trace = &trace;
        async move {
            let mut tally = Tally::default();
            while Instant::now() < until {
                let Ok(mut connection) = Connection::open(node).await else { continue };
                let unread = if index.is_multiple_of(2) { trace.as_str() } else { logs };
                let (first, rest) = match index % 3 {
                    0 => (String::new(), head(100)),
                    1 => (head(MIB), "[".repeat(MIB)),
                    _ => (format!("{}{unread}", head(unread.len())).repeat(20), String::new()),
                };
                let mut sent = connection.stream.write_all(first.as_bytes()).await;
                let mut rest = rest.bytes();
                while sent.is_ok() && Instant::now() < until {
                    tokio::time::sleep(BYTE_EVERY).await;
                    if let Some(byte) = rest.next() {
                        sent = connection.stream.write_all(&[byte]).await;
                    }
                }
                if let Err(error) = sent {
                    tally.add(&Err(error));
                }
            }
            tally
        }
    };
    Tally::sum(&futures_util::future::join_all((0..SLOW).map(abuser)).await)
}
