//! A small HTTP client that blocks: one connection, one request after the other.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A connection that stays open.
pub struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    head: Vec<u8>,
}

/// What the server answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects to `http://host:port`.
    pub fn connect(url: &str) -> io::Result<Self> {
        let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let host = if host.contains(':') { host } else { format!("{host}:80") };
        let address: SocketAddr = host.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), host, head: Vec::new() })
    }

    /// Whom it is connected to, as `host:port`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Sends JSON and waits for the answer.
    pub fn post(&mut self, body: &[u8]) -> io::Result<Response> {
        self.request("POST", "/", &[("content-type", "application/json")], body)
    }

    /// Sends a request and waits for the answer.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Response> {
        self.head.clear();
        write!(self.head, "{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len())?;
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            write!(self.head, "host: {}\r\n", self.host)?;
        }
        for (name, value) in headers {
            write!(self.head, "{name}: {value}\r\n")?;
        }
        self.head.extend_from_slice(b"\r\n");
        self.head.extend_from_slice(body);
        self.stream.get_mut().write_all(&self.head)?;
        self.read()
    }

    fn read(&mut self) -> io::Result<Response> {
        let mut line = String::new();
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(malformed)?;
        let (mut length, mut headers) = (0, Vec::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(malformed)?;
            let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
            if name == "content-length" {
                length = value.parse().map_err(|_| malformed())?;
            }
            headers.push((name, value));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Response { status, headers, body })
    }
}
