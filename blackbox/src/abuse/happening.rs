//! Something happens while others abuse.

use super::connection::{Connection, Tally};
use std::{net::SocketAddr, time::Duration};
use tokio::time::Instant;

/// Sends transactions one after the other, until the time is over.
pub(super) async fn send(node: SocketAddr, raws: &[String], pause: Duration, until: Instant) -> Tally {
    let mut tally = Tally::default();
    let Ok(mut connection) = Connection::open(node).await else { return tally };
    for raw in raws {
        if Instant::now() >= until {
            break;
        }
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["{raw}"]}}"#);
        if let Err(error) = connection.post(&[body.into_bytes()], &mut tally).await {
            tally.add(&Err(error));
            break;
        }
        tokio::time::sleep(pause).await;
    }
    tokio::time::sleep_until(until).await;
    tally
}
