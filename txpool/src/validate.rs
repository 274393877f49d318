//! The checks that decide whether a recovered transaction may come in, in go-ethereum's order.

use crate::{
    Account, Code, Config, Error, Head,
    entry::{Entry, cost},
    gas,
    recover::check_fields,
    sender::Sender,
};
use alloy_consensus::Transaction as _;
use types::Transaction;

/// The checks that need nothing but the transaction and the next block.
pub(crate) fn check_alone(tx: &Transaction, config: &Config, head: &Head) -> Result<(), Error> {
    if tx.is_eip4844() {
        return Err(Error::TypeNotSupported);
    }
    let size = tx.encoded().len();
    if size > config.tx_bytes_max {
        return Err(Error::Oversized { size, limit: config.tx_bytes_max });
    }
    check_fields(tx, &config.rules(*head))?;
    if tx.nonce() == u64::MAX {
        return Err(Error::NonceMax);
    }
    check_gas(tx)?;
    check_price(tx, config)
}

fn check_gas(tx: &Transaction) -> Result<(), Error> {
    let (gas, needed) = (tx.gas_limit(), gas::needed(tx));
    if gas < needed.intrinsic {
        return Err(Error::IntrinsicGas { gas, needed: needed.intrinsic });
    }
    if gas < needed.floor {
        return Err(Error::FloorGas { gas, needed: needed.floor });
    }
    Ok(())
}

fn check_price(tx: &Transaction, config: &Config) -> Result<(), Error> {
    let fee_cap = tx.max_fee_per_gas();
    if fee_cap < config.gas_price_min_wei {
        return Err(Error::PriceBelowMinimum { fee_cap, needed: config.gas_price_min_wei });
    }
    if tx.authorization_list().is_some_and(<[_]>::is_empty) {
        return Err(Error::NoAuthorization);
    }
    Ok(())
}

/// The checks against the sender's account and the sender's other transactions. `base` is the nonce that the first one
/// outside every block must have, `old` the one that would be replaced.
pub(crate) fn check_account(
    tx: &Transaction,
    (account, base): (&Account, u64),
    sender: Option<&Sender>,
    old: Option<&Entry>,
    config: &Config,
) -> Result<(), Error> {
    let nonce = tx.nonce();
    if nonce < base {
        return Err(Error::NonceTooLow { next: base, nonce });
    }
    if nonce > base && old.is_none() {
        let next = sender.map_or(base, Sender::gap);
        if nonce.saturating_sub(next) > config.nonce_gap_max {
            return Err(Error::NonceTooHigh { next, nonce });
        }
    }
    if account.code == Code::Contract {
        return Err(Error::SenderNotEoa { sender: tx.sender() });
    }
    check_funds(tx, account, sender, old)
}

fn check_funds(
    tx: &Transaction,
    account: &Account,
    sender: Option<&Sender>,
    old: Option<&Entry>,
) -> Result<(), Error> {
    let (balance, cost) = (account.balance, cost(tx));
    if cost > balance {
        return Err(Error::Funds { balance, cost });
    }
    let Some(sender) = sender else { return Ok(()) };
    let spent = sender.spent;
    let Some(old) = old else {
        return match spent.checked_add(cost) {
            Some(needed) if needed <= balance => Ok(()),
            _ => Err(Error::FundsOfAll { balance, spent, cost }),
        };
    };
    let Some(bump) = cost.checked_sub(old.cost) else { return Ok(()) };
    match spent.checked_add(bump) {
        Some(needed) if needed <= balance => Ok(()),
        _ => Err(Error::FundsOfReplacement { balance, spent, bump }),
    }
}

/// Whether `new` pays so much more than `old`, on both fields, that it may replace it.
pub(crate) fn check_replacement(new: &Entry, old: &Entry, bump_percent: u8) -> Result<(), Error> {
    let enough = |new: u128, old: u128| {
        // Rounded down, as go-ethereum does; hence also more, for prices of a few wei.
        let bumped = old
            .saturating_add(old / 100 * u128::from(bump_percent))
            .saturating_add(old % 100 * u128::from(bump_percent) / 100);
        new > old && new >= bumped
    };
    if enough(new.fee_cap, old.fee_cap) && enough(new.tip_cap, old.tip_cap) {
        Ok(())
    } else {
        Err(Error::ReplacementUnderpriced)
    }
}
