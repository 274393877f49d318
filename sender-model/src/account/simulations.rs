//! Simulations: would a request work, and with how much gas? Asked before it costs a nonce.

use super::watch::millis;
use crate::{Config, RequestId};
use std::collections::BTreeMap;
use types::Time;

/// Failures of a simulation after which a request is held, so that others go on.
const ERRORS_MAX: u32 = 5;

#[derive(Clone, Debug)]
enum Simulated {
    /// It was asked.
    Asked { at: Time, errors: u32, how: Asked },
    /// It would work.
    Gas { gas: u64, at: Time },
    /// No provider answered; to be asked again.
    Failed { retry_at: Time, errors: u32 },
    /// It would be reverted, and what it may need is not mined: to be asked again, on top of that or later.
    Blocked { retry_at: Time, on_top: bool },
}

/// How a simulation was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Asked {
    /// Whether earlier requests were not mined, or had been mined a moment before.
    pub had_parents: bool,
    /// Whether it is on top of all of them.
    pub on_top: bool,
}

/// Whether a request would work, as far as is known now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It would, with so much gas.
    Gas(u64),
    /// It was not asked, or the answer is too old or did not come.
    Unknown,
    /// The answer is awaited.
    Awaited,
    /// No provider answers, and none did often enough for others to go on.
    Hopeless,
    /// It would be reverted, unless what comes before it changes that. Whether it was asked on top of that already, and
    /// whether it is time to ask again.
    Blocked { on_top: bool, due: bool },
}

/// What is known of an account's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Simulations {
    of: BTreeMap<RequestId, Simulated>,
}

impl Simulations {
    /// It is asked.
    pub(super) fn ask(&mut self, id: &RequestId, how: Asked, now: Time) {
        let errors = match self.of.get(id) {
            Some(Simulated::Failed { errors, .. } | Simulated::Asked { errors, .. }) => *errors,
            _ => 0,
        };
        self.of.insert(id.clone(), Simulated::Asked { at: now, errors, how });
    }

    /// How the answer that is awaited was asked for; none if none is awaited. One that comes later is not taken.
    pub(super) fn asked(&self, id: &RequestId) -> Option<Asked> {
        match self.of.get(id) {
            Some(Simulated::Asked { how, .. }) => Some(*how),
            _ => None,
        }
    }

    /// It would be reverted now, and perhaps not after what comes before it. It is asked again at that time.
    pub(super) fn block(&mut self, id: &RequestId, on_top: bool, retry_at: Time) {
        self.of.insert(id.clone(), Simulated::Blocked { retry_at, on_top });
    }

    /// It would work, with so much gas.
    pub(super) fn succeed(&mut self, id: &RequestId, gas: u64, now: Time) {
        self.of.insert(id.clone(), Simulated::Gas { gas, at: now });
    }

    /// No provider answered. It is asked again after a pause that doubles with every failure.
    pub(super) fn fail(&mut self, id: &RequestId, config: &Config, now: Time) {
        if let Some(Simulated::Asked { errors, .. }) = self.of.get(id) {
            let errors = errors + 1;
            let retry_at = now + config.backoff(errors);
            self.of.insert(id.clone(), Simulated::Failed { retry_at, errors });
        }
    }

    /// What is known now.
    pub(super) fn verdict(&self, id: &RequestId, config: &Config, now: Time) -> Verdict {
        let age_max = millis(config.simulation_age_max_ms);
        match self.of.get(id) {
            Some(Simulated::Gas { gas, at }) if now.since(*at) <= age_max => Verdict::Gas(*gas),
            Some(Simulated::Failed { retry_at, errors }) if *retry_at > now => {
                if *errors >= ERRORS_MAX {
                    Verdict::Hopeless
                } else {
                    Verdict::Awaited
                }
            }
            Some(Simulated::Asked { at, .. }) if now.since(*at) < millis(config.answer_ms) => {
                Verdict::Awaited
            }
            Some(Simulated::Blocked { retry_at, on_top }) => {
                Verdict::Blocked { on_top: *on_top, due: *retry_at <= now }
            }
            _ => Verdict::Unknown,
        }
    }

    /// The request needs none any more.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.of.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::id;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn an_answer_holds_for_a_while() {
        let (config, mut simulations, a) = (Config::default(), Simulations::default(), id("a"));
        assert_eq!(simulations.verdict(&a, &config, at(0)), Verdict::Unknown);
        simulations.ask(&a, Asked::default(), at(0));
        assert_eq!(simulations.verdict(&a, &config, at(config.answer_ms - 1)), Verdict::Awaited);
        assert_eq!(simulations.verdict(&a, &config, at(config.answer_ms)), Verdict::Unknown);
        simulations.succeed(&a, 21_000, at(1));
        let end = config.simulation_age_max_ms + 1;
        assert_eq!(simulations.verdict(&a, &config, at(end)), Verdict::Gas(21_000));
        assert_eq!(simulations.verdict(&a, &config, at(end + 1)), Verdict::Unknown);
    }

    #[test]
    fn failures_are_counted_until_others_go_on() {
        let (config, mut simulations, a) = (Config::default(), Simulations::default(), id("a"));
        let mut now = at(0);
        for errors in 1..=ERRORS_MAX {
            simulations.ask(&a, Asked::default(), now);
            simulations.fail(&a, &config, now);
            let expected = if errors < ERRORS_MAX { Verdict::Awaited } else { Verdict::Hopeless };
            assert_eq!(simulations.verdict(&a, &config, now), expected);
            now = now + config.backoff(errors);
            assert_eq!(simulations.verdict(&a, &config, now), Verdict::Unknown);
        }
        // A failure of a simulation that is not waited for does not count.
        simulations.block(&a, true, at(1_000_000));
        assert_eq!(simulations.verdict(&a, &config, now), Verdict::Blocked { on_top: true, due: false });
        simulations.forget(&a);
        simulations.fail(&a, &config, now);
        assert!(simulations.asked(&a).is_none());
        assert_eq!(simulations.verdict(&a, &config, now), Verdict::Unknown);
    }
}
