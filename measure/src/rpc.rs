//! JSON-RPC against what nobody can leave out: the recovery of signatures, and the logs that match.

use super::{Ratio, cost, median_of_pairs};
use alloy_consensus::crypto::secp256k1;
use alloy_primitives::{Address, B256, Bytes, U256};
use futures_util::future::BoxFuture;
use harness::{
    blocks::{MemoryChain, Wallet, config},
    cpu::cpu_time_of,
    load::{self, Transfers},
};
use rpc::{
    Api, Archive, Backend, Config, EvmChainSpec, Feed, Health, LayerState, Limits, MemoryArchive, Order,
    OrderError, Parts, PoolIndex, RecentBlock, SendError, Server, Snapshot, Sources, Tags,
};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    sync::Arc,
};
use tokio::sync::{mpsc, oneshot};
use txpool::{Account, Code, Head, Pool, SenderContent, recover};
use types::{BlockId, ReceiptedBlock, SealedBlock, Time, Transaction};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "rpc-send", target: 2.0, measure: || send(1, 2_000, 15) },
    Ratio { name: "rpc-send-batch", target: 1.4, measure: || send(100, 4_000, 11) },
    Ratio { name: "rpc-logs", target: 3.0, measure: super::rpc_logs::logs },
];

/// Connections at once.
const CONNECTIONS: usize = 16;
/// Senders; each connection's transactions come from all of them.
const SENDERS: usize = 64;
const HEAD: Head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };

fn pool_config() -> txpool::Config {
    txpool::Config {
        pending_max: 1 << 20,
        // Connections overtake each other, so what they send has gaps for a moment.
        queued_max: 1 << 20,
        sender_txs_max: 1 << 20,
        nonce_gap_max: 1 << 20,
        pool_bytes_max: 1 << 31,
        ..txpool::Config::default()
    }
}

/// Server CPU per transaction over HTTP, against recovering the same signatures.
fn send(batch: usize, count: usize, pairs: usize) -> f64 {
    let mut server = ServerProcess::start();
    let wallets = (0..SENDERS).map(|index| Wallet::new(index as u64 + 1)).collect::<Vec<_>>();
    let mut nonce = 0;
    let mut fresh = || {
        let each = count / SENDERS;
        let signed = wallets.iter().map(|wallet| {
            Transfers { wallet, nonce, chain_id: config().chain_id, max_fee: 10_000_000_000 }.sign(each)
        });
        let signed = signed.collect::<Vec<_>>();
        nonce += each as u64;
        // Senders take turns, so that neighbours in a batch are of different ones.
        let turns = (0..each).flat_map(|turn| signed.iter().map(move |all| all[turn].clone()));
        turns.collect::<Vec<Bytes>>()
    };
    let rules = pool_config().rules(HEAD);
    let mut first = Some(fresh());
    let decoded =
        first.iter().flatten().cloned().map(|bytes| recover(bytes, &rules).expect("it was signed well"));
    let hashes = decoded.map(|tx| (*tx.signature(), tx.signature_hash(), tx.sender())).collect::<Vec<_>>();
    let url = server.url.clone();
    let pid = server.child.id();
    let mut best = 0.0_f64;
    let ours = || {
        let bodies = load::bodies(&first.take().unwrap_or_else(&mut fresh), batch);
        let before = cpu_time_of(pid).expect("the server runs");
        let outcome = load::send(&url, CONNECTIONS, &bodies, None).expect("the server answers");
        let spent = cpu_time_of(pid).expect("the server runs").saturating_sub(before);
        assert_eq!((outcome.results, outcome.errors), (hashes.len(), 0), "{:?}", outcome.first_error);
        best = best.max(bodies.len() as f64 / outcome.elapsed.as_secs_f64());
        spent
    };
    let floor = || {
        cost(|| {
            for (signature, hash, sender) in &hashes {
                let found = secp256k1::recover_signer(signature, *hash).expect("it was signed well");
                assert_eq!(found, *sender);
            }
        })
        .0
    };
    let ratio = median_of_pairs(pairs, ours, floor);
    let outcome = load::send(&url, CONNECTIONS, &load::bodies(&fresh(), batch), Some(best / 2.0));
    let outcome = outcome.expect("the server answers");
    println!(
        "{batch} per request: at most {:.0} transactions/s; at half of that p50 {:?}, p99 {:?}",
        best * batch as f64,
        outcome.percentile(50.0),
        outcome.percentile(99.0)
    );
    server.stop();
    ratio
}

/// The server in a process of its own.
struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    fn start() -> Self {
        let program = std::env::current_exe().expect("a running program has a file");
        let mut child = Command::new(program)
            .arg("--serve-rpc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let mut url = String::new();
        let output = child.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut url).expect("it says where it listens");
        Self { child, url: url.trim().to_owned() }
    }

    /// It ends when its input does.
    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Serves until the input ends; the first line of the output says where.
pub fn serve() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let server = runtime.block_on(async {
        let index = Arc::new(PoolIndex::default());
        let feed = feed();
        let driver = Arc::new(LoopDriver::start(index.clone()));
        let api = api(feed, index, Arc::new(MemoryArchive::default()), driver);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        Server::start(listener, api, None).expect("it listens")
    });
    println!("http://{}", server.address());
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    ExitCode::SUCCESS
}

/// The API over these sources, without a limit of rate or of blocks.
pub(super) fn api(
    feed: Feed,
    pool: Arc<PoolIndex>,
    archive: Arc<dyn Archive>,
    driver: Arc<dyn Backend>,
) -> Arc<Api> {
    let genesis = feed.snapshot().blocks()[0].id();
    let chain = EvmChainSpec::new(&config(), genesis, Address::ZERO, "pectin/ratios".to_owned());
    let sources = Sources { chain, feed, pool, archive, backend: driver, extensions: vec![] };
    Api::new(Config { limits: Limits::default(), ..Config::default() }, sources)
}

/// A feed with the genesis of the development chain.
pub(super) fn feed() -> Feed {
    let chain = MemoryChain::new(&[]);
    let block = SealedBlock::new(chain.parent.header.clone(), vec![]);
    let state = Arc::new(LayerState::new(chain.parent.layer, chain.codes));
    let recent = RecentBlock::new(ReceiptedBlock { block, receipts: [].into() }, state);
    feed_of(vec![recent])
}

/// A feed with these blocks, all final.
pub(super) fn feed_of(blocks: Vec<Arc<RecentBlock>>) -> Feed {
    let latest = blocks[blocks.len() - 1].id();
    let parts = Parts {
        tags: Tags { safe: latest, finalized: latest },
        pending: None,
        queue: empty_queue(latest),
        pool: txpool::Stats::default(),
        rules: pool_config().rules(HEAD),
        health: Health::default(),
        insight: rpc::Insight::default(),
    };
    Feed::new(Snapshot::new(blocks, parts).expect("the blocks follow each other"))
}

fn empty_queue(base: BlockId) -> Arc<queue::Snapshot> {
    Arc::new(queue::Snapshot {
        base,
        bundles: vec![],
        unbundled: None,
        fullness: 0,
        newest_at: None,
        finished: vec![],
        abandoned_from: None,
        halted: None,
        stats: queue::Stats::default(),
    })
}

type Offer = (Vec<Transaction>, oneshot::Sender<Vec<Result<B256, SendError>>>);

/// A driver as the node's is: one loop that owns the pool, asked by messages.
pub(super) struct LoopDriver {
    offers: mpsc::Sender<Offer>,
}

impl LoopDriver {
    pub(super) fn start(index: Arc<PoolIndex>) -> Self {
        let (offers, mut inbox) = mpsc::channel::<Offer>(1024);
        tokio::spawn(async move {
            let mut pool = Pool::new(pool_config(), HEAD);
            let account = Account { nonce: 0, balance: U256::MAX >> 8, code: Code::None };
            while let Some((transactions, answer)) = inbox.recv().await {
                let insert = |tx: Transaction| {
                    let (hash, sender) = (tx.hash(), tx.sender());
                    pool.insert(tx.clone(), account, Time::ZERO)?;
                    index.insert(tx, Time::ZERO, true);
                    index.set_next_nonce(sender, pool.next_nonce(&sender));
                    Ok(hash)
                };
                let answers = transactions.into_iter().map(insert).collect();
                pool.drain_events();
                let _ = answer.send(answers);
            }
        });
        Self { offers }
    }
}

impl Backend for LoopDriver {
    fn submit(&self, transactions: Vec<Transaction>) -> BoxFuture<'_, Vec<Result<B256, SendError>>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let stopped = || vec![Err(SendError::Unavailable("it stopped".to_owned()))];
            if self.offers.send((transactions, answer)).await.is_err() {
                return stopped();
            }
            answered.await.unwrap_or_else(|_| stopped())
        })
    }

    fn content(&self, _: Option<Address>) -> BoxFuture<'_, Vec<SenderContent>> {
        Box::pin(std::future::ready(vec![]))
    }

    fn now(&self) -> Time {
        Time::ZERO
    }

    fn refresh(&self) -> std::sync::mpsc::Receiver<()> {
        std::sync::mpsc::channel().1
    }

    fn order(&self, _: Order) -> BoxFuture<'_, Result<u64, OrderError>> {
        Box::pin(std::future::ready(Ok(0)))
    }
}
