//! The rule of leases, for the stores that keep them themselves.

use super::{Acquired, Outcome};
use sender_model::{Authority, Commit, Key, Precondition, Value};
use serde::{Deserialize, Serialize};
use types::{Duration, Time};

/// Who owns something, since which epoch and for how long.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lease {
    /// Rises with every acquisition.
    pub epoch: u64,
    /// The owner's name.
    pub holder: String,
    /// When it runs out, in milliseconds.
    pub until_ms: u64,
}

impl Lease {
    /// When it runs out.
    pub fn until(&self) -> Time {
        Time::from_millis(self.until_ms)
    }

    /// Whether an epoch may write.
    pub fn admits(&self, epoch: u64, now: Time) -> bool {
        self.epoch == epoch && self.until() > now
    }

    pub(super) fn acquire(&mut self, holder: &str, ttl_ms: u64, force: bool, now: Time) -> Acquired {
        if self.until() > now && !force {
            return Acquired::Held { holder: self.holder.clone(), until: self.until() };
        }
        self.epoch += 1;
        holder.clone_into(&mut self.holder);
        self.until_ms = (now + Duration::from_millis(ttl_ms)).as_millis();
        Acquired::Taken { epoch: self.epoch, until: self.until() }
    }

    pub(super) fn renew(&mut self, epoch: u64, ttl_ms: u64, now: Time) -> bool {
        let ours = self.admits(epoch, now);
        if ours {
            self.until_ms = (now + Duration::from_millis(ttl_ms)).as_millis();
        }
        ours
    }

    pub(super) fn release(&mut self, epoch: u64, now: Time) -> bool {
        let ours = self.admits(epoch, now);
        if ours {
            self.until_ms = 0;
        }
        ours
    }
}

/// Whether a commit may happen, given a way to look at leases and rows.
pub(super) fn judge<E>(
    commit: &Commit,
    now: Time,
    lease: impl FnOnce(&str) -> Result<Option<Lease>, E>,
    mut row: impl FnMut(&Key) -> Result<Option<Value>, E>,
) -> Result<Outcome, E> {
    if let Authority::Holder(fence) = &commit.authority {
        let current = lease(&fence.lease)?;
        if !current.is_some_and(|current| current.admits(fence.epoch, now)) {
            return Ok(Outcome::Stale);
        }
    }
    for precondition in &commit.preconditions {
        let holds = match precondition {
            Precondition::Absent(key) => row(key)?.is_none(),
            Precondition::Is(key, value) => row(key)?.as_ref() == Some(value),
        };
        if !holds {
            return Ok(Outcome::Conflict(precondition.key().clone()));
        }
    }
    Ok(Outcome::Committed)
}
