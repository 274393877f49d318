//! Places for connections. When all are taken, whoever has let the node wait longest gives way to whoever comes.

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

/// All places.
pub(super) struct Places {
    taken: Mutex<Taken>,
    max: usize,
    give_way_after: Duration,
    websockets: AtomicUsize,
    websockets_max: usize,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Taken {
    newest: u64,
    by: HashMap<u64, Arc<Guest>>,
}

/// Who has a place.
struct Guest {
    /// Since when the node waits for it: for a request, for the rest of one, or that it reads its answer.
    lets_wait: Mutex<Option<Instant>>,
    leave: Leave,
}

/// Where a connection is asked to leave.
#[derive(Clone, Default)]
pub(super) struct Leave(Arc<Notify>);

impl Leave {
    /// Asks the connection to leave: it is cut off.
    pub(super) fn leave(&self) {
        self.0.notify_one();
    }

    /// Whether the connection was asked, and has not left.
    #[cfg(test)]
    pub(super) fn is_asked(&self) -> bool {
        use futures_util::FutureExt;
        let is_asked = self.0.notified().now_or_never().is_some();
        if is_asked {
            self.leave();
        }
        is_asked
    }
}

/// One place, for as long as this lives.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    guest: Arc<Guest>,
    share: Arc<Share>,
    is_websocket: std::sync::atomic::AtomicBool,
}

impl Places {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            taken: Mutex::default(),
            max: limits.connections_max,
            give_way_after: limits.give_way_after,
            websockets: AtomicUsize::new(0),
            websockets_max: limits.websockets_max,
            turns: Turns::new(),
        })
    }

    /// Whether the next one who comes gets a place only if another one gives way.
    pub(super) fn are_taken(&self) -> bool {
        self.taken.lock().by.len() >= self.max
    }

    /// Takes a place; `None` if all are taken by such as the node works for.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let mut taken = self.taken.lock();
        if taken.by.len() >= self.max {
            let waits =
                taken.by.iter().filter_map(|(number, guest)| Some(((*guest.lets_wait.lock())?, *number)));
            let (since, number) = waits.min()?;
            if since.elapsed() < self.give_way_after {
                return None;
            }
            if let Some(guest) = taken.by.remove(&number) {
                guest.leave.leave();
            }
        }
        taken.newest += 1;
        let number = taken.newest;
        let guest = Arc::new(Guest { lets_wait: Mutex::new(Some(Instant::now())), leave: Leave::default() });
        taken.by.insert(number, guest.clone());
        drop(taken);
        let share = Arc::new(Share::new(self.turns.clone()));
        Some(Place { places: self.clone(), number, guest, share, is_websocket: Default::default() })
    }
}

impl Place {
    /// The node waits for the client from now on.
    pub(super) fn wait(&self) {
        *self.guest.lets_wait.lock() = Some(Instant::now());
    }

    /// The node works for the client from now on.
    pub(super) fn work(&self) {
        *self.guest.lets_wait.lock() = None;
    }

    /// The node works for the client until what this gives is dropped; from then on it waits again.
    pub(super) fn work_on(&self) -> Working {
        self.work();
        Working(self.guest.clone())
    }

    /// What calls on this connection are counted by.
    pub(super) fn origin(&self, peer: SocketAddr) -> Origin {
        Origin { address: Some(peer.ip().to_canonical()), connection: self.number }
    }

    /// Makes it the place of a WebSocket, which is silent for good reason and need not give way; there are fewer of
    /// these, so that they never take all places. Whether there is one left.
    pub(super) fn become_websocket(&self) -> bool {
        let more = |count: usize| (count < self.places.websockets_max).then_some(count + 1);
        let is_one = self.places.websockets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if is_one {
            self.is_websocket.store(true, Ordering::Relaxed);
        }
        is_one
    }

    /// What the client has of the node's time.
    pub(super) const fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Waits until the place must be left.
    pub(super) async fn left(&self) {
        self.guest.leave.0.notified().await;
    }

    /// Where the connection is asked to leave.
    pub(super) fn leave(&self) -> &Leave {
        &self.guest.leave
    }
}

/// The node works for a client as long as this lives.
pub(super) struct Working(Arc<Guest>);

impl Drop for Working {
    fn drop(&mut self) {
        *self.0.lets_wait.lock() = Some(Instant::now());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.lock().by.remove(&self.number);
        if self.is_websocket.load(Ordering::Relaxed) {
            self.places.websockets.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(max: usize, websockets_max: usize) -> Arc<Places> {
        Places::new(&Limits { connections_max: max, websockets_max, ..Limits::default() })
    }

    fn let_wait(place: &Place, seconds: u64) {
        *place.guest.lets_wait.lock() = Instant::now().checked_sub(Duration::from_secs(seconds));
    }

    /// As if it had come this moment, however long the machine takes for the next line.
    fn has_just_come(place: &Place) {
        *place.guest.lets_wait.lock() = Some(Instant::now() + Duration::from_secs(3600));
    }

    #[tokio::test]
    async fn who_lets_the_node_wait_longest_gives_way() {
        let places = places(3, 3);
        let [slow, slower, busy] = [places.take(), places.take(), places.take()].map(|place| {
            let place = place.unwrap();
            has_just_come(&place);
            place
        });
        assert!(places.take().is_none(), "all have just come");
        let_wait(&slow, 5);
        let_wait(&slower, 9);
        busy.work();
        let new = places.take().unwrap();
        has_just_come(&new);
        slower.left().await;
        drop(slower);
        assert!(places.take().is_some_and(|newer| newer.number > new.number), "then the next one");
        slow.left().await;
        let_wait(&new, 3);
        new.work();
        let _last = places.take().unwrap();
        assert!(places.take().is_none(), "nobody leaves who is worked for");
    }

    #[test]
    fn websockets_never_take_all_places() {
        let places = places(4, 2);
        let taken = [places.take().unwrap(), places.take().unwrap(), places.take().unwrap()];
        assert!(taken[0].become_websocket() && taken[1].become_websocket());
        assert!(!taken[2].become_websocket());
        drop(taken);
        assert!(places.take().unwrap().become_websocket(), "places come free again");
    }
}
