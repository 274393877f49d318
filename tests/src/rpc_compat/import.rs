//! The recorded chain behind the real server.

use crate::recorded::{Layer, Replay, Trie, replay};
use alloy_consensus::{Block, ReceiptEnvelope, TxEnvelope, transaction::SignerRecoverable};
use alloy_primitives::{Address, B256, Bytes, U256};
use harness::pool_backend::PoolBackend;
use revm::state::AccountInfo;
use rpc::{
    Api, Config, EvmChainSpec, Feed, Foreign, Health, LayerState, Limits, MemoryArchive, Parts, PoolIndex,
    Pretended, Proof, RecentBlock, Server, Snapshot, Sources, State, StateError, Tags,
};
use state::CodeSet;
use std::{path::Path, sync::Arc, time::Duration};
use txpool::{Head, Pool};
use types::{BlockId, ReceiptedBlock, SealedBlock, Transaction};

/// The state after a recorded block: as we keep it, but committed to as its header says, and with the hashes of all
/// blocks before it.
struct RecordedState {
    inner: LayerState<harness::blocks::Values, Arc<CodeSet>>,
    trie: Arc<Trie>,
    hashes: Arc<Vec<B256>>,
}

impl State for RecordedState {
    fn account(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        self.inner.account(address)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.inner.slot(address, slot)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        self.inner.code(hash)
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        Ok(self.hashes.get(index).copied().unwrap_or_default())
    }

    fn proof(&self, address: Address, slots: &[U256]) -> Result<Proof, StateError> {
        let (account, storage_hash, slots) = self.trie.proof(address, slots);
        Ok(Proof { account, storage_hash, slots })
    }

    fn root_with(&self, accounts: &[Pretended]) -> Result<B256, StateError> {
        Ok(self.trie.root_with(accounts))
    }
}

/// What is served.
pub struct Import {
    /// The archive, with all blocks.
    pub archive: Arc<MemoryArchive>,
    /// The newest block and its state.
    pub feed: Feed,
    /// The chain.
    pub chain: EvmChainSpec,
}

impl Import {
    /// Executes and imports the chain in `folder`.
    pub fn new(folder: &Path) -> Self {
        let replay = replay(folder);
        let genesis =
            ReceiptedBlock { block: SealedBlock::new(replay.genesis.clone(), vec![]), receipts: [].into() };
        let id = genesis.block.id();
        let chain = EvmChainSpec::recorded(&replay.file.config, id, "pectin/rpc-compat".to_owned());
        let codes = Arc::new(replay.codes.clone());
        let hashes = replay.blocks.iter().map(|replayed| replayed.block.header.hash_slow());
        let hashes = Arc::new([id.hash].into_iter().chain(hashes).collect::<Vec<_>>());
        let state = |layer: &Layer, trie: &Arc<Trie>| -> Arc<dyn State> {
            let inner = LayerState::new(layer.clone(), codes.clone());
            Arc::new(RecordedState { inner, trie: trie.clone(), hashes: hashes.clone() })
        };
        let archive = Arc::new(MemoryArchive::default());
        archive.insert(genesis.clone(), Some(Foreign::default()));
        let mut recent = vec![RecentBlock::new(genesis, state(&replay.first, &replay.first_trie))];
        for replayed in &replay.blocks {
            let (block, foreign) = sealed(&replayed.block, &replayed.receipts);
            archive.insert(block.clone(), Some(foreign));
            recent.push(RecentBlock::new(block, state(&replayed.after, &replayed.trie)));
        }
        let latest = recent[recent.len() - 1].id();
        let feed = feed(&replay, recent, latest);
        Self { archive, feed, chain }
    }
}

fn sealed(block: &Block<TxEnvelope>, receipts: &[ReceiptEnvelope]) -> (ReceiptedBlock, Foreign) {
    let recover =
        |tx: &TxEnvelope| tx.clone().try_into_recovered().expect("it was recorded with a signature");
    let transactions = block.body.transactions.iter().map(|tx| Transaction::new(recover(tx)));
    let sealed = SealedBlock::new(block.header.clone(), transactions.collect::<Vec<_>>());
    let withdrawals = block.body.withdrawals.as_ref().map(|all| all.to_vec());
    let foreign = Foreign { ommers: block.body.ommers.clone(), withdrawals };
    (ReceiptedBlock { block: sealed, receipts: receipts.into() }, foreign)
}

fn feed(replay: &Replay, recent: Vec<Arc<RecentBlock>>, latest: BlockId) -> Feed {
    let parts = Parts {
        tags: Tags { safe: latest, finalized: latest },
        pending: None,
        queue: Arc::new(queue::Snapshot {
            base: latest,
            bundles: vec![],
            unbundled: None,
            fullness: 0,
            newest_at: None,
            finished: vec![],
            abandoned_from: None,
            halted: None,
            stats: queue::Stats::default(),
        }),
        pool: txpool::Stats::default(),
        rules: pool_config(replay.chain_id).rules(HEAD),
        health: Health::default(),
        insight: rpc::Insight::default(),
    };
    Feed::new(Snapshot::new(recent, parts).expect("the blocks follow each other"))
}

const HEAD: Head = Head { base_fee_wei: 0, gas_limit: 200_000_000 };

fn pool_config(chain_id: u64) -> txpool::Config {
    txpool::Config { chain_id, gas_price_min_wei: 0, ..txpool::Config::dev() }
}

/// Imports the chain in `folder` and serves it on a free port of this machine.
pub async fn serve(folder: &Path) -> std::io::Result<Server> {
    let Import { archive, feed, chain } = Import::new(folder);
    let index = Arc::new(PoolIndex::default());
    let pool = Pool::new(pool_config(chain.chain_id), HEAD);
    let driver = Arc::new(PoolBackend::new(pool, index.clone(), feed.clone()));
    let sources = Sources { chain, feed, pool: index, archive, backend: driver, extensions: vec![] };
    // The roots of simulated blocks are those of tries that are made anew each time.
    let limits = Limits { call_timeout: Duration::from_secs(60), ..Limits::default() };
    let api = Api::new(Config { limits, ..Config::default() }, sources);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    Server::start(listener, api, None)
}
