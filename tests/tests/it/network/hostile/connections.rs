//! Connections that are begun and not finished, or come and go.

use super::{
    Target, limits,
    rogue::{Papers, connect, speak},
};
use network::{Kind, Limits};
use std::net::UdpSocket;

/// Greetings of so many clients that will never say more.
async fn first_packets(papers: &Papers, count: usize) -> Vec<Vec<u8>> {
    let ear = UdpSocket::bind("127.0.0.1:0").unwrap();
    ear.set_nonblocking(true).unwrap();
    let ear = tokio::net::UdpSocket::from_std(ear).unwrap();
    let addr = ear.local_addr().unwrap();
    let mut packets = vec![];
    for _ in 0..count {
        let client = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let connecting = client.connect_with(papers.client(true), addr, "anybody").unwrap();
        let port = client.local_addr().unwrap().port();
        let mut packet = vec![0; 2000];
        loop {
            let (len, from) = ear.recv_from(&mut packet).await.unwrap();
            if from.port() == port {
                packets.push(packet[..len].to_vec());
                break;
            }
        }
        drop(connecting);
    }
    packets
}

#[tokio::test]
async fn half_open_connections() {
    let mut target = Target::start(Limits { handshakes_max: 8, ..limits() });
    let addr = target.endpoint.local_addr().unwrap();
    let papers = Papers::proper(9, target.genesis);
    let sockets = first_packets(&papers, 40).await.into_iter().map(|packet| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&packet, addr).unwrap();
        socket
    });
    let sockets = sockets.collect::<Vec<_>>();
    // The first ones are waited for, in vain; under pressure the others must show that they hear us.
    let note = target.notes("handshake failed").await;
    assert!(note.contains("it took more than 800 ms"), "{note}");
    target.is_well().await;
    assert!(target.endpoint.connections().len() <= 1);
    drop(sockets);
}

#[tokio::test]
async fn connection_churn() {
    let mut target = Target::start(limits());
    let addr = target.endpoint.local_addr().unwrap();
    let client = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    for turn in 0..150 {
        let papers = Papers::proper(1000 + turn % 90, target.genesis);
        let connection = client.connect_with(papers.client(true), addr, "anybody").unwrap().await.unwrap();
        // Some leave politely, some in the middle of a word, some without a word.
        match turn % 3 {
            0 => connection.close(0_u32.into(), b"bye"),
            1 => drop(speak(&connection, Kind::Share as u8, &[&[1, 2, 3]], false).await),
            _ => {}
        }
    }
    client.close(0_u32.into(), b"");
    client.wait_idle().await;
    target.endpoint.connections_are(|count| count == 0).await;
    target.holds_nothing().await;
    // More at a time than there is room for.
    let rogues = (0..80).map(|index| Papers::proper(2000 + index, target.genesis));
    let mut inside = vec![];
    for papers in rogues {
        inside.push(connect(&papers, addr).await);
    }
    target.notes("no room").await;
    assert!(target.endpoint.connections().len() <= 64);
    drop(inside);
    target.endpoint.connections_are(|count| count == 0).await;
    target.is_well().await;
}
