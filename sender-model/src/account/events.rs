//! Events that wait to be committed, and alerts that are told once until they are over.

use crate::{AccountId, Event, EventKind, Request, Slot, Write, accept::event_rows};
use types::Time;

/// Something that an account is told to have once, until it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alert {
    /// There are too many free nonces.
    Gaps,
    /// There is too little money.
    Funds,
    /// The chain's counts cannot be believed.
    Doubt,
}

impl Alert {
    fn kind(self) -> EventKind {
        match self {
            Self::Gaps => EventKind::NonceGap,
            Self::Funds => EventKind::LowBalance,
            Self::Doubt => EventKind::ActionRequired,
        }
    }
}

/// The alerts that were told and are not over. Durable, so that a new owner does not tell them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Alerts {
    pub gaps: bool,
    pub funds: bool,
    pub doubt: bool,
}

impl Alerts {
    fn told(&mut self, alert: Alert) -> &mut bool {
        match alert {
            Alert::Gaps => &mut self.gaps,
            Alert::Funds => &mut self.funds,
            Alert::Doubt => &mut self.doubt,
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct EventLog {
    account: AccountId,
    /// Events told about the account.
    told: u32,
    alerts: Alerts,
    pending: Vec<(Event, Option<Vec<String>>)>,
    /// Whether `told` or `alerts` have changed, which are part of the account's row.
    changed: bool,
}

impl EventLog {
    /// The log of an account about which so many events were told.
    pub(super) fn load(account: AccountId, told: u32, alerts: Alerts) -> Self {
        Self { account, told, alerts, pending: vec![], changed: false }
    }

    /// How many events were told about the account.
    pub(super) fn told(&self) -> u32 {
        self.told
    }

    pub(super) fn alerts(&self) -> Alerts {
        self.alerts
    }

    /// Tells the newest event about a request.
    pub(super) fn about_request(
        &mut self,
        request: &Request,
        slot: Option<&Slot>,
        kind: EventKind,
        now: Time,
    ) {
        let event = Event::about_request(request, slot, kind, now);
        self.pending.push((event, request.options.webhooks.clone()));
    }

    /// Tells an event about the account.
    pub(super) fn about_account(&mut self, kind: EventKind, data: serde_json::Value, now: Time) {
        self.told += 1;
        self.changed = true;
        self.pending.push((Event::about_account(self.account, self.told, kind, data, now), None));
    }

    /// Something begins, goes on or is over: with data, or without. It is told when it begins.
    pub(super) fn alert(&mut self, alert: Alert, data: Option<serde_json::Value>, now: Time) {
        let (was, is) = (*self.alerts.told(alert), data.is_some());
        if let Some(data) = data.filter(|_| !was) {
            self.about_account(alert.kind(), data, now);
        }
        if was != is {
            *self.alerts.told(alert) = is;
            self.changed = true;
        }
    }

    /// Whether the account's part has changed. Events about requests come with a change of their request.
    pub(super) fn has_changes(&self) -> bool {
        self.changed
    }

    /// How many rows the events have: themselves, and one delivery for each endpoint.
    pub(super) fn rows(&self, endpoints: usize) -> usize {
        self.pending.len() * (1 + endpoints)
    }

    /// The rows of all events since the last commit.
    pub(super) fn take_changes(&mut self, endpoints: &[String]) -> Result<Vec<Write>, serde_json::Error> {
        self.changed = false;
        let mut writes = vec![];
        for (event, only) in std::mem::take(&mut self.pending) {
            let is_told = |name: &&String| only.as_ref().is_none_or(|only| only.contains(*name));
            let told: Vec<&String> = endpoints.iter().filter(is_told).collect();
            let rows = event_rows(&event, &told)?;
            writes.extend(rows.into_iter().map(|(key, value)| Write::Put(key, value)));
        }
        Ok(writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{account_id, request};
    use serde_json::json;

    fn events(writes: &[Write]) -> Vec<(u32, EventKind)> {
        let rows = writes.iter().filter_map(|write| match write {
            Write::Put(key, value) if key.starts_with("e/") => Some(value),
            _ => None,
        });
        let event = |row: &Vec<u8>| serde_json::from_slice::<Event>(row).unwrap();
        rows.map(event).map(|event| (event.sequence, event.kind)).collect()
    }

    #[test]
    fn an_alert_is_told_when_it_begins_and_again_after_it_was_over() {
        let mut log = EventLog::load(account_id(), 7, Alerts { funds: true, ..Alerts::default() });
        for active in [true, true, false, false, true] {
            log.alert(Alert::Gaps, active.then(|| json!({})), Time::ZERO);
        }
        // The former owner has told this one.
        log.alert(Alert::Funds, Some(json!({})), Time::ZERO);
        assert_eq!(log.alerts(), Alerts { gaps: true, funds: true, doubt: false });
        let told = events(&log.take_changes(&[]).unwrap());
        assert_eq!(told, [(8, EventKind::NonceGap), (9, EventKind::NonceGap)]);
        log.alert(Alert::Gaps, Some(json!({})), Time::ZERO);
        assert!(!log.has_changes(), "it goes on");
        log.alert(Alert::Gaps, None, Time::ZERO);
        assert!(log.has_changes(), "that it is over is durable, too");
    }

    #[test]
    fn each_event_has_a_delivery_for_each_endpoint() {
        let mut log = EventLog::load(account_id(), 0, Alerts::default());
        log.about_request(&request("a", Time::ZERO), None, EventKind::Accepted, Time::ZERO);
        assert!(!log.has_changes(), "its request has changed");
        let endpoints = ["x".to_owned(), "y".to_owned()];
        assert_eq!(log.rows(endpoints.len()), 3);
        assert_eq!(log.take_changes(&endpoints).unwrap().len(), 3);
        assert_eq!(log.rows(endpoints.len()), 0);
        // A request may name those that are told of it.
        let mut named = request("b", Time::ZERO);
        named.options.webhooks = Some(vec!["y".to_owned()]);
        log.about_request(&named, None, EventKind::Accepted, Time::ZERO);
        let writes = log.take_changes(&endpoints).unwrap();
        assert!(matches!(&writes[..], [_, Write::Put(key, _)] if key.ends_with("/y")), "{writes:?}");
    }
}
