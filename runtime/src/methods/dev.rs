//! What makes a development network comfortable. Nothing is pretended: a block that is mined goes the way of every
//! other, and what the faucet pays is a transaction that somebody signed.
//!
//! There is no `evm_increaseTime` and no `anvil_setBalance`: validators execute every block again, and neither time nor
//! balances are the builder's to choose.

use super::{Methods, reply};
use crate::wallet::Wallet;
use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256};
use rpc::{Error, Json, Order, Params, error};
use std::time::Duration;
use types::Transaction;

/// What `dev_faucet` pays if it is not said: one ether.
const WEI_DEFAULT: u128 = 1_000_000_000_000_000_000;
/// What the faucet offers for each gas beyond the base fee.
const TIP_WEI: u128 = 1_000_000_000;
/// How long a sealed block may take to become visible.
const SEAL_TIMEOUT: Duration = Duration::from_secs(10);

/// An account that pays everybody.
#[derive(Debug)]
pub struct Faucet {
    wallet: Wallet,
    /// Held from choosing a nonce until it is used.
    turn: tokio::sync::Mutex<()>,
}

impl Faucet {
    /// A faucet that pays from this account.
    pub fn new(wallet: Wallet) -> Self {
        Self { wallet, turn: tokio::sync::Mutex::default() }
    }
}

impl Methods {
    /// Seals a block now, with what waits or empty, and answers when it can be seen.
    pub(super) async fn mine(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        if params.raw(0).is_some() {
            return Err(Error::params(
                "a block's time cannot be chosen: validators compare it with their clocks",
            ));
        }
        let before = self.feed.snapshot().latest().id().number;
        let mut pictures = self.feed.watch();
        let sealed = self.backend.order(Order::Seal).await;
        sealed.map_err(|why| Error::other(why.to_string()))?;
        let shown = pictures.wait_for(|picture| picture.latest().id().number > before);
        match tokio::time::timeout(SEAL_TIMEOUT, shown).await {
            Ok(Ok(_)) => reply("0x0"),
            _ => Err(Error::new(error::TIMEOUT, "the block was sealed, and cannot be seen yet")),
        }
    }

    /// Pays somebody; answers with the transaction's hash.
    pub(super) async fn pay(&self, faucet: &Faucet, params: &Params) -> Result<Json, Error> {
        params.at_most(2)?;
        let to = params.required::<Address>(0)?;
        let value = params.optional::<U256>(1)?.unwrap_or(U256::from(WEI_DEFAULT));
        let turn = faucet.turn.lock().await;
        let tx = self.payment(&faucet.wallet, to, value)?;
        let answer = self.backend.submit(vec![tx]).await;
        drop(turn);
        match answer.into_iter().next() {
            Some(Ok(hash)) => reply(&hash),
            Some(Err(why)) => Err(why.into()),
            None => Err(Error::internal("a transaction was not answered")),
        }
    }

    fn payment(&self, wallet: &Wallet, to: Address, value: U256) -> Result<Transaction, Error> {
        let picture = self.feed.snapshot();
        let latest = picture.latest();
        let account = latest.state.account(wallet.address()).map_err(Error::internal)?;
        let in_state = account.map_or(0, |account| account.nonce);
        let nonce = self.pool.next_nonce(&wallet.address()).unwrap_or(in_state).max(in_state);
        let base_fee = latest.header().base_fee_per_gas.unwrap_or_default();
        Ok(wallet.sign(TxEip1559 {
            chain_id: self.bundler.config.chain_id,
            nonce,
            // Whoever is paid may be a contract.
            gas_limit: 100_000,
            max_fee_per_gas: u128::from(base_fee) * 2 + TIP_WEI,
            max_priority_fee_per_gas: TIP_WEI,
            to: TxKind::Call(to),
            value,
            ..TxEip1559::default()
        }))
    }
}
