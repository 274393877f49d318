//! Following a chain that several peers serve, some of them badly.

use super::world::{PARAMS, Running, Vice, chain, config, follower, genesis, hash, id, key};
use crate::{ChainEvent, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Role, StateWanted};
use jam::{follow::Follower, spec::StateKey, state::StateIndex};

/// A builder that follows.
struct Builder {
    endpoint: Endpoint,
    chain: Follow,
    follower: Follower,
    _peers: Peers,
}

impl Builder {
    fn start(nodes: &[&Running]) -> Self {
        let status = Handshake { finalized: genesis(), leaves: vec![genesis()] };
        let (feed, chain) = Follow::start(status, FollowLimits::default());
        let endpoint = Endpoint::bind(&config(100, Role::Builder, Limits::default()), feed).unwrap();
        let mut peers = Peers::new(endpoint.clone(), 1);
        peers.set(nodes.iter().map(|node| node.bootnode()));
        Self { endpoint, chain, follower: follower(), _peers: peers }
    }

    /// Applies events until the follower is where it should be.
    async fn until(&mut self, done: impl Fn(&Follower) -> bool) {
        while !done(&self.follower) {
            let event = self.chain.next().await.unwrap();
            let update = event.apply(&mut self.follower);
            assert_eq!(update.refused, vec![]);
            self.chain.want(self.follower.wanted());
            self.chain.tell(&self.follower);
        }
    }

    async fn state(&mut self, wanted: StateWanted) -> ChainEvent {
        assert!(self.chain.want_state(wanted));
        loop {
            match self.chain.next().await.unwrap() {
                event @ (ChainEvent::State { .. } | ChainEvent::StateUnavailable { .. }) => return event,
                event => drop(event.apply(&mut self.follower)),
            }
        }
    }
}

#[tokio::test]
async fn a_chain_is_followed_as_it_grows_and_becomes_final() {
    let blocks = chain(30, 0);
    let nodes = (0..6).map(|i| Running::start(i, blocks[..3].to_vec(), Vice::None, Limits::default()));
    let nodes = nodes.collect::<Vec<_>>();
    let mut builder = Builder::start(&nodes.iter().collect::<Vec<_>>());
    builder.until(|follower| follower.view().head().hash == id(&blocks[2]).hash).await;
    for block in &blocks[3..] {
        for node in &nodes {
            *node.node.finalized.lock().unwrap() = id(&blocks[block.header.slot as usize - 3]);
            node.announce(block);
        }
    }
    let last = id(&blocks[29]).hash;
    builder.until(|follower| follower.view().head().hash == last && follower.finalized().slot == 28).await;
    builder.endpoint.shutdown().await;
    assert!(builder.endpoint.connections().is_empty());
}

#[tokio::test]
async fn a_long_way_behind_is_caught_up_with() {
    let blocks = chain(700, 0);
    let node = Running::start(0, blocks.clone(), Vice::None, Limits::default());
    let mut builder = Builder::start(&[&node]);
    builder.until(|follower| follower.view().head().hash == id(&blocks[699]).hash).await;
}

#[tokio::test]
async fn forks_of_different_peers_are_both_seen() {
    let (long, short) = (chain(9, 1), chain(5, 2));
    let nodes = [
        Running::start(0, short.clone(), Vice::None, Limits::default()),
        Running::start(1, long.clone(), Vice::None, Limits::default()),
    ];
    let mut builder = Builder::start(&nodes.iter().collect::<Vec<_>>());
    let (long, short) = (id(&long[8]).hash, id(&short[4]).hash);
    builder.until(|follower| follower.view().head().hash == long && follower.contains(short)).await;
}

#[tokio::test]
async fn peers_that_lag_or_lie_are_passed_over() {
    let blocks = chain(12, 0);
    let start = |index, vice| Running::start(index, blocks.clone(), vice, Limits::default());
    let nodes = [start(0, Vice::Lags(2)), start(1, Vice::WrongBodies), start(2, Vice::None)];
    let mut builder = Builder::start(&nodes.iter().collect::<Vec<_>>());
    builder.until(|follower| follower.view().head().hash == id(&blocks[11]).hash).await;
}

#[tokio::test]
async fn what_nobody_has_is_said_to_be_unavailable() {
    let node = Running::start(0, chain(2, 0), Vice::None, Limits::default());
    let mut builder = Builder::start(&[&node]);
    builder.until(|follower| follower.view().head().slot == 2).await;
    builder.chain.want(vec![hash(5)]);
    loop {
        match builder.chain.next().await.unwrap() {
            ChainEvent::Unavailable { hash: missing } => break assert_eq!(missing, hash(5)),
            event => drop(event.apply(&mut builder.follower)),
        }
    }
}

#[tokio::test]
async fn a_state_counts_if_its_root_is_known_or_enough_agree() {
    let start = |index, vice| Running::start(index, chain(2, 0), vice, Limits::default());
    let nodes = [start(0, Vice::WrongState), start(1, Vice::None), start(2, Vice::None)];
    let mut builder = Builder::start(&nodes.iter().collect::<Vec<_>>());
    for index in 0..3 {
        builder.endpoint.connected(&key(index)).await.unwrap();
    }
    let right = nodes[1].node.state();
    let storage = StateKey::repeat_byte(9);
    let root = crate::StateTrie::new(&right).root();
    let wanted = |root, agreement| StateWanted::of_chain(hash(1), root, &[storage], agreement);
    for wanted in [wanted(Some(root), 0), wanted(None, 2)] {
        let ChainEvent::State { header, root: proved, entries, .. } = builder.state(wanted).await else {
            panic!("the state is there");
        };
        assert_eq!((header, proved), (hash(1), root));
        assert_eq!(entries.get(&storage), right.get(&storage));
        assert_eq!(entries.get(&StateIndex::Slot.key()), right.get(&StateIndex::Slot.key()));
        assert!(!entries.contains_key(&StateIndex::Entropy.key()), "what does not exist is not there");
    }
    let event = builder.state(wanted(None, 3)).await;
    assert_eq!(event, ChainEvent::StateUnavailable { header: hash(1) });
    assert_eq!(PARAMS.cores, 2);
}
