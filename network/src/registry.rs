//! Which connections there are: one for each peer, and not too many that others opened.

use crate::{connection::Connection, error::Farewell};
use jam::Ed25519Key;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// What becomes of a new connection.
pub(crate) enum Admission {
    /// It is kept.
    Kept,
    /// There is another one to the same peer, which is kept.
    Duplicate(Connection),
    /// There is no room.
    Full,
}

#[derive(Default)]
struct Connections {
    /// In the order in which they came, for want of a better one to choose whom to drop.
    arrivals: u64,
    by_peer: HashMap<Ed25519Key, (u64, Connection)>,
    preferred: HashSet<Ed25519Key>,
    closing: bool,
}

pub(crate) struct Registry {
    own: Ed25519Key,
    incoming_max: usize,
    connections: Mutex<Connections>,
    /// Counts changes, for whoever waits for one.
    changes: watch::Sender<u64>,
}

impl Registry {
    pub(crate) fn new(own: Ed25519Key, incoming_max: usize) -> Self {
        Self { own, incoming_max, connections: Mutex::default(), changes: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in, or says why not. What has to go for it is closed.
    pub(crate) fn admit(&self, new: &Connection) -> Admission {
        let mut connections = self.lock();
        if connections.closing {
            return Admission::Full;
        }
        let peer = new.peer();
        if let Some((_, old)) = connections.by_peer.get(&peer) {
            if old.is_open() && !self.replaces(new, old) {
                return Admission::Duplicate(old.clone());
            }
            old.close_with(Farewell::Duplicate);
        } else if !new.is_dialled() && !self.has_room(&mut connections, &peer) {
            return Admission::Full;
        }
        connections.arrivals += 1;
        let arrival = connections.arrivals;
        connections.by_peer.insert(peer, (arrival, new.clone()));
        drop(connections);
        self.changed();
        Admission::Kept
    }

    /// Of two connections between the same nodes both must keep the same one. If the same side opened both, it has
    /// given up the older one. Otherwise that one counts which the preferred initiator opened.
    fn replaces(&self, new: &Connection, old: &Connection) -> bool {
        new.is_dialled() == old.is_dialled() || new.is_dialled() == initiates(&self.own, &new.peer())
    }

    /// Whether another connection from outside fits in; a preferred peer displaces one that is not.
    fn has_room(&self, connections: &mut Connections, peer: &Ed25519Key) -> bool {
        let incoming = connections.by_peer.iter().filter(|(_, (_, connection))| !connection.is_dialled());
        let (mut count, mut oldest_stranger) = (0, None::<(u64, Ed25519Key)>);
        for (key, (arrival, _)) in incoming {
            count += 1;
            if !connections.preferred.contains(key) {
                let candidate = (*arrival, *key);
                oldest_stranger = Some(oldest_stranger.map_or(candidate, |oldest| oldest.min(candidate)));
            }
        }
        if count < self.incoming_max {
            return true;
        }
        match oldest_stranger.filter(|_| connections.preferred.contains(peer)) {
            Some((_, stranger)) => {
                if let Some((_, connection)) = connections.by_peer.remove(&stranger) {
                    connection.close_with(Farewell::Full);
                }
                true
            }
            None => false,
        }
    }

    /// Forgets a connection; whether it was the one to its peer.
    pub(crate) fn remove(&self, connection: &Connection) -> bool {
        let peer = connection.peer();
        let mut connections = self.lock();
        let current = connections.by_peer.get(&peer).is_some_and(|(_, current)| current.is(connection));
        if current {
            connections.by_peer.remove(&peer);
        }
        let replaced = connections.by_peer.contains_key(&peer);
        drop(connections);
        self.changed();
        !replaced
    }

    pub(crate) fn get(&self, peer: &Ed25519Key) -> Option<Connection> {
        let connections = self.lock();
        connections.by_peer.get(peer).map(|(_, connection)| connection.clone()).filter(Connection::is_open)
    }

    pub(crate) fn all(&self) -> Vec<Connection> {
        self.lock().by_peer.values().map(|(_, connection)| connection.clone()).collect()
    }

    pub(crate) fn prefer(&self, peers: impl IntoIterator<Item = Ed25519Key>) {
        self.lock().preferred = peers.into_iter().collect();
    }

    /// Peers that displace others, without ourselves.
    pub(crate) fn preferred(&self) -> HashSet<Ed25519Key> {
        let mut preferred = self.lock().preferred.clone();
        preferred.remove(&self.own);
        preferred
    }

    /// From now on nobody is admitted.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.changed();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// Whether the first of two nodes is the one that should open the connection between them.
pub fn initiates(own: &Ed25519Key, peer: &Ed25519Key) -> bool {
    (own[31] > 127) ^ (peer[31] > 127) ^ (own < peer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::Ed25519Secret;

    #[test]
    fn exactly_one_of_two_nodes_initiates() {
        let keys = (0..12).map(|i| Ed25519Secret::trivial(i).public()).collect::<Vec<_>>();
        for a in &keys {
            for b in keys.iter().filter(|b| *b != a) {
                assert_ne!(initiates(a, b), initiates(b, a));
            }
        }
    }
}
