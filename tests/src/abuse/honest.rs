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

fn ask(client: &mut Client) -> io::Result<()> {
    let answer = client.post(REQUEST)?;
    match answer.status == 200 && answer.body.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"0x"#) {
        true => Ok(()),
        false => {
            Err(io::Error::other(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body))))
        }
    }
}

impl Honest {
    pub(super) fn start(node: SocketAddr) -> Result<Self, String> {
        let (served, stop) = (Arc::<Mutex<Served>>::default(), Arc::<AtomicBool>::default());
        let url = format!("http://{node}");
        let mut steady = Client::connect(&url).map_err(|why| why.to_string())?;
        let mut threads = vec![];
        let (told, stopped, again) = (served.clone(), stop.clone(), url.clone());
        threads.push(std::thread::spawn(move || {
            every(STEADY_EVERY, &stopped, || {
                let begun = Instant::now();
                match ask(&mut steady) {
                    Ok(()) => told.lock().steady.push(begun.elapsed()),
                    Err(why) => {
                        told.lock().refused.push(format!("the one that stays: {why}"));
                        steady = Client::connect(&again).unwrap_or_else(|why| panic!("no connection: {why}"));
                    }
                }
            });
        }));
        let (told, stopped) = (served.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            every(NEW_EVERY, &stopped, || {
                let begun = Instant::now();
                match Client::connect(&url).and_then(|mut client| ask(&mut client)) {
                    Ok(()) => told.lock().new.push(begun.elapsed()),
                    Err(why) => told.lock().refused.push(format!("the one that comes anew: {why}")),
                }
            });
        }));
        Ok(Self { served, stop, threads })
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
