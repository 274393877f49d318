//! Keeps connections to a set of peers: dials again with growing pauses whoever is not there.

use crate::{endpoint::Endpoint, patience::Backoff};
use jam::{Ed25519Key, spec::Bootnode};
use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};

/// A connection that held this long was a good one.
const GOOD: Duration = Duration::from_secs(10);

/// How it stands with a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerStatus {
    /// Where it is.
    pub addr: SocketAddr,
    /// Whether it is connected.
    pub connected: bool,
    /// Attempts that failed since the last success.
    pub failures: u32,
    /// Why the last attempt failed or the last connection ended.
    pub last_error: Option<String>,
}

type Statuses = Arc<Mutex<BTreeMap<Ed25519Key, PeerStatus>>>;

/// Keeps connections to a set of peers, until it is dropped.
#[derive(Debug)]
pub struct Peers {
    endpoint: Endpoint,
    seed: u64,
    statuses: Statuses,
    tasks: HashMap<Bootnode, JoinHandle<()>>,
}

impl Peers {
    /// Begins with no peers. The seed makes the pauses between attempts differ from those of others.
    pub fn new(endpoint: Endpoint, seed: u64) -> Self {
        Self { endpoint, seed, statuses: Statuses::default(), tasks: HashMap::new() }
    }

    /// Keeps connections to these peers from now on. Those that are not among them any longer are let go.
    pub fn set(&mut self, nodes: impl IntoIterator<Item = Bootnode>) {
        let own = self.endpoint.key();
        let nodes = nodes.into_iter().filter(|node| node.key != own);
        let nodes = nodes.map(|node| (node.key, node)).collect::<BTreeMap<_, _>>();
        self.endpoint.prefer(nodes.keys().copied());
        let gone = self.tasks.keys().filter(|node| nodes.get(&node.key) != Some(*node)).copied();
        for node in gone.collect::<Vec<_>>() {
            self.let_go(&node);
        }
        for node in nodes.into_values() {
            let (endpoint, statuses) = (self.endpoint.clone(), self.statuses.clone());
            let seed = self.seed ^ u64::from_le_bytes(node.key[..8].try_into().unwrap_or_default());
            self.tasks.entry(node).or_insert_with(|| tokio::spawn(keep(endpoint, node, statuses, seed)));
        }
    }

    fn let_go(&mut self, node: &Bootnode) {
        if let Some(task) = self.tasks.remove(node) {
            task.abort();
        }
        lock(&self.statuses).remove(&node.key);
        if let Some(connection) = self.endpoint.connection(&node.key).filter(|open| open.is_dialled()) {
            connection.close();
        }
    }

    /// How it stands with each.
    pub fn status(&self) -> BTreeMap<Ed25519Key, PeerStatus> {
        lock(&self.statuses).clone()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.tasks.values().for_each(JoinHandle::abort);
    }
}

fn lock(statuses: &Statuses) -> MutexGuard<'_, BTreeMap<Ed25519Key, PeerStatus>> {
    statuses.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn keep(endpoint: Endpoint, node: Bootnode, statuses: Statuses, seed: u64) {
    let limits = endpoint.limits();
    let mut backoff = Backoff::new(limits.redial_first_ms, limits.redial_longest_ms);
    let mut random = seed;
    let mut last_error = None;
    loop {
        let note = |connected, failures, last_error: &Option<String>| {
            let last_error = last_error.clone();
            let status = PeerStatus { addr: node.addr, connected, failures, last_error };
            lock(&statuses).insert(node.key, status);
        };
        note(false, backoff.failures(), &last_error);
        let ended = match endpoint.dial(node.key, node.addr).await {
            Ok(connection) => {
                note(true, backoff.failures(), &last_error);
                let since = tokio::time::Instant::now();
                let ended = connection.closed().await;
                if since.elapsed() >= GOOD {
                    backoff.succeeded();
                }
                ended
            }
            Err(crate::endpoint::DialError::Closed) => return,
            Err(error) => error.to_string(),
        };
        tracing::debug!(peer = %node.key, addr = %node.addr, %ended, "not connected");
        last_error = Some(ended);
        random = next_random(random);
        sleep(backoff.failed(random)).await;
    }
}

/// The next of a sequence of numbers that nobody needs to predict (SplitMix64's step and mix).
const fn next_random(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
