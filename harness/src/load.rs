//! Load for a JSON-RPC server: signed transfers, many connections, and what it cost the server.
//!
//! The server may be anything that listens at a URL and runs in a process of its own: ours, or another's to compare with.

use crate::{
    blocks::{Call, Wallet},
    http::Client,
};
use alloy_primitives::{Address, Bytes, U256, hex};
use std::{
    fmt::Write as _,
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// A wallet's transfers.
pub struct Transfers<'a> {
    /// Who signs.
    pub wallet: &'a Wallet,
    /// The first nonce.
    pub nonce: u64,
    /// The chain.
    pub chain_id: u64,
    /// Wei for each gas at most.
    pub max_fee: u128,
}

impl Transfers<'_> {
    /// The next `count` of them, signed and encoded.
    pub fn sign(&self, count: usize) -> Vec<Bytes> {
        let call = |nonce| Call {
            chain_id: self.chain_id,
            gas_limit: 21_000,
            max_fee: self.max_fee,
            tip: self.max_fee / 10,
            value: U256::from(1),
            ..Call::to(Address::repeat_byte(0x11), nonce)
        };
        (self.nonce..).take(count).map(|nonce| self.wallet.eip1559(call(nonce)).encoded().clone()).collect()
    }
}

/// Request bodies that send these transactions, `batch` in each; one is no batch.
pub fn bodies(transactions: &[Bytes], batch: usize) -> Vec<Vec<u8>> {
    let call = |text: &mut String, id: usize, tx: &Bytes| {
        let raw = hex::encode(tx);
        let method = "eth_sendRawTransaction";
        let _ = write!(text, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":["0x{raw}"]}}"#);
    };
    let body = |some: &[Bytes]| {
        let mut text = String::new();
        if let ([one], 1) = (some, batch) {
            call(&mut text, 1, one);
            return text.into_bytes();
        }
        for (id, tx) in some.iter().enumerate() {
            text.push(if id == 0 { '[' } else { ',' });
            call(&mut text, id, tx);
        }
        text.push(']');
        text.into_bytes()
    };
    transactions.chunks(batch.max(1)).map(body).collect()
}

/// How a load went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Answers that were results.
    pub results: usize,
    /// Answers that were errors.
    pub errors: usize,
    /// The first error.
    pub first_error: Option<String>,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// How long each request took, shortest first.
    pub latencies: Vec<Duration>,
}

impl Outcome {
    /// The latency that this part of all requests did not exceed.
    pub fn percentile(&self, percent: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let index = (last as f64 * percent / 100.0).round() as usize;
        self.latencies.get(index).copied().unwrap_or_default()
    }
}

/// Sends the bodies over so many connections at once; with `per_second` no faster than that.
pub fn send(
    url: &str,
    connections: usize,
    bodies: &[Vec<u8>],
    per_second: Option<f64>,
) -> io::Result<Outcome> {
    let next = AtomicUsize::new(0);
    let clients = (0..connections).map(|_| Client::connect(url)).collect::<io::Result<Vec<_>>>()?;
    let start = Instant::now();
    let run = |mut client: Client| {
        let mut outcome = Outcome::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(body) = bodies.get(index) else { return Ok(outcome) };
            let mut sent = Instant::now();
            if let Some(rate) = per_second {
                // A request counts from when it should have been sent: waiting for an earlier one is no excuse.
                sent = start + Duration::from_secs_f64(index as f64 / rate);
                std::thread::sleep(sent.saturating_duration_since(Instant::now()));
            }
            let answer = client.post(body)?;
            outcome.latencies.push(sent.elapsed());
            count(&answer.body, &mut outcome);
        }
    };
    let outcomes = std::thread::scope(|scope| {
        let threads = clients.into_iter().map(|client| scope.spawn(|| run(client))).collect::<Vec<_>>();
        let join = |thread: std::thread::ScopedJoinHandle<'_, io::Result<Outcome>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a connection's thread panicked")))
        };
        threads.into_iter().map(join).collect::<io::Result<Vec<_>>>()
    })?;
    let mut all = Outcome { elapsed: start.elapsed(), ..Outcome::default() };
    for outcome in outcomes {
        all.results += outcome.results;
        all.errors += outcome.errors;
        all.first_error = all.first_error.or(outcome.first_error);
        all.latencies.extend(outcome.latencies);
    }
    all.latencies.sort_unstable();
    Ok(all)
}

/// Counts answers without reading them as JSON: the client shares the machine with the server.
pub fn count(body: &[u8], outcome: &mut Outcome) {
    let text = String::from_utf8_lossy(body);
    outcome.results += text.matches("\"result\"").count();
    let errors = text.matches("\"error\"").count();
    outcome.errors += errors;
    if errors > 0 && outcome.first_error.is_none() {
        outcome.first_error = Some(text.chars().take(200).collect());
    }
}
