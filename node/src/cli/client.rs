//! The HTTP client of all commands that ask a running node: JSON-RPC and REST, over HTTP or HTTPS.
//!
//! It is the client that the sender has for webhooks and other chains ([`sender::http`]), with a runtime of its own, so that
//! commands can simply wait for their answers. A request that may have reached the node is never repeated; one that an idle
//! connection lost before it was sent is.

use super::{Failure, file};
use clap::Args;
use hyper::{
    HeaderMap, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use sender::http::{self, HttpError, Request, Response, Rules};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use tokio::runtime::Runtime;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest answer that is read: a node does not send longer ones.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Which node.
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
    /// Certificates (PEM) that may sign the node's, besides those that browsers trust.
    #[arg(long, env = "PECTIN_RPC_CA", hide_env = true, value_name = "FILE")]
    pub(super) rpc_ca: Option<PathBuf>,
}

/// The operator's token, for what only the operator may ask.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct TokenArgs {
    /// The file with the operator's token. [default: admin-token in the data directory]
    #[arg(long, env = "PECTIN_TOKEN_FILE", hide_env = true, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

/// A node, and the connection to it.
pub(super) struct Client {
    runtime: Runtime,
    http: http::Client,
    url: String,
    token: Option<HeaderValue>,
    /// How long an answer may take.
    timeout: Duration,
}

impl RpcArgs {
    /// A client of that node. It connects when it is asked something.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let rules = Rules { response_bytes_max: ANSWER_BYTES_MAX, ..Rules::anywhere() };
        let rules = match &self.rpc_ca {
            None => rules,
            Some(path) => {
                let pem = file::read(path, "the certificates")?;
                let wrong = |why| Failure::Usage(format!("--rpc-ca {}: {why}", path.display()));
                rules.trusting_pem(pem.as_bytes()).map_err(wrong)?
            }
        };
        Client::with_rules(&self.rpc_url, rules)
    }
}

impl Client {
    /// A client of the node at this URL.
    #[cfg(test)]
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        RpcArgs { rpc_url: url.to_owned(), rpc_ca: None }.client()
    }

    /// A client of the node at `http://host:port` or `https://host:port`.
    fn with_rules(url: &str, rules: Rules) -> Result<Self, Failure> {
        let wrong =
            || Failure::Usage(format!("--rpc-url {url}: a URL is expected, such as http://127.0.0.1:8545"));
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).ok_or_else(wrong)?;
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.contains(['/', '@', ' ', '?', '#']) {
            return Err(wrong());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(Failure::runtime)?,
            http: http::Client::new(rules),
            url: url.trim_end_matches('/').to_owned(),
            token: None,
            timeout: TIMEOUT,
        })
    }

    /// The same client, with the operator's token.
    pub(super) fn with_token(mut self, token: Option<&str>) -> Result<Self, Failure> {
        let value = token.map(|token| HeaderValue::from_str(&format!("Bearer {}", token.trim()))).transpose();
        let mut value =
            value.map_err(|_| Failure::usage("the operator's token has characters that no token has"))?;
        if let Some(value) = &mut value {
            value.set_sensitive(true);
        }
        self.token = value;
        Ok(self)
    }

    /// The same client, for answers that take as long as they take.
    pub(super) const fn without_timeout(self) -> Self {
        self.with_timeout(Duration::MAX)
    }

    /// The same client, for answers that come within this time.
    pub(super) const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether a node answers there.
    pub(super) fn is_reachable(&self) -> bool {
        self.calls(&[("web3_clientVersion", json!([]))]).is_ok()
    }

    /// Calls a method.
    pub(super) fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let answers = self.calls(&[(method, params)])?;
        let answer = answers.into_iter().next().unwrap_or_else(|| Err("no answer".to_owned()));
        answer.map_err(|why| Failure::Runtime(format!("{method}: {why}")))
    }

    /// Calls several methods at once; one answer for each, in order. An error is the node's message.
    pub(super) fn calls(&self, calls: &[(&str, Value)]) -> Result<Vec<Result<Value, String>>, Failure> {
        let request = |(id, (method, params)): (usize, &(&str, Value))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let body = Value::from(calls.iter().enumerate().map(request).collect::<Vec<_>>()).to_string();
        let answer = self.send(Method::POST, "", HeaderMap::new(), body);
        let answer = answer.map_err(|why| self.unreachable(&why))?;
        let strange = |text: &[u8]| {
            let text = String::from_utf8_lossy(&text[..text.len().min(200)]).trim().to_owned();
            Failure::Runtime(format!("{} is no node, it answered: {text}", self.url))
        };
        let parsed = serde_json::from_slice::<Vec<Value>>(&answer.body).map_err(|_| strange(&answer.body))?;
        let mut answers = vec![Err("no answer".to_owned()); calls.len()];
        for mut one in parsed {
            let slot = one["id"].as_u64().and_then(|id| answers.get_mut(usize::try_from(id).ok()?));
            if let Some(slot) = slot {
                *slot = match one["error"]["message"].as_str() {
                    Some(why) => Err(why.to_owned()),
                    None => Ok(one["result"].take()),
                };
            }
        }
        Ok(answers)
    }

    /// Sends JSON to a path of the node, and waits for the whole answer.
    pub(super) fn send(
        &self,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: String,
    ) -> Result<Response, HttpError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        let (url, timeout) = (format!("{}{path}", self.url), self.timeout);
        self.runtime.block_on(self.http.send(Request { method, url, headers, body: body.into(), timeout }))
    }

    fn unreachable(&self, why: &HttpError) -> Failure {
        Failure::Runtime(format!(
            "no node answers at {}: {why}; is it running? --rpc-url names another one",
            self.url
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{Shutdown, TcpListener, TcpStream},
    };

    /// Reads a request; whether there was one.
    fn read(stream: &mut BufReader<TcpStream>) -> bool {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if !stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                return false;
            }
            if let Some(("content-length", value)) = line.trim_end().split_once(": ") {
                length = value.parse().unwrap();
            }
            if line == "\r\n" {
                return stream.read_exact(&mut vec![0; length]).is_ok();
            }
        }
    }

    /// A node that does so with each request that comes: answer it, say nothing until it is given up, or close. Gives how
    /// many requests came.
    fn node(acts: &'static [&'static str]) -> (String, std::thread::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let accept = || BufReader::new(listener.accept().unwrap().0);
            let mut stream = accept();
            for (count, act) in acts.iter().enumerate() {
                if !read(&mut stream) {
                    stream = accept();
                    assert!(read(&mut stream));
                }
                if act.starts_with("answer") {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]";
                    stream.get_mut().write_all(answer).unwrap();
                }
                if act.ends_with("close") {
                    stream.get_mut().shutdown(Shutdown::Both).unwrap();
                }
                if *act == "silence" {
                    // Until the client gives up; a second request would come on a new connection.
                    let _ = stream.get_mut().read_to_end(&mut vec![]);
                    listener.set_nonblocking(true).unwrap();
                    return count + 1 + usize::from(listener.accept().is_ok());
                }
            }
            listener.set_nonblocking(true).unwrap();
            acts.len() + usize::from(listener.accept().is_ok())
        });
        (url, served)
    }

    fn asked(acts: &'static [&'static str], times: usize) -> (Vec<bool>, usize) {
        let (url, served) = node(acts);
        let client = Client::new(&url).unwrap().with_timeout(Duration::from_millis(200));
        let ask = |_| client.send(Method::POST, "", HeaderMap::new(), "x".to_owned()).is_ok();
        let answers = (0..times).map(ask).collect();
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
        assert_eq!(asked(&["close"], 1), (vec![false], 1), "it may have been taken");
    }

    #[test]
    fn urls_that_are_none() {
        for url in ["", "127.0.0.1:8545", "ftp://a", "http://", "https://", "http://a/b/c", "http://a@b"] {
            assert!(matches!(Client::new(url), Err(Failure::Usage(_))), "{url}");
        }
        assert!(Client::new("https://node.example:8545/").is_ok());
    }

    #[test]
    fn a_token_that_is_none_is_said_so() {
        let client = || Client::new("http://127.0.0.1:1").unwrap();
        assert!(matches!(client().with_token(Some("a\nb")), Err(Failure::Usage(_))));
        assert!(client().with_token(Some("0123456789abcdef\n")).is_ok());
    }
}
