//! What an open page costs the node.
//!
//! A builder with slots of 300 ms gets transfers as fast as it takes them, so that its blocks are full and its pool never
//! runs dry. Meanwhile a page is open every other moment, a minute in all: a client of the same stream that a browser
//! reads, and which asks for a managed account as often as the page does. A page that costs something makes the node take fewer
//! transactions in the same time, so what is compared is the CPU time of the process for each of them; moment by moment,
//! so that whatever else the machine does cancels out.

use super::{
    Ratio,
    builder::{Builder, CHAIN_ID, OPERATOR},
    median_of_pairs,
};
use harness::{
    blocks::Wallet,
    cpu::cpu_time_of,
    http::Client,
    load::{self, Outcome, Transfers},
    process::call,
};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

pub(super) const RATIOS: &[Ratio] = &[Ratio { name: "page-cost", target: 1.1, measure }];

const SLOT_MS: u64 = 300;
/// Connections that send, and the senders that each of them signs for.
const CONNECTIONS: usize = 8;
const SENDERS_EACH: usize = 8;
const BATCH: usize = 10;
/// Two full blocks. Whoever sends waits while more than these wait in the pool: the node has all that it can take.
const BACKLOG: u64 = 11_428;
/// How often whoever sends looks.
const LOOK: Duration = Duration::from_millis(100);
/// Pairs of moments, and how long a moment lasts: a minute with the page, and one without.
const PAIRS: usize = 12;
const MOMENT: Duration = Duration::from_secs(5);
/// How often a page asks for managed accounts.
const ACCOUNTS_EVERY: Duration = Duration::from_secs(2);

fn measure() -> f64 {
    match try_measure() {
        Ok(ratio) => ratio,
        Err(why) => {
            println!("no page could be measured: {why}");
            f64::NAN
        }
    }
}

fn try_measure() -> Result<f64, String> {
    let wallets = (1..=(CONNECTIONS * SENDERS_EACH) as u64).map(Wallet::new).collect::<Vec<_>>();
    let builder = Builder::start(&wallets, SLOT_MS)?;
    let (url, pid) = (builder.url.as_str(), builder.pectin.id());
    make_account(url)?;
    let load = Load::default();
    thread::scope(|scope| {
        let mut parts = vec![scope.spawn(|| load.hold_back(url))];
        parts.extend(wallets.chunks(SENDERS_EACH).map(|own| scope.spawn(|| load.send(url, own))));
        let until = Until(&load.is_over);
        let ratio = compare(url, pid, &load);
        drop(until);
        for part in parts {
            part.join().map_err(|_| "the load panicked")??;
        }
        ratio
    })
}

/// Makes a managed account, so that there is one to be shown.
fn make_account(url: &str) -> Result<(), String> {
    let mut client = Client::connect(url).map_err(|why| why.to_string())?;
    let headers = [OPERATOR, ("content-type", "application/json")];
    let made = client.request("POST", "/v1/accounts", &headers, b"").map_err(|why| why.to_string())?;
    if made.status == 201 { Ok(()) } else { Err(format!("no account can be made: {}", made.status)) }
}

/// A minute with the page against a minute without, moment by moment.
fn compare(url: &str, pid: u32, load: &Load) -> Result<f64, String> {
    let spend = |spent: &mut Spent| {
        let cpu = || cpu_time_of(pid).expect("the node runs");
        let taken = || load.taken.load(Ordering::Relaxed);
        let (cpu_before, taken_before) = (cpu(), taken());
        thread::sleep(MOMENT);
        spent.add(cpu().saturating_sub(cpu_before), taken() - taken_before)
    };
    let (mut with, mut without, mut heard) = (Spent::default(), Spent::default(), 0);
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let page = Page::open(url).expect("the node serves the page");
            let cost = spend(&mut with);
            heard += page.close();
            cost
        },
        || spend(&mut without),
    );
    if heard < PAIRS {
        return Err(format!("the page heard only {heard} things"));
    }
    if with.taken.min(without.taken) == 0 {
        return Err("the node took no transactions".to_owned());
    }
    println!("with the page {with}, without {without}; {heard} messages to the page");
    Ok(ratio)
}

/// What the node spent, and what for.
#[derive(Default)]
struct Spent {
    cpu: Duration,
    taken: usize,
    moments: u32,
}

impl Spent {
    /// Adds a moment; gives what a thousand transactions cost in it.
    fn add(&mut self, cpu: Duration, taken: usize) -> Duration {
        self.cpu += cpu;
        self.taken += taken;
        self.moments += 1;
        cpu.mul_f64(1_000.0 / taken.max(1) as f64)
    }
}

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (cpu, time) = (self.cpu.as_secs_f64(), (MOMENT * self.moments).as_secs());
        write!(f, "{cpu:.1} s CPU in {time} s for {} transactions", self.taken)
    }
}

/// Those who send.
#[derive(Default)]
struct Load {
    /// Transactions that the node has taken.
    taken: AtomicUsize,
    is_held: AtomicBool,
    is_over: AtomicBool,
}

/// The load lasts as long as this does, whatever ends it.
struct Until<'a>(&'a AtomicBool);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Load {
    /// Signs and sends for some senders in turn, for as long as it lasts.
    fn send(&self, url: &str, wallets: &[Wallet]) -> Result<(), String> {
        let mut client = Client::connect(url).map_err(|why| why.to_string())?;
        for turn in 0.. {
            let nonce = turn * BATCH as u64;
            for wallet in wallets {
                while self.is_held.load(Ordering::Relaxed) && !self.is_over.load(Ordering::Relaxed) {
                    thread::sleep(LOOK);
                }
                if self.is_over.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let next =
                    Transfers { wallet, nonce, chain_id: CHAIN_ID, max_fee: 100_000_000_000 }.sign(BATCH);
                let mut outcome = Outcome::default();
                for body in load::bodies(&next, BATCH) {
                    let answer = client.post(&body).map_err(|why| why.to_string())?;
                    load::count(&answer.body, &mut outcome);
                }
                if let Some(why) = outcome.first_error {
                    return Err(format!("transactions were refused: {why}"));
                }
                self.taken.fetch_add(outcome.results, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Keeps what waits in the pool within bounds.
    fn hold_back(&self, url: &str) -> Result<(), String> {
        let mut client = Client::connect(url).map_err(|why| why.to_string())?;
        while !self.is_over.load(Ordering::Relaxed) {
            let status = call(&mut client, "builder_status", &json!([]))?;
            let waiting = status["pool"]["pending"].as_u64().ok_or("the pool does not say what waits")?;
            self.is_held.store(waiting > BACKLOG, Ordering::Relaxed);
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// An open page: it reads the stream to its end, and asks for the accounts now and then.
struct Page {
    stream: TcpStream,
    reader: thread::JoinHandle<usize>,
    accounts: thread::JoinHandle<()>,
    open: mpsc::Sender<()>,
}

impl Page {
    fn open(url: &str) -> std::io::Result<Self> {
        let host = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        write!(stream, "GET /page/live HTTP/1.1\r\nhost: {host}\r\n\r\n")?;
        let lines = BufReader::new(stream.try_clone()?).lines();
        let reader = thread::spawn(move || {
            lines.map_while(Result::ok).filter(|line| line.starts_with("data: ")).count()
        });
        let mut client = Client::connect(url)?;
        let (open, is_open) = mpsc::channel();
        let accounts = thread::spawn(move || {
            let mut ask = || client.request("GET", "/page/accounts", &[OPERATOR], &[]);
            while ask().is_ok_and(|answer| answer.status == 200)
                && is_open.recv_timeout(ACCOUNTS_EVERY) == Err(mpsc::RecvTimeoutError::Timeout)
            {}
        });
        Ok(Self { stream, reader, accounts, open })
    }

    /// Closes the page; says how many messages it got.
    fn close(self) -> usize {
        drop(self.open);
        drop(self.stream.shutdown(std::net::Shutdown::Both));
        drop(self.accounts.join());
        self.reader.join().unwrap_or(0)
    }
}
