//! What the queue gives its owner: records to be made durable, then actions, and events that say what happened.

use crate::{Action, Record};
use std::collections::VecDeque;
use types::Event;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    records: Vec<Record>,
    #[cfg(feature = "bugs")]
    late_records: Vec<Record>,
    actions: VecDeque<Action>,
    events: Vec<Event>,
}

impl Outbox {
    pub(crate) fn push_record(&mut self, record: Record) {
        self.records.push(record);
    }

    pub(crate) fn take_records(&mut self) -> Vec<Record> {
        core::mem::take(&mut self.records)
    }

    pub(crate) fn push_action(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(crate) fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// Events of a journal that is replayed are old.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }
}

#[cfg(feature = "bugs")]
impl Outbox {
    pub(crate) fn push_late_record(&mut self, record: Record) {
        self.late_records.push(record);
    }

    pub(crate) fn release_late_records(&mut self) {
        self.records.append(&mut self.late_records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::BlockId;

    #[test]
    fn everything_is_given_once_and_in_order() {
        let mut outbox = Outbox::default();
        let head = |number| BlockId::new(number, [7; 32].into());
        for number in [1, 2] {
            outbox.push_record(Record::Released { from: number });
            outbox.push_action(Action::Halt { head: head(number) });
            outbox.tell(Event::ForeignHead { head: head(number) });
        }
        assert_eq!(outbox.take_records(), [1, 2].map(|from| Record::Released { from }));
        assert_eq!(outbox.take_records(), []);
        assert_eq!(outbox.next_action(), Some(Action::Halt { head: head(1) }));
        assert_eq!(outbox.drain_events().count(), 2);
        outbox.tell(Event::ForeignHead { head: head(3) });
        outbox.forget_events();
        assert_eq!(outbox.drain_events().count(), 0);
        assert_eq!(outbox.next_action(), Some(Action::Halt { head: head(2) }));
        assert_eq!(outbox.next_action(), None);
    }
}
