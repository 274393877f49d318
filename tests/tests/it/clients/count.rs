//! Reads JSON-RPC out of what passes between a client and the node, byte by byte: HTTP, and after an upgrade the frames of
//! a WebSocket. Calls are counted, and their answers are kept.

use harness::openrpc::{Schemas, is_exempt};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// What was counted.
#[derive(Clone, Default, Debug)]
pub(super) struct Counted {
    /// Calls by method.
    pub(super) methods: BTreeMap<String, usize>,
    /// Requests that could not be read.
    pub(super) unread: usize,
    /// What was answered, with the method.
    pub(super) results: Vec<(String, Value)>,
}

impl Counted {
    pub(super) fn total(&self) -> usize {
        self.methods.values().sum()
    }

    /// Answers that the specification does not allow.
    pub(super) fn refused(&self, schemas: &Schemas) -> Vec<String> {
        let refused = self.results.iter().filter(|(method, result)| !is_exempt(method, result));
        let refused = refused.filter_map(|(method, result)| {
            let why = schemas.refuse(method, result)?;
            Some(format!("{method}: {why}: {result}"))
        });
        refused.collect()
    }
}

/// What was asked on one connection and is not answered yet: the method by the id.
#[derive(Default)]
pub(super) struct Asked(HashMap<String, String>);

impl Asked {
    /// Takes what a client sent.
    pub(super) fn ask(&mut self, body: &[u8], counted: &mut Counted) {
        let calls = match serde_json::from_slice(body) {
            Ok(Value::Array(calls)) => calls,
            Ok(call) => vec![call],
            Err(_) => {
                counted.unread += 1;
                return;
            }
        };
        for call in calls {
            match call["method"].as_str() {
                Some(method) => {
                    *counted.methods.entry(method.to_owned()).or_default() += 1;
                    self.0.insert(call["id"].to_string(), method.to_owned());
                }
                None => counted.unread += 1,
            }
        }
    }

    /// Takes what the node answered. Errors are answers too, and have no schema; notifications answer nothing.
    pub(super) fn answer(&mut self, body: &[u8], counted: &mut Counted) {
        let answers = match serde_json::from_slice(body) {
            Ok(Value::Array(answers)) => answers,
            Ok(answer) => vec![answer],
            Err(_) => return,
        };
        for mut answer in answers {
            let Some(id) = answer.get("id").map(Value::to_string) else { continue };
            if let (Some(method), Some(result)) = (self.0.remove(&id), answer.get_mut("result")) {
                counted.results.push((method, result.take()));
            }
        }
    }
}

/// One connection, in one direction.
#[derive(Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    is_websocket: bool,
    /// What a message in several frames has so far.
    message: Vec<u8>,
    /// Bodies whose length is not told are not read, nor what comes after them.
    is_lost: bool,
}

impl Reader {
    /// Takes what passes; gives what is complete.
    pub(super) fn take(&mut self, passing: &[u8]) -> Vec<Vec<u8>> {
        let mut bodies = vec![];
        if self.is_lost {
            return bodies;
        }
        self.bytes.extend_from_slice(passing);
        while let Some(used) = match self.is_websocket {
            true => self.frame(&mut bodies),
            false => self.request(&mut bodies),
        } {
            self.bytes.drain(..used);
        }
        bodies
    }

    /// Whether there is something that is not read.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The length of a whole request or answer, if there is one.
    fn request(&mut self, bodies: &mut Vec<Vec<u8>>) -> Option<usize> {
        let head = self.bytes.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&self.bytes[..head]).to_lowercase();
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if header("upgrade:").is_some() {
            self.is_websocket = true;
            return Some(head);
        }
        if header("transfer-encoding:").is_some() {
            self.is_lost = true;
            return None;
        }
        let length = header("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
        let body = self.bytes.get(head..head + length)?;
        if text.starts_with("post ") || text.starts_with("http/") {
            bodies.push(body.to_vec());
        }
        Some(head + length)
    }

    /// The length of a whole frame, if there is one.
    fn frame(&mut self, bodies: &mut Vec<Vec<u8>>) -> Option<usize> {
        let [first, second] = *self.bytes.first_chunk()?;
        let (more, is_control) = (first & 0x80 == 0, first & 0x08 != 0);
        let (length, at) = match second & 0x7f {
            126 => (usize::from(u16::from_be_bytes(self.bytes.get(2..4)?.try_into().ok()?)), 4),
            127 => (usize::try_from(u64::from_be_bytes(self.bytes.get(2..10)?.try_into().ok()?)).ok()?, 10),
            short => (usize::from(short), 2),
        };
        // What a client sends is always masked, what the node sends never.
        let (mask, at) = match second & 0x80 {
            0 => ([0; 4], at),
            _ => (*self.bytes.get(at..)?.first_chunk()?, at + 4),
        };
        let payload = self.bytes.get(at..at + length)?;
        if !is_control {
            let plain = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
            self.message.extend(plain);
            if !more {
                bodies.push(std::mem::take(&mut self.message));
            }
        }
        Some(at + length)
    }
}

#[test]
fn calls_are_counted_however_they_arrive() {
    let call = r#"{"id":1,"method":"a"}"#;
    let batch = format!("[{call},{call}]");
    let mut sent = Vec::new();
    for body in [call, &batch] {
        sent.extend(format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).bytes());
    }
    sent.extend(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n");
    let mask = [1, 2, 3, 4];
    let masked = |text: &[u8]| text.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect::<Vec<_>>();
    let (begin, end) = call.as_bytes().split_at(5);
    for (first, part) in [(0x01, begin), (0x89, b"ping".as_slice()), (0x80, end)] {
        sent.extend([first, 0x80 | part.len() as u8]);
        sent.extend(mask);
        sent.extend(masked(part));
    }
    for pieces in [1, 7, sent.len()] {
        let (mut reader, mut counted, mut asked) = (Reader::default(), Counted::default(), Asked::default());
        let bodies = sent.chunks(pieces).flat_map(|piece| reader.take(piece));
        bodies.for_each(|body| asked.ask(&body, &mut counted));
        assert_eq!((counted.total(), counted.unread), (4, 0), "{counted:?}");
    }
}

#[test]
fn answers_are_kept_with_what_was_asked() {
    let (mut asked, mut counted) = (Asked::default(), Counted::default());
    asked.ask(br#"[{"id":1,"method":"a"},{"id":"1","method":"b"},{"id":2,"method":"c"}]"#, &mut counted);
    let first = r#"[{"id":"1","result":7},{"id":2,"error":{}}]"#;
    let second = r#"{"id":1,"result":null}"#;
    let mut sent = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{first}", first.len()).into_bytes();
    sent.extend(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
    for text in [r#"{"method":"eth_subscription","params":{}}"#, second] {
        sent.extend([0x81, text.len() as u8]);
        sent.extend(text.bytes());
    }
    let mut reader = Reader::default();
    let bodies = sent.chunks(5).flat_map(|piece| reader.take(piece)).collect::<Vec<_>>();
    bodies.iter().for_each(|body| asked.answer(body, &mut counted));
    let kept = [("b".to_owned(), Value::from(7)), ("a".to_owned(), Value::Null)];
    assert_eq!(counted.results, kept);
}
