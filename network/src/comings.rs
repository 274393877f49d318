//! Log lines of peers that come and go.
//!
//! A task compares the peers that it last told of with those that are there, whenever a connection is made or ends. So a
//! peer that is back before the task looks again is not mentioned at all, and what was told last is always what is. Each
//! peer has a few lines a minute, and all that are not configured share some: however often they come and go, the
//! log stays readable.

use crate::{connection::Connection, endpoint::Endpoint};
use jam::Ed25519Key;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// So many lines about one peer are written in [`WINDOW`].
const PEER_LINES: u32 = 6;
/// So many about all peers that are not configured.
const OTHERS_LINES: u32 = 20;
/// A peer that used up its lines is not mentioned until this is over.
const WINDOW: Duration = Duration::from_secs(60);

/// The lines that may be written about a peer.
#[derive(Clone, Copy, Debug)]
struct Budget {
    since: Instant,
    lines: u32,
}

impl Budget {
    /// Takes a line, or says when the next may be written.
    fn take(&mut self, max: u32, now: Instant) -> Result<u32, Instant> {
        if now >= self.since + WINDOW {
            *self = Self { since: now, lines: 0 };
        }
        if self.lines >= max {
            return Err(self.since + WINDOW);
        }
        self.lines += 1;
        Ok(max - self.lines)
    }
}

/// What the log says of the peers.
struct Told {
    peers: BTreeMap<Ed25519Key, Connection>,
    /// By peer; those that are not configured share one.
    budgets: HashMap<Option<Ed25519Key>, Budget>,
}

/// Writes a line whenever a peer comes or goes, until the endpoint is shut down.
pub(crate) async fn log(endpoint: Endpoint) {
    let mut told = Told { peers: BTreeMap::new(), budgets: HashMap::new() };
    let mut changes = endpoint.registry().changes();
    loop {
        changes.mark_unchanged();
        let wake = told.compare(&endpoint, Instant::now());
        let later = async {
            match wake {
                Some(wake) => sleep_until(wake).await,
                None => std::future::pending().await,
            }
        };
        let open = tokio::select! {
            changed = changes.changed() => changed.is_ok(),
            () = later => true,
        };
        if !open || endpoint.registry().is_closing() {
            return;
        }
    }
}

impl Told {
    /// Tells of what changed; when to look again, if something could not be told yet.
    fn compare(&mut self, endpoint: &Endpoint, now: Instant) -> Option<Instant> {
        let open = endpoint.connections().into_iter().filter(Connection::is_open);
        let there = open.map(|connection| (connection.peer(), connection)).collect::<BTreeMap<_, _>>();
        let wanted = endpoint.registry().preferred();
        let connected = there.keys().filter(|key| wanted.contains(*key)).count();
        let keys = self.peers.keys().chain(there.keys()).copied().collect::<BTreeSet<_>>();
        let mut wake = None::<Instant>;
        for key in keys {
            let is_there = match (self.peers.get_mut(&key), there.get(&key)) {
                (Some(told), Some(connection)) => {
                    *told = connection.clone();
                    continue;
                }
                (_, found) => found.cloned(),
            };
            let is_wanted = wanted.contains(&key);
            match self.may_tell(key, is_wanted, now) {
                Ok(left) => self.tell(key, is_there, [connected, wanted.len()], left),
                Err(later) => wake = Some(wake.map_or(later, |wake| wake.min(later))),
            }
        }
        wake
    }

    fn may_tell(&mut self, key: Ed25519Key, is_wanted: bool, now: Instant) -> Result<u32, Instant> {
        let max = if is_wanted { PEER_LINES } else { OTHERS_LINES };
        let budget = self.budgets.entry(is_wanted.then_some(key));
        budget.or_insert(Budget { since: now, lines: 0 }).take(max, now)
    }

    /// Tells that a peer came or went: how many of those that we want are there now.
    fn tell(
        &mut self,
        key: Ed25519Key,
        is_there: Option<Connection>,
        [connected, of]: [usize; 2],
        left: u32,
    ) {
        let peer = key.certificate_name();
        match is_there {
            Some(connection) => {
                let (addr, dialled) = (connection.caller().addr, connection.is_dialled());
                // What we dial is a node; how we called ourselves says nothing about it.
                let builder = !dialled && connection.caller().builder;
                tracing::info!(%peer, %addr, dialled, builder, connected, of, "peer connected");
                self.peers.insert(key, connection);
            }
            None => {
                let Some(connection) = self.peers.remove(&key) else { return };
                let (addr, reason) = (connection.caller().addr, connection.why_closed());
                if connected == 0 && of > 0 {
                    tracing::warn!(%peer, %addr, reason, connected, of, "peer disconnected, and it was the last one");
                } else {
                    tracing::info!(%peer, %addr, reason, connected, of, "peer disconnected");
                }
            }
        }
        if left == 0 {
            let pause_secs = WINDOW.as_secs();
            tracing::warn!(%peer, pause_secs, "peer comes and goes; lines about it pause");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_comes_and_goes_has_a_few_lines_a_minute() {
        let now = Instant::now();
        let mut budget = Budget { since: now, lines: 0 };
        let lines = (0..1000).filter(|ms| budget.take(PEER_LINES, now + Duration::from_millis(*ms)).is_ok());
        assert_eq!(lines.count(), PEER_LINES as usize);
        assert_eq!(budget.take(PEER_LINES, now), Err(now + WINDOW));
        assert_eq!(budget.take(PEER_LINES, now + WINDOW), Ok(PEER_LINES - 1));
    }
}
