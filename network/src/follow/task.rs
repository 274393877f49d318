//! The task between peers and driver: decides what is fetched from whom.

use super::{
    ChainEvent, Feed, FollowLimits, Heard, StateWanted,
    fetch::{self, Fetched},
};
use crate::message::{Announcement, BlockId, Handshake};
use jam::{Block, Ed25519Key, HeaderHash};
use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

/// What the task hears.
pub(super) struct Inputs {
    pub(super) hearing: mpsc::Receiver<(Ed25519Key, Heard)>,
    pub(super) moving: watch::Receiver<u64>,
    pub(super) wanted: watch::Receiver<Vec<HeaderHash>>,
    pub(super) states: mpsc::Receiver<StateWanted>,
}

/// The last so many hashes.
struct Seen {
    max: usize,
    order: VecDeque<HeaderHash>,
    set: HashSet<HeaderHash>,
}

impl Seen {
    /// Whether it is new.
    fn note(&mut self, hash: HeaderHash) -> bool {
        if !self.set.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
        true
    }
}

struct Task {
    feed: Arc<Feed>,
    limits: FollowLimits,
    events: mpsc::Sender<ChainEvent>,
    fetches: JoinSet<Fetched>,
    /// Blocks that are being fetched.
    fetching: HashSet<HeaderHash>,
    /// Blocks to fetch as soon as there is room, and who has them.
    queue: VecDeque<(HeaderHash, Option<Ed25519Key>)>,
    /// What the driver wants, and how often each has been asked for.
    wanted: HashMap<HeaderHash, u32>,
    seen: Seen,
    /// The peers that the driver knows to be connected.
    peers: BTreeSet<Ed25519Key>,
    /// The last word on finality of each peer that is connected.
    finals: HashMap<Ed25519Key, BlockId>,
    catching_up: bool,
}

pub(super) async fn run(
    feed: Arc<Feed>,
    limits: FollowLimits,
    mut inputs: Inputs,
    events: mpsc::Sender<ChainEvent>,
) {
    let seen = Seen { max: limits.seen_max, order: VecDeque::new(), set: HashSet::new() };
    let mut task = Task {
        feed,
        limits,
        events,
        fetches: JoinSet::new(),
        fetching: HashSet::new(),
        queue: VecDeque::new(),
        wanted: HashMap::new(),
        seen,
        peers: BTreeSet::new(),
        finals: HashMap::new(),
        catching_up: false,
    };
    loop {
        let room = task.fetches.len() < limits.fetches_max;
        tokio::select! {
            Some(fetched) = task.fetches.join_next() => {
                if let Ok(fetched) = fetched {
                    task.fetched(fetched).await;
                }
            }
            Ok(()) = inputs.moving.changed() => task.moved().await,
            Ok(()) = inputs.wanted.changed() => {
                let wanted = inputs.wanted.borrow_and_update().clone();
                task.want(&wanted);
            }
            Some(wanted) = inputs.states.recv(), if room => {
                task.fetches.spawn(fetch::state(task.feed.clone(), wanted));
            }
            Some((peer, heard)) = inputs.hearing.recv(), if room => task.heard(peer, heard).await,
            else => return,
        }
        task.fetch_queued();
    }
}

impl Task {
    async fn emit(&self, event: ChainEvent) {
        // Without a driver the task is about to be ended.
        let _ = self.events.send(event).await;
    }

    /// Peers have come or gone since it was looked last.
    async fn moved(&mut self) {
        let there = self.feed.connections().keys().copied().collect::<BTreeSet<_>>();
        let before = std::mem::replace(&mut self.peers, there.clone());
        for key in before.symmetric_difference(&there) {
            let connected = there.contains(key);
            if !connected {
                self.finals.remove(key);
            }
            self.emit(ChainEvent::Peer { key: *key, connected }).await;
        }
    }

    async fn heard(&mut self, peer: Ed25519Key, heard: Heard) {
        match heard {
            Heard::Greeting(Handshake { finalized, leaves }) => {
                self.finality(peer, finalized).await;
                for leaf in leaves.into_iter().take(self.limits.leaves_max) {
                    self.offered(peer, leaf.hash, leaf.slot);
                }
                self.offered(peer, finalized.hash, finalized.slot);
            }
            Heard::Announcement(announcement) => {
                let Announcement { header, finalized } = *announcement;
                self.emit(ChainEvent::Announced { validator: peer, slot: header.slot }).await;
                self.finality(peer, finalized).await;
                self.offered(peer, header.hash(), header.slot);
            }
        }
    }

    async fn finality(&mut self, peer: Ed25519Key, finalized: BlockId) {
        if self.finals.insert(peer, finalized) != Some(finalized) {
            let BlockId { hash, slot } = finalized;
            self.emit(ChainEvent::Final { validator: peer, hash, slot }).await;
        }
    }

    /// A peer has a block.
    fn offered(&mut self, peer: Ed25519Key, hash: HeaderHash, slot: u32) {
        let (finalized, best) = self.own();
        if slot <= finalized.slot || hash == best.hash {
            return;
        }
        if slot > best.slot.saturating_add(self.limits.behind_slots) && !self.catching_up {
            self.catch_up(peer, vec![best.hash, finalized.hash]);
        }
        if !self.seen.set.contains(&hash) && !self.fetching.contains(&hash) {
            self.enqueue(hash, Some(peer));
        }
    }

    /// What we have told last: the finalized block and the best one.
    fn own(&self) -> (BlockId, BlockId) {
        let status = self.feed.status();
        let best = status.leaves.iter().max_by_key(|leaf| leaf.slot).copied();
        (status.finalized, best.unwrap_or(status.finalized))
    }

    fn catch_up(&mut self, peer: Ed25519Key, starts: Vec<HeaderHash>) {
        let Some(connection) = self.feed.connections().get(&peer).cloned() else { return };
        self.catching_up = true;
        self.fetches.spawn(fetch::above(connection, starts, self.limits.catch_up));
    }

    fn want(&mut self, wanted: &[HeaderHash]) {
        self.wanted.retain(|hash, _| wanted.contains(hash));
        for hash in wanted {
            self.wanted.entry(*hash).or_default();
            self.enqueue(*hash, None);
        }
    }

    fn enqueue(&mut self, hash: HeaderHash, from: Option<Ed25519Key>) {
        let waiting = self.queue.iter().any(|(queued, _)| *queued == hash);
        // What does not fit is announced again by its descendants, or wanted.
        if !waiting && !self.fetching.contains(&hash) && self.queue.len() < self.limits.heard_waiting_max {
            self.queue.push_back((hash, from));
        }
    }

    fn fetch_queued(&mut self) {
        while self.fetches.len() < self.limits.fetches_max
            && let Some((hash, from)) = self.queue.pop_front()
        {
            let (max, attempts) = match self.wanted.get_mut(&hash) {
                None => (1, 0),
                Some(attempts) => {
                    *attempts += 1;
                    (self.limits.ancestors, *attempts - 1)
                }
            };
            self.fetching.insert(hash);
            self.fetches.spawn(fetch::block(self.feed.clone(), hash, from, max, attempts));
        }
    }

    async fn fetched(&mut self, fetched: Fetched) {
        match fetched {
            Fetched::Blocks { hash, blocks, from } => {
                self.fetching.remove(&hash);
                self.deliver(blocks, from).await;
            }
            Fetched::Nothing { hash } => {
                self.fetching.remove(&hash);
                if self.wanted.contains_key(&hash) {
                    self.emit(ChainEvent::Unavailable { hash }).await;
                }
            }
            Fetched::Above { blocks, from, more } => {
                self.catching_up = false;
                let last = blocks.last().map(|block| block.header.hash());
                self.deliver(blocks, from).await;
                if let (Some(last), true) = (last, more) {
                    self.catch_up(from, vec![last]);
                }
            }
            Fetched::State { header, state } => {
                let event = match state {
                    Some(((root, entries), from)) => ChainEvent::State { header, root, entries, from },
                    None => ChainEvent::StateUnavailable { header },
                };
                self.emit(event).await;
            }
        }
    }

    async fn deliver(&mut self, blocks: Vec<Block>, from: Ed25519Key) {
        for block in blocks {
            let hash = block.header.hash();
            // What is wanted has been forgotten by the follower, or never reached it.
            if self.seen.note(hash) || self.wanted.contains_key(&hash) {
                self.emit(ChainEvent::Block { block: Box::new(block), from }).await;
            }
        }
    }
}
