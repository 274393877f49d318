//! What group commit is worth: durable accepts by 16 clients with one sync for all that wait, and with one for each.

use super::acceptance;
use sender::store::{Embedded, EmbeddedOptions, Outcome, Store, StoreError, Syncs};
use std::{path::Path, sync::Arc, time::Instant};

/// What one run came to.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Accepts per second, each of them durable.
    pub accepts_per_s: f64,
    /// Commits and syncs.
    pub syncs: Syncs,
}

impl Measured {
    /// How many commits shared a sync.
    pub fn commits_per_sync(&self) -> f64 {
        self.syncs.commits as f64 / self.syncs.syncs.max(1) as f64
    }
}

/// Accepts so many requests by each of so many clients, who wait for their answers.
pub async fn run(file: &Path, clients: usize, each: usize, group_max: usize) -> Result<Measured, StoreError> {
    let store = Arc::new(Embedded::open(file, EmbeddedOptions { group_max, ..EmbeddedOptions::default() })?);
    let (before, begun) = (store.syncs(), Instant::now());
    let clients: Vec<_> = (0..clients)
        .map(|client| {
            let store = store.clone();
            tokio::spawn(async move {
                for request in 0..each {
                    let outcome = store.commit(acceptance(&format!("b{client}-{request}"))).await?;
                    assert_eq!(outcome, Outcome::Committed);
                }
                Ok::<(), StoreError>(())
            })
        })
        .collect();
    let accepted = clients.len() * each;
    for client in clients {
        client.await.map_err(|error| StoreError::Unknown(error.to_string()))??;
    }
    let after = store.syncs();
    Ok(Measured {
        accepts_per_s: accepted as f64 / begun.elapsed().as_secs_f64(),
        syncs: Syncs { commits: after.commits - before.commits, syncs: after.syncs - before.syncs },
    })
}
