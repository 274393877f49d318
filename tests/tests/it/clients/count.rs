//! Counts JSON-RPC calls in what a client sends, byte by byte as it passes: HTTP requests, and after an upgrade the frames
//! of a WebSocket.

use serde_json::Value;
use std::collections::BTreeMap;

/// What was counted.
#[derive(Clone, Default, Debug)]
pub(super) struct Counted {
    /// Calls by method.
    pub(super) methods: BTreeMap<String, usize>,
    /// Requests that could not be read.
    pub(super) unread: usize,
}

impl Counted {
    pub(super) fn total(&self) -> usize {
        self.methods.values().sum()
    }

    fn body(&mut self, body: &[u8]) {
        let calls = match serde_json::from_slice(body) {
            Ok(Value::Array(calls)) => calls,
            Ok(call) => vec![call],
            Err(_) => {
                self.unread += 1;
                return;
            }
        };
        for call in calls {
            match call["method"].as_str() {
                Some(method) => *self.methods.entry(method.to_owned()).or_default() += 1,
                None => self.unread += 1,
            }
        }
    }
}

/// One connection, in the direction from the client.
#[derive(Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    is_websocket: bool,
    /// What a message in several frames has so far.
    message: Vec<u8>,
}

impl Reader {
    /// Takes what passes; counts what is complete.
    pub(super) fn take(&mut self, passing: &[u8], counted: &mut Counted) {
        self.bytes.extend_from_slice(passing);
        while let Some(used) = match self.is_websocket {
            true => self.frame(counted),
            false => self.request(counted),
        } {
            self.bytes.drain(..used);
        }
    }

    /// The length of a whole request, if there is one.
    fn request(&mut self, counted: &mut Counted) -> Option<usize> {
        let head = self.bytes.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&self.bytes[..head]).to_lowercase();
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if header("upgrade:").is_some() {
            self.is_websocket = true;
            return Some(head);
        }
        if header("transfer-encoding:").is_some() {
            counted.unread += 1;
        }
        let length = header("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
        let body = self.bytes.get(head..head + length)?;
        if text.starts_with("post ") {
            counted.body(body);
        }
        Some(head + length)
    }

    /// The length of a whole frame, if there is one.
    fn frame(&mut self, counted: &mut Counted) -> Option<usize> {
        let [first, second] = *self.bytes.first_chunk()?;
        let (more, is_control) = (first & 0x80 == 0, first & 0x08 != 0);
        let (length, at) = match second & 0x7f {
            126 => (usize::from(u16::from_be_bytes(self.bytes.get(2..4)?.try_into().ok()?)), 4),
            127 => (usize::try_from(u64::from_be_bytes(self.bytes.get(2..10)?.try_into().ok()?)).ok()?, 10),
            short => (usize::from(short), 2),
        };
        // What a client sends is always masked.
        let mask = self.bytes.get(at..at + 4)?.to_vec();
        let payload = self.bytes.get(at + 4..at + 4 + length)?;
        if !is_control {
            let plain = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
            self.message.extend(plain);
            if !more {
                counted.body(&std::mem::take(&mut self.message));
            }
        }
        Some(at + 4 + length)
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
        let (mut reader, mut counted) = (Reader::default(), Counted::default());
        sent.chunks(pieces).for_each(|piece| reader.take(piece, &mut counted));
        assert_eq!((counted.total(), counted.unread), (4, 0), "{counted:?}");
    }
}
