//! Fetching blocks that others announce.

use super::Inner;
use jam::{Block, Ed25519Key, HeaderHash};
use network::Direction;
use std::sync::Arc;

/// Blocks asked for at a time.
const BATCH: u32 = 64;
/// Blocks fetched in one go at most: as far back as others keep them.
const BEHIND_MAX: usize = 50_000;

impl Inner {
    /// Fetches a block and what is missing below it from a peer, and imports it all.
    pub(super) async fn sync(self: &Arc<Self>, peer: Ed25519Key, hash: HeaderHash, alone: bool) {
        {
            let mut core = self.core.lock();
            if core.tree.contains(hash) || !core.syncing.insert(hash) {
                return;
            }
        }
        let blocks = self.fetch(peer, hash, if alone { 1 } else { BATCH }).await;
        for block in blocks.into_iter().rev() {
            if self.import(&Arc::new(block), false).is_err() {
                break;
            }
        }
        self.core.lock().syncing.remove(&hash);
    }

    /// A block and those below it that are not known, highest first.
    async fn fetch(&self, peer: Ed25519Key, hash: HeaderHash, first: u32) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut next, mut count) = (hash, first);
        while blocks.len() < BEHIND_MAX {
            let Some(connection) = self.connection(&peer) else { return vec![] };
            let Ok(batch) = connection.blocks(next, Direction::Descending, count).await else {
                return vec![];
            };
            if batch.is_empty() {
                return vec![];
            }
            for block in batch {
                let parent = block.header.parent;
                blocks.push(block);
                if self.core.lock().tree.contains(parent) {
                    return blocks;
                }
                next = parent;
            }
            count = BATCH;
        }
        vec![]
    }
}
