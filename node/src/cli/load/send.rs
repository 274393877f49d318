//! The threads that send: each has some of the senders, a connection, and its part of the rate.

use super::{Chain, LoadArgs, THREADS_MAX, fund, ledger::Ledger, raw, token};
use crate::{
    cli::{Failure, client::Client},
    wallet::Wallet,
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256};
use std::{
    collections::VecDeque,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};
use types::Transaction;

/// After a refusal a node is left alone for so long.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

/// A sender with its next nonce, and what a node refused and will get again.
struct Sender {
    wallet: Wallet,
    nonce: u64,
    refused: VecDeque<Transaction>,
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
    until: Instant,
}

/// Starts to send.
pub(super) fn start(
    args: &LoadArgs,
    chain: Chain,
    senders: Vec<Wallet>,
    ledger: &Arc<Ledger>,
) -> Result<Vec<JoinHandle<Result<(), Failure>>>, Failure> {
    let threads = args.senders.clamp(1, THREADS_MAX);
    let mut shares = (0..threads).map(|_| Vec::new()).collect::<Vec<Vec<Sender>>>();
    for (index, wallet) in senders.into_iter().enumerate() {
        shares[index % threads as usize].push(Sender { wallet, nonce: 0, refused: VecDeque::new() });
    }
    let each = f64::from(args.batch) * f64::from(threads) / f64::from(args.rate.max(1));
    let pause = if args.rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(each) };
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let share = |(index, senders): (usize, Vec<Sender>)| {
        let mut client = args.rpc.connect()?;
        let mut share = Share {
            chain,
            senders,
            turn: 0,
            count: index as u64,
            erc20_percent: args.erc20.into(),
            batch: args.batch as usize,
            pause,
            until,
        };
        for sender in &mut share.senders {
            sender.nonce = fund::nonce(&mut client, sender.wallet.address(), "pending")?;
        }
        let ledger = Arc::clone(ledger);
        Ok(std::thread::spawn(move || share.run(&mut client, &ledger)))
    };
    shares.into_iter().enumerate().map(share).collect()
}

impl Share {
    fn run(&mut self, client: &mut Client, ledger: &Ledger) -> Result<(), Failure> {
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if now >= self.until {
                return Ok(());
            }
            if now < due {
                std::thread::sleep((due - now).min(self.until - now));
                continue;
            }
            // Whoever could not keep up does not send everything at once afterwards.
            due = (due + self.pause).max(now.checked_sub(self.pause).unwrap_or(now));
            let batch = (0..self.batch).map(|_| self.next()).collect::<Vec<_>>();
            if !self.send(client, batch, ledger)? {
                std::thread::sleep(REFUSED_PAUSE);
            }
        }
    }

    /// The next transaction: the next sender's, and first what was refused before.
    fn next(&mut self) -> (usize, Transaction) {
        let index = self.turn;
        self.turn = (self.turn + 1) % self.senders.len();
        let to = self.senders[self.turn].wallet.address();
        let sender = &mut self.senders[index];
        if let Some(again) = sender.refused.pop_front() {
            return (index, again);
        }
        let tx = TxEip1559 { nonce: sender.nonce, ..body(&self.chain, self.count, self.erc20_percent, to) };
        sender.nonce += 1;
        self.count += 1;
        (index, sender.wallet.sign(tx))
    }

    /// Sends a batch; whether all of it was accepted.
    fn send(
        &mut self,
        client: &mut Client,
        batch: Vec<(usize, Transaction)>,
        ledger: &Ledger,
    ) -> Result<bool, Failure> {
        let sent = Instant::now();
        let calls = batch.iter().map(|(_, tx)| ("eth_sendRawTransaction", raw(tx))).collect::<Vec<_>>();
        let answers = client.calls(&calls)?;
        let now = Instant::now();
        let mut all = true;
        for ((index, tx), answer) in batch.into_iter().zip(answers) {
            match answer {
                // What was sent twice is known, and as good as accepted.
                Ok(_) => ledger.accepted(tx.hash(), sent, now),
                Err(why) if why == "already known" => ledger.accepted(tx.hash(), sent, now),
                Err(why) => {
                    ledger.refused(&why);
                    self.senders[index].refused.push_back(tx);
                    all = false;
                }
            }
        }
        Ok(all)
    }
}

/// What a transaction does: number `count` of so many, of a hundred, that are of the token.
fn body(chain: &Chain, count: u64, erc20_percent: u64, to: Address) -> TxEip1559 {
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
}
