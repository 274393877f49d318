//! Lists of what is in the pool, for those who ask.

use crate::{Pool, entry::State, order::Offer, sender::Sender};
use alloy_primitives::Address;
use std::collections::BinaryHeap;
use types::Transaction;

/// What a sender has in the pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SenderContent {
    /// The sender.
    pub sender: Address,
    /// Executable ones, and those that will be once the base fee falls, by nonce: what go-ethereum shows as pending.
    pub pending: Vec<Transaction>,
    /// The others, by nonce.
    pub queued: Vec<Transaction>,
}

impl Pool {
    /// All pending transactions in the order for building, whatever the builder has seen of them.
    pub fn pending(&self) -> Vec<Transaction> {
        self.pending_limit(usize::MAX)
    }

    /// The first `limit` of [`pending`](Self::pending).
    pub fn pending_limit(&self, limit: usize) -> Vec<Transaction> {
        let base_fee = self.head.base_fee_wei;
        let heads = self.senders.iter().filter(|(_, sender)| sender.run > 0);
        let mut heads = heads
            .map(|(s, sender)| (Offer::new(&sender.txs[sender.first], s as u32, base_fee), sender.first))
            .collect::<BinaryHeap<_>>();
        let mut pending = Vec::with_capacity(limit.min(self.counts.pending()));
        while pending.len() < limit
            && let Some((offer, index)) = heads.pop()
        {
            let sender = &self.senders[offer.sender() as usize];
            pending.push(sender.txs[index].tx.clone());
            if index + 1 < sender.first + sender.run {
                heads.push((Offer::new(&sender.txs[index + 1], offer.sender(), base_fee), index + 1));
            }
        }
        pending
    }

    /// What every sender has here, by address. Senders who only have transactions in blocks are left out.
    pub fn content(&self) -> Vec<SenderContent> {
        let senders = self.senders.iter().filter(|(_, sender)| sender.pooled > 0);
        let mut content = senders.map(|(_, sender)| content(sender)).collect::<Vec<_>>();
        content.sort_unstable_by_key(|content| content.sender);
        content
    }

    /// What one sender has here.
    pub fn content_of(&self, sender: &Address) -> SenderContent {
        match self.senders.key_of(sender) {
            Some(s) => content(&self.senders[s]),
            None => SenderContent { sender: *sender, pending: Vec::new(), queued: Vec::new() },
        }
    }
}

fn content(sender: &Sender) -> SenderContent {
    let mut content = SenderContent { sender: sender.address, pending: Vec::new(), queued: Vec::new() };
    for (i, entry) in sender.txs.iter().enumerate() {
        match entry.state {
            State::Queued if !sender.is_below(i) => content.queued.push(entry.tx.clone()),
            State::Pending | State::Queued => content.pending.push(entry.tx.clone()),
            State::Open | State::Bundled(_) => {}
        }
    }
    content
}
