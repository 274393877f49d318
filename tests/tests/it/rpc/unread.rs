//! Clients that ask for much and read nothing harm nobody else for long.

use super::world_with;
use harness::rpc_world::World;
use rpc::{Config, Limits};
use serde_json::json;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

/// Returns 4 MiB of nothing, which is 8 MiB of text: more than the system takes off the node's hands.
const RETURN_MUCH: &str = "0x624000005ff3";
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Clients that do not read: twice as many as the node has room for.
const GREEDY: usize = 8;

fn request() -> Vec<u8> {
    let to = "0x00000000000000000000000000000000000d0001";
    let params = json!([{ "to": to, "gas": "0x2faf080" }, "latest", { to: { "code": RETURN_MUCH } }]);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params }).to_string();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length:";
    format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A client at another address of this machine, with a small buffer of the system.
struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    async fn connect(server: SocketAddr, from: u8) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(16 * 1024)?;
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, from)), 0))?;
        Ok(Self { stream: socket.connect(server).await?, read: Vec::new() })
    }

    /// Asks, and reads no more than the head of the answer: how long the answer is.
    async fn ask(&mut self) -> io::Result<usize> {
        self.stream.write_all(&request()).await?;
        while !self.read.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).await?;
            self.read.extend(byte);
        }
        let head = String::from_utf8_lossy(&self.read).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        self.read.clear();
        length.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads the rest.
    async fn finish(&mut self, length: usize) -> io::Result<()> {
        self.stream.read_exact(&mut vec![0; length]).await.map(drop)
    }
}

/// Nobody who does not read is cut off for that, so only fairness lets others be served.
fn world() -> World {
    let limits = Limits {
        answers_bytes_max: GREEDY / 2 * (ANSWER_BYTES + 1024),
        idle_timeout: Duration::from_secs(3600),
        call_timeout: Duration::from_secs(600),
        ..Limits::default()
    };
    world_with(Config { limits, ..Config::default() })
}

#[test]
fn sockets_that_never_read_do_not_keep_large_answers_from_others() {
    let world = world();
    let server = world.client().host().parse::<SocketAddr>().unwrap();
    world.runtime.block_on(others_are_served(server));
}

async fn others_are_served(server: SocketAddr) {
    let mut greedy = vec![];
    for _ in 0..GREEDY {
        let mut client = Client::connect(server, 2).await.unwrap();
        let length = client.ask().await.unwrap();
        greedy.push((client, length));
    }
    let is_large = |length: usize| length > ANSWER_BYTES;
    let held = greedy.iter().filter(|(_, length)| is_large(*length)).count();
    assert!(held >= GREEDY / 2, "one address may hold all there is as long as no other one wants it: {held}");

    // Another address is refused only as long as those answers may still be read.
    let give_up = Instant::now() + Duration::from_secs(120);
    let mut other = Client::connect(server, 3).await.unwrap();
    loop {
        let length = other.ask().await.unwrap();
        other.finish(length).await.unwrap();
        if is_large(length) {
            break;
        }
        assert!(Instant::now() < give_up, "large answers are refused to everybody else");
    }
    // Whoever gave way is cut off. How many that are depends on how long the node took, but there was no room for all.
    let mut cut_off = 0;
    for (client, length) in greedy.iter_mut().filter(|(_, length)| is_large(*length)) {
        cut_off += usize::from(client.finish(*length).await.is_err());
    }
    assert!(cut_off > held - GREEDY / 2, "{cut_off} of {held}");
}
