//! Who sends, and the money for it.

use super::{Chain, key, quantity, raw};
use crate::{
    accounts,
    cli::{Failure, client::Client, file},
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256, hex};
use runtime::wallet::Wallet;
use serde_json::json;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// What each sender gets at most: enough for hours.
const SENDER_WEI: u128 = 10_000_000_000_000_000_000;
/// Transactions that a sender must be able to pay for, with the most that is offered.
const SENDER_TXS_MIN: u128 = 100;
/// Transactions of one account that any node takes at once.
const AT_ONCE: usize = 16;
/// How long a block may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The account that pays for all.
pub(super) fn funder(file: Option<&Path>) -> Result<Wallet, Failure> {
    let Some(path) = file else {
        let accounts = accounts::derive(accounts::DEV_MNEMONIC, 1).map_err(Failure::runtime)?;
        let first = accounts.first().ok_or_else(|| Failure::runtime("the mnemonic has no account"))?;
        return Wallet::new(&first.key).map_err(Failure::runtime);
    };
    let text = file::read(path, "the key")?;
    let wrong = || Failure::Usage(format!("{}: not a key of 64 hexadecimal digits", path.display()));
    let key = hex::decode_to_array::<_, 32>(text.trim()).map_err(|_| wrong())?;
    Wallet::new(&key.into()).map_err(|_| wrong())
}

/// Fresh accounts.
pub(super) fn senders(seed: u64, count: u32) -> Result<Vec<Wallet>, Failure> {
    (0..count).map(|index| Wallet::new(&key(seed, index)).map_err(Failure::runtime)).collect()
}

/// The next nonce of an account.
pub(super) fn nonce(client: &Client, account: Address, tag: &str) -> Result<u64, Failure> {
    quantity(&client.call("eth_getTransactionCount", json!([account, tag]))?)
}

/// Pays each sender, some at a time, and waits until they have it. `progress` hears how many have.
pub(super) fn fund(
    client: &Client,
    chain: &Chain,
    funder: &Wallet,
    senders: &[Wallet],
    mut progress: impl FnMut(u64),
) -> Result<(), Failure> {
    let balance = client.call("eth_getBalance", json!([funder.address(), "latest"]))?;
    let balance = balance.as_str().and_then(|wei| wei.parse::<U256>().ok()).unwrap_or_default();
    let Some(share) = share(balance, senders.len(), chain.max_fee_wei) else {
        return Err(Failure::Runtime(format!(
            "insufficient funds: the account {} has {balance} wei, too little for {} senders; take fewer (--senders), or an \
             account that has more (--key-file)",
            funder.address(),
            senders.len()
        )));
    };
    let mut done = 0;
    for some in senders.chunks(AT_ONCE) {
        let first = nonce(client, funder.address(), "pending")?;
        let payments = some.iter().zip(first..).map(|(sender, nonce)| {
            let tx = TxEip1559 { nonce, ..payment(chain, sender.address(), share) };
            ("eth_sendRawTransaction", raw(&funder.sign(tx)))
        });
        for answer in client.calls(&payments.collect::<Vec<_>>())? {
            answer.map_err(|why| {
                Failure::Runtime(format!("the account {} cannot fund the senders: {why}", funder.address()))
            })?;
        }
        wait_for_nonce(client, funder.address(), first + some.len() as u64, || progress(done))?;
        done += some.len() as u64;
        progress(done);
    }
    Ok(())
}

/// What each of so many senders gets: what is usual, or as much as there is for each. Half of the money stays, for the
/// fees of the payments. `None` if a sender could do nothing with it.
fn share(balance: U256, senders: usize, max_fee_wei: u128) -> Option<U256> {
    let each = balance / U256::from(2 * senders.max(1));
    let least = U256::from(SENDER_TXS_MIN * 21_000) * U256::from(max_fee_wei);
    (each >= least).then_some(each.min(U256::from(SENDER_WEI)))
}

fn payment(chain: &Chain, to: Address, value: U256) -> TxEip1559 {
    TxEip1559 { to: TxKind::Call(to), value, gas_limit: 21_000, ..offer(chain) }
}

/// A transaction that offers enough.
pub(super) fn offer(chain: &Chain) -> TxEip1559 {
    TxEip1559 {
        chain_id: chain.chain_id,
        max_fee_per_gas: chain.max_fee_wei,
        max_priority_fee_per_gas: 1_000_000_000,
        ..TxEip1559::default()
    }
}

/// Waits until sealed blocks hold everything of an account below a nonce. `waiting` is called again and again.
pub(super) fn wait_for_nonce(
    client: &Client,
    account: Address,
    until: u64,
    mut waiting: impl FnMut(),
) -> Result<(), Failure> {
    let begun = Instant::now();
    while nonce(client, account, "latest")? < until {
        waiting();
        if begun.elapsed() > PATIENCE {
            return Err(Failure::runtime("the node seals no blocks; `pectin doctor` may say why"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_development_account_can_fund_as_many_senders_as_may_be() {
        let ether = |count: u64| U256::from(count) * U256::from(10_u128.pow(18));
        let (gwei, balance) = (1_000_000_000, ether(10_000));
        assert_eq!(share(balance, 20, 12 * gwei), Some(ether(10)), "what is usual");
        let all = usize::try_from(super::super::SENDERS_MAX).unwrap();
        assert_eq!(share(balance, all, 12 * gwei), Some(ether(1) / U256::from(2)));
        assert_eq!(share(U256::ZERO, 1, 12 * gwei), None);
        assert_eq!(share(ether(1), all, 12 * gwei), None, "nothing could be sent with so little");
    }
}
