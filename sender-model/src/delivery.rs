//! Deliveries: at least once, in a subject's order for each endpoint, with longer and longer pauses, and a place for
//! what nobody takes.

use super::{
    AccountId, Authority, Commit, Event, Fence, Precondition, Subject, Write, commit::Key, key, quantity,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use types::{Duration, Time};

/// Tries before a delivery becomes a dead letter.
pub const TRIES_MAX: u32 = 12;
/// The pause after the first failure; it doubles.
pub const PAUSE_MS: u64 = 1_000;
/// The longest pause.
pub const PAUSE_MAX_MS: u64 = 3_600_000;

/// An event that an endpoint is to be told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Delivery {
    /// Whose owner delivers it.
    pub account: AccountId,
    /// What the event is about.
    pub subject: Subject,
    /// When the request was accepted, which is part of the event's name.
    #[serde(default, with = "quantity::maybe_time", skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Which of the subject's events.
    pub sequence: u32,
    /// Whom to tell.
    pub endpoint: String,
    /// Failures so far.
    pub tries: u32,
    /// When to try next; of a dead letter, when it was given up.
    #[serde(with = "quantity::time")]
    pub next_at: Time,
}

/// What follows from a try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// It is to be tried again.
    Retry(Delivery),
    /// It is given up, and kept for whoever looks.
    Dead(Delivery),
}

impl Delivery {
    /// Its row.
    pub fn key(&self) -> Key {
        key::delivery(self.account, &self.subject, self.sequence, &self.endpoint)
    }

    /// The event's name.
    pub fn event_id(&self) -> String {
        Event::id_of(&self.subject, self.since, self.sequence)
    }

    /// The row of the event itself.
    pub fn event_key(&self) -> Key {
        key::event(&self.subject, self.sequence)
    }

    /// What follows from a failure. The endpoint may ask to be left alone for longer than the usual pause, an hour at most.
    pub fn after_failure(&self, wait: Option<Duration>, now: Time) -> Next {
        let tries = self.tries + 1;
        if tries >= TRIES_MAX {
            return Next::Dead(Self { tries, next_at: now, ..self.clone() });
        }
        let longest = Duration::from_millis(PAUSE_MAX_MS);
        let usual = Duration::from_millis(PAUSE_MS.saturating_mul(1 << (tries - 1).min(30)));
        let pause = usual.max(wait.unwrap_or_default()).min(longest);
        Next::Retry(Self { tries, next_at: now + pause, ..self.clone() })
    }

    fn commit(&self, epoch: u64, writes: Vec<Write>) -> Result<Commit, serde_json::Error> {
        let unchanged = Precondition::Is(self.key(), serde_json::to_vec(self)?);
        let authority = Authority::Holder(Fence::of(self.account, epoch));
        Ok(Commit { authority, preconditions: vec![unchanged], writes })
    }

    /// Records that the endpoint has it.
    pub fn succeed(&self, epoch: u64) -> Result<Commit, serde_json::Error> {
        self.commit(epoch, vec![Write::Delete(self.key())])
    }

    /// Records a failure.
    pub fn fail(&self, epoch: u64, wait: Option<Duration>, now: Time) -> Result<Commit, serde_json::Error> {
        let writes = match self.after_failure(wait, now) {
            Next::Retry(next) => vec![Write::Put(self.key(), serde_json::to_vec(&next)?)],
            Next::Dead(dead) => {
                let row = key::dead_letter(self.account, &self.subject, self.sequence, &self.endpoint);
                vec![Write::Delete(self.key()), Write::Put(row, serde_json::to_vec(&dead)?)]
            }
        };
        self.commit(epoch, writes)
    }

    /// Brings a dead letter back.
    pub fn replay(&self, epoch: u64, now: Time) -> Result<Commit, serde_json::Error> {
        let dead = key::dead_letter(self.account, &self.subject, self.sequence, &self.endpoint);
        let again = Self { tries: 0, next_at: now, ..self.clone() };
        Ok(Commit {
            authority: Authority::Holder(Fence::of(self.account, epoch)),
            preconditions: vec![Precondition::Is(dead.clone(), serde_json::to_vec(self)?)],
            writes: vec![Write::Delete(dead), Write::Put(self.key(), serde_json::to_vec(&again)?)],
        })
    }
}

/// What to deliver now: of each subject and endpoint the first, if its time has come.
pub fn due<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>, now: Time) -> Vec<&'a Delivery> {
    let mut sorted: Vec<_> = deliveries.into_iter().collect();
    sorted.sort_by_key(|delivery| (&delivery.subject, &delivery.endpoint, delivery.sequence));
    let mut seen = BTreeSet::new();
    sorted.retain(|delivery| seen.insert((&delivery.subject, &delivery.endpoint)));
    sorted.retain(|delivery| delivery.next_at <= now);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::account_id;

    #[test]
    fn pauses_grow_and_an_endpoint_may_ask_for_longer_ones() {
        let first = Delivery {
            account: account_id(),
            subject: Subject::Account(account_id()),
            since: None,
            sequence: 1,
            endpoint: "one".into(),
            tries: 0,
            next_at: Time::ZERO,
        };
        let (now, seconds) =
            (Time::from_millis(5_000), |seconds: u64| Some(Duration::from_millis(seconds * 1_000)));
        let pause = |tries, wait| match (Delivery { tries, ..first.clone() }).after_failure(wait, now) {
            Next::Retry(next) => next.next_at.since(now).as_millis(),
            Next::Dead(_) => 0,
        };
        assert_eq!((pause(0, None), pause(1, None), pause(3, None)), (1_000, 2_000, 8_000));
        assert_eq!((pause(0, seconds(30)), pause(5, seconds(2))), (30_000, 32_000));
        assert_eq!(pause(0, seconds(1_000_000)), u128::from(PAUSE_MAX_MS), "but not for ever");
        assert_eq!(pause(TRIES_MAX - 1, seconds(30)), 0);
    }
}
