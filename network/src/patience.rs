//! How many violations a peer may commit, and how long to wait before it is dialled again. Pure: time and chance are
//! arguments.

use std::time::Duration;

/// A peer's violations, forgiven one by one as time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    max: u32,
    forgive_ms: u64,
    count: u32,
    since_ms: u64,
}

impl Patience {
    /// Bears `max` violations at once, and forgets one every `forgive_ms`.
    pub const fn new(max: u32, forgive_ms: u64) -> Self {
        Self { max, forgive_ms: if forgive_ms == 0 { 1 } else { forgive_ms }, count: 0, since_ms: 0 }
    }

    /// Counts a violation; whether that is still borne.
    pub fn bears_another(&mut self, now_ms: u64) -> bool {
        let forgiven = now_ms.saturating_sub(self.since_ms) / self.forgive_ms;
        self.count = u32::try_from(u64::from(self.count).saturating_sub(forgiven)).unwrap_or(u32::MAX);
        self.since_ms += forgiven * self.forgive_ms;
        self.count = self.count.saturating_add(1);
        self.count <= self.max
    }
}

/// Pauses between attempts: each twice as long as the one before, up to a limit, half of it by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    first_ms: u64,
    longest_ms: u64,
    failures: u32,
}

impl Backoff {
    /// Begins with `first_ms`.
    pub const fn new(first_ms: u64, longest_ms: u64) -> Self {
        Self { first_ms, longest_ms, failures: 0 }
    }

    /// Attempts that have failed since the last success.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// An attempt succeeded.
    pub const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// An attempt failed: how long to wait, given a random number.
    pub fn failed(&mut self, random: u64) -> Duration {
        let doubled = self.first_ms.saturating_mul(1 << self.failures.min(30));
        self.failures = self.failures.saturating_add(1);
        let pause = doubled.min(self.longest_ms).max(1);
        let certain = pause / 2;
        Duration::from_millis(certain + random % (pause - certain + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn violations_are_borne_and_forgiven() {
        let mut patience = Patience::new(2, 100);
        assert!(patience.bears_another(0));
        assert!(patience.bears_another(0));
        assert!(!patience.bears_another(99), "nothing is forgiven yet");
        // Three have been counted. By 250 two are forgiven.
        assert!(patience.bears_another(250));
        assert!(!patience.bears_another(250));
        assert!(patience.bears_another(1_000_000));
    }

    proptest! {
        #[test]
        fn pauses_grow_to_the_limit_and_stay_random(randoms in proptest::collection::vec(any::<u64>(), 1..40)) {
            let mut backoff = Backoff::new(250, 30_000);
            for (failure, random) in randoms.into_iter().enumerate() {
                let full = (250_u64 << failure.min(20)).min(30_000);
                let pause = backoff.failed(random).as_millis() as u64;
                prop_assert!(pause >= full / 2 && pause <= full, "{} of {}", pause, full);
            }
            backoff.succeeded();
            prop_assert!(backoff.failed(u64::MAX).as_millis() <= 250);
        }
    }
}
