//! Who used a nonce? There is no index of that, so final blocks are looked through, the newest first. It may take longer
//! than an answer may: where it was left is remembered, and the next question goes on there.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use rpc::{Archive, ArchiveError};
use sender_model::Nonce;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Blocks that are read at a time, and before an answer is given.
const BLOCKS_AT_ONCE: u64 = 256;
const BLOCKS_MAX: u64 = 4_096;
/// Searches that are remembered.
const SEARCHES_MAX: usize = 1_024;

/// Whose transaction used which nonce, and its hash.
type Used = (Address, Nonce, B256);
/// Reads what a block's transactions have used; none if there is no such block.
type Read = dyn Fn(u64) -> Result<Option<Vec<Used>>, ArchiveError> + Send + Sync;

/// Searches that were begun. See the [module](self).
pub(super) struct Searches {
    read: Arc<Read>,
    /// The next block that each looks at.
    next: Mutex<BTreeMap<(Address, Nonce), u64>>,
}

impl Searches {
    pub(super) fn new(archive: Arc<dyn Archive>) -> Self {
        let used = |tx: &types::Transaction| (tx.sender(), tx.nonce(), tx.hash());
        Self::over(Arc::new(move |number| {
            let block = archive.block(number)?;
            Ok(block.map(|block| block.block.transactions().iter().map(used).collect()))
        }))
    }

    fn over(read: Arc<Read>) -> Self {
        Self { read, next: Mutex::default() }
    }

    /// The transaction of an account with a nonce in a final block, `newest` at most; none if it has not been found yet.
    pub(super) async fn find(
        &self,
        account: Address,
        nonce: Nonce,
        newest: u64,
    ) -> Result<Option<B256>, ArchiveError> {
        for _ in 0..BLOCKS_MAX / BLOCKS_AT_ONCE {
            let from = self.next(account, nonce).unwrap_or(newest);
            let read = self.read.clone();
            let looked = tokio::task::spawn_blocking(move || look(&*read, account, nonce, from)).await;
            match looked.map_err(|why| ArchiveError::Unreadable(Box::new(why)))?? {
                Looked::Found(hash) => {
                    self.remember(account, nonce, None);
                    return Ok(Some(hash));
                }
                Looked::Until(next) => self.remember(account, nonce, Some(next)),
                // It is nowhere. If it is asked for again, it is looked for again.
                Looked::All => {
                    self.remember(account, nonce, None);
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    fn next(&self, account: Address, nonce: Nonce) -> Option<u64> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.get(&(account, nonce)).copied()
    }

    fn remember(&self, account: Address, nonce: Nonce, number: Option<u64>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match number {
            Some(number) => {
                if next.len() >= SEARCHES_MAX {
                    // They begin again.
                    next.clear();
                }
                next.insert((account, nonce), number);
            }
            None => drop(next.remove(&(account, nonce))),
        }
    }
}

/// How far one came.
#[derive(PartialEq, Eq, Debug)]
enum Looked {
    Found(B256),
    /// The next block to look at.
    Until(u64),
    All,
}

fn look(read: &Read, account: Address, nonce: Nonce, from: u64) -> Result<Looked, ArchiveError> {
    for number in (from.saturating_sub(BLOCKS_AT_ONCE - 1)..=from).rev() {
        // Below the first block there is nothing.
        let Some(block) = read(number)? else { return Ok(Looked::All) };
        let own = |used: &&Used| (used.0, used.1) == (account, nonce);
        if let Some((_, _, hash)) = block.iter().find(own) {
            return Ok(Looked::Found(*hash));
        }
    }
    Ok(from.checked_sub(BLOCKS_AT_ONCE).map_or(Looked::All, Looked::Until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn a_search_goes_on_where_it_was_left() {
        let account = Address::repeat_byte(1);
        let reads = Arc::new(AtomicU64::new(0));
        let counted = reads.clone();
        let searches = Searches::over(Arc::new(move |number| {
            counted.fetch_add(1, Ordering::Relaxed);
            let used = |nonce, hash| vec![(account, nonce, B256::repeat_byte(hash))];
            Ok(match number {
                0..100 => None,
                150 => Some(used(7, 7)),
                9_990 => Some(used(8, 8)),
                _ => Some(vec![]),
            })
        }));
        assert_eq!(searches.find(account, 8, 10_000).await.unwrap(), Some(B256::repeat_byte(8)));
        let mut questions = 1;
        reads.store(0, Ordering::Relaxed);
        let found = loop {
            // Blocks that are new meanwhile are not looked through.
            let found = searches.find(account, 7, 10_000 + questions).await.unwrap();
            assert!(questions <= 3, "it is found in the end");
            match found {
                Some(hash) => break hash,
                None => questions += 1,
            }
        };
        assert_eq!((found, questions), (B256::repeat_byte(7), 3));
        assert!(reads.load(Ordering::Relaxed) <= 10_002 - 150, "no block is read twice");
        // What is nowhere is not searched for below the first block.
        for _ in 0..5 {
            assert_eq!(searches.find(account, 9, 1_000).await.unwrap(), None);
        }
    }
}
