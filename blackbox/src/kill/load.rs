//! Steady load: several accounts that transfer, call a contract, and change their minds.

use super::{
    client::{Door, Rpc, Silence, number},
    ledger::{Ledger, Said},
};
use alloy_primitives::{Address, Bytes};
use harness::{
    blocks::{Call, Wallet, contracts},
    rng::Rng,
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};
use types::Transaction;

/// Transactions of one account that may be on their way at once.
const UNFINISHED_MAX: u64 = 128;
/// The account looks this often, in turns, how many are.
const LOOK_EVERY_TURNS: u64 = 4;
/// How long to wait before a node that did not answer is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(15);
/// The same for one that answered that it takes nothing at the moment.
const LATER_AFTER: Duration = Duration::from_millis(150);
/// The number of the wallet that makes the contract.
pub(super) const MAKER: u64 = 1000;

/// What a transaction does; all have the same fees but for replacements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// Sends some wei.
    Transfer(u64),
    /// Calls the counter.
    Count,
}

/// The contract that counts its calls.
pub(super) fn counter() -> Address {
    Wallet::new(MAKER).address().create(0)
}

/// The transaction that makes it.
pub(super) fn creation() -> Transaction {
    Wallet::new(MAKER).eip1559(Call::create(contracts::deploy(contracts::COUNT), 0))
}

/// A transaction of an account; `bids` times twenty per cent above the usual fees.
pub(super) fn transaction(wallet: &Wallet, nonce: u64, deed: Deed, bids: u32) -> Transaction {
    let call = match deed {
        Deed::Transfer(wei) => {
            let to = Address::with_last_byte(0x40 + (wei % 16) as u8);
            Call::transfer(to, nonce, wei)
        }
        Deed::Count => Call { gas_limit: 60_000, ..Call::to(counter(), nonce) },
    };
    let raised = |fee: u128| (0..bids).fold(fee, |fee, _| fee * 12 / 10);
    wallet.eip1559(Call { max_fee: raised(call.max_fee), tip: raised(call.tip), ..call })
}

/// A transaction with so many bytes of data.
pub(super) fn bulky(wallet: &Wallet, nonce: u64, bytes: usize) -> Transaction {
    let input = Bytes::from((0..bytes).map(|at| (at as u64 * 31 + nonce) as u8 | 1).collect::<Vec<_>>());
    let gas_limit = 60_000 + 40 * bytes as u64;
    wallet.eip1559(Call { input, gas_limit, ..Call::to(Address::repeat_byte(0xbb), nonce) })
}

/// Sends a transaction until the node says what becomes of it; `None` if there is no node any more.
pub(super) fn offer(rpc: &mut Rpc, ledger: &Ledger, tx: &Transaction) -> Option<Said> {
    let (hash, raw) = ledger.note(tx);
    let mut may_be_known = false;
    let said = loop {
        match rpc.try_batch(&[("eth_sendRawTransaction", json!([raw]))]) {
            Err(Silence::Closed) => return None,
            Err(Silence::Lost) => {
                may_be_known = true;
                std::thread::sleep(AGAIN_AFTER);
            }
            Ok(answers) => match answers.into_iter().next()? {
                Ok(_) => break Said::Accepted,
                Err(why) if why == "already known" => break Said::Accepted,
                Err(why) if is_passing(&why) => std::thread::sleep(LATER_AFTER),
                // It may have been accepted when nobody could hear the answer, and be final by now.
                Err(why) => {
                    let known = may_be_known && is_known(rpc, &json!([hash]))?;
                    break if known { Said::Accepted } else { Said::Refused(why) };
                }
            },
        }
    };
    ledger.heard(&hash, said.clone());
    Some(said)
}

fn is_passing(why: &str) -> bool {
    why.starts_with("the node does not accept transactions") || why.starts_with("txpool is full")
}

fn is_known(rpc: &mut Rpc, params: &serde_json::Value) -> Option<bool> {
    let answers = rpc.batch(&[("builder_transaction", params.clone())])?;
    Some(answers.into_iter().all(|answer| answer.is_ok_and(|shown| !shown.is_null())))
}

/// An account with its own mind.
struct Account {
    wallet: Wallet,
    nonce: u64,
    turns: u64,
    rng: Rng,
    rpc: Rpc,
    ledger: Arc<Ledger>,
}

impl Account {
    fn count(&mut self, tag: &str) -> Option<u64> {
        let params = json!([self.wallet.address(), tag]);
        let answers = self.rpc.batch(&[("eth_getTransactionCount", params)])?;
        answers.first()?.as_ref().ok().and_then(number)
    }

    fn send(&mut self, nonce: u64, deed: Deed, bids: u32) -> Option<Said> {
        offer(&mut self.rpc, &self.ledger, &transaction(&self.wallet, nonce, deed, bids))
    }

    /// Sends with the next nonce.
    fn go_on(&mut self, deed: Deed) -> Option<()> {
        match self.send(self.nonce, deed, 0)? {
            Said::Accepted => self.nonce += 1,
            _ => self.nonce = self.count("pending")?,
        }
        Some(())
    }

    fn turn(&mut self) -> Option<()> {
        let wei = self.rng.within(1, 1_000_000);
        match self.rng.below(10) {
            0..=3 => self.go_on(Deed::Transfer(wei))?,
            4..=6 => self.go_on(Deed::Count)?,
            // Too late most of the time: it is in the open block by then.
            7 => {
                let nonce = self.nonce;
                self.go_on(Deed::Transfer(wei))?;
                self.send(nonce, Deed::Transfer(wei + 1), 1)?;
            }
            // What waits for a nonce can be replaced, and replaced again.
            _ => {
                let nonce = self.nonce;
                self.send(nonce + 1, Deed::Transfer(wei), 0)?;
                self.send(nonce + 1, Deed::Count, 1)?;
                if self.rng.chance(500) {
                    self.send(nonce + 1, Deed::Transfer(wei), 2)?;
                }
                self.send(nonce, Deed::Count, 0)?;
                self.nonce = self.count("pending")?;
            }
        }
        Some(())
    }

    /// Waits while too many are on their way.
    fn rest(&mut self, stop: &AtomicBool) -> Option<()> {
        self.turns += 1;
        if self.turns.is_multiple_of(LOOK_EVERY_TURNS) {
            while self.nonce.saturating_sub(self.count("finalized")?) > UNFINISHED_MAX {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(LATER_AFTER);
            }
        }
        Some(())
    }

    /// Leaves no gap behind: what waits for a nonce would wait for ever.
    fn close_gaps(&mut self) -> Option<()> {
        self.nonce = self.nonce.max(self.count("pending")?);
        while self.count("pending")? < self.nonce {
            let missing = self.count("pending")?;
            if self.send(missing, Deed::Transfer(1), 0)? != Said::Accepted {
                break;
            }
        }
        Some(())
    }
}

/// Accounts at work.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Sets accounts to work, one after the other on threads of their own. Each pauses `pause_ms` after each turn, more
    /// or less.
    pub(super) fn start(
        wallets: &[Wallet],
        pause_ms: u64,
        seed: u64,
        door: &Door,
        ledger: &Arc<Ledger>,
    ) -> Self {
        let (stop, paused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let threads = wallets.iter().enumerate().map(|(index, wallet)| {
            let mut account = Account {
                wallet: *wallet,
                nonce: 0,
                turns: 0,
                rng: Rng::new(seed.wrapping_add(index as u64 + 1)),
                rpc: Rpc::new(door.clone()),
                ledger: ledger.clone(),
            };
            let (stop, paused) = (stop.clone(), paused.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let is_paused = paused.load(Ordering::Relaxed);
                    let went_on =
                        if is_paused { Some(()) } else { account.turn().and_then(|()| account.rest(&stop)) };
                    if went_on.is_none() {
                        return;
                    }
                    let pause = account.rng.within(pause_ms / 2, pause_ms * 3 / 2);
                    std::thread::sleep(Duration::from_millis(pause));
                }
                // There may be no node any more; then nothing counts.
                let _ = account.close_gaps();
            })
        });
        Self { threads: threads.collect(), stop, paused }
    }

    /// Lets all accounts rest, or work again.
    pub(super) fn pause(&self, is_paused: bool) {
        self.paused.store(is_paused, Ordering::Relaxed);
    }

    /// Lets every account finish what it is at. There must be a node, or none any more.
    pub(super) fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // An account that panicked has said so.
            let _ = thread.join();
        }
    }
}
