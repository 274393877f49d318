//! JSON-RPC to a running node: one connection, one request after the other, nothing but the standard library. Commands
//! wait for their answers anyway.

use super::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest answer that is read: a node does not send longer ones.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// The longest line of a header.
const LINE_BYTES_MAX: u64 = 16 << 10;

/// Which node, and how to show what it says.
#[derive(Clone, Debug, Args)]
pub(super) struct RpcArgs {
    /// The running node.
    #[arg(
        long,
        env = "PECTIN_RPC_URL",
        hide_env = true,
        default_value = "http://127.0.0.1:8545",
        value_name = "URL"
    )]
    pub(super) rpc_url: String,
}

/// The operator's token, for what only the operator may ask.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct TokenArgs {
    /// The file with the operator's token. [default: admin-token in the data directory]
    #[arg(long, env = "PECTIN_TOKEN_FILE", hide_env = true, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

/// A connection to a node.
pub(super) struct Client {
    url: String,
    host: String,
    token: Option<String>,
    /// How long an answer may take; `None` for as long as it takes.
    timeout: Option<Duration>,
    stream: Option<Kept>,
}

/// A connection that is kept for the next request.
struct Kept {
    stream: BufReader<TcpStream>,
    /// Whether it has served a request: then the node may have closed it since, as an idle one.
    served: bool,
}

/// Why there is no answer.
enum Broken {
    /// The connection was closed before a byte of an answer came.
    Closed(io::Error),
    /// It took too long, or broke in the middle.
    Failed(io::Error),
}

impl RpcArgs {
    /// Connects, or says that there is no node.
    pub(super) fn connect(&self) -> Result<Client, Failure> {
        Client::connect(&self.rpc_url)
    }
}

impl Client {
    /// Connects to `http://host:port`.
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        let wrong =
            || Failure::Usage(format!("--rpc-url {url}: a URL is expected, such as http://127.0.0.1:8545"));
        if url.starts_with("https://") {
            let why = "https is not spoken here; use the node's own port, or a tunnel";
            return Err(Failure::Usage(format!("--rpc-url {url}: {why}")));
        }
        let host = url.strip_prefix("http://").ok_or_else(wrong)?;
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.contains(['/', '@', ' ']) {
            return Err(wrong());
        }
        let port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if port { host.to_owned() } else { format!("{host}:80") };
        let mut client =
            Self { url: url.to_owned(), host, token: None, timeout: Some(TIMEOUT), stream: None };
        client.stream = Some(client.open().map_err(|why| client.unreachable(&why))?);
        Ok(client)
    }

    /// The same connection, with the operator's token.
    pub(super) fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    /// The same connection, for answers that take as long as they take.
    pub(super) fn patient(mut self) -> Self {
        self.timeout = None;
        // A new connection follows from the setting.
        self.stream = None;
        self
    }

    fn open(&self) -> io::Result<Kept> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in self.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(self.timeout)?;
                    return Ok(Kept { stream: BufReader::with_capacity(64 << 10, stream), served: false });
                }
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn unreachable(&self, why: &io::Error) -> Failure {
        Failure::Runtime(format!(
            "no node answers at {}: {why}; is it running? --rpc-url names another one",
            self.url
        ))
    }

    /// Calls a method.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let answers = self.calls(&[(method, params)])?;
        let answer = answers.into_iter().next().unwrap_or_else(|| Err("no answer".to_owned()));
        answer.map_err(|why| Failure::Runtime(format!("{method}: {why}")))
    }

    /// Calls several methods at once; one answer for each, in order. An error is the node's message.
    pub(super) fn calls(&mut self, calls: &[(&str, Value)]) -> Result<Vec<Result<Value, String>>, Failure> {
        let request = |(id, (method, params)): (usize, &(&str, Value))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let body = Value::from(calls.iter().enumerate().map(request).collect::<Vec<_>>()).to_string();
        let answer = self.post(body.as_bytes()).map_err(|why| self.unreachable(&why))?;
        let strange = |text: &[u8]| {
            let text = String::from_utf8_lossy(&text[..text.len().min(200)]).trim().to_owned();
            Failure::Runtime(format!("{} is no node, it answered: {text}", self.url))
        };
        let parsed = serde_json::from_slice::<Vec<Value>>(&answer).map_err(|_| strange(&answer))?;
        let mut answers = vec![Err("no answer".to_owned()); calls.len()];
        for mut one in parsed {
            let place = one["id"].as_u64().and_then(|id| answers.get_mut(usize::try_from(id).ok()?));
            if let Some(place) = place {
                *place = match one["error"]["message"].as_str() {
                    Some(why) => Err(why.to_owned()),
                    None => Ok(one["result"].take()),
                };
            }
        }
        Ok(answers)
    }

    /// Sends a request. The node may have closed a connection that was idle: then once more, on a new one. A request that
    /// may have reached a node that is at work on it is never repeated.
    fn post(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut kept = match self.stream.take() {
            Some(kept) => kept,
            None => self.open()?,
        };
        let answer = match self.exchange(&mut kept.stream, body) {
            Err(Broken::Closed(_)) if kept.served => {
                kept = self.open()?;
                self.exchange(&mut kept.stream, body)
            }
            answer => answer,
        };
        match answer {
            Ok(answer) => {
                kept.served = true;
                self.stream = Some(kept);
                Ok(answer)
            }
            Err(Broken::Closed(why) | Broken::Failed(why)) => Err(why),
        }
    }

    fn exchange(&self, stream: &mut BufReader<TcpStream>, body: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut request = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            self.host,
            body.len()
        );
        if let Some(token) = &self.token {
            request.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        stream.get_mut().write_all(&bytes).map_err(Broken::Closed)?;
        match stream.fill_buf() {
            Ok([]) => return Err(Broken::Closed(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => {}
            Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(Broken::Failed(io::Error::new(io::ErrorKind::TimedOut, "it took too long")));
            }
            Err(why) => return Err(Broken::Closed(why)),
        }
        read_answer(stream).map_err(Broken::Failed)
    }
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.take(LINE_BYTES_MAX).read_line(&mut line)?;
    if line.ends_with('\n') {
        Ok(line.trim_end().to_owned())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Reads the body of an answer, whole or in chunks.
fn read_answer(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    line(stream)?;
    let (mut length, mut chunked) = (None, false);
    loop {
        let header = line(stream)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse::<usize>().ok(),
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if !chunked {
        take(stream, length.unwrap_or(0), &mut body)?;
        return Ok(body);
    }
    loop {
        let size = line(stream)?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(|_| io::ErrorKind::InvalidData)?;
        take(stream, size, &mut body)?;
        line(stream)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn take(stream: &mut impl BufRead, length: usize, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len().saturating_add(length) > ANSWER_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let before = body.len();
    stream.take(length as u64).read_to_end(body)?;
    if body.len() - before == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<String> {
        read_answer(&mut text.as_bytes()).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn answers_come_whole_or_in_chunks() {
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").unwrap(), "abc");
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n";
        assert_eq!(read(chunked).unwrap(), "abc");
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc").is_err());
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nabc").is_err());
        assert!(read("HTTP/1.1 200").is_err());
    }

    /// A node that does so with each request that comes: answer it, say nothing until it is given up, or close. Gives how
    /// many requests came.
    fn node(acts: &'static [&'static str]) -> (String, std::thread::JoinHandle<usize>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            for (count, act) in acts.iter().enumerate() {
                // A body without a line end is what the test sends.
                if read_answer(&mut stream).is_err() {
                    match listener.accept() {
                        Ok((again, _)) => stream = BufReader::new(again),
                        Err(_) => return count,
                    }
                    read_answer(&mut stream).unwrap();
                }
                match *act {
                    "answer" => {
                        stream
                            .get_mut()
                            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")
                            .unwrap();
                    }
                    "answer and close" => {
                        stream
                            .get_mut()
                            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")
                            .unwrap();
                        stream.get_mut().shutdown(std::net::Shutdown::Both).unwrap();
                    }
                    "close" => stream.get_mut().shutdown(std::net::Shutdown::Both).unwrap(),
                    _ => {
                        // Until the client gives up; a second request would come on a new connection.
                        let _ = stream.get_mut().read_to_end(&mut vec![]);
                        listener.set_nonblocking(true).unwrap();
                        return count + 1 + usize::from(listener.accept().is_ok());
                    }
                }
            }
            listener.set_nonblocking(true).unwrap();
            acts.len() + usize::from(listener.accept().is_ok())
        });
        (url, served)
    }

    fn asked(acts: &'static [&'static str], times: usize) -> (Vec<bool>, usize) {
        let (url, served) = node(acts);
        let mut client = Client::connect(&url).unwrap();
        client.timeout = Some(Duration::from_millis(200));
        if let Some(kept) = &client.stream {
            kept.stream.get_ref().set_read_timeout(client.timeout).unwrap();
        }
        let answers = (0..times).map(|_| client.post(b"x").is_ok()).collect();
        drop(client);
        (answers, served.join().unwrap())
    }

    #[test]
    fn only_a_request_that_an_idle_connection_lost_is_sent_again() {
        assert_eq!(asked(&["answer", "answer"], 2), (vec![true, true], 2));
        assert_eq!(
            asked(&["answer and close", "answer"], 2),
            (vec![true, true], 2),
            "it was closed while idle"
        );
        assert_eq!(asked(&["silence"], 1), (vec![false], 1), "it may be at work");
        assert_eq!(asked(&["answer", "silence"], 2), (vec![true, false], 2), "on a kept connection too");
        assert_eq!(asked(&["close"], 1), (vec![false], 1), "a fresh connection was not idle");
    }

    #[test]
    fn urls_that_are_none() {
        for url in ["", "127.0.0.1:8545", "ftp://a", "https://a", "http://", "http://a/b/c", "http://a@b"] {
            assert!(matches!(Client::connect(url), Err(Failure::Usage(_))), "{url}");
        }
    }
}
