//! What `pectin node` says when it has started: which chain, who it is, where it listens, what it found.

use super::setup::Setup;
use runtime::{Left, Node};
use std::time::Instant;

/// What is known before the node starts.
pub(super) struct Facts {
    chain: String,
    chain_id: u64,
    service: u32,
    jam_genesis: String,
    evm_genesis: String,
    slot_ms: u64,
    peer: String,
    key: String,
    data_dir: String,
    bootnodes: usize,
    peers: usize,
}

impl Facts {
    /// Of a node that is about to start; its settings were checked.
    pub(super) fn of(setup: &Setup) -> Result<Self, super::Failure> {
        let (service, _) = setup.service()?;
        let key = setup.secret.public();
        let data_dir = setup.data_dir.as_ref();
        let bootnodes = setup.spec.bootnodes.len();
        Ok(Self {
            chain: setup.spec.id.clone(),
            chain_id: service.chain_id,
            service: service.service,
            jam_genesis: setup.spec.genesis_hash().to_string(),
            evm_genesis: setup.genesis.id().hash.to_string(),
            slot_ms: setup.slot_ms,
            peer: key.certificate_name(),
            key: key.to_string(),
            data_dir: data_dir.map_or_else(|| "none".to_owned(), |path| path.display().to_string()),
            bootnodes,
            peers: bootnodes + super::setup::named_peers(&setup.options)?.len(),
        })
    }

    /// Says it, once the node is there.
    pub(super) fn tell(&self, node: &Node, begun: Instant) {
        let Self { chain, chain_id, service, jam_genesis, evm_genesis, slot_ms, .. } = self;
        tracing::info!(%chain, chain_id, service, %jam_genesis, %evm_genesis, slot_ms, "chain");
        let Self { peer, key, data_dir, bootnodes, peers, .. } = self;
        let p2p = node.p2p().map_or_else(|why| why.to_string(), |addr| addr.to_string());
        let http = node.http();
        tracing::info!(%key, %peer, %data_dir, %http, %p2p, bootnodes, peers, "builder");
        let Left { pooled, unfinished, queued } = node.found();
        let snapshot = node.feed().snapshot();
        let (newest, finalized) = (snapshot.latest().id(), snapshot.tags.finalized);
        tracing::info!(%newest, %finalized, unfinished, queued, pooled, "recovered");
        tracing::info!("ready in {:.1} s, RPC on http://{http}", begun.elapsed().as_secs_f64());
        node.log_peers();
    }
}
