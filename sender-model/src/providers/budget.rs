//! How many questions per second a provider takes, learned from its refusals.
//!
//! Without a refusal there is no limit but the one that is set. A refusal ("429") halves what was asked in the last second;
//! every ten seconds without one the limit grows by a tenth, so a provider that recovers is used fully again.

use types::{Duration, Time};

/// How long one count of questions lasts.
const WINDOW: Duration = Duration::from_millis(1_000);
/// How often a limit grows, and by how much, in percent.
const GROWS_EVERY: Duration = Duration::from_millis(10_000);
const GROWTH_PERCENT: u64 = 10;
/// A learned limit above this is none.
const LIMIT_MAX: u64 = 5_000;

/// The budget of one provider. Questions are counted in windows of a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// The operator's limit.
    set: Option<u64>,
    /// The limit that was learned.
    learned: Option<u64>,
    grown_at: Time,
    window: Time,
    used: u64,
    /// Questions in the window before.
    before: u64,
}

impl Budget {
    pub(super) fn new(set: Option<u64>) -> Self {
        Self { set, ..Self::default() }
    }

    /// Questions per second that it takes; none if no limit is known.
    pub(super) fn limit(&self) -> Option<u64> {
        match (self.set, self.learned) {
            (Some(set), Some(learned)) => Some(set.min(learned)),
            (set, learned) => set.or(learned),
        }
    }

    /// Counts questions that are asked.
    pub(super) fn spend(&mut self, calls: u64, now: Time) {
        self.turn(now);
        self.used += calls;
    }

    /// When so many questions may be asked: now, or in the next second. More than the limit may be asked by a whole
    /// window that is empty, since one question cannot be divided.
    pub(super) fn free_at(&self, calls: u64, now: Time) -> Time {
        let Some(limit) = self.limit() else { return now };
        let used = if now.since(self.window) >= WINDOW { 0 } else { self.used };
        if used == 0 || used + calls <= limit { now } else { self.window + WINDOW }
    }

    /// The provider says that it was too much.
    pub(super) fn refused(&mut self, now: Time) {
        self.turn(now);
        let asked = self.used.max(self.before).max(1);
        let halved = self.learned.map_or(asked, |limit| limit.min(asked)) / 2;
        (self.learned, self.grown_at) = (Some(halved.max(1)), now);
    }

    fn turn(&mut self, now: Time) {
        if let Some(limit) = self.learned.filter(|_| now.since(self.grown_at) >= GROWS_EVERY) {
            let more = (limit * GROWTH_PERCENT / 100).max(1);
            self.learned = Some(limit + more).filter(|limit| *limit <= LIMIT_MAX);
            self.grown_at = now;
        }
        if now.since(self.window) >= WINDOW {
            let adjacent = now.since(self.window) < WINDOW * 2;
            self.before = if adjacent { self.used } else { 0 };
            (self.window, self.used) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_limit_is_learned_from_refusals_and_forgotten_slowly() {
        let mut budget = Budget::default();
        budget.spend(40, at(10_000));
        assert_eq!((budget.limit(), budget.free_at(1_000, at(10_100))), (None, at(10_100)));
        budget.refused(at(10_200));
        assert_eq!(budget.limit(), Some(20));
        assert_eq!(budget.free_at(1, at(10_300)), at(11_000));
        budget.spend(20, at(11_000));
        assert_eq!(budget.free_at(1, at(11_001)), at(12_000));
        budget.spend(1, at(20_300));
        assert_eq!(budget.limit(), Some(22));
        for second in 3..100 {
            budget.spend(1, at(second * 10_300));
        }
        assert_eq!(budget.limit(), None);
    }

    #[test]
    fn a_limit_that_is_set_holds_and_one_large_question_is_still_asked() {
        let mut budget = Budget::new(Some(5));
        assert_eq!(budget.free_at(8, at(1_000)), at(1_000));
        budget.spend(8, at(1_000));
        assert_eq!(budget.free_at(1, at(1_500)), at(2_000));
        assert_eq!(budget.free_at(5, at(2_000)), at(2_000));
        budget.refused(at(1_600));
        assert_eq!(budget.limit(), Some(4));
    }
}
