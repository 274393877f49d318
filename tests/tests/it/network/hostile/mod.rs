//! Peers that want us harm, one test for each way. The node stays up, its memory stays bounded, and each error has a name.

mod connections;
mod garbage;
mod handshakes;
mod memory;
mod rogue;
mod streams;

use harness::network::{Validator, World, config};
use jam::HeaderHash;
use network::{Direction, Endpoint, Limits, Role, Silent};
use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// Short times, so that the tests need not wait; many violations, so that one peer can commit them all.
fn limits() -> Limits {
    Limits {
        receive_ms: 400,
        handshake_ms: 800,
        answer_ms: 2_000,
        violations_max: 10_000,
        ..Limits::default()
    }
}

/// The node under attack.
struct Target {
    endpoint: Endpoint,
    genesis: HeaderHash,
    first: HeaderHash,
    notes: UnboundedReceiver<String>,
}

impl Target {
    fn start(limits: Limits) -> Self {
        let (lines, notes) = unbounded_channel();
        let world = World::new();
        let (genesis, first) = (world.genesis().hash, world.id(0).hash);
        let validator = Arc::new(Validator { world, height: AtomicUsize::new(20), lines });
        let endpoint = Endpoint::bind(&config(0, Role::Node, genesis, limits), validator).unwrap();
        Self { endpoint, genesis, first, notes }
    }

    /// Waits until the target says something about this.
    async fn notes(&mut self, what: &str) -> String {
        let said = async {
            loop {
                let note = self.notes.recv().await.expect("the target lives");
                if note.contains(what) {
                    return note;
                }
            }
        };
        timeout(Duration::from_secs(60), said).await.unwrap_or_else(|_| panic!("no word on {what:?}"))
    }

    /// That an honest peer is served as ever, and nothing is held for others.
    async fn is_well(&self) {
        let honest =
            Endpoint::bind(&config(77, Role::Builder, self.genesis, Limits::default()), Arc::new(Silent));
        let honest = honest.unwrap();
        let addr = self.endpoint.local_addr().unwrap();
        let connection = loop {
            // Under attack a place may be free only after a while.
            if let Ok(connection) = honest.dial(self.endpoint.key(), addr).await
                && let Ok(blocks) = connection.blocks(self.genesis, Direction::Ascending, 3).await
            {
                assert_eq!(blocks[0].header.hash(), self.first);
                break connection;
            }
        };
        assert!(connection.is_open());
        honest.shutdown().await;
    }

    /// That no memory is held for requests any longer.
    async fn holds_nothing(&self) {
        let all = Limits::default().request_bytes_max;
        let freed = async {
            while self.endpoint.free_request_bytes() < all {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), freed).await.expect("memory is given back");
    }
}
