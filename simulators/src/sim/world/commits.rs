//! The disk: what the driver decided becomes durable and then happens; or the process ends there and starts again from what is.

use super::{Due, Simulation};
use crate::sim::{
    blocks::Kind,
    faults::Fault,
    node::{Node, Setup, Undurable, slots},
};
use driver::{Batch, Output, journal::Entry};
use jam::hash::blake2b;
use queue::Queue;
use types::{Event, Reason, Time};

/// Clocks differ by this much anyway.
const CLOCK_SLACK_MS: u64 = 60_000;

impl<K: Kind> Simulation<K> {
    /// Makes durable what the driver gave, and lets happen what may happen then; or the process ends there.
    pub(super) fn commit(&mut self) {
        let Some(node) = &self.node else { return };
        if self.is_disk_busy || node.undurable.is_empty() {
            return;
        }
        if self.strikes(Fault::SlowDisk) {
            self.is_disk_busy = true;
            let ms = if self.rng.chance(100) { self.rng.within(1000, 8000) } else { self.rng.within(1, 400) };
            return self.later(ms, Due::Durable(self.starts));
        }
        let Some(node) = &mut self.node else { return };
        let mut group = std::mem::take(&mut node.undurable);
        let mut batch = Batch::default();
        group.iter_mut().for_each(|undurable| batch.append(&mut undurable.output.batch));
        // A release is the largest step there is; crashes look for it.
        let releases = batch.entries().iter().any(|entry| matches!(entry, Entry::Returned(_)));
        let tries = if releases { 10 } else { 1 };
        let crashes = !batch.is_empty() && (0..tries).any(|_| self.strikes(Fault::CrashAtCommit));
        let is_written = !crashes || !self.rng.chance(500);
        if is_written {
            self.write(batch);
            self.queue_now = group.back().map(|undurable| undurable.queue.clone());
        }
        if crashes {
            self.note(|| "crashed at a commit".into());
            return self.plan_restart();
        }
        for Undurable { output, .. } in group {
            self.publish(output);
        }
        self.step_if_due();
    }

    /// Answers of a commit may have given the driver something to do.
    fn step_if_due(&mut self) {
        let true_ms = self.true_ms;
        if let Some(0) = self.node.as_mut().and_then(|node| node.rest_ms(true_ms)) {
            self.later(0, Due::Wake(self.steps));
        }
    }

    fn write(&mut self, batch: Batch<K::Sealed>) {
        let ttl = txpool::Config::default().ttl;
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        for entry in batch.entries() {
            match entry {
                Entry::Accepted { tx, .. } => drop(self.first_seen.insert(tx.hash(), self.true_ms)),
                Entry::Ended { hash, reason: Reason::Expired, .. } => {
                    let since = self.first_seen.get(hash).copied().unwrap_or(0);
                    let lived_ms = self.true_ms - since + CLOCK_SLACK_MS;
                    self.checker.on_expired(*hash, lived_ms, ttl_ms);
                }
                _ => {}
            }
        }
        self.journal.commit(batch);
    }

    /// What a durable output lets happen.
    fn publish(&mut self, output: Output<K>) {
        for event in &output.news.events {
            self.event(event, output.news.at);
        }
        self.checker.on_release();
        output.answers.into_iter().for_each(|(answer, results)| answer.tell(results));
        for outgoing in output.sends {
            self.send(&outgoing);
        }
    }

    fn event(&mut self, event: &Event, now: Time) {
        self.duplicate_guarantees += u64::from(matches!(event, Event::DuplicateGuarantee { .. }));
        self.log =
            blake2b(&[self.log.as_slice(), event.to_string().as_bytes(), &now.as_millis().to_le_bytes()]);
        self.note(|| event.to_string());
        self.checker.on_event(event);
    }

    pub(super) fn crash(&mut self) {
        if self.node.is_some() {
            self.note(|| "crashed".into());
            self.plan_restart();
        }
    }

    /// The process is gone, with all that was not durable.
    fn plan_restart(&mut self) {
        self.node = None;
        self.is_disk_busy = false;
        self.starts += 1;
        let delay = self.rng.within(500, 30_000);
        self.later(delay, Due::Restart);
    }

    pub(super) fn restart(&mut self) {
        let config = self.options.queue_config();
        if let Some(expected) = self.queue_now.take() {
            let (finalized, records) = (self.journal.finalized(), self.journal.records().iter().cloned());
            let replayed = Queue::replay(config.clone(), slots(), finalized, records);
            if replayed.map(|queue| queue.journal_state()) != Ok(expected) {
                let what = "14: recovery differs from the twin that never crashed";
                self.checker.violations.push(what.into());
            }
        }
        self.checker.on_quiet::<K>(None, &self.journal);
        self.checker.on_start();
        let setup = Setup {
            queue: config,
            genesis: K::genesis(&self.setup),
            mistake: self.options.driver_mistake(),
            service_mistake: self.options.service_mistake(),
        };
        let kept = self.journal.recover(&self.setup);
        let node = Node::start(setup, &self.network, kept, self.true_ms, self.wall_offset_ms);
        let mut node = match node {
            Ok(node) => node,
            Err(why) => return self.checker.violations.push(format!("14: no recovery: {why}")),
        };
        let finalized = self.network.truth.finalized();
        node.claims(&self.network.validators()[..5], finalized.hash, finalized.slot);
        self.note(|| "started".into());
        self.node = Some(node);
        self.tell_peers();
        self.step();
    }
}
