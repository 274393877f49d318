//! Two honest clients: one stays, one comes anew each time.

use crate::http::Client;
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

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;

/// How honest clients were served.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// How long each request of the one that stays took.
    pub steady: Vec<Duration>,
    /// How long each visit of the one that comes anew took.
    pub new: Vec<Duration>,
    /// Requests and visits that failed, and why.
    pub refused: Vec<String>,
}

/// The honest clients, until this is dropped.
pub(super) struct Honest {
    served: Arc<Mutex<Served>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Asks on the connection that there is, or on a new one; gives how long that took.
fn ask(url: &str, connection: &mut Option<Client>) -> io::Result<Duration> {
    let begun = Instant::now();
    let mut client = match connection.take() {
        Some(client) => client,
        None => Client::connect(url)?,
    };
    let answer = client.post(REQUEST)?;
    if answer.status != 200 || !answer.body.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"0x"#) {
        let text = String::from_utf8_lossy(&answer.body);
        return Err(io::Error::other(format!("{}: {text}", answer.status)));
    }
    *connection = Some(client);
    Ok(begun.elapsed())
}

impl Honest {
    pub(super) fn start(node: SocketAddr) -> Self {
        let mut honest = Self { served: Arc::default(), stop: Arc::default(), threads: vec![] };
        honest.client(node, STEADY_EVERY, true, |served| &mut served.steady);
        honest.client(node, NEW_EVERY, false, |served| &mut served.new);
        honest
    }

    /// Starts a client that asks at its own pace, and writes down how long that takes.
    fn client(
        &mut self,
        node: SocketAddr,
        pause: Duration,
        stays: bool,
        times: fn(&mut Served) -> &mut Vec<Duration>,
    ) {
        let (served, stop, url) = (self.served.clone(), self.stop.clone(), format!("http://{node}"));
        self.threads.push(std::thread::spawn(move || {
            let mut connection = None;
            every(pause, &stop, || {
                let asked = ask(&url, &mut connection);
                if !stays {
                    connection = None;
                }
                let mut served = served.lock();
                match asked {
                    Ok(time) => times(&mut served).push(time),
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
