//! JSON-RPC to a node that may be gone at any moment, and come back at another address.

use harness::http::Client;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Requests in one batch at most.
const BATCH_MAX: usize = 25;
/// How long to wait before a node that did not answer is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// A node that is there and has not answered so often will not.
const TRIES_MAX: u32 = 3000;
/// Whoever waits for a node looks this often whether the judge has given up.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
struct DoorState {
    url: Option<String>,
    is_closed: bool,
}

/// Where the node is, for all who talk to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Door(Arc<(Mutex<DoorState>, Condvar)>);

impl Door {
    /// The node is there.
    pub(super) fn open(&self, url: &str) {
        self.0.0.lock().url = Some(url.to_owned());
        self.0.1.notify_all();
    }

    /// The node is gone.
    pub(super) fn shut(&self) {
        self.0.0.lock().url = None;
    }

    /// There will be no node any more.
    pub(super) fn close(&self) {
        let mut state = self.0.0.lock();
        (state.url, state.is_closed) = (None, true);
        self.0.1.notify_all();
    }

    /// Waits for a node; `None` if there will be none.
    fn url(&self) -> Option<String> {
        let mut state = self.0.0.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(url) = &state.url {
                return Some(url.clone());
            }
            self.0.1.wait_for(&mut state, LOOK_EVERY);
        }
    }
}

/// A client that finds the node again.
pub(super) struct Rpc {
    door: Door,
    connection: Option<(String, Client)>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// The node went away, or does not answer; the request may have been heard.
    Lost,
    /// There is no node any more.
    Closed,
}

/// What a node said to one request: a result, or an error's text.
pub(super) type CallResult = Result<Value, String>;

impl Rpc {
    /// A client for the node behind a door.
    pub(super) const fn new(door: Door) -> Self {
        Self { door, connection: None }
    }

    /// Sends requests as one batch, once. One answer for each, in order.
    pub(super) fn try_batch(&mut self, calls: &[(&str, Value)]) -> Result<Vec<CallResult>, Silence> {
        if calls.is_empty() {
            return Ok(vec![]);
        }
        let requests = calls.iter().enumerate().map(|(id, (method, params))| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        });
        let body = Value::from(requests.collect::<Vec<_>>()).to_string();
        let reply = self.post(body.as_bytes())?;
        let answers = parse(&reply, calls.len());
        answers.ok_or(Silence::Lost)
    }

    fn post(&mut self, body: &[u8]) -> Result<Vec<u8>, Silence> {
        let url = self.door.url().ok_or(Silence::Closed)?;
        if self.connection.as_ref().is_none_or(|(at, _)| *at != url) {
            let client = Client::connect(&url).map_err(|_| Silence::Lost)?;
            self.connection = Some((url, client));
        }
        let Some((_, client)) = &mut self.connection else { return Err(Silence::Closed) };
        let posted = client.post(body);
        if posted.is_err() {
            self.connection = None;
        }
        Ok(posted.map_err(|_| Silence::Lost)?.body)
    }

    /// Sends requests in batches until all are answered; `None` if there is no node any more, or it does not answer.
    pub(super) fn batch(&mut self, calls: &[(&str, Value)]) -> Option<Vec<CallResult>> {
        let mut answers = Vec::with_capacity(calls.len());
        for some in calls.chunks(BATCH_MAX) {
            let mut tries = 0;
            answers.extend(loop {
                tries += 1;
                match self.try_batch(some) {
                    Ok(answers) => break answers,
                    Err(Silence::Lost) if tries < TRIES_MAX => std::thread::sleep(AGAIN_AFTER),
                    Err(_) => return None,
                }
            });
        }
        Some(answers)
    }

    /// Sends a request until it is answered with a result; an error is one of the judge's own making.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let answers = self.batch(&[(method, params)]).ok_or("the node does not answer")?;
        let answer = answers.into_iter().next().unwrap_or_else(|| Err("no answer".to_owned()));
        answer.map_err(|why| format!("{method}: {why}"))
    }
}

fn parse(reply: &[u8], count: usize) -> Option<Vec<CallResult>> {
    let replies = serde_json::from_slice::<Vec<Value>>(reply).ok()?;
    let mut answers = vec![None; count];
    for mut reply in replies {
        let slot = answers.get_mut(usize::try_from(reply["id"].as_u64()?).ok()?)?;
        *slot = Some(match reply["error"]["message"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(reply["result"].take()),
        });
    }
    answers.into_iter().collect()
}

/// A number in hexadecimal.
pub(super) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let reply =
            br#"[{"id":1,"result":"0x10"},{"id":0,"error":{"code":-32000,"message":"already known"}}]"#;
        let answers = parse(reply, 2).unwrap();
        assert_eq!(answers[0], Err("already known".to_owned()));
        assert_eq!(answers[1].as_ref().ok().and_then(number), Some(16));
        assert_eq!(parse(reply, 3), None, "one is missing");
        assert_eq!(parse(b"{}", 1), None);
    }

    #[test]
    fn nobody_waits_for_a_node_that_will_not_come() {
        let door = Door::default();
        door.close();
        assert!(matches!(Rpc::new(door).try_batch(&[("eth_chainId", json!([]))]), Err(Silence::Closed)));
    }
}
