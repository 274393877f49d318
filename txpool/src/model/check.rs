//! Everything that must hold after every step.

use super::*;
use crate::{Lookup, entry::State};
use types::Event;

impl Model {
    /// Takes from the events who is pending and who is queued, and compares everything else that they say.
    pub(super) fn follow_events(&mut self) {
        let events = self.pool.drain_events().collect::<Vec<_>>();
        for event in events {
            if let Some((hash, reason)) = event.ended() {
                if reason == Reason::Evicted && !self.ended.contains_key(&hash) {
                    self.check_trim(&hash);
                    self.end(&hash, Reason::Evicted);
                }
                assert_eq!(self.ended.get(&hash), Some(&reason));
                continue;
            }
            let status = match event {
                Event::Added { hash, pending: true, .. } | Event::Promoted { hash, .. } => {
                    (hash, Status::Pending)
                }
                Event::Added { hash, pending: false, .. } | Event::Demoted { hash, .. } => {
                    (hash, Status::Queued)
                }
                _ => continue,
            };
            // One that was returned and dropped at once is not here any more.
            if let Some(item) = self.items.iter_mut().find(|item| item.tx.hash() == status.0) {
                item.status = status.1;
            }
        }
    }

    /// An eviction that no insert asked for: too many were queued after a demotion.
    pub(super) fn check_trim(&self, hash: &B256) {
        let item = self.item(hash);
        assert_eq!(item.status, Status::Queued);
        assert!(!item.returned && self.counted(Status::Queued) > self.config.queued_max);
        let worth = self.worth(item.tx.sender(), Status::Queued, &[]);
        let victim = self.victim(Status::Queued, &[]).expect("there is at least this one");
        assert_eq!(worth, self.worth(victim.tx.sender(), Status::Queued, &[]));
    }

    /// Everything that must hold after every step.
    pub(super) fn check(&self) {
        self.pool.senders.check();
        self.check_partition();
        for who in (0..SENDERS).map(sender) {
            self.check_sender(who);
        }
        let stats = self.pool.stats();
        let count = |status| self.items.iter().filter(|item| self.shown(item) == status).count();
        assert_eq!(stats.pending, count(Status::Pending));
        assert_eq!(stats.below_base_fee, count(Status::BelowBaseFee));
        assert_eq!(stats.queued, count(Status::Queued) + count(Status::BelowBaseFee));
        assert_eq!(stats.bundled, self.items.iter().filter(|item| !item.pooled()).count());
        assert_eq!(stats.bytes, self.bytes());
        assert_eq!(self.pool.size(), stats.pending + stats.queued);
        assert!(self.counted(Status::Pending) <= self.config.pending_max);
        assert!(self.counted(Status::Queued) <= self.config.queued_max);
        assert!(self.bytes() <= self.config.pool_bytes_max);
        self.check_base_fee();
        assert_eq!(self.pool.pending(), self.merged());
        assert_eq!(self.pool.pending_limit(2), self.merged().into_iter().take(2).collect::<Vec<_>>());
    }

    /// A lower base fee sets the first of those free that wait for it, if the floor is not above what it pays.
    fn check_base_fee(&self) {
        let first = |who| self.below(who).first().map(|tx| tx.max_fee_per_gas());
        let wanted = (0..SENDERS).map(sender).filter_map(first).max();
        for floor in (0..16).map(|gwei| gwei * GWEI) {
            let expected = wanted.is_some_and(|fee_cap| fee_cap >= floor);
            assert_eq!(self.pool.waits_for_base_fee(floor as u64), expected, "floor {floor}, {wanted:?}");
        }
    }

    /// Accepted = final, in a block, pending, queued, or ended with a reason; and never two of them.
    pub(super) fn check_partition(&self) {
        let here = self.items.iter().map(|item| item.tx.hash()).collect::<BTreeSet<_>>();
        assert_eq!(here.len(), self.items.len());
        assert_eq!(here, self.pool.senders.hashes().collect());
        for hash in &self.accepted {
            let places = [here.contains(hash), self.finals.contains(hash), self.ended.contains_key(hash)];
            assert_eq!(places.iter().filter(|place| **place).count(), 1, "{hash} is in {places:?}");
        }
        for item in &self.items {
            let found = self.pool.get(&item.tx.hash()).expect("it is here");
            let expected = Lookup {
                tx: item.tx.clone(),
                status: self.shown(item),
                added_at: item.added_at,
                attempts: item.attempts,
                lone_failures: item.lone_failures,
                returned: item.returned,
            };
            assert_eq!(found, expected);
        }
    }

    pub(super) fn check_sender(&self, who: Address) {
        let own = self.own(who);
        assert!(own.windows(2).all(|pair| pair[0].tx.nonce() < pair[1].tx.nonce()));
        let listed =
            |status| own.iter().filter(move |item| self.shown(item) == status).map(|item| item.tx.clone());
        let content = self.pool.content_of(&who);
        let pending = listed(Status::Pending).chain(listed(Status::BelowBaseFee));
        assert_eq!(content.pending, pending.collect::<Vec<_>>());
        assert_eq!(content.queued, listed(Status::Queued).collect::<Vec<_>>());
        let counted = own.iter().filter(|item| item.pooled() && !item.returned).count();
        if !self.limits.contains_key(&who) {
            assert!(counted <= self.config.sender_txs_max);
        }
        let is_known = !own.is_empty() || self.consumed.contains_key(&who);
        assert_eq!(self.pool.next_nonce(&who), is_known.then(|| self.next_nonce(who)));
        if let Some(s) = self.pool.senders.key_of(&who) {
            let sender = &self.pool.senders[s];
            assert_eq!(sender.spent, self.spent(who), "the sum of the costs");
            assert_eq!(sender.pooled, self.pooled(who));
            assert!(sender.txs.range(..sender.first).all(|entry| entry.state != State::Pending));
        }
        let pending = listed(Status::Pending).collect::<Vec<_>>();
        let executable = self.executable(who);
        assert_eq!(pending, executable[..pending.len().min(executable.len())], "only the first that can");
        if self.counted(Status::Pending) < self.config.pending_max {
            assert_eq!(pending, executable, "all that can, as long as there is room");
        }
    }
}
