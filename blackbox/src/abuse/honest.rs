//! Three honest clients: one stays, one comes anew each time, one makes calls.

use super::{
    delays::{Delays, Own},
    node::ANSWER,
};
use harness::http::{Client, Response};
use parking_lot::Mutex;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The one that stays asks so often.
const STEADY_EVERY: Duration = Duration::from_millis(4);
/// The other one comes so often.
const NEW_EVERY: Duration = Duration::from_millis(50);

/// The one that makes calls makes one so often.
const CALL_EVERY: Duration = Duration::from_millis(50);

/// What a client asks for, and how the result begins.
struct Question {
    request: String,
    result: &'static str,
    /// Whether it is executed, and not only looked up.
    is_call: bool,
}

fn number() -> Question {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#.to_owned();
    Question { request, result: r#""0x"#, is_call: false }
}

fn call() -> Question {
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{{"to":"{ANSWER}"}},"latest"]}}"#);
    Question {
        request,
        result: r#""0x000000000000000000000000000000000000000000000000000000000000002a""#,
        is_call: true,
    }
}

/// How honest clients were served.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// How long each request of the one that stays took, without what it waited for a processor.
    pub steady: Vec<Duration>,
    /// How long each visit of the one that comes anew took.
    pub new: Vec<Duration>,
    /// How long each call took.
    pub calls: Vec<Duration>,
    /// Requests and visits that failed, and why.
    pub refused: Vec<String>,
    /// Calls that were refused, and why. A few are no fault while others make expensive ones from the same address: the
    /// threads for calls are few on purpose, and whoever is refused is told to come again.
    pub calls_refused: Vec<String>,
}

impl Served {
    /// How often each client was served.
    pub(super) fn counts(&self) -> [usize; 3] {
        [self.steady.len(), self.new.len(), self.calls.len()]
    }

    /// How long each client waited on average; `None` if it was never served.
    pub(super) fn means(&self) -> [Option<Duration>; 3] {
        [&self.steady, &self.new, &self.calls].map(|times| {
            let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
            times.iter().sum::<Duration>().checked_div(count)
        })
    }
}

/// The honest clients, until this is dropped.
pub(super) struct Honest {
    served: Arc<Mutex<Served>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Asks on the connection that there is, or on a new one. A connection that was kept may have
/// given way to somebody else while nothing was asked on it: then, as every client of HTTP does, it comes again, once, and
/// has waited for so much longer.
fn ask(url: &str, question: &Question, connection: &mut Option<Client>) -> io::Result<()> {
    if let Some(mut client) = connection.take()
        && let Ok(answer) = client.post(question.request.as_bytes())
    {
        check(question, &answer)?;
        *connection = Some(client);
        return Ok(());
    }
    let mut client = Client::connect(url)?;
    check(question, &client.post(question.request.as_bytes())?)?;
    *connection = Some(client);
    Ok(())
}

/// Measures how long clients wait for a node, without what they and the node wait for a processor. That is no less than one
/// of the node's threads worked meanwhile: if these wait for each other, it is the node's own doing. For who only looks
/// something up, the threads that serve count; for calls, also those that call, which have a lower priority.
struct Watch {
    own: Own,
    node: Delays,
}

impl Watch {
    fn measure<T>(&mut self, is_call: bool, act: impl FnOnce() -> T) -> (T, Duration) {
        self.node.begin();
        let (own, begun) = (self.own.so_far(), Instant::now());
        let done = act();
        let took = begun.elapsed();
        let (own, [serving, calling]) = (self.own.so_far().since(own), self.node.end());
        let waited = took.saturating_sub(own.waited + serving.waited);
        let waited = match is_call {
            true => waited.saturating_sub(calling.waited).max(calling.ran),
            false => waited.max(serving.ran),
        };
        (done, waited.min(took))
    }
}

fn check(question: &Question, answer: &Response) -> io::Result<()> {
    let begin = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}"#, question.result);
    if answer.status == 200 && answer.body.starts_with(begin.as_bytes()) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&answer.body);
    Err(io::Error::other(format!("{}: {text}", answer.status)))
}

impl Honest {
    pub(super) fn start(node: (SocketAddr, u32)) -> Self {
        let mut honest = Self { served: Arc::default(), stop: Arc::default(), threads: vec![] };
        honest.client(node, (STEADY_EVERY, true), number(), |served| &mut served.steady);
        honest.client(node, (NEW_EVERY, false), number(), |served| &mut served.new);
        honest.client(node, (CALL_EVERY, true), call(), |served| &mut served.calls);
        honest
    }

    /// Starts a client that asks at its own pace, and writes down how long that takes.
    fn client(
        &mut self,
        (node, process): (SocketAddr, u32),
        (pause, stays): (Duration, bool),
        question: Question,
        times: fn(&mut Served) -> &mut Vec<Duration>,
    ) {
        let (served, stop, url) = (self.served.clone(), self.stop.clone(), format!("http://{node}"));
        self.threads.push(std::thread::spawn(move || {
            let mut connection = None;
            let mut watch = Watch { own: Own::here(), node: Delays::of(process) };
            every(pause, &stop, || {
                let (asked, time) = watch.measure(question.is_call, || ask(&url, &question, &mut connection));
                if !stays {
                    connection = None;
                }
                let mut served = served.lock();
                match asked {
                    Ok(()) => times(&mut served).push(time),
                    Err(why) if question.is_call => served.calls_refused.push(why.to_string()),
                    Err(why) => served.refused.push(why.to_string()),
                }
            });
        }));
    }

    /// Begins to measure anew.
    pub(super) fn forget(&self) {
        *self.served.lock() = Served::default();
    }

    /// How they were served since.
    pub(super) fn take(&self) -> Served {
        std::mem::take(&mut self.served.lock())
    }
}

/// Acts at a steady pace until it is stopped; what is late is not made up for.
fn every(pause: Duration, stop: &AtomicBool, mut act: impl FnMut()) {
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        act();
        next = (next + pause).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

impl Drop for Honest {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
