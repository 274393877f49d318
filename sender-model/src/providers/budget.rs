//! How many questions per second a provider takes, learned from its refusals.
//!
//! Without a refusal there is no limit but the one that is set. A refusal ("429") lowers the limit by a tenth, but never below
//! what the provider took in that second or in the one before. So a strict limit is met within one burst, and a provider that
//! refuses some questions by chance, however few are asked, keeps most of its budget. Every two seconds the limit grows by a
//! tenth, so a provider that recovers is used fully again.

use types::{Duration, Time};

/// How long one count of questions lasts.
const WINDOW: Duration = Duration::from_millis(1_000);
/// What a refusal takes off the limit, in percent.
const REFUSAL_PERCENT: u64 = 10;
/// How often a limit grows, and by how much, in percent.
const GROWS_EVERY: Duration = Duration::from_millis(2_000);
const GROWTH_PERCENT: u64 = 10;
/// What the first refusal begins from if fewer questions were asked: one refusal among few says little.
const FIRST_LIMIT: u64 = 50;
/// A learned limit above this is none.
const LIMIT_MAX: u64 = 5_000;

/// Questions of one window.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    asked: u64,
    /// Of these, not refused.
    taken: u64,
}

/// The budget of one provider. Questions are counted in windows of a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// The operator's limit.
    set: Option<u64>,
    /// The limit that was learned.
    learned: Option<u64>,
    grown_at: Time,
    window: Time,
    current: Count,
    /// The window before.
    before: Count,
}

impl Budget {
    pub(super) fn new(set: Option<u64>) -> Self {
        Self { set, ..Self::default() }
    }

    /// Takes another limit of the operator's; what was learned stays.
    pub(super) fn set(&mut self, set: Option<u64>) {
        self.set = set;
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
        self.current.asked += calls;
    }

    /// Counts questions that were answered and not refused.
    pub(super) fn took(&mut self, calls: u64, now: Time) {
        self.turn(now);
        self.current.taken += calls;
    }

    /// When so many questions may be asked: now, or in the next second. More than the limit may be asked by a whole
    /// window that is empty, since one question cannot be divided.
    pub(super) fn free_at(&self, calls: u64, now: Time) -> Time {
        let Some(limit) = self.limit() else { return now };
        let asked = if now.since(self.window) >= WINDOW { 0 } else { self.current.asked };
        if asked == 0 || asked + calls <= limit { now } else { self.window + WINDOW }
    }

    /// The provider says that it was too much.
    pub(super) fn refused(&mut self, now: Time) {
        self.turn(now);
        let limit = match self.learned {
            Some(limit) => limit,
            None => {
                self.grown_at = now;
                self.current.asked.max(self.before.asked).max(FIRST_LIMIT)
            }
        };
        let lowered = limit - (limit * REFUSAL_PERCENT).div_ceil(100);
        let taken = self.current.taken.max(self.before.taken);
        self.learned = Some(lowered.max(taken).clamp(1, limit));
    }

    /// Lowers the limit by half at every refusal, whatever was taken.
    #[cfg(feature = "bugs")]
    pub(super) fn halve(&mut self, now: Time) {
        self.turn(now);
        let asked = self.current.asked.max(self.before.asked).max(1);
        self.learned = Some((self.learned.map_or(asked, |limit| limit.min(asked)) / 2).max(1));
    }

    fn turn(&mut self, now: Time) {
        if let Some(limit) = self.learned.filter(|_| now.since(self.grown_at) >= GROWS_EVERY) {
            let more = (limit * GROWTH_PERCENT / 100).max(1);
            self.learned = Some(limit + more).filter(|limit| *limit <= LIMIT_MAX);
            self.grown_at = now;
        }
        if now.since(self.window) >= WINDOW {
            let adjacent = now.since(self.window) < WINDOW * 2;
            self.before = if adjacent { self.current } else { Count::default() };
            (self.window, self.current) = (now, Count::default());
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
    fn a_refusal_lowers_the_limit_to_what_was_taken_at_most() {
        let mut budget = Budget::default();
        budget.spend(400, at(10_000));
        assert_eq!((budget.limit(), budget.free_at(1_000, at(10_100))), (None, at(10_100)));
        budget.took(20, at(10_100));
        budget.refused(at(10_200));
        assert_eq!(budget.limit(), Some(360));
        (0..100).for_each(|_| budget.refused(at(10_300)));
        assert_eq!(budget.limit(), Some(20), "it took twenty in that second");
        assert_eq!(budget.free_at(1, at(10_300)), at(11_000));
        budget.spend(20, at(11_000));
        assert_eq!(budget.free_at(1, at(11_001)), at(12_000));
        budget.spend(1, at(12_200));
        assert_eq!(budget.limit(), Some(22));
        for second in 13..2_000 {
            budget.spend(1, at(second * 1_000));
        }
        assert_eq!(budget.limit(), None, "without refusals it is forgotten");
    }

    #[test]
    fn one_refusal_among_few_questions_leaves_room_for_more() {
        let mut budget = Budget::default();
        budget.spend(2, at(10_000));
        budget.took(1, at(10_000));
        budget.refused(at(10_001));
        assert_eq!(budget.limit(), Some(45));
    }

    #[test]
    fn a_limit_that_is_set_holds_and_one_large_question_is_still_asked() {
        let mut budget = Budget::new(Some(5));
        assert_eq!(budget.free_at(8, at(1_000)), at(1_000));
        budget.spend(8, at(1_000));
        assert_eq!(budget.free_at(1, at(1_500)), at(2_000));
        assert_eq!(budget.free_at(5, at(2_000)), at(2_000));
        budget.refused(at(1_600));
        assert_eq!(budget.limit(), Some(5));
        budget.set(None);
        assert_eq!(budget.limit(), Some(45));
    }

    /// Asks a hundred times a second for as long as the budget allows, of a provider that takes what `takes` says, for two
    /// minutes. What it took in each of the last ninety seconds, and the limits that were learned meanwhile.
    fn ask(mut takes: impl FnMut(u64) -> bool) -> (Vec<u64>, Vec<u64>) {
        let mut budget = Budget::default();
        let (mut taken, mut limits) = (vec![0; 120], vec![]);
        for ms in (0..120_000).step_by(10) {
            // It does not begin when the provider's seconds do.
            let now = at(1_000_370 + ms);
            if budget.free_at(1, now) > now {
                continue;
            }
            budget.spend(1, now);
            if takes(now.as_millis()) {
                budget.took(1, now);
                taken[(ms / 1_000) as usize] += 1;
            } else {
                budget.refused(now);
            }
            if ms >= 30_000 {
                limits.push(budget.limit().unwrap_or(LIMIT_MAX));
            }
        }
        (taken.split_off(30), limits)
    }

    #[test]
    fn a_provider_that_refuses_by_chance_keeps_its_budget() {
        let mut state = 1_u64;
        let (taken, limits) = ask(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % 1_000 >= 30
        });
        assert!(limits.iter().all(|limit| *limit > 20), "{:?}", limits.iter().min());
        assert!(taken.iter().all(|taken| *taken > 20), "{taken:?}");
    }

    #[test]
    fn a_strict_limit_is_found_and_kept() {
        let (mut second, mut count) = (0, 0);
        let (taken, limits) = ask(|ms| {
            (second, count) = if second == ms / 1_000 { (second, count + 1) } else { (ms / 1_000, 1) };
            count <= 20
        });
        let (least, most) = (limits.iter().min().unwrap(), limits.iter().max().unwrap());
        assert!((19..=20).contains(least) && (20..=22).contains(most), "{least} to {most}");
        assert!(taken.iter().sum::<u64>() >= 19 * taken.len() as u64, "{taken:?}");
    }
}
