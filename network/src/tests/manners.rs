//! Connections: who keeps which, who is let in, and who is dialled again.

use super::world::{Running, Vice, chain, config, dial, genesis, key};
use crate::{DialError, Direction, Endpoint, Limits, Peers, Refusal, Role, Silent, StreamError};
use std::sync::Arc;

#[tokio::test]
async fn the_acceptor_sees_who_asks_and_both_see_one_connection() {
    let server = Running::start(0, chain(3, 0), Vice::None, Limits::default());
    let builder = Endpoint::bind(&config(9, Role::Builder, Limits::default()), Arc::new(Silent)).unwrap();
    let connection = dial(&builder, &server.endpoint).await;
    assert_eq!(connection.peer(), key(0));
    let seen = server.endpoint.connected(&key(9)).await.unwrap();
    assert!(seen.caller().builder && !seen.is_dialled());
    let blocks = connection.blocks(genesis().hash, Direction::Ascending, 2).await.unwrap();
    assert_eq!(blocks, chain(3, 0)[..2]);
    // The silent side refuses.
    let refused = seen.blocks(genesis().hash, Direction::Ascending, 2).await;
    assert_eq!(refused, Err(StreamError::Refused(Refusal::Unsupported)));
    // A second dial gives the same connection.
    assert!(dial(&builder, &server.endpoint).await.is(&connection));
    assert_eq!(dial_error(&builder, &builder).await, DialError::Ourselves);
    builder.shutdown().await;
    server.endpoint.connections_are(|count| count == 0).await;
    assert_eq!(dial_error(&builder, &server.endpoint).await, DialError::Closed);
}

async fn dial_error(from: &Endpoint, to: &Endpoint) -> DialError {
    from.dial(to.key(), to.local_addr().unwrap()).await.unwrap_err()
}

#[tokio::test]
async fn two_nodes_that_dial_each_other_agree_on_one_connection() {
    for _ in 0..4 {
        let a = Running::start(0, vec![], Vice::None, Limits::default());
        let b = Running::start(1, vec![], Vice::None, Limits::default());
        let (from_a, from_b) = tokio::join!(
            a.endpoint.dial(key(1), b.endpoint.local_addr().unwrap()),
            b.endpoint.dial(key(0), a.endpoint.local_addr().unwrap()),
        );
        assert!(from_a.is_ok() && from_b.is_ok(), "{from_a:?} {from_b:?}");
        // Whatever happened, in the end both can talk over what they have.
        let (to_b, to_a) = (a.endpoint.connected(&key(1)).await, b.endpoint.connected(&key(0)).await);
        for connection in [to_b.unwrap(), to_a.unwrap()] {
            let answer = connection.blocks(genesis().hash, Direction::Ascending, 1).await;
            assert!(matches!(answer, Ok(_) | Err(StreamError::Lost(_))), "{answer:?}");
        }
        assert_eq!((a.endpoint.connections().len(), b.endpoint.connections().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_peer_that_comes_back_is_dialled_again() {
    let limits = Limits { redial_first_ms: 1, redial_longest_ms: 20, ..Limits::default() };
    let server = Running::start(0, vec![], Vice::None, limits);
    let addr = server.endpoint.local_addr().unwrap();
    let client = Running::start(1, vec![], Vice::None, limits);
    let mut peers = Peers::new(client.endpoint.clone(), 3);
    peers.set([server.bootnode()]);
    client.endpoint.connected(&key(0)).await.unwrap();
    server.endpoint.shutdown().await;
    client.endpoint.connections_are(|count| count == 0).await;
    drop(server);
    let mut again = config(0, Role::Node, limits);
    again.listen = Some(addr);
    // The system may take a moment to give the port back.
    let _server = loop {
        match Endpoint::bind(&again, Arc::new(Silent)) {
            Ok(server) => break server,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    client.endpoint.connected(&key(0)).await.unwrap();
    peers.set([]);
    client.endpoint.connections_are(|count| count == 0).await;
    assert!(peers.status().is_empty());
}

#[tokio::test]
async fn strangers_are_turned_away_when_full_and_displaced_by_preferred_peers() {
    let limits = Limits { incoming_max: 2, ..Limits::default() };
    let mut server = Running::start(0, vec![], Vice::None, limits);
    server.endpoint.prefer([key(5)]);
    let node = |index| Running::start(index, vec![], Vice::None, Limits::default());
    let (first, second, third, preferred) = (node(1), node(2), node(3), node(5));
    dial(&first.endpoint, &server.endpoint).await;
    server.endpoint.connected(&key(1)).await.unwrap();
    dial(&second.endpoint, &server.endpoint).await;
    server.endpoint.connected(&key(2)).await.unwrap();
    // The third is let in by TLS, and told that there is no room.
    let turned_away = dial(&third.endpoint, &server.endpoint).await;
    assert!(turned_away.closed().await.contains("no room"));
    assert!(matches!(server.notes.recv().await, Some(crate::Note::NoRoom { .. })));
    let welcome = dial(&preferred.endpoint, &server.endpoint).await;
    server.endpoint.connected(&key(5)).await.unwrap();
    first.endpoint.connections_are(|count| count == 0).await;
    assert!(welcome.is_open());
    assert_eq!(server.endpoint.connections().len(), 2);
}
