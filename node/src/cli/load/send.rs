//! The threads that send: each has some of the senders, a connection, and its part of the rate.

use super::{BATCH_MAX, Chain, LoadArgs, THREADS_MAX, fund, ledger::Ledger, quantity, raw, token};
use crate::cli::{Failure, client::Client};
use alloy_consensus::{Transaction as _, TxEip1559};
use alloy_primitives::{Address, TxKind, U256};
use runtime::wallet::Wallet;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};
use types::Transaction;

/// After a rejection a node is left alone for so long; for twice as long each time that it takes nothing,
const REJECTED_PAUSE: Duration = Duration::from_millis(50);
/// but not for longer than this.
const REJECTED_PAUSE_MAX: Duration = Duration::from_secs(1);

/// With more accepted transactions of a sender the node is asked which of them are sealed.
const ACCEPTED_MAX: usize = 256;

/// How a full pool rejects a transaction that it takes later, in go-ethereum's words. All pay the same, so whichever
/// would have to displace another one is underpriced.
const FULL: [&str; 5] = [
    "txpool is full",
    "transaction underpriced",
    "future transaction tries to replace pending",
    "account limit exceeded",
    "nonce too high",
];

/// A sender with its next nonce.
struct Sender {
    wallet: Wallet,
    nonce: u64,
    /// What a node rejected and will get again, by nonce.
    rejected: BTreeMap<u64, Transaction>,
    /// What it accepted and has not sealed, as far as is known: a full pool may evict it.
    accepted: BTreeMap<u64, Transaction>,
}

/// What became of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Outcome {
    accepted: usize,
    rejected: usize,
}

/// What one thread does.
struct Share {
    chain: Chain,
    senders: Vec<Sender>,
    /// Whose turn it is.
    turn: usize,
    /// Transactions so far; decides which are of the token.
    count: u64,
    erc20_percent: u64,
    batch: usize,
    /// Between the beginnings of two batches; zero for as fast as possible.
    pause: Duration,
    /// Nothing new is sent from then on,
    until: Instant,
    /// and from then on nothing at all.
    settled: Instant,
}

/// Nothing is left to be sent, and not all of it is sealed.
const STALLED: Outcome = Outcome { accepted: 0, rejected: 1 };

/// Starts to send.
pub(super) fn start(
    args: &LoadArgs,
    chain: Chain,
    senders: Vec<Wallet>,
    ledger: &Arc<Ledger>,
) -> Result<Vec<JoinHandle<Result<(), Failure>>>, Failure> {
    let threads = args.senders.min(THREADS_MAX);
    let mut shares = (0..threads).map(|_| Vec::new()).collect::<Vec<Vec<Sender>>>();
    for (index, wallet) in senders.into_iter().enumerate() {
        shares[index % threads as usize].push(Sender::new(wallet));
    }
    let each = f64::from(args.batch) * f64::from(threads) / f64::from(args.rate.max(1));
    let pause = if args.rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(each) };
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let share = |(index, senders): (usize, Vec<Sender>)| {
        let client = args.rpc.client()?;
        let mut share = Share {
            chain,
            senders,
            turn: 0,
            count: index as u64,
            erc20_percent: args.erc20.into(),
            batch: args.batch as usize,
            pause,
            until,
            settled: until + Duration::from_secs(args.settle),
        };
        for sender in &mut share.senders {
            sender.nonce = fund::nonce(&client, sender.wallet.address(), "pending")?;
        }
        let ledger = Arc::clone(ledger);
        Ok(std::thread::spawn(move || share.run(&client, &ledger)))
    };
    shares.into_iter().enumerate().map(share).collect()
}

impl Sender {
    const fn new(wallet: Wallet) -> Self {
        Self { wallet, nonce: 0, rejected: BTreeMap::new(), accepted: BTreeMap::new() }
    }

    /// Compares with the nonces that the node says come next, after what is sealed and after what is in the pool. What was
    /// accepted and is not in the pool was evicted, and so may be what follows it: it is sent again.
    fn compare(&mut self, sealed: u64, pooled: u64) {
        self.accepted = self.accepted.split_off(&sealed);
        self.rejected.append(&mut self.accepted.split_off(&pooled));
    }
}

impl Share {
    fn run(&mut self, client: &Client, ledger: &Ledger) -> Result<(), Failure> {
        let (mut due, mut rest) = (Instant::now(), REJECTED_PAUSE);
        loop {
            let now = Instant::now();
            let is_over = now >= self.until;
            if is_over && (self.is_sealed() || now >= self.settled) {
                let left = self.senders.iter().flat_map(|sender| sender.rejected.values());
                ledger.unsent(left.map(Transaction::hash));
                return Ok(());
            }
            if now < due && !is_over {
                std::thread::sleep((due - now).min(self.until - now));
                continue;
            }
            // Whoever could not keep up does not send everything at once afterwards.
            due = (due + self.pause).max(now.checked_sub(self.pause).unwrap_or(now));
            let waiting = self.waiting();
            let batch = self.batch(is_over);
            let outcome = if batch.is_empty() { STALLED } else { self.send(client, batch, ledger, is_over)? };
            let is_stalled = outcome.accepted == 0;
            self.look(client, |sender| is_stalled || sender.accepted.len() > ACCEPTED_MAX)?;
            ledger.waiting(waiting, self.waiting());
            if outcome.rejected > 0 {
                rest = next_rest(rest, outcome);
                std::thread::sleep(rest);
            }
        }
    }

    /// Whether blocks hold everything, as far as is known.
    fn is_sealed(&self) -> bool {
        self.senders.iter().all(|sender| sender.rejected.is_empty() && sender.accepted.is_empty())
    }

    /// Asks the node how far it is with some of the senders.
    fn look(&mut self, client: &Client, which: impl Fn(&Sender) -> bool) -> Result<(), Failure> {
        let senders = self.senders.iter_mut().filter(|sender| !sender.accepted.is_empty() && which(sender));
        let mut senders = senders.collect::<Vec<_>>();
        for some in senders.chunks_mut(BATCH_MAX as usize / 2) {
            let nonces = some.iter().flat_map(|sender| {
                let ask = |tag| ("eth_getTransactionCount", json!([sender.wallet.address(), tag]));
                [ask("latest"), ask("pending")]
            });
            let answers = client.calls(&nonces.collect::<Vec<_>>())?;
            for (sender, nonces) in some.iter_mut().zip(answers.chunks(2)) {
                if let [Ok(sealed), Ok(pooled)] = nonces {
                    sender.compare(quantity(sealed)?, quantity(pooled)?);
                }
            }
        }
        Ok(())
    }

    /// How many transactions are to be sent again.
    fn waiting(&self) -> usize {
        self.senders.iter().map(|sender| sender.rejected.len()).sum()
    }

    /// The next transactions: of each sender in turn, and first what was rejected before. At the end only that.
    fn batch(&mut self, is_over: bool) -> Vec<(usize, Transaction)> {
        let mut batch = Vec::with_capacity(self.batch);
        let mut idle = 0;
        while batch.len() < self.batch && idle < self.senders.len() {
            let index = self.turn;
            self.turn = (self.turn + 1) % self.senders.len();
            let again = self.senders[index].rejected.pop_first().map(|(_, tx)| tx);
            match again.or_else(|| (!is_over).then(|| self.fresh(index))) {
                Some(tx) => {
                    batch.push((index, tx));
                    idle = 0;
                }
                None => idle += 1,
            }
        }
        batch
    }

    /// A new transaction of a sender.
    fn fresh(&mut self, index: usize) -> Transaction {
        let to = self.senders[self.turn].wallet.address();
        let sender = &mut self.senders[index];
        let tx = TxEip1559 { nonce: sender.nonce, ..body(&self.chain, self.count, self.erc20_percent, to) };
        sender.nonce += 1;
        self.count += 1;
        sender.wallet.sign(tx)
    }

    /// Sends a batch. What was rejected is sent again before anything later of its sender; at the end, what is refused for
    /// another reason than a full pool is not.
    fn send(
        &mut self,
        client: &Client,
        batch: Vec<(usize, Transaction)>,
        ledger: &Ledger,
        is_over: bool,
    ) -> Result<Outcome, Failure> {
        let sent = Instant::now();
        let calls = batch.iter().map(|(_, tx)| ("eth_sendRawTransaction", raw(tx))).collect::<Vec<_>>();
        let answers = client.calls(&calls)?;
        let now = Instant::now();
        let mut outcome = Outcome::default();
        for ((index, tx), answer) in batch.into_iter().zip(answers) {
            let (sender, nonce) = (&mut self.senders[index], tx.nonce());
            match answer {
                Ok(_) => {
                    ledger.accepted(tx.hash(), sent, now);
                    outcome.accepted += 1;
                    sender.accepted.insert(nonce, tx);
                }
                // What was sent twice is there.
                Err(why) if why == "already known" => drop(sender.accepted.insert(nonce, tx)),
                // A block has it since it was looked.
                Err(why) if why.starts_with("nonce too low") && ledger.knows(&tx.hash()) => {}
                Err(why) => {
                    outcome.rejected += 1;
                    let is_full = FULL.iter().any(|words| why.starts_with(words));
                    if is_full {
                        ledger.rejected(&why);
                    } else {
                        ledger.refused(&why);
                    }
                    if is_full || !is_over {
                        sender.rejected.insert(nonce, tx);
                    }
                }
            }
        }
        Ok(outcome)
    }
}

/// How long to leave the node alone after a batch of which something was rejected.
fn next_rest(last: Duration, outcome: Outcome) -> Duration {
    match outcome.accepted {
        0 => (last * 2).min(REJECTED_PAUSE_MAX),
        _ => REJECTED_PAUSE,
    }
}

/// What a transaction does: number `count` of so many, of a hundred, that are of the token.
pub(super) fn body(chain: &Chain, count: u64, erc20_percent: u64, to: Address) -> TxEip1559 {
    // Spread evenly: those at which the running share passes a whole number.
    let is_token = (count + 1) * erc20_percent / 100 > count * erc20_percent / 100;
    match chain.token.filter(|_| is_token) {
        Some(token) => TxEip1559 {
            to: TxKind::Call(token),
            input: token::transfer(to, 1),
            gas_limit: token::TRANSFER_GAS,
            ..fund::offer(chain)
        },
        None => TxEip1559 { to: TxKind::Call(to), value: U256::ONE, gas_limit: 21_000, ..fund::offer(chain) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_what_was_asked_for() {
        let chain = Chain { chain_id: 1, max_fee_wei: 1, token: Some(Address::repeat_byte(9)) };
        let tokens = |percent| {
            (0..1000).filter(|n| !body(&chain, *n, percent, Address::ZERO).input.is_empty()).count()
        };
        assert_eq!([0, 1, 40, 100].map(tokens), [0, 10, 400, 1000]);
    }

    fn share(senders: usize, batch: usize) -> Share {
        let wallet = |index: usize| Wallet::new(&super::super::key(1, index as u32)).unwrap();
        let sender = |index| Sender::new(wallet(index));
        Share {
            chain: Chain { chain_id: 1, max_fee_wei: 1, token: None },
            senders: (0..senders).map(sender).collect(),
            turn: 0,
            count: 0,
            erc20_percent: 0,
            batch,
            pause: Duration::ZERO,
            until: Instant::now(),
            settled: Instant::now(),
        }
    }

    /// A node with a pool that takes these places of a batch only, and is full for the others.
    fn answer(listener: &std::net::TcpListener, batches: Vec<Vec<usize>>) -> Vec<usize> {
        use std::io::{BufRead, Read, Write};
        let mut stream = std::io::BufReader::new(listener.accept().unwrap().0);
        let mut sizes = vec![];
        for takes in batches {
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                let header = line.trim_end().split_once(": ");
                if let Some(("content-length", value)) = header {
                    length = value.parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
            }
            let mut request = vec![0; length];
            stream.read_exact(&mut request).unwrap();
            let calls = serde_json::from_slice::<Vec<serde_json::Value>>(&request).unwrap();
            sizes.push(calls.len());
            let answers = (0..calls.len()).map(|id| match takes.contains(&id) {
                true => json!({ "id": id, "result": "0x" }),
                false => json!({ "id": id, "error": { "message": "txpool is full" } }),
            });
            let body = serde_json::Value::from(answers.collect::<Vec<_>>()).to_string();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
        sizes
    }

    #[test]
    fn what_a_full_pool_rejects_is_sent_again_in_order_and_after_the_end_too() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let node = std::thread::spawn(move || answer(&listener, vec![vec![0], vec![0, 1], vec![], vec![0]]));
        let (mut share, ledger) = (share(2, 4), Ledger::default());
        let client = Client::new(&url).unwrap();
        let nonces =
            |share: &Share, index: usize| share.senders[index].rejected.keys().copied().collect::<Vec<_>>();
        // Of nonces 0 and 1 of both senders the first is taken.
        let batch = share.batch(false);
        let outcome = share.send(&client, batch, &ledger, false).unwrap();
        assert_eq!(outcome, Outcome { accepted: 1, rejected: 3 });
        assert_eq!((nonces(&share, 0), nonces(&share, 1)), (vec![1], vec![0, 1]));
        // What was rejected goes first, and nothing overtakes it: nonce 2 of the first sender is new.
        let batch = share.batch(false);
        assert_eq!(batch.iter().map(|(_, tx)| tx.nonce()).collect::<Vec<_>>(), [1, 0, 2, 1]);
        share.send(&client, batch, &ledger, false).unwrap();
        assert_eq!((nonces(&share, 0), nonces(&share, 1)), (vec![2], vec![1]));
        // At the end there is nothing new.
        for left in [2, 1] {
            let batch = share.batch(true);
            assert_eq!(batch.len(), 2);
            share.send(&client, batch, &ledger, true).unwrap();
            assert_eq!(share.waiting(), left);
        }
        assert_eq!(node.join().unwrap(), [4, 4, 2, 2]);
        let counts = ledger.counts();
        assert_eq!((counts.accepted, counts.retried, counts.refused), (4, 8, 0));
        assert!(counts.to_string().contains("8 rejected by the full pool"), "{counts}");
    }

    #[test]
    fn what_a_full_pool_evicts_is_sent_again() {
        let mut share = share(1, 5);
        let sender = &mut share.senders[0];
        let tx = |nonce| sender.wallet.sign(TxEip1559 { nonce, ..TxEip1559::default() });
        sender.accepted = (3..8).map(|nonce| (nonce, tx(nonce))).collect();
        // Blocks hold all below 5; the pool has 5, and 6 is missing.
        sender.compare(5, 6);
        assert_eq!(sender.accepted.keys().copied().collect::<Vec<_>>(), [5]);
        assert_eq!(sender.rejected.keys().copied().collect::<Vec<_>>(), [6, 7]);
        assert_eq!(share.batch(true).iter().map(|(_, tx)| tx.nonce()).collect::<Vec<_>>(), [6, 7]);
        assert!(!share.is_sealed());
        share.senders[0].compare(8, 8);
        assert!(share.is_sealed());
    }

    #[test]
    fn a_full_pool_is_left_alone_for_longer_and_longer_but_never_for_long() {
        let full = Outcome { accepted: 0, rejected: 5 };
        let mut rest = REJECTED_PAUSE;
        for _ in 0..20 {
            let next = next_rest(rest, full);
            assert!(next >= rest && next <= REJECTED_PAUSE_MAX);
            rest = next;
        }
        assert_eq!(rest, REJECTED_PAUSE_MAX);
        assert_eq!(next_rest(rest, Outcome { accepted: 1, rejected: 4 }), REJECTED_PAUSE);
    }
}
