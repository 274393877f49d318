//! Looking things up in the plain list.

use super::*;
use crate::entry::cost;
use std::cmp::Reverse;

impl Model {
    /// What the builder must get next: the best of the senders' next ones.
    pub(super) fn next_best(&self) -> Option<&Item> {
        let next = |who| {
            let (from, skipped) = self.handed.get(&who).copied().unwrap_or_default();
            let own = self.own(who);
            let mut pending = own.iter().filter(|item| item.status == Status::Pending);
            pending.find(|item| !skipped && item.tx.nonce() >= from).copied()
        };
        let key = |item: &&Item| (Reverse(item.attempts), item.tip(self.head), Reverse(item.arrival));
        (0..SENDERS).map(sender).filter_map(next).max_by_key(key)
    }

    /// The pending ones in the order for building, by searching for the best again and again.
    pub(super) fn merged(&self) -> Vec<Transaction> {
        let mut copy = Model { handed: BTreeMap::new(), ..self.shallow() };
        let mut merged = vec![];
        while let Some(item) = copy.next_best() {
            let tx = item.tx.clone();
            copy.handed.insert(tx.sender(), (tx.nonce() + 1, false));
            merged.push(tx);
        }
        merged
    }

    pub(super) fn executable(&self, who: Address) -> Vec<Transaction> {
        self.payable(who, self.head.base_fee_wei.into())
    }

    /// What waits for the base fee to fall: all that could be executed if there was none, behind what is pending, unless
    /// the first of it only waits for room.
    pub(super) fn below(&self, who: Address) -> Vec<Transaction> {
        let pending = self.own(who).iter().filter(|item| item.status == Status::Pending).count();
        let below = self.payable(who, 0).split_off(pending);
        let waits = below.first().is_some_and(|tx| tx.max_fee_per_gas() < self.head.base_fee_wei.into());
        if waits { below } else { vec![] }
    }

    /// Where a transaction stands, as a lookup shows it.
    pub(super) fn shown(&self, item: &Item) -> Status {
        let below = item.status == Status::Queued && self.below(item.tx.sender()).contains(&item.tx);
        if below { Status::BelowBaseFee } else { item.status }
    }

    /// What could be executed one after the other at this base fee.
    fn payable(&self, who: Address, base_fee: u128) -> Vec<Transaction> {
        let account = self.accounts[&who];
        let base = self.base(who);
        let mut funds = account.balance;
        let mut executable: Vec<Transaction> = vec![];
        for item in self.own(who).iter().filter(|item| item.tx.nonce() >= account.nonce) {
            if item.tx.nonce() < base {
                // What waits although the open block took its nonce will not be paid for.
                funds = funds.saturating_sub(if item.pooled() { U256::ZERO } else { cost(&item.tx) });
                continue;
            }
            let pays = item.tx.max_fee_per_gas() >= base_fee && cost(&item.tx) <= funds;
            if item.tx.nonce() != base + executable.len() as u64 || !pays {
                break;
            }
            funds -= cost(&item.tx);
            executable.push(item.tx.clone());
        }
        executable
    }

    pub(super) fn base(&self, who: Address) -> u64 {
        let bundled = self.own(who).into_iter().filter(|item| !item.pooled()).map(|item| item.tx.nonce() + 1);
        let consumed = self.consumed.get(&who).copied().unwrap_or_default();
        bundled.max().unwrap_or_default().max(self.accounts[&who].nonce).max(consumed)
    }

    /// What a client should send next: all before it is in a block, or could be executed at some base fee.
    pub(super) fn next_nonce(&self, who: Address) -> u64 {
        self.base(who) + self.payable(who, 0).len() as u64
    }

    /// The first nonce that is missing.
    pub(super) fn gap(&self, who: Address) -> u64 {
        let mut next = self.base(who);
        while self.items.iter().any(|item| item.is(who, next)) {
            next += 1;
        }
        next
    }

    pub(super) fn spent(&self, who: Address) -> U256 {
        let unseen = |item: &&&Item| item.tx.nonce() >= self.accounts[&who].nonce;
        self.own(who).iter().filter(unseen).map(|item| cost(&item.tx)).sum()
    }

    pub(super) fn worth(&self, who: Address, status: Status, gone: &[B256]) -> u128 {
        let own = self.own(who);
        let all = own.iter().filter(|item| item.status == status && !gone.contains(&item.tx.hash()));
        all.map(|item| item.price(self.head)).min().unwrap_or(u128::MAX)
    }

    pub(super) fn own(&self, who: Address) -> Vec<&Item> {
        let mut own = self.items.iter().filter(|item| item.tx.sender() == who).collect::<Vec<_>>();
        own.sort_by_key(|item| item.tx.nonce());
        own
    }

    pub(super) fn pooled(&self, who: Address) -> usize {
        self.own(who).iter().filter(|item| item.pooled()).count()
    }

    /// How many a sender has once those of a kind have gone.
    pub(super) fn left(&self, who: Address, kind: Status, gone: &[B256]) -> usize {
        let gone = gone.iter().map(|hash| self.item(hash));
        self.pooled(who) - gone.filter(|item| item.tx.sender() == who && item.status == kind).count()
    }

    pub(super) fn counted(&self, status: Status) -> usize {
        self.items.iter().filter(|item| item.status == status && !item.returned).count()
    }

    pub(super) fn max(&self, status: Status) -> usize {
        if status == Status::Pending { self.config.pending_max } else { self.config.queued_max }
    }

    pub(super) fn bytes(&self) -> usize {
        let counted = self.items.iter().filter(|item| item.pooled() && !item.returned);
        counted.map(|item| item.tx.encoded().len()).sum()
    }

    pub(super) fn pooled_hashes(&self, status: Status) -> Vec<B256> {
        self.items.iter().filter(|item| item.status == status).map(|item| item.tx.hash()).collect()
    }

    pub(super) fn item(&self, hash: &B256) -> &Item {
        self.items.iter().find(|item| item.tx.hash() == *hash).expect("it is here")
    }

    pub(super) fn item_mut(&mut self, hash: &B256) -> &mut Item {
        self.items.iter_mut().find(|item| item.tx.hash() == *hash).expect("it is here")
    }

    pub(super) fn end(&mut self, hash: &B256, reason: Reason) -> Item {
        let index = self.items.iter().position(|item| item.tx.hash() == *hash).expect("it is here");
        self.ended.insert(*hash, reason);
        self.items.remove(index)
    }

    pub(super) fn blank(&self) -> Item {
        Item {
            tx: draft::tx(0, 0, 0),
            status: Status::Queued,
            arrival: 0,
            added_at: self.now,
            attempts: 0,
            lone_failures: 0,
            returned: false,
        }
    }

    /// A copy without the pool, for looking into the future.
    pub(super) fn shallow(&self) -> Self {
        let mut copy = Self::new(self.config.clone());
        (copy.items, copy.accounts, copy.head) = (self.items.clone(), self.accounts.clone(), self.head);
        copy.consumed = self.consumed.clone();
        copy
    }
}
