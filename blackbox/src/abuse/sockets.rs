//! WebSockets: far more than there are places for, and such that subscribe to everything and read nothing.

use super::{
    connection::{Connection, Tally},
    happening,
    node::Target,
};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{io::AsyncWriteExt, time::Instant};

/// WebSockets that are asked for beyond the limit.
const SOCKETS: usize = 10_000;
/// As many are asked for at once.
const AT_ONCE: usize = 500;
/// Clients that subscribe.
const SUBSCRIBERS: usize = 100;
/// Subscriptions that each of them asks for: more than it may have.
const SUBSCRIPTIONS: usize = 80;

const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

async fn upgrade(node: SocketAddr) -> (io::Result<u16>, Option<Connection>) {
    let Ok(mut connection) = Connection::open(node).await else {
        return (Err(io::ErrorKind::ConnectionRefused.into()), None);
    };
    let asked = connection.stream.write_all(UPGRADE.as_bytes()).await;
    let answer = match asked {
        Ok(()) => connection.answer().await,
        Err(error) => Err(error),
    };
    let is_open = matches!(answer, Ok(101));
    (answer, is_open.then_some(connection))
}

/// Opens WebSockets and keeps those that it gets, until the time is over and all were asked for.
pub(super) async fn storm(node: SocketAddr, each: Duration) -> Tally {
    let until = Instant::now() + each;
    let mut tally = Tally::default();
    let mut kept = vec![];
    let mut asked = 0;
    while asked < SOCKETS || Instant::now() < until {
        let some = futures_util::future::join_all((0..AT_ONCE).map(|_| upgrade(node))).await;
        asked += some.len();
        for (answer, connection) in some {
            tally.add(&answer);
            kept.extend(connection);
        }
    }
    tally
}

/// A text in a frame of a client; the mask is nothing, which is allowed and leaves the text as it is.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.bytes());
    frame
}

/// Subscribes to everything, reads nothing, and makes things happen.
pub(super) async fn subscribe(node: SocketAddr, target: &Target, each: Duration) -> Tally {
    let until = Instant::now() + each;
    let kinds = [r#""newHeads""#, r#""logs",{}"#, r#""newPendingTransactions",true"#, r#""pendingBlock""#];
    let subscriptions = (0..SUBSCRIPTIONS).flat_map(|index| {
        let kind = kinds[index % kinds.len()];
        frame(&format!(r#"{{"jsonrpc":"2.0","id":{index},"method":"eth_subscribe","params":[{kind}]}}"#))
    });
    let subscriptions = subscriptions.collect::<Vec<_>>();
    let large = frame(r#"{"jsonrpc":"2.0","id":0,"method":"eth_getLogs","params":[{"fromBlock":"0x0"}]}"#);
    let subscriber = || async {
        let mut tally = Tally::default();
        while Instant::now() < until {
            let (answer, connection) = upgrade(node).await;
            tally.add(&answer);
            let Some(mut connection) = connection else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let mut sent = connection.stream.write_all(&subscriptions).await;
            while sent.is_ok() && Instant::now() < until {
                let ask =
                    tokio::time::timeout(Duration::from_millis(100), connection.stream.write_all(&large));
                sent = ask.await.unwrap_or(Ok(()));
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
        tally
    };
    let happening = happening::send(node, &target.unsent, Duration::from_millis(5), until);
    let subscribers = futures_util::future::join_all((0..SUBSCRIBERS).map(|_| subscriber()));
    let (happened, mut tallies) = tokio::join!(happening, subscribers);
    tallies.push(happened);
    Tally::sum(&tallies)
}
