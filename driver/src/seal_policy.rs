//! When a block is sealed, and why a chain without transactions goes on for a while.
//!
//! Blocks have a pace of their own, whatever the slots of JAM do: a transaction waits until so long after the last block, and not at
//! all if that was longer ago. Backpressure: once half of what may wait to be sent does, the pace slows down, so that blocks grow
//! instead of the queue; never to less than one block per slot.
//!
//! - Clients wait for confirmations: [`Settings::empty_blocks`] follow the last transaction, one per slot.
//! - The base fee falls only with blocks. After a burst it would stand where the burst left it, so empty blocks follow
//!   until it is at its floor, [`FEE_BLOCKS_MAX`] at most; and, without that limit, while the pool holds a transaction
//!   that a lower base fee would let in.
//!
//! Nothing that a client reads makes a block.

use crate::{Pace, Settings};
use types::{Duration, Time};

/// Empty blocks that follow the last transaction at most only to lower the base fee. Each takes an eighth off: 64 bring it
/// down to a five-thousandth.
const FEE_BLOCKS_MAX: u32 = 64;
/// They do not come quicker than this.
const FEE_BLOCK_EVERY: Duration = Duration::from_millis(150);
/// No two blocks are sealed quicker after each other, or the disk would have a sync for each transaction.
const BLOCK_EVERY_MIN: Duration = Duration::from_millis(4);
/// From this fullness of the queue on (in thousandths) the pace slows down,
const SLOW_FROM: u64 = 500;
/// twice with every so much more,
const SLOW_STEP: u64 = 60;
/// starting at this at least.
const SLOW_MIN: Duration = Duration::from_millis(50);

/// How the queue stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Load {
    /// Bundles and blocks that wait.
    pub(crate) waiting: usize,
    /// How much of what may wait does, in thousandths.
    pub(crate) fullness: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct SealPolicy {
    pace: Pace,
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
            pace: settings.pace,
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

    /// When an open block is sealed whose first transaction came at a time.
    pub(crate) fn open_due(&self, first_at: Time, load: Load) -> Time {
        match self.pace {
            Pace::Every(every) => first_at.max(self.last_seal + self.slowed(every, load.fullness)),
            Pace::BySpecification(seal_after) => {
                let doublings = load.waiting / usize::from(self.cores.max(1));
                first_at + self.doubled(seal_after, doublings as u64)
            }
        }
    }

    /// The time between two blocks while the queue is so full.
    fn slowed(&self, every: Duration, fullness: u64) -> Duration {
        let every = every.max(BLOCK_EVERY_MIN);
        match fullness.checked_sub(SLOW_FROM) {
            None => every,
            Some(above) => self.doubled(every.max(SLOW_MIN), above / SLOW_STEP),
        }
    }

    /// Doubled so often, but not longer than a slot.
    fn doubled(&self, delay: Duration, doublings: u64) -> Duration {
        let factor = u32::try_from(doublings).ok().and_then(|doublings| 1_u32.checked_shl(doublings));
        let doubled = factor.and_then(|factor| delay.checked_mul(factor));
        doubled.map_or(self.slot, |delay| delay.min(self.slot))
    }

    /// When the next empty block is sealed, if it has a purpose. `is_fee_high` says whether the base fee is above its floor,
    /// `waits_for_fee` whether a transaction waits for it to fall.
    pub(crate) fn empty_due(
        &self,
        is_fee_high: impl FnOnce() -> bool,
        waits_for_fee: impl FnOnce() -> bool,
    ) -> Option<Time> {
        let lowers_fee = is_fee_high() && (self.empty_blocks < FEE_BLOCKS_MAX || waits_for_fee());
        let every = match self.pace {
            Pace::Every(every) if lowers_fee => every.max(FEE_BLOCK_EVERY).min(self.slot),
            _ => self.slot,
        };
        let confirms = self.empty_blocks < self.confirmations;
        (confirms || lowers_fee).then(|| self.last_seal + every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn policy(pace: Pace, slot_ms: u64, cores: u16) -> SealPolicy {
        SealPolicy::new(
            &Settings { pace, empty_blocks: 2, ..Settings::default() },
            ms(slot_ms),
            cores,
            Time::ZERO,
        )
    }

    const fn waiting(waiting: usize) -> Load {
        Load { waiting, fullness: 0 }
    }

    const SPEC: Pace = Pace::BySpecification(ms(500));
    const EVERY: Pace = Pace::Every(ms(150));

    #[test]
    fn by_the_specification_the_delay_doubles_with_every_round_of_cores_and_ends_at_a_slot() {
        let policy_of_two = policy(SPEC, 6000, 2);
        let delay = |queued| policy_of_two.open_due(Time::ZERO, waiting(queued)).since(Time::ZERO);
        assert_eq!(
            [0, 1, 2, 3, 4, 6, 8, 1000].map(delay),
            [ms(500), ms(500), ms(1000), ms(1000), ms(2000), ms(4000), ms(6000), ms(6000)]
        );
        assert_eq!(policy(SPEC, 300, 2).open_due(Time::ZERO, waiting(0)), Time::from_millis(300));
        assert_eq!(policy(SPEC, 6000, 0).open_due(Time::ZERO, waiting(3)), Time::from_millis(4000));
    }

    #[test]
    fn blocks_have_a_pace_of_their_own() {
        let at = Time::from_millis;
        let mut policy = policy(EVERY, 6000, 2);
        policy.sealed(false, at(1000));
        let due = |policy: &SealPolicy, first| policy.open_due(at(first), waiting(1000));
        assert_eq!(due(&policy, 1010), at(1150));
        assert_eq!(due(&policy, 5000), at(5000), "a block that is long ago delays nothing");
        policy.pace = Pace::Every(Duration::ZERO);
        assert_eq!([1000, 1002, 1010].map(|first| due(&policy, first)), [at(1004), at(1004), at(1010)]);
    }

    #[test]
    fn a_full_queue_slows_the_pace_down_to_a_block_per_slot() {
        let policy_of_two = policy(EVERY, 6000, 2);
        let delay =
            |fullness| policy_of_two.open_due(Time::ZERO, Load { waiting: 0, fullness }).since(Time::ZERO);
        assert_eq!(
            [0, 499, 500, 560, 620, 800, 860, 1000].map(delay),
            [ms(150), ms(150), ms(150), ms(300), ms(600), ms(4800), ms(6000), ms(6000)]
        );
    }

    #[test]
    fn empty_blocks_follow_for_confirmations_and_for_the_fee() {
        for (pace, fee_ms) in [(EVERY, 150), (SPEC, 6000), (Pace::Every(ms(200)), 200)] {
            let mut policy = policy(pace, 6000, 2);
            let (next, lower) = (Some(Time::from_millis(6000)), Some(Time::from_millis(fee_ms)));
            policy.sealed(false, Time::ZERO);
            for _ in 0..2 {
                assert_eq!(policy.empty_due(|| false, || unreachable!()), next, "for confirmations");
                policy.sealed(true, Time::ZERO);
            }
            assert_eq!(policy.empty_due(|| false, || true), None, "the fee is at its floor");
            assert_eq!(policy.empty_due(|| true, || false), lower);
            (2..64).for_each(|_| policy.sealed(true, Time::ZERO));
            assert_eq!(policy.empty_due(|| true, || false), None, "no transaction waits for it");
            assert_eq!(policy.empty_due(|| true, || true), lower);
            policy.sealed(false, Time::from_millis(9));
            assert_eq!(policy.empty_due(|| false, || false), Some(Time::from_millis(6009)));
            policy.set_back(Time::from_millis(5));
            assert_eq!(policy.empty_due(|| false, || false), Some(Time::from_millis(6005)));
        }
    }

    #[test]
    fn after_a_restart_the_empty_blocks_at_the_end_count() {
        let mut policy = policy(EVERY, 6000, 2);
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
