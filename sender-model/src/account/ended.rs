//! Requests that ended under this owner. Whoever read one before its end may still come with that copy, and taking it in
//! would begin it again.
//!
//! The set is bounded, and a new owner begins with an empty one. So it only spares the account a commit that cannot
//! succeed: what makes a stale copy harmless is the condition under which a request that was taken in is first written.

use crate::RequestId;
use std::collections::{BTreeSet, VecDeque};
use types::Time;

/// Ends that are remembered.
const ENDED_MAX: usize = 1_024;

/// See the [module](self). A name may be used again once it is forgotten, so the time of acceptance belongs to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    known: BTreeSet<(Time, RequestId)>,
    /// The oldest first.
    order: VecDeque<(Time, RequestId)>,
}

impl Ended {
    pub(super) fn insert(&mut self, accepted_at: Time, id: RequestId) {
        if self.known.insert((accepted_at, id.clone())) {
            self.order.push_back((accepted_at, id));
        }
        if self.order.len() > ENDED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, accepted_at: Time, id: &RequestId) -> bool {
        self.known.contains(&(accepted_at, id.clone()))
    }
}
