//! Connection slots. At the connection limit the connection that has been idle longest is closed for the next one; a
//! connection with a request in progress never is.

use super::share::{Share, Turns};
use crate::{Limits, Origin};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// All slots, and the limits on them.
pub(super) struct ConnectionSlots {
    taken: Mutex<Taken>,
    max: usize,
    evict_idle_after: Duration,
    websockets: AtomicUsize,
    websockets_max: usize,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Taken {
    newest: u64,
    by: HashMap<u64, Arc<Connection>>,
}

/// The connection that holds a slot.
struct Connection {
    /// Since when the node waits for it: for a request, for the rest of one, or for it to read its answer. `None` while a
    /// request is in progress.
    idle_since: Mutex<Option<Instant>>,
    close_signal: CloseSignal,
}

/// Tells a connection's task to close it.
#[derive(Clone, Default)]
pub(super) struct CloseSignal(Arc<Notify>);

impl CloseSignal {
    /// Closes the connection.
    pub(super) fn close(&self) {
        self.0.notify_one();
    }

    /// Whether the connection was told to close, and has not.
    #[cfg(test)]
    pub(super) fn is_asked(&self) -> bool {
        use futures_util::FutureExt;
        let is_asked = self.0.notified().now_or_never().is_some();
        if is_asked {
            self.close();
        }
        is_asked
    }
}

/// One slot, held for as long as this lives.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    connection: Arc<Connection>,
    share: Arc<Share>,
    is_websocket: std::sync::atomic::AtomicBool,
}

impl ConnectionSlots {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            taken: Mutex::default(),
            max: limits.connections_max,
            evict_idle_after: limits.evict_idle_after,
            websockets: AtomicUsize::new(0),
            websockets_max: limits.websockets_max,
            turns: Turns::new(),
        })
    }

    /// Whether the next connection gets a slot only if an idle one is closed.
    pub(super) fn is_full(&self) -> bool {
        self.taken.lock().by.len() >= self.max
    }

    /// Takes a slot; `None` if every connection is busy.
    pub(super) fn take(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut taken = self.taken.lock();
        if taken.by.len() >= self.max {
            let waits = taken
                .by
                .iter()
                .filter_map(|(number, connection)| Some(((*connection.idle_since.lock())?, *number)));
            let (since, number) = waits.min()?;
            if since.elapsed() < self.evict_idle_after {
                return None;
            }
            if let Some(connection) = taken.by.remove(&number) {
                connection.close_signal.close();
            }
        }
        taken.newest += 1;
        let number = taken.newest;
        let connection = Arc::new(Connection {
            idle_since: Mutex::new(Some(Instant::now())),
            close_signal: CloseSignal::default(),
        });
        taken.by.insert(number, connection.clone());
        drop(taken);
        let share = Arc::new(Share::new(self.turns.clone()));
        Some(ConnectionSlot {
            slots: self.clone(),
            number,
            connection,
            share,
            is_websocket: Default::default(),
        })
    }
}

impl ConnectionSlot {
    /// The node waits for the client from now on.
    pub(super) fn set_idle(&self) {
        *self.connection.idle_since.lock() = Some(Instant::now());
    }

    /// A request is in progress from now on.
    pub(super) fn set_busy(&self) {
        *self.connection.idle_since.lock() = None;
    }

    /// Busy until the guard is dropped, idle from then on.
    pub(super) fn busy_guard(&self) -> BusyGuard {
        self.set_busy();
        BusyGuard(self.connection.clone())
    }

    /// What calls on this connection are counted by.
    pub(super) fn origin(&self, peer: SocketAddr) -> Origin {
        Origin { address: Some(peer.ip().to_canonical()), connection: self.number }
    }

    /// Makes it the slot of a WebSocket, which may be idle and is not closed for that. They have a lower limit of their
    /// own, so that they never take all slots. `false` at that limit.
    pub(super) fn become_websocket(&self) -> bool {
        let more = |count: usize| (count < self.slots.websockets_max).then_some(count + 1);
        let is_one = self.slots.websockets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if is_one {
            self.is_websocket.store(true, Ordering::Relaxed);
        }
        is_one
    }

    /// What the client has of the node's time.
    pub(super) const fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Waits until the connection must be closed.
    pub(super) async fn closed(&self) {
        self.connection.close_signal.0.notified().await;
    }

    /// What closes the connection.
    pub(super) fn close_signal(&self) -> &CloseSignal {
        &self.connection.close_signal
    }
}

/// A connection is busy as long as this lives.
pub(super) struct BusyGuard(Arc<Connection>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        *self.0.idle_since.lock() = Some(Instant::now());
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.taken.lock().by.remove(&self.number);
        if self.is_websocket.load(Ordering::Relaxed) {
            self.slots.websockets.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(max: usize, websockets_max: usize) -> Arc<ConnectionSlots> {
        ConnectionSlots::new(&Limits { connections_max: max, websockets_max, ..Limits::default() })
    }

    fn idle_for(slot: &ConnectionSlot, seconds: u64) {
        *slot.connection.idle_since.lock() = Instant::now().checked_sub(Duration::from_secs(seconds));
    }

    /// As if it had come this moment, however long the machine takes for the next line.
    fn has_just_come(slot: &ConnectionSlot) {
        *slot.connection.idle_since.lock() = Some(Instant::now() + Duration::from_secs(3600));
    }

    #[tokio::test]
    async fn the_longest_idle_connection_is_closed() {
        let slots = slots(3, 3);
        let [slow, slower, busy] = [slots.take(), slots.take(), slots.take()].map(|slot| {
            let slot = slot.unwrap();
            has_just_come(&slot);
            slot
        });
        assert!(slots.take().is_none(), "all have just come");
        idle_for(&slow, 5);
        idle_for(&slower, 9);
        busy.set_busy();
        let new = slots.take().unwrap();
        has_just_come(&new);
        slower.closed().await;
        drop(slower);
        assert!(slots.take().is_some_and(|newer| newer.number > new.number), "then the next one");
        slow.closed().await;
        idle_for(&new, 3);
        new.set_busy();
        let _last = slots.take().unwrap();
        assert!(slots.take().is_none(), "a busy connection is never closed");
    }

    #[test]
    fn websockets_never_take_all_slots() {
        let slots = slots(4, 2);
        let taken = [slots.take().unwrap(), slots.take().unwrap(), slots.take().unwrap()];
        assert!(taken[0].become_websocket() && taken[1].become_websocket());
        assert!(!taken[2].become_websocket());
        drop(taken);
        assert!(slots.take().unwrap().become_websocket(), "slots come free again");
    }
}
