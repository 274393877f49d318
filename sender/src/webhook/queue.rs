//! What one endpoint is still to be told. A *lane* is one subject of one account: its events go out one after the other,
//! so only the first of each lane is here.

use sender_model::{AccountId, Delivery, Subject};
use std::collections::{BTreeMap, BTreeSet};
use types::Time;

/// One subject of one account.
pub(super) type Lane = (AccountId, Subject);

/// The lane of a delivery.
pub(super) fn lane_of(delivery: &Delivery) -> Lane {
    (delivery.account, delivery.subject.clone())
}

/// One endpoint's lanes.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heads: BTreeMap<Lane, Delivery>,
    order: BTreeSet<(Time, Lane)>,
    /// Lanes that are running, and whether something was offered to them meanwhile.
    running: BTreeMap<Lane, bool>,
}

impl Queue {
    /// Takes the first delivery of a lane as it is in the store. While a lane is running, what is read may be old or new:
    /// it is not taken, but whoever ends the lane learns that there was something ([`Queue::ended`]).
    pub(super) fn offer(&mut self, head: Delivery) {
        let lane = lane_of(&head);
        if let Some(missed) = self.running.get_mut(&lane) {
            *missed = true;
            return;
        }
        self.forget_lane(&lane);
        self.order.insert((head.next_at, lane.clone()));
        self.heads.insert(lane, head);
    }

    /// The next delivery whose time has come, unless as many are running as may.
    pub(super) fn start(&mut self, now: Time, running_max: usize) -> Option<Delivery> {
        let (at, _) = self.order.first()?;
        if *at > now || self.running.len() >= running_max {
            return None;
        }
        let (_, lane) = self.order.pop_first()?;
        let head = self.heads.remove(&lane)?;
        self.running.insert(lane, false);
        Some(head)
    }

    /// A delivery has ended, well or not. Whether something was offered while it was running: the rows must then be looked
    /// at again, because what ran may have looked for more before that was written.
    pub(super) fn ended(&mut self, lane: &Lane) -> bool {
        self.running.remove(lane).unwrap_or_default()
    }

    /// When something is to be done; never while as many are running as may.
    pub(super) fn next_at(&self, running_max: usize) -> Option<Time> {
        let free = self.running.len() < running_max;
        self.order.first().map(|(at, _)| *at).filter(|_| free)
    }

    /// Forgets an account.
    pub(super) fn forget(&mut self, account: AccountId) {
        self.heads.retain(|(owner, _), _| *owner != account);
        self.order.retain(|(_, (owner, _))| *owner != account);
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.running.is_empty()
    }

    fn forget_lane(&mut self, lane: &Lane) {
        if let Some(old) = self.heads.remove(lane) {
            self.order.remove(&(old.next_at, lane.clone()));
        }
    }
}
