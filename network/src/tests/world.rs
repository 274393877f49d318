//! A chain that peers serve, and peers that serve it well or badly.

use crate::{
    Announcement, BlockId, BlockRequest, Caller, Config, Connection, Direction, Endpoint, Handshake, Limits,
    Note, Refusal, Role, Service, StateRange, StateRequest, StateTrie,
};
use async_trait::async_trait;
use jam::{
    Block, Ed25519Key, Ed25519Secret, Header, HeaderHash, Params,
    codec::{Bytes, Encode},
    follow::{Follower, Limits as Depth},
    sample::{Author, Body},
    spec::{Bootnode, StateKey},
    state::{RecentBlocks, StateIndex},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tokio::sync::mpsc;

pub(super) const PARAMS: Params = Params::TINY;

pub(super) fn genesis() -> BlockId {
    BlockId { hash: Header::genesis(None).hash(), slot: 0 }
}

pub(super) fn follower() -> Follower {
    Follower::new(PARAMS, Author::new(PARAMS).start(), Depth::default())
}

/// A chain of empty blocks, one per slot.
pub(super) fn chain(len: u32, salt: u64) -> Vec<Block> {
    let (author, mut follower) = (Author::new(PARAMS), follower());
    let block = |slot| {
        let block = author.block(&follower.view(), slot, Body { salt, ..Body::default() });
        assert!(follower.import(block.clone()).refused.is_empty());
        block
    };
    (1..=len).map(block).collect()
}

/// How a peer is not as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vice {
    None,
    /// Has only the first blocks.
    Lags(usize),
    /// Serves bodies that are not the header's.
    WrongBodies,
    /// Serves another state.
    WrongState,
}

/// A node that has a chain.
pub(super) struct Node {
    pub(super) chain: Mutex<Vec<Block>>,
    pub(super) finalized: Mutex<BlockId>,
    pub(super) vice: Vice,
    pub(super) notes: mpsc::UnboundedSender<Note>,
}

impl Node {
    fn blocks(&self) -> Vec<Block> {
        let chain = self.chain.lock().unwrap().clone();
        match self.vice {
            Vice::Lags(len) => chain[..len.min(chain.len())].to_vec(),
            _ => chain,
        }
    }

    pub(super) fn state(&self) -> BTreeMap<StateKey, Bytes> {
        let mut state = BTreeMap::new();
        let recent = RecentBlocks::EMPTY.encode();
        state.insert(StateIndex::RecentBlocks.key(), Bytes::from(recent));
        state.insert(StateIndex::Slot.key(), 7_u32.encode().into());
        state.insert(StateKey::repeat_byte(9), Bytes::from_static(b"storage"));
        if self.vice == Vice::WrongState {
            state.insert(StateKey::repeat_byte(9), Bytes::from_static(b"invented"));
        }
        state
    }
}

#[async_trait]
impl Service for Node {
    fn noted(&self, note: Note) {
        let _ = self.notes.send(note);
    }

    fn handshake(&self) -> Option<Handshake> {
        let leaf = self.blocks().last().map_or(genesis(), id);
        Some(Handshake { finalized: *self.finalized.lock().unwrap(), leaves: vec![leaf] })
    }

    async fn blocks(&self, _: &Caller, request: BlockRequest) -> Result<Vec<Block>, Refusal> {
        let mut blocks = self.blocks();
        if self.vice == Vice::WrongBodies {
            blocks.iter_mut().for_each(|block| {
                block.extrinsic.preimages.push(jam::block::Preimage { requester: 1, blob: Bytes::new() });
            });
        }
        let at = blocks.iter().position(|block| block.header.hash() == request.hash);
        let max = request.max as usize;
        match (request.direction, at) {
            (Direction::Descending, Some(at)) => Ok(blocks[..=at].iter().rev().take(max).cloned().collect()),
            (Direction::Ascending, Some(at)) => Ok(blocks[at + 1..].iter().take(max).cloned().collect()),
            (Direction::Ascending, None) if request.hash == genesis().hash => {
                Ok(blocks.into_iter().take(max).collect())
            }
            _ => Err(Refusal::Unknown),
        }
    }

    async fn state(&self, _: &Caller, request: StateRequest) -> Result<StateRange, Refusal> {
        Ok(StateTrie::new(&self.state()).range(&request))
    }
}

pub(super) fn id(block: &Block) -> BlockId {
    BlockId { hash: block.header.hash(), slot: block.header.slot }
}

/// A node that runs.
pub(super) struct Running {
    pub(super) endpoint: Endpoint,
    pub(super) node: Arc<Node>,
    pub(super) notes: mpsc::UnboundedReceiver<Note>,
}

impl Running {
    pub(super) fn start(index: u32, chain: Vec<Block>, vice: Vice, limits: Limits) -> Self {
        let (sender, notes) = mpsc::unbounded_channel();
        let node = Arc::new(Node {
            chain: Mutex::new(chain),
            finalized: Mutex::new(genesis()),
            vice,
            notes: sender,
        });
        let endpoint = Endpoint::bind(&config(index, Role::Node, limits), node.clone()).unwrap();
        Self { endpoint, node, notes }
    }

    pub(super) fn bootnode(&self) -> Bootnode {
        Bootnode { key: self.endpoint.key(), addr: self.endpoint.local_addr().unwrap() }
    }

    pub(super) fn announce(&self, block: &Block) {
        self.node.chain.lock().unwrap().push(block.clone());
        let finalized = *self.node.finalized.lock().unwrap();
        self.endpoint.announce(&Announcement { header: block.header.clone(), finalized });
    }
}

pub(super) fn config(index: u32, role: Role, limits: Limits) -> Config {
    Config {
        secret: Ed25519Secret::trivial(index),
        genesis: genesis().hash,
        params: PARAMS,
        role,
        listen: Some("127.0.0.1:0".parse().unwrap()),
        limits,
    }
}

pub(super) async fn dial(from: &Endpoint, to: &Endpoint) -> Connection {
    from.dial(to.key(), to.local_addr().unwrap()).await.unwrap()
}

pub(super) fn key(index: u32) -> Ed25519Key {
    Ed25519Secret::trivial(index).public()
}

pub(super) fn hash(byte: u8) -> HeaderHash {
    HeaderHash(jam::Hash::repeat_byte(byte))
}
