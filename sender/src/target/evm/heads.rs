//! What a provider has said about its chain: its newest block, the blocks before that, finality, fees.
//!
//! It is remembered for each provider apart: what two nodes say is never put together.

use alloy_primitives::B256;
use sender_model::{BlockCheck, Head, Quote};
use std::collections::BTreeMap;
use types::{Duration, Time};

/// Blocks whose hashes are remembered.
const BLOCKS_MAX: usize = 8_192;

/// How long a task that asks for newer fees is waited for.
const QUOTE_PATIENCE: Duration = Duration::from_millis(3_000);

/// A block as far as it matters here.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    pub head: Head,
    pub parent: B256,
    pub timestamp: u64,
    /// None before EIP-1559.
    pub base_fee: Option<u128>,
    pub transactions: Vec<B256>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Seen {
    newest: Option<(Block, Time)>,
    /// Hashes of blocks that lead to the newest one, without a gap, and of those that are final.
    hashes: BTreeMap<u64, B256>,
    finalized: Option<(u64, Time)>,
    /// Whether it ever knew the tag `finalized`. A node that loses it is not taken to have no finality.
    has_tag: bool,
    quote: Option<(Quote, Time)>,
    /// When a task began to ask for newer fees.
    quote_asked_at: Time,
    pub no_block_receipts: bool,
    pub no_simulations: bool,
}

impl Seen {
    /// The newest block, if it was asked for not longer ago than this.
    pub(super) fn newest(&self, now: Time, age_max: Duration) -> Option<&Block> {
        self.newest.as_ref().filter(|(_, at)| now.since(*at) <= age_max).map(|(block, _)| block)
    }

    pub(super) fn finalized(&self, now: Time, age_max: Duration) -> Option<u64> {
        self.finalized.filter(|(_, at)| now.since(*at) <= age_max).map(|(number, _)| number)
    }

    /// The fees, if no task has to ask for newer ones. While one asks, the old ones do for the others.
    pub(super) fn quote(&mut self, now: Time, age_max: Duration) -> Option<Quote> {
        let (quote, at) = self.quote?;
        let old = now.since(at) > age_max;
        let is_asked = now.since(self.quote_asked_at) <= QUOTE_PATIENCE && now.since(at) <= age_max * 6;
        if old && !is_asked {
            self.quote_asked_at = now;
            return None;
        }
        Some(quote)
    }

    pub(super) fn set_quote(&mut self, quote: Quote, now: Time) {
        self.quote = Some((quote, now));
    }

    /// Takes a newest block in. An error if it cannot be one: behind the same number there may be many blocks, but time
    /// does not run backwards along a chain.
    pub(super) fn set_newest(&mut self, block: Block, now: Time) -> Result<(), &'static str> {
        if let Some((before, _)) = &self.newest {
            let later = block.head.number > before.head.number;
            if later && block.timestamp < before.timestamp {
                return Err("a later block with an earlier time");
            }
            if later && block.head.hash == before.head.hash {
                return Err("two blocks with one hash");
            }
        }
        self.link(&block);
        self.newest = Some((block, now));
        Ok(())
    }

    /// Remembers a block's hash. Those that do not lead to it are forgotten, but for final ones.
    fn link(&mut self, block: &Block) {
        let (number, finalized) = (block.head.number, self.finalized.map_or(0, |(number, _)| number));
        let linked = number.checked_sub(1).and_then(|parent| self.hashes.get(&parent)) == Some(&block.parent);
        self.hashes.retain(|known, _| *known <= finalized || (linked && *known < number));
        self.hashes.insert(number, block.head.hash);
        while self.hashes.len() > BLOCKS_MAX {
            self.hashes.pop_first();
        }
    }

    /// The final height by the tag `finalized`; without one, so many blocks below the newest.
    pub(super) fn set_finalized(
        &mut self,
        tag: Option<u64>,
        newest: u64,
        confirmations: u64,
        now: Time,
    ) -> Result<u64, &'static str> {
        if tag.is_none() && self.has_tag {
            return Err("the final block is gone");
        }
        let number = tag.unwrap_or_else(|| newest.saturating_sub(confirmations));
        if number > newest {
            return Err("a final block above the newest one");
        }
        self.has_tag |= tag.is_some();
        self.finalized = Some((number, now));
        Ok(number)
    }

    /// What is at a height, if it is remembered.
    pub(super) fn check(
        &self,
        number: u64,
        finalized_number: u64,
        now: Time,
        age_max: Duration,
    ) -> Option<BlockCheck> {
        self.newest(now, age_max)?;
        let hash = *self.hashes.get(&number)?;
        Some(BlockCheck { number, hash: Some(hash), finalized_number })
    }

    /// Whether a block leads to the newest one, as far as is remembered.
    pub(super) fn has(&self, block: Head) -> bool {
        self.hashes.get(&block.number) == Some(&block.hash)
    }

    /// Remembers the hash of a final block.
    pub(super) fn remember(&mut self, check: &BlockCheck) {
        if let Some(hash) = check.hash.filter(|_| check.claims_finality()) {
            self.hashes.insert(check.number, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE_MAX: Duration = Duration::from_millis(100);

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn hash(number: u64, branch: u8) -> B256 {
        let mut hash = B256::repeat_byte(branch);
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash
    }

    fn block(number: u64, branch: u8, parent: u8) -> Block {
        let head = Head { number, hash: hash(number, branch) };
        let parent = hash(number - 1, parent);
        Block { head, parent, timestamp: number, base_fee: None, transactions: vec![] }
    }

    #[test]
    fn blocks_are_remembered_while_they_lead_to_the_newest() {
        let mut seen = Seen::default();
        for number in 1..=5 {
            seen.set_newest(block(number, 1, 1), at(0)).unwrap();
        }
        seen.set_finalized(Some(2), 5, 12, at(0)).unwrap();
        let known = |seen: &Seen, number| seen.check(number, 0, at(50), AGE_MAX).and_then(|check| check.hash);
        assert_eq!((known(&seen, 1), known(&seen, 4)), (Some(hash(1, 1)), Some(hash(4, 1))));
        assert_eq!(seen.check(4, 0, at(101), AGE_MAX), None, "it may have changed since");
        // Another branch: only what is final is certain.
        seen.set_newest(block(6, 2, 2), at(10)).unwrap();
        assert_eq!(
            (known(&seen, 2), known(&seen, 3), known(&seen, 6)),
            (Some(hash(2, 1)), None, Some(hash(6, 2)))
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut seen = Seen::default();
        seen.set_newest(block(5, 1, 1), at(0)).unwrap();
        let earlier = Block { timestamp: 4, ..block(6, 1, 1) };
        assert!(seen.set_newest(earlier, at(1)).is_err());
        assert!(seen.set_finalized(Some(6), 5, 12, at(1)).is_err());
        assert_eq!(seen.set_finalized(None, 5, 2, at(1)), Ok(3));
        assert_eq!(seen.set_finalized(Some(4), 5, 2, at(1)), Ok(4));
        assert!(seen.set_finalized(None, 5, 2, at(1)).is_err(), "the chain has the tag");
    }
}
