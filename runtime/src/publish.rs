//! What happens once an output is durable, and what the network is asked for after each step.

use super::{
    Blocks, Driver, Job,
    driving::{Command, Unanswered, World},
    methods::Guarantors,
    relay::{self, Wish},
    shown::Step,
};
use clock::{Reading, SystemClock};
use driver::News;
use jam::{Ed25519Key, HeaderHash, Params, SlotClock};
use network::{Endpoint, Handshake, StateWanted};
use observe::Observer;
use rpc::{Feed, PoolIndex, Snapshot};
use std::sync::{Arc, mpsc::Sender};
use tokio::sync::mpsc::UnboundedSender;
use tracing::Instrument;
use types::Time;

/// So many peers must say the same about a state whose root is not known.
const AGREEMENT: usize = 2;

/// Readers, clients and validators, as the journal's thread reaches them.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) feed: Feed,
    pub(super) index: Arc<PoolIndex>,
    pub(super) observer: Arc<Observer>,
    pub(super) endpoint: Endpoint,
    pub(super) params: Params,
    pub(super) clock: SystemClock,
    pub(super) commands: Sender<Command>,
    pub(super) unanswered: Unanswered,
    pub(super) runtime: tokio::runtime::Handle,
}

impl Publisher {
    /// Lets happen what may happen now: first readers see it, then clients hear it, then packages leave.
    pub(super) fn publish(&self, step: Step) {
        let Step { news, snapshot, answers, sends, .. } = step;
        self.show(news, snapshot);
        self.unanswered.remove(answers.len());
        for (answer, results) in answers {
            answer.tell(results);
        }
        for outgoing in sends {
            let (endpoint, clock) = (self.endpoint.clone(), self.clock.clone());
            let (bundle, version, core) = (outgoing.run().first.number, outgoing.version, outgoing.core);
            let span = tracing::info_span!(target: "queue", "send", bundle, version, core);
            let send = relay::send(endpoint, outgoing, self.params, clock, self.commands.clone());
            self.runtime.spawn(send.instrument(span));
        }
    }

    fn show(&self, news: News<Blocks>, snapshot: Option<Snapshot>) {
        let News { at, accepted, nonces, events, .. } = news;
        for (tx, since, pending) in accepted {
            self.index.insert(tx, since, pending);
        }
        for (sender, nonce) in nonces {
            self.index.set_next_nonce(sender, nonce);
        }
        // Before the index forgets what became final.
        self.observer.note(at, &events, snapshot.as_ref(), &self.index);
        self.index.note(&events, at);
        if let Some(snapshot) = snapshot {
            self.feed.publish(snapshot);
        }
        self.feed.tell(at, events);
    }
}

/// What the driver wants of the network, told when it changes.
#[derive(Debug)]
pub(super) struct Wishes {
    clock: SystemClock,
    /// Blocks to be packed, for the thread that packs.
    jobs: Sender<Job>,
    wishes: UnboundedSender<Wish>,
    slots: SlotClock,
    /// How much the driver had been told of the chain when it was last looked at, and in which slot that was.
    seen: Option<(u64, u32)>,
    blocks: Vec<HeaderHash>,
    status: Option<Handshake>,
    /// The block whose state was asked for last, and in which slot.
    state: Option<(HeaderHash, u32)>,
    /// Who guarantees on each core, for those who ask.
    guarantors: Guarantors,
    /// The slot in which they were last noted.
    noted: Option<u32>,
}

impl Wishes {
    pub(super) const fn new(
        clock: SystemClock,
        wishes: UnboundedSender<Wish>,
        slots: SlotClock,
        guarantors: Guarantors,
        jobs: Sender<Job>,
    ) -> Self {
        Self {
            clock,
            jobs,
            wishes,
            slots,
            seen: None,
            blocks: vec![],
            status: None,
            state: None,
            guarantors,
            noted: None,
        }
    }

    fn wish(&self, wish: Wish) {
        // The network is gone only when the node shuts down.
        drop(self.wishes.send(wish));
    }

    /// Once in a slot, and as soon as they can be known.
    fn note_guarantors(&mut self, driver: &Driver) {
        let slot = self.slots.slot_at(self.clock.now());
        if self.noted == Some(slot) {
            return;
        }
        let view = driver.follower().view();
        let cores = 0..driver.follower().params().cores;
        let guarantors = cores.map(|core| view.guarantors(core, slot)).collect::<Vec<_>>();
        self.noted = guarantors.iter().any(|core| !core.is_empty()).then_some(slot);
        *self.guarantors.lock() = guarantors;
    }

    /// The state after the best block's parent is proved by the best block's header.
    fn want_state(&mut self, driver: &Driver) {
        let view = driver.follower().view();
        let unknown = view.recent().skip(1).find(|block| block.state_root.is_some());
        let Some(block) = unknown.filter(|block| block.beefy_root.is_none()) else { return };
        let asked = (block.hash, self.slots.slot_at(self.clock.now()));
        if self.state == Some(asked) {
            return;
        }
        self.state = Some(asked);
        let keys = driver.service_keys();
        self.wish(Wish::State(StateWanted::of_chain(block.hash, block.state_root, &keys, AGREEMENT)));
    }
}

impl World for Wishes {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn is_time_confirmed(&self) -> bool {
        self.clock.is_confirmed()
    }

    /// Only validators of the present epoch say anything about the time: anybody can connect.
    fn announced(&mut self, driver: &Driver, validator: Ed25519Key, slot: u32, at: Reading) {
        if driver.follower().view().epoch().current.has_voter(&validator) {
            self.clock.announced(validator.0.0, self.slots.start_of(slot), at);
        }
    }

    fn pack(&mut self, job: Job) {
        // Without a packer the node is about to end.
        drop(self.jobs.send(job));
    }

    fn stepped(&mut self, driver: &Driver) {
        let seen = Some((driver.chain_news(), self.slots.slot_at(self.clock.now())));
        if seen == self.seen {
            return;
        }
        self.seen = seen;
        let blocks = driver.wanted();
        if blocks != self.blocks {
            self.blocks = blocks;
            self.wish(Wish::Blocks(self.blocks.clone()));
        }
        let status = Handshake::of(driver.follower());
        if self.status.as_ref() != Some(&status) {
            self.status = Some(status.clone());
            self.wish(Wish::Status(status));
        }
        self.want_state(driver);
        self.note_guarantors(driver);
    }
}
