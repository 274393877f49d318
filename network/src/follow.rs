//! Feeds a follower: what peers announce is fetched, what is missing is asked for, and words on finality are passed on.
//!
//! ```text
//!   peers ──announcements──▶ Feed ──▶ task ──CE 128, 129──▶ peers
//!                                      │
//!   driver ◀──── ChainEvent ───────────┘      the driver owns the Follower: one thread decides
//!   driver ──── want, want_state, tell ──▶
//! ```
//!
//! Blocks may come in any order and more than once; the follower takes care of that. A block is delivered only if it is
//! the one that was asked for, header and body. A peer that lags is passed over; a peer that lies is counted against.

mod fetch;
mod task;

use crate::{
    connection::Connection,
    message::{Announcement, Handshake},
    service::{Caller, Note, Service},
};
use async_trait::async_trait;
use jam::{
    Block, Ed25519Key, Hash, HeaderHash, Params,
    codec::{Bytes, Decode},
    follow::{Follower, Update},
    spec::StateKey,
    state::{RecentBlocks, StateIndex},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// How much is kept and asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowLimits {
    /// Events that wait for the driver; then peers wait.
    pub events_waiting_max: usize,
    /// What was heard and is not looked at yet; then peers wait.
    pub heard_waiting_max: usize,
    /// Requests under way.
    pub fetches_max: usize,
    /// Blocks that are known to have been delivered, so that an announcement by the next peer is not fetched again.
    pub seen_max: usize,
    /// Missing ancestors that are asked for at once.
    pub ancestors: u32,
    /// Blocks that are asked for at once when we are far behind.
    pub catch_up: u32,
    /// We are far behind if a peer is so many slots ahead.
    pub behind_slots: u32,
    /// Leaves of a peer's that are looked at.
    pub leaves_max: usize,
    /// Requests for state that wait.
    pub states_waiting_max: usize,
}

impl Default for FollowLimits {
    fn default() -> Self {
        Self {
            events_waiting_max: 256,
            heard_waiting_max: 256,
            fetches_max: 16,
            seen_max: 4096,
            ancestors: 32,
            catch_up: 128,
            behind_slots: 24,
            leaves_max: 16,
            states_waiting_max: 64,
        }
    }
}

/// What the driver is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChainEvent {
    /// A block, checked to be what its header commits to.
    Block {
        /// The block.
        block: Box<Block>,
        /// Who gave it.
        from: Ed25519Key,
    },
    /// A peer's word that a block is final.
    Final {
        /// The peer, perhaps a validator.
        validator: Ed25519Key,
        /// The block.
        hash: HeaderHash,
        /// Its slot.
        slot: u32,
    },
    /// A peer announced a new block. That says something about the time, even if the block is already here.
    Announced {
        /// The peer, perhaps a validator.
        validator: Ed25519Key,
        /// The block's slot.
        slot: u32,
    },
    /// No peer has a block that was wanted.
    Unavailable {
        /// The block.
        hash: HeaderHash,
    },
    /// The state that was wanted, proved to belong to `root`.
    State {
        /// The block after which it is.
        header: HeaderHash,
        /// The state root that it proves.
        root: Hash,
        /// The keys asked for that exist, and their values.
        entries: BTreeMap<StateKey, Bytes>,
        /// Who gave it.
        from: Vec<Ed25519Key>,
    },
    /// Not enough peers gave the state that was wanted.
    StateUnavailable {
        /// The block.
        header: HeaderHash,
    },
    /// A peer has come or gone.
    Peer {
        /// Who.
        key: Ed25519Key,
        /// Whether it is connected now.
        connected: bool,
    },
}

impl ChainEvent {
    /// Tells a follower, and says what that changed. A driver that looks at all updates misses nothing.
    pub fn apply(self, follower: &mut Follower) -> Update {
        match self {
            Self::Block { block, .. } => follower.import(*block),
            Self::Final { validator, hash, slot } => follower.claim_final(validator, hash, slot),
            Self::Unavailable { hash } => {
                follower.unavailable(hash);
                Update::default()
            }
            Self::State { entries, .. } => {
                if let Some(recent) = recent_blocks(&entries, follower.params()) {
                    follower.learn_roots(&recent);
                }
                Update::default()
            }
            Self::StateUnavailable { .. } | Self::Peer { .. } | Self::Announced { .. } => Update::default(),
        }
    }
}

fn recent_blocks(entries: &BTreeMap<StateKey, Bytes>, params: &Params) -> Option<RecentBlocks> {
    RecentBlocks::decode(entries.get(&StateIndex::RecentBlocks.key())?, params).ok()
}

/// A part of a state that the driver wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateWanted {
    /// The block after which it is.
    pub header: HeaderHash,
    /// The state root, if it is known. Then one peer's answer suffices, since it is checked.
    pub root: Option<Hash>,
    /// The keys.
    pub keys: Vec<StateKey>,
    /// How many peers must say the same if the root is not known.
    pub agreement: usize,
}

impl StateWanted {
    /// The parts that decide about packages (3, 6, 8 to 11), and `more` keys, such as those of a service's storage.
    pub fn of_chain(header: HeaderHash, root: Option<Hash>, more: &[StateKey], agreement: usize) -> Self {
        use StateIndex::{Entropy, PendingReports, PreviousValidators, Slot, Validators};
        let parts = [StateIndex::RecentBlocks, Entropy, Validators, PreviousValidators, PendingReports, Slot];
        let keys = parts.map(StateIndex::key).into_iter().chain(more.iter().copied()).collect();
        Self { header, root, keys, agreement }
    }
}

/// What a peer said.
pub(crate) enum Heard {
    Greeting(Handshake),
    Announcement(Box<Announcement>),
}

/// The service that hears what peers announce. It serves nothing.
pub struct Feed {
    status: Mutex<Handshake>,
    connections: Mutex<BTreeMap<Ed25519Key, Connection>>,
    heard: mpsc::Sender<(Ed25519Key, Heard)>,
    /// Counts comings and goings.
    moves: watch::Sender<u64>,
}

impl Feed {
    fn connections(&self) -> MutexGuard<'_, BTreeMap<Ed25519Key, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> MutexGuard<'_, Handshake> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn hear(&self, caller: &Caller, heard: Heard) {
        // The task is gone only when following has ended.
        let _ = self.heard.send((caller.key, heard)).await;
    }
}

#[async_trait]
impl Service for Feed {
    fn connected(&self, connection: &Connection) {
        self.connections().insert(connection.peer(), connection.clone());
        self.moves.send_modify(|count| *count += 1);
    }

    fn disconnected(&self, peer: Ed25519Key) {
        // There may be another connection to the same peer already.
        let mut connections = self.connections();
        if connections.get(&peer).is_some_and(|connection| !connection.is_open()) {
            connections.remove(&peer);
        }
        drop(connections);
        self.moves.send_modify(|count| *count += 1);
    }

    fn noted(&self, note: Note) {
        tracing::debug!(?note, "network");
    }

    fn handshake(&self) -> Option<Handshake> {
        Some(self.status().clone())
    }

    async fn greeted(&self, caller: &Caller, handshake: Handshake) {
        self.hear(caller, Heard::Greeting(handshake)).await;
    }

    async fn announced(&self, caller: &Caller, announcement: Announcement) {
        self.hear(caller, Heard::Announcement(Box::new(announcement))).await;
    }
}

/// The driver's end: events come out, wishes go in. Following ends when it is dropped.
pub struct Follow {
    feed: Arc<Feed>,
    events: mpsc::Receiver<ChainEvent>,
    wanted: watch::Sender<Vec<HeaderHash>>,
    states: mpsc::Sender<StateWanted>,
    task: JoinHandle<()>,
}

impl Follow {
    /// Begins, with what we tell peers about ourselves. The feed is the service to [bind](crate::Endpoint::bind) with.
    pub fn start(status: Handshake, limits: FollowLimits) -> (Arc<Feed>, Self) {
        let (heard, hearing) = mpsc::channel(limits.heard_waiting_max.max(1));
        let moves = watch::Sender::new(0);
        let moving = moves.subscribe();
        let (event_sender, events) = mpsc::channel(limits.events_waiting_max.max(1));
        let (states, states_wanted) = mpsc::channel(limits.states_waiting_max.max(1));
        let wanted = watch::Sender::new(vec![]);
        let feed = Arc::new(Feed { status: Mutex::new(status), connections: Mutex::default(), heard, moves });
        let inputs = task::Inputs { hearing, moving, wanted: wanted.subscribe(), states: states_wanted };
        let task = tokio::spawn(task::run(feed.clone(), limits, inputs, event_sender));
        (feed.clone(), Self { feed, events, wanted, states, task })
    }

    /// The next event; `None` never comes while the task runs.
    pub async fn next(&mut self) -> Option<ChainEvent> {
        self.events.recv().await
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<ChainEvent> {
        self.events.try_recv().ok()
    }

    /// Blocks to get, as [`Follower::wanted`] says. Replaces what was wanted before.
    pub fn want(&self, blocks: Vec<HeaderHash>) {
        self.wanted.send_replace(blocks);
    }

    /// A part of a state to get; whether there is room for the wish.
    pub fn want_state(&self, wanted: StateWanted) -> bool {
        self.states.try_send(wanted).is_ok()
    }

    /// What we tell peers from now on: the finalized block and the best one of a follower.
    pub fn tell(&self, follower: &Follower) {
        self.set_status(Handshake::of(follower));
    }

    /// What we tell peers from now on.
    pub fn set_status(&self, status: Handshake) {
        *self.feed.status() = status;
    }

    /// What a peer sent was a lie: counts against it.
    pub fn blame(&self, peer: Ed25519Key, why: &'static str) {
        let connection = self.feed.connections().get(&peer).cloned();
        if let Some(connection) = connection {
            connection.misbehaved(why);
        }
    }

    /// Peers that are connected.
    pub fn peers(&self) -> Vec<Ed25519Key> {
        self.feed.connections().keys().copied().collect()
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.task.abort();
    }
}
