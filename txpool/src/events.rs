//! What happened: the events since they were last drained, and how often what happened since the pool was made.
//!
//! Events are counted where they are pushed, so the totals cannot disagree with them.

use crate::Totals;
use types::Event;

/// See the [module](self).
#[derive(Default, Debug)]
pub(crate) struct EventLog {
    events: Vec<Event>,
    totals: Totals,
}

impl EventLog {
    pub(crate) fn push(&mut self, event: Event) {
        let totals = &mut self.totals;
        match event {
            Event::Added { .. } => totals.added += 1,
            Event::Replaced { .. } => totals.replaced += 1,
            Event::Evicted { .. } => totals.evicted += 1,
            Event::Expired { .. } => totals.expired += 1,
            Event::Dropped { .. } => totals.dropped += 1,
            Event::Bundled { .. } => totals.bundled += 1,
            Event::Final { .. } => totals.finalized += 1,
            _ => {}
        }
        self.events.push(event);
    }

    /// A transaction was rejected, of which there is no event.
    pub(crate) const fn count_rejected(&mut self) {
        self.totals.rejected += 1;
    }

    /// A transaction came back from a block. Its event follows when it is known what that says about it.
    pub(crate) const fn count_returned(&mut self) {
        self.totals.returned += 1;
    }

    pub(crate) const fn totals(&self) -> Totals {
        self.totals
    }

    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256};
    use types::Reason;

    #[test]
    fn what_is_told_is_counted() {
        let (hash, sender) = (B256::ZERO, Address::ZERO);
        let mut log = EventLog::default();
        log.push(Event::Added { hash, sender, pending: true });
        log.push(Event::Promoted { hash, sender });
        log.push(Event::Dropped { hash, sender, reason: Reason::NonceTooLow });
        log.count_rejected();
        log.count_returned();
        let expected = Totals { added: 1, dropped: 1, rejected: 1, returned: 1, ..Totals::default() };
        assert_eq!(log.totals(), expected);
        assert_eq!(log.drain().count(), 3);
        assert_eq!((log.drain().count(), log.totals()), (0, expected));
    }
}
