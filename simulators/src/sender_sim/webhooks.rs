//! Deliveries, and receivers that fail.

use super::{
    check::Checker,
    faults::Fault,
    world::{Committing, Simulation},
};
use sender_model::{Config, Delivery, Event, Subject, delivery, key};
use std::collections::{BTreeMap, BTreeSet};

/// What the receivers have got.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    got: BTreeMap<(String, Subject), BTreeSet<u32>>,
    bodies: BTreeMap<String, Vec<u8>>,
}

impl Receivers {
    /// Takes an event; the same name must always bear the same body.
    fn take(&mut self, endpoint: &str, event: &Event, body: &[u8], checker: &mut Checker) {
        let known = self.bodies.entry(event.id()).or_insert_with(|| body.to_vec());
        if known != body {
            checker.violations.push(format!("W2: {} has two bodies", event.id()));
        }
        self.got.entry((endpoint.to_owned(), event.subject.clone())).or_default().insert(event.sequence);
    }

    /// At the end everybody has everything that is not a dead letter.
    pub(super) fn check(&self, checker: &mut Checker, config: &Config) {
        for (subject, events) in checker.events() {
            for endpoint in &config.endpoints {
                let got = self.got.get(&(endpoint.clone(), subject.clone()));
                let dead = |sequence: &u32| checker.is_dead(endpoint, &subject, *sequence);
                let missing = (1..=events)
                    .find(|sequence| !got.is_some_and(|got| got.contains(sequence)) && !dead(sequence));
                if let Some(sequence) = missing {
                    checker.violations.push(format!("W2: {endpoint} was never told {subject} {sequence}"));
                }
            }
        }
    }
}

impl Simulation {
    /// Delivers what is due, and records how it went.
    pub(super) fn deliver(&mut self, owner: usize) {
        let Some(epoch) = self.workers[owner].account.as_ref().map(|account| account.epoch()) else { return };
        let rows = self.world.store.rows(&key::deliveries(self.world.id), None, 60);
        let deliveries: Vec<Delivery> =
            rows.iter().filter_map(|(_, row)| serde_json::from_slice(row).ok()).collect();
        let due: Vec<Delivery> =
            delivery::due(&deliveries, self.world.now()).into_iter().take(12).cloned().collect();
        for delivery in due {
            let fails = self.world.strikes(Fault::ReceiverFails);
            if !fails || self.world.rng.chance(300) {
                let body = self.world.store.row(&delivery.event_key()).unwrap_or_default();
                match serde_json::from_slice::<Event>(&body) {
                    Ok(event) => {
                        self.receivers.take(&delivery.endpoint, &event, &body, &mut self.world.checker);
                    }
                    Err(_) => {
                        self.world.checker.violations.push("W1: a delivery has no event".into());
                        return;
                    }
                }
            }
            let commit =
                if fails { delivery.fail(epoch, None, self.world.now()) } else { delivery.succeed(epoch) };
            let Ok(commit) = commit else { return };
            if self.world.commit(&commit, None) != Committing::Done {
                return;
            }
        }
    }
}
