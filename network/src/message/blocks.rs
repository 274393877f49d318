//! Blocks and states: UP 0, CE 128, CE 129.

use super::{Payload, Rules, one};
use crate::{
    error::StreamError,
    frame::{Input, Message},
    kind::{
        ANNOUNCEMENT_BYTES_MAX, BLOCKS_BYTES_MAX, BOUNDARY_BYTES_MAX, HANDSHAKE_BYTES_MAX, STATE_BYTES_MAX,
    },
};
use bytes::Bytes;
use jam::{
    Block, Extrinsic, Header, HeaderHash,
    codec::{self, Decode, DecodeError, Decoder, Encode},
    spec::StateKey,
    trie::TrieNode,
};

/// A block's name and slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockId {
    /// The header's hash.
    pub hash: HeaderHash,
    /// The slot.
    pub slot: u32,
}

impl Encode for BlockId {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.hash.encode_to(out);
        self.slot.encode_to(out);
    }
}

impl Decode for BlockId {
    const MIN_BYTES: usize = 36;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (hash, slot) = Decode::decode_from(input)?;
        Ok(Self { hash, slot })
    }
}

/// How UP 0 begins: what a node takes for final, and the blocks above it that nothing builds on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handshake {
    /// The finalized block.
    pub finalized: BlockId,
    /// The leaves.
    pub leaves: Vec<BlockId>,
}

impl Handshake {
    /// What a follower would say: its finalized block, and its best one.
    pub fn of(follower: &jam::follow::Follower) -> Self {
        let id = |block: jam::follow::BlockRef| BlockId { hash: block.hash, slot: block.slot };
        Self { finalized: id(follower.finalized()), leaves: vec![id(follower.view().head())] }
    }
}

impl Payload for Handshake {
    fn write(&self) -> Vec<Message> {
        one(&(self.finalized, self.leaves.clone()))
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (finalized, leaves) = rules.decode(&input.message(HANDSHAKE_BYTES_MAX).await?)?;
        Ok(Self { finalized, leaves })
    }
}

/// A new block, and what its announcer takes for final.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Announcement {
    /// The block's header.
    pub header: Header,
    /// The finalized block.
    pub finalized: BlockId,
}

impl Payload for Announcement {
    fn write(&self) -> Vec<Message> {
        let mut bytes = self.header.encode();
        self.finalized.encode_to(&mut bytes);
        vec![vec![bytes.into()]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        Self::next(input, rules).await?.ok_or(StreamError::Truncated)
    }
}

impl Announcement {
    /// The next one, or `None` if the stream ends.
    pub(crate) async fn next(input: &mut Input, rules: &Rules) -> Result<Option<Self>, StreamError> {
        let Some(bytes) = input.next_message(ANNOUNCEMENT_BYTES_MAX).await? else { return Ok(None) };
        let (header, finalized) = rules.decode(&bytes)?;
        Ok(Some(Self { header, finalized }))
    }
}

/// Which way blocks are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Children, beginning with one of the block named.
    Ascending,
    /// The block named, then its parent and so on.
    Descending,
}

/// A request for blocks (CE 128).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRequest {
    /// Where to begin.
    pub hash: HeaderHash,
    /// Which way.
    pub direction: Direction,
    /// How many at most.
    pub max: u32,
}

impl Payload for BlockRequest {
    fn write(&self) -> Vec<Message> {
        one(&(self.hash, (u8::from(self.direction == Direction::Descending), self.max)))
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (hash, (descending, max)) =
            rules.decode::<(HeaderHash, (bool, u32))>(&input.message(37).await?)?;
        let direction = if descending { Direction::Descending } else { Direction::Ascending };
        Ok(Self { hash, direction, max })
    }
}

impl Payload for Vec<Block> {
    /// As many of them as one answer holds.
    fn write(&self) -> Vec<Message> {
        let mut left = BLOCKS_BYTES_MAX;
        let encoded = self.iter().map(|block| Bytes::from(block.encode())).take_while(|bytes| {
            let fits = bytes.len() <= left;
            left = left.saturating_sub(bytes.len());
            fits
        });
        vec![encoded.collect()]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        Ok(rules.sequence(&input.message(BLOCKS_BYTES_MAX).await?)?)
    }
}

/// The first header of a chain commits to nothing.
fn is_genesis(block: &Block) -> bool {
    block.header.parent == HeaderHash::ZERO && block.extrinsic == Extrinsic::EMPTY
}

impl BlockRequest {
    /// That an answer is one: each block next to the one before, header and body.
    pub(crate) fn check(&self, blocks: &[Block]) -> Result<(), StreamError> {
        let mut expected = self.hash;
        for block in blocks {
            let hash = block.header.hash();
            let (follows, next) = match self.direction {
                Direction::Descending => (hash == expected, block.header.parent),
                Direction::Ascending => (block.header.parent == expected, hash),
            };
            if !follows {
                return Err(StreamError::Wrong("other blocks than were asked for"));
            }
            if block.header.extrinsic_hash != block.extrinsic.hash() && !is_genesis(block) {
                return Err(StreamError::Wrong("a block whose header does not commit to its body"));
            }
            expected = next;
        }
        Ok(())
    }
}

/// A request for a part of the state after a block (CE 129).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateRequest {
    /// The block.
    pub header: HeaderHash,
    /// The first key, whether it exists or not.
    pub start: StateKey,
    /// The last key, whether it exists or not.
    pub end: StateKey,
    /// Bytes of the answer, unless it has only one entry.
    pub bytes_max: u32,
}

impl StateRequest {
    /// For a single key.
    pub const fn key(header: HeaderHash, key: StateKey) -> Self {
        Self { header, start: key, end: key, bytes_max: STATE_BYTES_MAX as u32 }
    }
}

impl Payload for StateRequest {
    fn write(&self) -> Vec<Message> {
        one(&(self.header, (self.start, (self.end, self.bytes_max))))
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (header, (start, (end, bytes_max))) = rules.decode(&input.message(98).await?)?;
        Ok(Self { header, start, end, bytes_max })
    }
}

/// A part of a state, with the nodes that prove it. See [`StateRange::prove`] and [`StateRange::root`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateRange {
    /// The nodes along the paths to the first key asked for and to the last entry, parents first.
    pub boundary: Vec<TrieNode>,
    /// The entries, ascending.
    pub entries: Vec<(StateKey, codec::Bytes)>,
}

impl Payload for StateRange {
    fn write(&self) -> Vec<Message> {
        let mut boundary = Vec::with_capacity(64 * self.boundary.len());
        codec::put_exactly(&self.boundary, &mut boundary);
        let entries = self.entries.iter().flat_map(|(key, value)| {
            let mut head = key.encode();
            codec::put_natural(value.len() as u64, &mut head);
            [head.into(), value.0.clone()]
        });
        vec![vec![boundary.into()], entries.collect()]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let boundary = rules.sequence(&input.message(BOUNDARY_BYTES_MAX).await?)?;
        let entries = rules.sequence(&input.message(STATE_BYTES_MAX).await?)?;
        Ok(Self { boundary, entries })
    }
}
