//! When a block is sealed, and why a chain without transactions goes on for a while, one empty block per slot.
//!
//! - Clients wait for confirmations: [`Settings::empty_blocks`] follow the last transaction.
//! - The base fee falls only with blocks. After a burst it would stand where the burst left it, so empty blocks follow
//!   until it is at its floor, [`FEE_BLOCKS_MAX`] at most; and, without that limit, while the pool holds a transaction
//!   that a lower base fee would let in.
//!
//! Nothing that a client reads makes a block.

use crate::Settings;
use types::{Duration, Time};

/// Empty blocks that follow the last transaction at most only to lower the base fee. Each takes an eighth off: 64 bring it
/// down to a five-thousandth.
const FEE_BLOCKS_MAX: u32 = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct SealPolicy {
    /// How long after its first transaction a block is sealed while the queue is empty.
    seal_after: Duration,
    /// Empty blocks that follow the last transaction.
    confirmations: u32,
    slot: Duration,
    cores: u16,
    /// Empty blocks since the last transaction.
    empty_blocks: u32,
    last_seal: Time,
    is_paused: bool,
}

impl SealPolicy {
    pub(crate) const fn new(settings: &Settings, slot: Duration, cores: u16, now: Time) -> Self {
        Self {
            seal_after: settings.seal_after,
            confirmations: settings.empty_blocks,
            slot,
            cores,
            empty_blocks: 0,
            last_seal: now,
            is_paused: false,
        }
    }

    /// Counts the empty blocks at the end of the chain, after a restart: `transactions` of each block, the newest first. A
    /// chain that has been idle for longer than it is remembered has nothing to make up for.
    pub(crate) fn restore(&mut self, transactions: &[usize]) {
        let empty = transactions.iter().take_while(|transactions| **transactions == 0).count();
        let is_idle = empty == transactions.len();
        self.empty_blocks = if is_idle { u32::MAX } else { u32::try_from(empty).unwrap_or(u32::MAX) };
    }

    pub(crate) const fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// A block was sealed.
    pub(crate) const fn sealed(&mut self, is_empty: bool, now: Time) {
        self.empty_blocks = if is_empty { self.empty_blocks.saturating_add(1) } else { 0 };
        self.last_seal = now;
    }

    /// The clock was corrected: the last block was not sealed later than now.
    pub(crate) fn set_back(&mut self, now: Time) {
        self.last_seal = self.last_seal.min(now);
    }

    /// When an open block is sealed whose first transaction came at a time: the later, the more bundles wait. Under load
    /// blocks grow instead of the queue. Never later than after a slot.
    pub(crate) fn open_due(&self, first_at: Time, queued: usize) -> Time {
        let doublings = queued / usize::from(self.cores.max(1));
        let factor = u32::try_from(doublings).ok().and_then(|doublings| 1_u32.checked_shl(doublings));
        let delay = factor.and_then(|factor| self.seal_after.checked_mul(factor));
        first_at + delay.map_or(self.slot, |delay| delay.min(self.slot))
    }

    /// When the next empty block is sealed, if it has a purpose. `is_fee_high` says whether the base fee is above its floor,
    /// `waits_for_fee` whether a transaction waits for it to fall.
    pub(crate) fn empty_due(
        &self,
        is_fee_high: impl FnOnce() -> bool,
        waits_for_fee: impl FnOnce() -> bool,
    ) -> Option<Time> {
        let confirms = self.empty_blocks < self.confirmations;
        let lowers_fee = || is_fee_high() && (self.empty_blocks < FEE_BLOCKS_MAX || waits_for_fee());
        (confirms || lowers_fee()).then(|| self.last_seal + self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn policy(slot_ms: u64, cores: u16) -> SealPolicy {
        SealPolicy::new(&Settings { empty_blocks: 2, ..Settings::default() }, ms(slot_ms), cores, Time::ZERO)
    }

    #[test]
    fn the_delay_doubles_with_every_round_of_cores_and_ends_at_a_slot() {
        let policy_of_two = policy(6000, 2);
        let delay = |queued| policy_of_two.open_due(Time::ZERO, queued).since(Time::ZERO);
        assert_eq!(
            [0, 1, 2, 3, 4, 6, 8, 1000].map(delay),
            [ms(500), ms(500), ms(1000), ms(1000), ms(2000), ms(4000), ms(6000), ms(6000)]
        );
        assert_eq!(policy(300, 2).open_due(Time::ZERO, 0), Time::from_millis(300));
        assert_eq!(policy(6000, 0).open_due(Time::ZERO, 3), Time::from_millis(4000));
    }

    #[test]
    fn empty_blocks_follow_for_confirmations_and_for_the_fee() {
        let mut policy = policy(6000, 2);
        let next = Some(Time::from_millis(6000));
        policy.sealed(false, Time::ZERO);
        for _ in 0..2 {
            assert_eq!(policy.empty_due(|| unreachable!(), || unreachable!()), next, "for confirmations");
            policy.sealed(true, Time::ZERO);
        }
        assert_eq!(policy.empty_due(|| false, || true), None, "the fee is at its floor");
        assert_eq!(policy.empty_due(|| true, || false), next);
        (2..64).for_each(|_| policy.sealed(true, Time::ZERO));
        assert_eq!(policy.empty_due(|| true, || false), None, "no transaction waits for it");
        assert_eq!(policy.empty_due(|| true, || true), next);
        policy.sealed(false, Time::from_millis(9));
        assert_eq!(policy.empty_due(|| false, || false), Some(Time::from_millis(6009)));
        policy.set_back(Time::from_millis(5));
        assert_eq!(policy.empty_due(|| false, || false), Some(Time::from_millis(6005)));
    }

    #[test]
    fn after_a_restart_the_empty_blocks_at_the_end_count() {
        let mut policy = policy(6000, 2);
        let mut due = |transactions: &[usize]| {
            policy.restore(transactions);
            policy.empty_due(|| false, || false).is_some()
        };
        assert!(due(&[0, 3]), "one more confirms");
        assert!(!due(&[0, 0, 3]));
        assert!(!due(&[0]), "an idle chain stays idle");
        assert!(!due(&[]));
    }
}
