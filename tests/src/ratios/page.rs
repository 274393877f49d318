//! What an open page costs the node.
//!
//! A builder with slots of 300 ms takes transfers at a steady rate for a minute. Meanwhile a page is open every other
//! moment: a client of the same stream that a browser reads. What the process spends in moments with and without it is
//! compared pair by pair, so that whatever else the machine does cancels out.

use super::{
    Ratio,
    builder::{Builder, CHAIN_ID},
    median_of_pairs,
};
use crate::{
    blocks::Wallet,
    load::{self, Transfers},
};
use alloy_primitives::Bytes;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

pub(super) const RATIOS: &[Ratio] = &[Ratio { name: "page-cost", target: 1.1, measure }];

const SLOT_MS: u64 = 300;
const SENDERS: u64 = 64;
const BATCH: usize = 10;
const CONNECTIONS: usize = 8;
/// Transactions in a second: what two cores can do beside the validators and those who send.
const PER_SECOND: usize = 1_000;
/// Pairs of moments, and how long a moment lasts: a minute in all.
const PAIRS: usize = 10;
const MOMENT: Duration = Duration::from_secs(3);

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
    let wallets = (1..=SENDERS).map(Wallet::new).collect::<Vec<_>>();
    let builder = Builder::start(&wallets, SLOT_MS)?;
    let (url, pid) = (builder.url.clone(), builder.pectin.id());
    let seconds = MOMENT.as_secs() as usize * (2 * PAIRS + 3);
    let bodies = bodies(&wallets, seconds * PER_SECOND);
    let load = {
        let url = url.clone();
        std::thread::spawn(move || {
            load::send(&url, CONNECTIONS, &bodies, Some(PER_SECOND as f64 / BATCH as f64))
        })
    };
    let spend = || {
        let before = load::cpu_time_of(pid).expect("the node runs");
        std::thread::sleep(MOMENT);
        load::cpu_time_of(pid).expect("the node runs").saturating_sub(before)
    };
    let (mut with, mut without, mut heard) = (vec![], vec![], 0);
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let page = Page::open(&url).expect("the node serves the page");
            let spent = spend();
            heard += page.close();
            with.push(spent);
            spent
        },
        || {
            let spent = spend();
            without.push(spent);
            spent
        },
    );
    let outcome = load.join().map_err(|_| "the load panicked")?.map_err(|why| why.to_string())?;
    if outcome.errors > 0 {
        return Err(format!("{} transactions were refused: {:?}", outcome.errors, outcome.first_error));
    }
    if heard < PAIRS {
        return Err(format!("the page heard only {heard} things"));
    }
    let mean = |all: &[Duration]| all.iter().sum::<Duration>().as_secs_f64() / all.len() as f64 * 1000.0;
    println!(
        "with the page {:.0} ms CPU in {} s, without {:.0} ms; {} transactions, {heard} messages to the page",
        mean(&with),
        MOMENT.as_secs(),
        mean(&without),
        outcome.results
    );
    Ok(ratio)
}

/// Requests with so many transfers, of all senders in turn.
fn bodies(wallets: &[Wallet], count: usize) -> Vec<Vec<u8>> {
    let each = count.div_ceil(wallets.len());
    let sign =
        |wallet| Transfers { wallet, nonce: 0, chain_id: CHAIN_ID, max_fee: 100_000_000_000 }.sign(each);
    let signed = wallets.iter().map(sign).collect::<Vec<_>>();
    let turns = (0..each).flat_map(|turn| signed.iter().map(move |all| all[turn].clone()));
    load::bodies(&turns.collect::<Vec<Bytes>>(), BATCH)
}

/// An open page: it reads the stream to its end.
struct Page {
    stream: TcpStream,
    reader: std::thread::JoinHandle<usize>,
}

impl Page {
    fn open(url: &str) -> std::io::Result<Self> {
        let host = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        write!(stream, "GET /page/live HTTP/1.1\r\nhost: {host}\r\n\r\n")?;
        let lines = BufReader::new(stream.try_clone()?).lines();
        let reader = std::thread::spawn(move || {
            lines.map_while(Result::ok).filter(|line| line.starts_with("data: ")).count()
        });
        Ok(Self { stream, reader })
    }

    /// Closes the page; says how many messages it got.
    fn close(self) -> usize {
        drop(self.stream.shutdown(std::net::Shutdown::Both));
        self.reader.join().unwrap_or(0)
    }
}
