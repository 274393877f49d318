//! Clients that send one transaction at a time and wait for its receipt, as most programs do.

use super::{Chain, LoadArgs, fund, ledger::Ledger, raw, send};
use crate::cli::{Failure, client::Client};
use alloy_consensus::TxEip1559;
use runtime::wallet::Wallet;
use serde_json::json;
use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// A receipt is asked for this often.
const ASK_EVERY: Duration = Duration::from_millis(2);
/// After a rejection a node is left alone for so long.
const REJECTED_PAUSE: Duration = Duration::from_millis(50);

/// Starts the clients, each on a connection of its own.
pub(super) fn start(
    args: &LoadArgs,
    chain: Chain,
    wallets: Vec<Wallet>,
    ledger: &Arc<Ledger>,
) -> Result<Vec<JoinHandle<Result<(), Failure>>>, Failure> {
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let start = |wallet: Wallet| {
        let client = args.rpc.client()?;
        let nonce = fund::nonce(&client, wallet.address(), "pending")?;
        let (settled, ledger) = (until + Duration::from_secs(args.settle), Arc::clone(ledger));
        let waiting = Waiting { client, chain, wallet, nonce, until, settled, ledger };
        Ok(std::thread::spawn(move || waiting.run()))
    };
    wallets.into_iter().map(start).collect()
}

struct Waiting {
    client: Client,
    chain: Chain,
    wallet: Wallet,
    nonce: u64,
    /// Nothing new is sent from then on,
    until: Instant,
    /// and from then on nothing is waited for.
    settled: Instant,
    ledger: Arc<Ledger>,
}

impl Waiting {
    fn run(mut self) -> Result<(), Failure> {
        while Instant::now() < self.until {
            self.once()?;
        }
        Ok(())
    }

    fn once(&mut self) -> Result<(), Failure> {
        let transfer = send::body(&self.chain, self.nonce, 0, self.wallet.address());
        let tx = self.wallet.sign(TxEip1559 { nonce: self.nonce, ..transfer });
        let sent = Instant::now();
        let answers = self.client.calls(&[("eth_sendRawTransaction", raw(&tx))])?;
        if let Some(Err(why)) = answers.into_iter().next() {
            self.ledger.refused(&why);
            std::thread::sleep(REJECTED_PAUSE);
            return Ok(());
        }
        self.ledger.accepted(tx.hash(), sent, Instant::now());
        self.nonce += 1;
        while self.client.call("eth_getTransactionReceipt", json!([tx.hash()]))?.is_null() {
            if Instant::now() >= self.settled {
                return Ok(());
            }
            std::thread::sleep(ASK_EVERY);
        }
        self.ledger.receipt(sent, Instant::now());
        Ok(())
    }
}
