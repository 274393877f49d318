//! How much memory requests may take that are not answered yet: for one peer, and for all together.
//!
//! A request waits before it is read if there is no room; QUIC's flow control makes the peer wait too. What has
//! waited too long is refused by the clock that every request has.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit in which memory is counted.
const UNIT_BYTES: usize = 1024;

/// The memory of all peers.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    all: Arc<Semaphore>,
    peer_units: usize,
}

/// One peer's part of it.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    all: Arc<Semaphore>,
    own: Arc<Semaphore>,
}

/// Memory in use, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    _permits: [Option<OwnedSemaphorePermit>; 2],
}

impl Memory {
    pub(crate) fn new(bytes_max: usize, peer_bytes_max: usize) -> Self {
        let units = |bytes: usize| (bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Self { all: Arc::new(Semaphore::new(units(bytes_max))), peer_units: units(peer_bytes_max) }
    }

    pub(crate) fn share(&self) -> Share {
        Share { all: self.all.clone(), own: Arc::new(Semaphore::new(self.peer_units)) }
    }

    /// Bytes that are free.
    pub(crate) fn free_bytes(&self) -> usize {
        self.all.available_permits() * UNIT_BYTES
    }
}

impl Share {
    /// Waits until there is room for `bytes`.
    pub(crate) async fn hold(&self, bytes: usize) -> Held {
        let units = bytes.div_ceil(UNIT_BYTES).max(1) as u32;
        // First the own part: who waits for that must not keep others from theirs.
        let own = self.own.clone().acquire_many_owned(units).await.ok();
        let all = self.all.clone().acquire_many_owned(units).await.ok();
        Held { _permits: [own, all] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::Future, task::Poll};

    #[tokio::test]
    async fn a_peer_waits_for_its_own_part_and_all_for_the_whole() {
        let memory = Memory::new(3 << 20, 2 << 20);
        let (greedy, modest) = (memory.share(), memory.share());
        let first = greedy.hold(2 << 20).await;
        let mut second = Box::pin(greedy.hold(1));
        let waits = |future: &mut std::pin::Pin<Box<dyn Future<Output = Held> + '_>>| {
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            matches!(future.as_mut().poll(&mut cx), Poll::Pending)
        };
        let mut boxed: std::pin::Pin<Box<dyn Future<Output = Held> + '_>> =
            Box::pin(async { (&mut second).await });
        assert!(waits(&mut boxed));
        let theirs = modest.hold(1 << 20).await;
        assert_eq!(memory.free_bytes(), 0);
        drop(theirs);
        drop(first);
        drop(boxed.await);
        assert_eq!(memory.free_bytes(), 3 << 20);
    }
}
