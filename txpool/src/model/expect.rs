//! What must become of a new transaction, by the rules alone.

use super::*;
use crate::entry::cost as cost_of;
use std::cmp::Reverse;

/// What must become of an accepted transaction.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) replaced: Option<B256>,
    pub(super) evicted: Vec<B256>,
    pub(super) pending: bool,
}

impl Model {
    /// What must become of a transaction, by the rules alone.
    pub(super) fn expect(&self, tx: &Transaction) -> Result<Expected, Error> {
        let (who, nonce, cost) = (tx.sender(), tx.nonce(), cost_of(tx));
        let account = self.accounts[&who];
        if self.items.iter().any(|item| item.tx == *tx) {
            return Err(Error::AlreadyKnown);
        }
        if tx.encoded().len() > self.config.tx_bytes_max {
            return Err(Error::Oversized { size: tx.encoded().len(), limit: self.config.tx_bytes_max });
        }
        let base = self.base(who);
        if nonce < base {
            return Err(Error::NonceTooLow { next: base, nonce });
        }
        let old = self.items.iter().find(|item| item.is(who, nonce));
        let next = self.gap(who);
        if old.is_none() && nonce > next + self.config.nonce_gap_max {
            return Err(Error::NonceTooHigh { next, nonce });
        }
        let (balance, spent) = (account.balance, self.spent(who));
        if cost > balance {
            return Err(Error::Funds { balance, cost });
        }
        match old {
            None if spent + cost > balance => return Err(Error::FundsOfAll { balance, spent, cost }),
            // One that costs less than the one it replaces is welcome even if the sender has become poor.
            Some(old) if cost >= cost_of(&old.tx) && spent + cost > balance + cost_of(&old.tx) => {
                let bump = cost - cost_of(&old.tx);
                return Err(Error::FundsOfReplacement { balance, spent, bump });
            }
            _ => {}
        }
        match old {
            Some(old) => self.expect_replacement(tx, old),
            None => self.expect_addition(tx),
        }
    }

    pub(super) fn expect_replacement(&self, tx: &Transaction, old: &Item) -> Result<Expected, Error> {
        let enough = |new: u128, old: u128| new > old && new * 100 >= old * 110 / 100 * 100;
        let tips = [tx, &old.tx].map(|tx| tx.max_priority_fee_per_gas().expect("all are dynamic"));
        if !enough(tx.max_fee_per_gas(), old.tx.max_fee_per_gas()) || !enough(tips[0], tips[1]) {
            return Err(Error::ReplacementUnderpriced);
        }
        self.check_authorities(tx)?;
        let bytes = (!old.returned).then(|| old.tx.encoded().len());
        let evicted = match bytes {
            Some(bytes) => self.expect_room(tx, old.status, false, bytes)?,
            None => vec![],
        };
        Ok(Expected { replaced: Some(old.tx.hash()), evicted, pending: old.status == Status::Pending })
    }

    pub(super) fn expect_addition(&self, tx: &Transaction) -> Result<Expected, Error> {
        let who = tx.sender();
        let pooled = self.pooled(who);
        let limit = self.limits.get(&who).copied().unwrap_or(self.config.sender_txs_max);
        let own = self.own(who);
        let own = own.last().filter(|last| last.tx.nonce() > tx.nonce());
        let own = own.filter(|last| last.status == Status::Queued && !last.returned && pooled >= limit);
        if pooled >= limit && own.is_none() {
            return Err(Error::AccountLimit { pooled });
        }
        let authorized = |item: &Item| item.pooled() && item.tx.authorities().contains(&who);
        let taken = self.consumed.contains_key(&who);
        if taken || self.accounts[&who].code == Code::Delegated || self.items.iter().any(authorized) {
            if pooled >= self.config.delegated_txs_max {
                return Err(Error::DelegatedLimit);
            }
            if tx.nonce() != self.gap(who) {
                return Err(Error::DelegatedGap);
            }
        }
        self.check_authorities(tx)?;
        let run = self.own(who).iter().filter(|item| item.status == Status::Pending).count() as u64;
        let pending =
            tx.nonce() == self.base(who) + run && tx.max_fee_per_gas() >= self.head.base_fee_wei.into();
        let status = if pending { Status::Pending } else { Status::Queued };
        let freed = own.filter(|_| !pending).map(|own| own.tx.encoded().len());
        let full = freed.is_none() && self.counted(status) >= self.max(status);
        let mut evicted = self.expect_room(tx, status, full, freed.unwrap_or_default())?;
        evicted.extend(own.map(|own| own.tx.hash()));
        Ok(Expected { replaced: None, evicted, pending })
    }

    pub(super) fn check_authorities(&self, tx: &Transaction) -> Result<(), Error> {
        let crowded = tx.authorities().iter().any(|authority| self.pooled(*authority) > 1);
        if crowded { Err(Error::AuthorityReserved) } else { Ok(()) }
    }

    /// Who must go for `tx`, or why nobody does.
    pub(super) fn expect_room(
        &self,
        tx: &Transaction,
        status: Status,
        full: bool,
        freed: usize,
    ) -> Result<Vec<B256>, Error> {
        let who = tx.sender();
        let excess = (self.bytes() + tx.encoded().len() - freed).saturating_sub(self.config.pool_bytes_max);
        let price = Item { tx: tx.clone(), ..self.blank() }.price(self.head);
        let worth = self.worth(who, status, &[]).min(price);
        let mut gone = vec![];
        let freed =
            |gone: &[B256]| -> usize { gone.iter().map(|hash| self.item(hash).tx.encoded().len()).sum() };
        let mut go = |kind: Status, worth: u128, enough: &dyn Fn(&[B256]) -> bool| {
            while !enough(&gone) {
                let victim = self.victim(kind, &gone).ok_or(Error::Full)?;
                if victim.tx.sender() == who {
                    return Err(Error::Full);
                }
                if worth <= self.worth(victim.tx.sender(), kind, &[]) {
                    return Err(Error::Underpriced);
                }
                gone.push(victim.tx.hash());
            }
            Ok(())
        };
        if full {
            go(status, worth, &|gone| !gone.is_empty())?;
        }
        if status == Status::Pending {
            let _ = go(Status::Queued, u128::MAX, &|gone| freed(gone) >= excess);
        }
        go(status, worth, &|gone| freed(gone) >= excess).map_err(|error| match error {
            Error::Full if status == Status::Queued && self.counted(Status::Pending) > 0 => {
                let pays = tx.max_fee_per_gas() >= self.head.base_fee_wei.into();
                if pays { Error::FutureReplacesPending } else { Error::Underpriced }
            }
            error => error,
        })?;
        Ok(gone)
    }

    /// The one that goes next: of the cheapest sender, of those the largest, of those the last come, its last one. What
    /// came back from a block never goes; behind it pending ones are safe, because no gap may be torn, and queued ones
    /// are not.
    pub(super) fn victim(&self, kind: Status, gone: &[B256]) -> Option<&Item> {
        let senders = (0..SENDERS).map(sender);
        let last = |who| {
            let own = self.own(who);
            let all = own.iter().filter(|item| item.status == kind && !gone.contains(&item.tx.hash()));
            let mut left = all.filter(|item| kind == Status::Pending || !item.returned);
            left.next_back().copied().filter(|item| !item.returned)
        };
        senders.filter_map(last).max_by_key(|item| {
            let who = item.tx.sender();
            (Reverse(self.worth(who, kind, &[])), self.left(who, kind, gone), item.arrival)
        })
    }
}
