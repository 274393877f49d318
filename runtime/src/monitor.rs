//! Gathers the facts of a running node.

use crate::{Guarantors, WriterHealth, reach};
use ::clock::SystemClock;
use jam::SlotClock;
use network::Endpoint;
use observe::{
    Observer,
    health::{Abandoned, Accounts, Facts, Health, Jam, Queue, Validators},
};
use queue::State;
use rpc::{Feed, Snapshot};
use std::sync::Arc;
use store::Store;

/// See the [module](self).
pub(crate) struct Monitor {
    pub(crate) feed: Feed,
    pub(crate) observer: Arc<Observer>,
    pub(crate) store: Store,
    pub(crate) writer: WriterHealth,
    pub(crate) clock: SystemClock,
    pub(crate) endpoint: Endpoint,
    /// Who guarantees on each core.
    pub(crate) guarantors: Guarantors,
    /// Managed accounts, if there are some.
    pub(crate) sender: Option<::sender::Sender>,
    pub(crate) slots: SlotClock,
    pub(crate) validators: usize,
    pub(crate) queue: queue::Config,
    pub(crate) dry_run: bool,
}

impl Monitor {
    /// How healthy the node is now.
    pub(crate) fn health(&self) -> Health {
        Health::of(&self.facts())
    }

    fn facts(&self) -> Facts {
        let snapshot = self.feed.snapshot();
        let alarmed = |alarm| self.observer.alarms(alarm) > 0;
        Facts {
            now: self.clock.now(),
            standing: self.clock.standing(),
            clock: self.slots,
            journal_error: self.writer.trouble(),
            foreign_head: snapshot.queue.halted,
            executed_twice: self.store.stats().repeated,
            service_differs: alarmed("service_differs"),
            service_unreadable: alarmed("service_unreadable"),
            paused: snapshot.health.paused,
            dry_run: self.dry_run,
            validators: self.validators(&snapshot),
            jam: self.jam(&snapshot),
            queue: self.queue(&snapshot.queue),
            missed_at: self.observer.missed_at(),
            accounts: self.sender.as_ref().map(accounts).unwrap_or_default(),
        }
    }

    fn validators(&self, snapshot: &Snapshot) -> Validators {
        let cores = reach(&self.guarantors, &self.endpoint);
        let unreached = cores.iter().filter(|core| core.guarantors > 0 && core.connected == 0).count();
        Validators {
            connected: snapshot.health.peers,
            of: self.validators,
            cores: usize::from(self.queue.cores),
            unreached,
        }
    }

    fn jam(&self, snapshot: &Snapshot) -> Jam {
        let outlook = snapshot.insight.outlook.as_deref();
        Jam {
            best_slot: snapshot.health.best_slot,
            catching_up: snapshot.health.syncing,
            finality_lag_blocks: outlook.map_or(0, queue::Outlook::finality_lag),
            finality_lag_blocks_max: self.queue.finality_lag_blocks,
        }
    }

    fn queue(&self, queue: &queue::Snapshot) -> Queue {
        let (bundles, unbundled) = (&queue.bundles, queue.unbundled.as_ref());
        let queued = bundles.iter().filter(|bundle| matches!(bundle.state, State::Queued { .. }));
        let queued = queued.map(|bundle| bundle.run.blocks()).sum::<u64>();
        let waiting = queued + unbundled.map_or(0, |unbundled| unbundled.run.blocks());
        let oldest = bundles.first().map(|bundle| (bundle.number(), bundle.sealed_at()));
        let last = bundles.last().and_then(|bundle| bundle.blocks.last());
        let newest = unbundled.map(|unbundled| unbundled.run.last.number);
        let newest = newest.or(last.map(|block| block.id.number)).unwrap_or(queue.base.number);
        let is_deep = self.queue.max_depth.is_some_and(|max| waiting >= max as u64);
        Queue {
            waiting,
            waiting_bytes: unbundled.map_or(0, |unbundled| unbundled.size.bytes),
            is_full: is_deep || queue.fullness >= 1000,
            oldest: oldest.or(unbundled.map(|unbundled| (unbundled.run.first.number, unbundled.since))),
            newest_at: queue.newest_at,
            abandoned: queue.abandoned_from.map(|from| {
                let blocks = usize::try_from(newest.saturating_sub(from) + 1).unwrap_or(usize::MAX);
                Abandoned { from, blocks }
            }),
        }
    }
}

fn accounts(sender: &::sender::Sender) -> Accounts {
    let (degraded, stuck) = sender.troubled();
    Accounts { store_error: sender.store_trouble(), degraded, stuck }
}
