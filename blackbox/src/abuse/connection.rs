//! One abuser's connection, and what all abusers were answered.

use std::{collections::BTreeMap, fmt, io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What abusers were answered.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often each HTTP status; 0 is a connection that ended without an answer.
    pub statuses: BTreeMap<u16, usize>,
}

impl Tally {
    /// Counts an answer.
    pub(super) fn add(&mut self, answer: &io::Result<u16>) {
        *self.statuses.entry(*answer.as_ref().unwrap_or(&0)).or_default() += 1;
    }

    /// What several were answered.
    pub(super) fn sum(all: &[Self]) -> Self {
        let mut sum = Self::default();
        for (status, count) in all.iter().flat_map(|tally| &tally.statuses) {
            *sum.statuses.entry(*status).or_default() += count;
        }
        sum
    }

    /// Answers that blame the server.
    pub(super) fn server_errors(&self) -> usize {
        self.statuses.range(500..).map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.statuses.iter().map(|(status, count)| match status {
            0 => format!("{count} closed"),
            status => format!("{count} × {status}"),
        });
        f.write_str(&each.collect::<Vec<_>>().join(", "))
    }
}

/// A connection that stays open as long as the node lets it.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    read: Vec<u8>,
}

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

impl Connection {
    pub(super) async fn open(node: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(node).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(16 * 1024) })
    }

    /// Sends several requests in one go, and counts the answers.
    pub(super) async fn post(&mut self, bodies: &[Vec<u8>], tally: &mut Tally) -> io::Result<()> {
        let mut sent = Vec::with_capacity(bodies.iter().map(|body| body.len() + 128).sum());
        for body in bodies {
            sent.extend_from_slice(head(body.len()).as_bytes());
            sent.extend_from_slice(body);
        }
        let exchange = async {
            self.stream.write_all(&sent).await?;
            for _ in bodies {
                let status = self.answer().await?;
                tally.add(&Ok(status));
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads one answer, and forgets all of it but its status.
    pub(super) async fn answer(&mut self) -> io::Result<u16> {
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let text = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        while self.read.len() < end + length {
            self.more().await?;
        }
        self.read.drain(..end + length);
        Ok(status)
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The head of a request with a body of this length.
pub(super) fn head(length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}
