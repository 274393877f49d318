//! When a block is sealed.

use types::Duration;

/// How long after its first transaction a block is sealed: the longer, the more bundles wait. Under load blocks grow
/// instead of the queue. Never longer than a slot.
pub(super) fn seal_delay(seal_after: Duration, slot: Duration, queued: usize, cores: u16) -> Duration {
    let doublings = queued / usize::from(cores.max(1));
    let factor = u32::try_from(doublings).ok().and_then(|doublings| 1_u32.checked_shl(doublings));
    factor.and_then(|factor| seal_after.checked_mul(factor)).map_or(slot, |delay| delay.min(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_with_every_round_of_cores_and_ends_at_a_slot() {
        let ms = Duration::from_millis;
        let delay = |queued| seal_delay(ms(500), ms(6000), queued, 2);
        assert_eq!(
            [0, 1, 2, 3, 4, 6, 8, 1000].map(delay),
            [ms(500), ms(500), ms(1000), ms(1000), ms(2000), ms(4000), ms(6000), ms(6000)]
        );
        assert_eq!(seal_delay(ms(500), ms(300), 0, 2), ms(300));
        assert_eq!(seal_delay(ms(500), ms(6000), 3, 0), ms(4000));
    }
}
