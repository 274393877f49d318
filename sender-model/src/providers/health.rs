//! How each provider fares, and whom to ask next.

use super::{Trouble, budget::Budget};
use serde::Serialize;
use types::{Duration, Time};

/// Failures in a row after which a provider rests.
const FAILURES_MAX: u32 = 3;
/// The first and the longest rest.
const REST: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_millis(30_000);
/// The first rest of a provider that asks for fewer questions and does not say for how long.
const LIMITED_REST: Duration = Duration::from_millis(250);
/// How long the first answer of a provider is waited for while there is another; it doubles with each timeout.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Answers in a row after which a trouble is over.
const RECOVERED_AFTER: u32 = 5;
/// A provider is not waited for when a second word is needed once it has failed so often in a row: in a way that only an
/// operator can mend, or in a way that may pass, and then for so long.
const GIVEN_UP_AFTER: u32 = 3;
const SILENT_AFTER: u32 = 10;
const SILENT_FOR: Duration = Duration::from_millis(60_000);
/// The same for one that has never answered anything; and for one that has answered nothing but that it is busy, which it may
/// be by chance.
const NEVER_HEARD_AFTER: u32 = 6;
const ONLY_BUSY_AFTER: u32 = 8;

/// Whether a provider is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ProviderState {
    /// It answers.
    Ok,
    /// It has failed lately, and is asked.
    Troubled,
    /// It is left alone for a while.
    Resting,
}

/// How a provider fares, for health pages. It is named by its position in the settings: a URL may hold a key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderHealth {
    /// Its position in the settings, from zero.
    pub index: usize,
    /// Whether it is asked.
    pub state: ProviderState,
    /// The kind of its newest trouble, if it is not over.
    pub trouble: Option<&'static str>,
    /// The same in words.
    pub reason: Option<String>,
    /// How long it has been in trouble, in milliseconds.
    pub for_ms: Option<u64>,
    /// What it lacks and others may have: a method, a tag, old states.
    pub lacks: Option<String>,
    /// Calls since the start.
    pub calls: u64,
    /// Of these, without a usable answer.
    pub failures: u64,
    /// Calls per second that it takes, if a limit is set or was learned from its refusals.
    pub calls_per_second_max: Option<u64>,
}

#[derive(Clone, Debug)]
struct One {
    budget: Budget,
    /// Failures in a row, and answers in a row.
    failed: u32,
    answered: u32,
    rests_until: Time,
    trouble: Option<(Trouble, Time)>,
    lacks: Option<String>,
    calls: u64,
    failures: u64,
    /// Since when it has only failed.
    failing_since: Option<Time>,
    /// Whether it has ever answered.
    heard: bool,
}

/// The providers of one chain, in the order of preference.
#[derive(Clone, Debug)]
pub struct Providers {
    all: Vec<One>,
    /// A known mistake, put back.
    #[cfg(feature = "bugs")]
    mistake: Option<crate::Mistake>,
}

impl Providers {
    /// So many providers, of which nothing is known yet. `calls_per_second` is the operator's limit for each.
    pub fn new(count: usize, calls_per_second: Option<u64>) -> Self {
        let one = One {
            budget: Budget::new(calls_per_second),
            failed: 0,
            answered: 0,
            rests_until: Time::ZERO,
            trouble: None,
            lacks: None,
            calls: 0,
            failures: 0,
            failing_since: None,
            heard: false,
        };
        Self {
            all: vec![one; count],
            #[cfg(feature = "bugs")]
            mistake: None,
        }
    }

    /// Puts a known mistake back.
    #[cfg(feature = "bugs")]
    pub fn set_mistake(&mut self, mistake: Option<crate::Mistake>) {
        self.mistake = mistake;
    }

    #[cfg(feature = "bugs")]
    pub(super) fn makes(&self, mistake: crate::Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Whom to ask now: first those that answer, then those in trouble whose rest is over, each in the order of
    /// preference.
    pub fn order(&self, now: Time) -> Vec<usize> {
        let awake = |one: &One| one.rests_until <= now;
        let asked = |troubled: bool| {
            let fits = move |(_, one): &(usize, &One)| awake(one) && one.trouble.is_some() == troubled;
            self.all.iter().enumerate().filter(fits).map(|(index, _)| index)
        };
        asked(false).chain(asked(true)).collect()
    }

    /// Whose word may confirm an answer of `first`, in the order in which they are asked.
    pub fn others(&self, first: usize, now: Time) -> Vec<usize> {
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::OneVoice) {
            return vec![];
        }
        self.order(now).into_iter().filter(|index| *index != first).collect()
    }

    /// Whether all others have failed so often that none of them is waited for.
    pub fn is_alone(&self, first: usize, now: Time) -> bool {
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::OneVoice) {
            return true;
        }
        self.all.iter().enumerate().all(|(index, one)| index == first || one.is_given_up(now))
    }

    /// When so many calls may be made within the provider's budget.
    pub fn free_at(&self, index: usize, calls: u64, now: Time) -> Time {
        self.all.get(index).map_or(now, |one| one.budget.free_at(calls, now))
    }

    /// Calls are made.
    pub fn spend(&mut self, index: usize, calls: u64, now: Time) {
        if let Some(one) = self.all.get_mut(index) {
            one.calls += calls;
            one.budget.spend(calls, now);
        }
    }

    /// Calls were answered, and not refused for being too many.
    pub fn took(&mut self, index: usize, calls: u64, now: Time) {
        if let Some(one) = self.all.get_mut(index) {
            one.budget.took(calls, now);
        }
    }

    /// The operator's limit for each provider from now on, in calls per second.
    pub fn set_calls_per_second(&mut self, limit: Option<u64>) {
        self.all.iter_mut().for_each(|one| one.budget.set(limit));
    }

    /// How long an answer of a provider is waited for, `most` at the longest. One that has never answered, or does not answer
    /// now, is waited for less while there is another to ask: a provider that takes connections and says nothing would use up
    /// the time in which the others could answer.
    pub fn patience(&self, index: usize, most: Duration) -> Duration {
        let Some(one) = self.all.get(index).filter(|_| self.all.len() > 1) else { return most };
        let silent = matches!(one.trouble, Some((Trouble::TimedOut, _)));
        if one.heard && !silent {
            return most;
        }
        PATIENCE.saturating_mul(1 << one.failed.min(10)).min(most)
    }

    /// It has answered. Errors that are about the question are answers.
    pub fn succeeded(&mut self, index: usize) {
        let Some(one) = self.all.get_mut(index) else { return };
        (one.failed, one.failing_since, one.heard) = (0, None, true);
        one.answered = one.answered.saturating_add(1);
        if one.answered >= RECOVERED_AFTER {
            one.trouble = None;
        }
    }

    /// It has not answered, or not in a usable way; it wants to be left alone for `wait`.
    pub fn failed(&mut self, index: usize, trouble: Trouble, wait: Option<Duration>, now: Time) {
        #[cfg(feature = "bugs")]
        let halves = self.makes(crate::Mistake::BudgetHalves);
        let Some(one) = self.all.get_mut(index) else { return };
        if trouble.is_a_lack() {
            // It has answered; only not this.
            one.lacks = Some(trouble.to_string());
            return;
        }
        one.failures += 1;
        one.failed = one.failed.saturating_add(1);
        one.answered = 0;
        one.failing_since.get_or_insert(now);
        if let Some(rest) = one.rest(&trouble, wait) {
            one.rests_until = now + rest;
        }
        if matches!(trouble, Trouble::RateLimited(_)) {
            one.budget.refused(now);
            #[cfg(feature = "bugs")]
            if halves {
                one.budget.halve(now);
            }
        }
        let since = one.trouble.as_ref().map_or(now, |(_, since)| *since);
        one.trouble = Some((trouble, since));
    }

    /// How each of them fares.
    pub fn health(&self, now: Time) -> Vec<ProviderHealth> {
        self.all.iter().enumerate().map(|(index, one)| one.health(index, now)).collect()
    }
}

impl One {
    /// Whether there is no use in waiting for it.
    fn is_given_up(&self, now: Time) -> bool {
        let Some((trouble, _)) = &self.trouble else { return false };
        match trouble {
            Trouble::Denied(_) | Trouble::Garbage(_) | Trouble::OtherChain | Trouble::Disconnected => {
                self.failed >= GIVEN_UP_AFTER
            }
            Trouble::Status(_) | Trouble::RateLimited(_) if !self.heard => self.failed >= ONLY_BUSY_AFTER,
            _ if !self.heard => self.failed >= NEVER_HEARD_AFTER,
            _ => {
                let long = self.failing_since.is_some_and(|since| now.since(since) >= SILENT_FOR);
                self.failed >= SILENT_AFTER && long
            }
        }
    }

    /// How long it is left alone after this failure.
    fn rest(&self, trouble: &Trouble, wait: Option<Duration>) -> Option<Duration> {
        let doubled = |first: Duration, times: u32| first.saturating_mul(1 << times.min(10)).min(REST_MAX);
        let more = self.failed.checked_sub(FAILURES_MAX);
        match trouble {
            Trouble::RateLimited(_) | Trouble::Status(429 | 502..=504) => {
                Some(wait.map_or_else(|| doubled(LIMITED_REST, self.failed - 1), |wait| wait.min(REST_MAX)))
            }
            // It will say the same to the next question.
            Trouble::Denied(_) | Trouble::Implausible(_) | Trouble::OtherChain => {
                Some(doubled(REST, self.failed))
            }
            _ => more.map(|more| doubled(REST, more)),
        }
    }

    fn health(&self, index: usize, now: Time) -> ProviderHealth {
        let state = match &self.trouble {
            _ if self.rests_until > now => ProviderState::Resting,
            Some(_) => ProviderState::Troubled,
            None => ProviderState::Ok,
        };
        let trouble = self.trouble.as_ref();
        ProviderHealth {
            index,
            state,
            trouble: trouble.map(|(trouble, _)| trouble.name()),
            reason: trouble.map(|(trouble, _)| trouble.to_string()),
            for_ms: trouble.map(|(_, since)| now.since(*since).as_millis() as u64),
            lacks: self.lacks.clone(),
            calls: self.calls,
            failures: self.failures,
            calls_per_second_max: self.budget.limit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn two() -> Providers {
        Providers::new(2, None)
    }

    #[test]
    fn one_in_trouble_comes_after_one_that_answers_until_it_has_recovered() {
        let mut providers = two();
        assert_eq!(providers.order(at(0)), [0, 1]);
        providers.failed(0, Trouble::TimedOut, None, at(0));
        assert_eq!(providers.order(at(0)), [1, 0]);
        for _ in 0..RECOVERED_AFTER {
            assert_eq!(providers.order(at(1)), [1, 0]);
            providers.succeeded(0);
        }
        assert_eq!(providers.order(at(1)), [0, 1]);
    }

    #[test]
    fn a_provider_that_says_nothing_is_waited_for_less_while_there_is_another() {
        let (mut providers, most) = (two(), Duration::from_millis(5_000));
        assert_eq!(Providers::new(1, None).patience(0, most), most);
        for patience_ms in [1_500, 3_000, 5_000, 5_000] {
            assert_eq!(providers.patience(0, most), Duration::from_millis(patience_ms));
            providers.failed(0, Trouble::TimedOut, None, at(0));
        }
        // One that has answered may take its time, until it does not answer.
        providers.succeeded(1);
        assert_eq!(providers.patience(1, most), most);
        providers.failed(1, Trouble::TimedOut, None, at(0));
        assert_eq!(providers.patience(1, most), Duration::from_millis(3_000));
    }

    #[test]
    fn rests_grow_with_failures_and_denials_rest_at_once() {
        let mut providers = two();
        for _ in 0..2 {
            providers.failed(0, Trouble::Disconnected, None, at(0));
            assert!(providers.order(at(0)).contains(&0));
        }
        providers.failed(0, Trouble::Disconnected, None, at(0));
        assert_eq!((providers.order(at(499)), providers.order(at(500))), (vec![1], vec![1, 0]));
        providers.failed(0, Trouble::Disconnected, None, at(500));
        assert_eq!((providers.order(at(1_499)), providers.order(at(1_500))), (vec![1], vec![1, 0]));
        providers.failed(1, Trouble::Denied("key".into()), None, at(2_000));
        assert_eq!(providers.order(at(2_000)), [0]);
        providers.failed(
            0,
            Trouble::RateLimited("later".into()),
            Some(Duration::from_millis(700)),
            at(2_000),
        );
        assert_eq!(providers.order(at(2_699)), Vec::<usize>::new());
        assert_eq!(providers.order(at(3_000)), [0, 1]);
    }

    #[test]
    fn every_trouble_is_shown_with_its_reason_until_it_is_over() {
        let mut providers = two();
        for trouble in [
            Trouble::Status(500),
            Trouble::Garbage("<html>".into()),
            Trouble::TimedOut,
            Trouble::Implausible("another hash".into()),
            Trouble::Failing("no backend (-32011)".into()),
        ] {
            providers.failed(0, trouble.clone(), None, at(1_000));
            let health = providers.health(at(61_000)).remove(0);
            assert_eq!((health.trouble, health.reason), (Some(trouble.name()), Some(trouble.to_string())));
            assert_eq!((health.state, health.for_ms), (ProviderState::Troubled, Some(60_000)));
        }
        (0..RECOVERED_AFTER).for_each(|_| providers.succeeded(0));
        let health = providers.health(at(70_000)).remove(0);
        assert_eq!((health.state, health.trouble, health.failures), (ProviderState::Ok, None, 5));
        // That it lacks something is shown, too, but is no trouble.
        providers.failed(0, Trouble::MissingState("pruned".into()), None, at(70_000));
        let health = providers.health(at(70_000)).remove(0);
        assert!(health.state == ProviderState::Ok && health.lacks.unwrap().contains("pruned"));
    }

    #[test]
    fn a_second_word_is_waited_for_unless_there_is_none_for_long() {
        let mut providers = two();
        assert_eq!((providers.others(0, at(0)), providers.others(1, at(0))), (vec![1], vec![0]));
        assert!(!providers.is_alone(0, at(0)));
        // It will not mend itself.
        providers.failed(1, Trouble::Denied("key".into()), None, at(0));
        assert!(providers.others(0, at(1)).is_empty() && !providers.is_alone(0, at(1)));
        (1..GIVEN_UP_AFTER).for_each(|_| providers.failed(1, Trouble::Denied("key".into()), None, at(0)));
        assert!(providers.is_alone(0, at(1)));
        // It may be well again soon, but not after so long.
        providers.succeeded(1);
        for _ in 0..SILENT_AFTER {
            providers.failed(1, Trouble::TimedOut, None, at(10_000));
        }
        assert!(!providers.is_alone(0, at(10_001)) && !providers.is_alone(0, at(69_999)));
        assert!(providers.is_alone(0, at(70_000)));
        assert!(Providers::new(1, None).is_alone(0, at(0)));
        // One that says that it is busy lives, although it has never answered anything else.
        for (trouble, most) in
            [(Trouble::TimedOut, NEVER_HEARD_AFTER), (Trouble::Status(500), ONLY_BUSY_AFTER)]
        {
            let mut providers = two();
            (1..most).for_each(|_| providers.failed(1, trouble.clone(), None, at(0)));
            assert!(!providers.is_alone(0, at(0)), "{trouble}");
            providers.failed(1, trouble, None, at(0));
            assert!(providers.is_alone(0, at(0)));
        }
    }
}
