//! A small node for tests of JSON-RPC: real blocks, a real pool, the real server; sealing and finality when the test
//! says so.

use crate::{
    blocks::{MemoryChain, Values, config},
    http::{Client, Response},
    openrpc::{Schemas, is_exempt},
    pool_backend::PoolBackend,
};
use alloy_primitives::{Address, Bytes, U256};
use rpc::{
    Api, Archive, Config, EvmChainSpec, Feed, Health, LayerState, MemoryArchive, OpenState, Parts,
    PendingBlock, PoolIndex, RecentBlock, Server, Snapshot, Sources, Tags,
};
use serde_json::{Value, json};
use state::CodeSet;
use std::sync::Arc;
use tokio::runtime::Runtime;
use txpool::{Head, Pool};
use types::{BlockId, Event, ReceiptedBlock, ReleasedBy, SealedBlock, Time, Transaction};

/// The node.
pub struct World {
    /// Where the server's tasks run.
    pub runtime: Runtime,
    /// What answers, without the server.
    pub api: Arc<Api>,
    /// Where it listens, as `http://..`.
    pub url: String,
    /// What it publishes.
    pub feed: Feed,
    /// What waits.
    pub pool: Arc<PoolIndex>,
    /// Its driver.
    pub driver: Arc<PoolBackend>,
    /// Final blocks.
    pub archive: Arc<MemoryArchive>,
    /// One builder after each block, the newest last.
    builders: Vec<MemoryChain>,
    blocks: Vec<Arc<RecentBlock>>,
    finalized: usize,
    /// How many states are kept.
    states_max: usize,
    schemas: Option<Schemas>,
    _server: Server,
}

const HEAD: Head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };

fn pool_config() -> txpool::Config {
    txpool::Config::dev()
}

fn recent(block: ReceiptedBlock, builder: &MemoryChain) -> Arc<RecentBlock> {
    let state: LayerState<Values, Arc<CodeSet>> =
        LayerState::new(builder.parent.layer.clone(), builder.codes.clone());
    RecentBlock::new(block, Arc::new(state))
}

impl World {
    /// A node with the development chain and these accounts besides: address, balance, code.
    pub fn new(rpc_config: Config, accounts: &[(Address, U256, Bytes)]) -> Self {
        let runtime = Runtime::new().expect("threads can be started");
        let builder = MemoryChain::new(accounts);
        let block = SealedBlock::new(builder.parent.header.clone(), vec![]);
        let genesis = ReceiptedBlock { block, receipts: [].into() };
        let archive = Arc::new(MemoryArchive::default());
        archive.insert(genesis.clone(), None);
        let id = genesis.block.id();
        let blocks = vec![recent(genesis, &builder)];
        let feed = Feed::new(snapshot(&blocks, id, None));
        let pool = Arc::new(PoolIndex::default());
        let driver = PoolBackend::new(Pool::new(pool_config(), HEAD), pool.clone(), feed.clone());
        let driver = Arc::new(driver);
        let chain = EvmChainSpec::new(&config(), id, crate::blocks::BENEFICIARY, "pectin/test".to_owned());
        let sources = Sources {
            chain,
            feed: feed.clone(),
            pool: pool.clone(),
            archive: archive.clone(),
            backend: driver.clone(),
            extensions: vec![],
        };
        let (api, server) = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
            let api = Api::new(rpc_config, sources);
            (api.clone(), Server::start(listener, api, None).expect("it listens"))
        });
        let url = format!("http://{}", server.address());
        let schemas = crate::fixtures::folder("rpc-compat")
            .map(|folder| Schemas::read(&folder.join("openrpc.json")).expect("the specification is there"));
        Self {
            runtime,
            api,
            url,
            feed,
            pool,
            driver,
            archive,
            builders: vec![builder],
            blocks,
            finalized: 0,
            states_max: 128,
            schemas,
            _server: server,
        }
    }

    /// Keeps only so many states from the next block on.
    pub fn keep_states(&mut self, max: usize) {
        self.states_max = max;
    }

    /// The builder on the newest block.
    pub fn builder(&self) -> &MemoryChain {
        &self.builders[self.builders.len() - 1]
    }

    /// The newest block.
    pub fn latest(&self) -> &Arc<RecentBlock> {
        &self.blocks[self.blocks.len() - 1]
    }

    /// Seals and publishes a block of these transactions.
    pub fn seal(&mut self, transactions: &[Transaction]) -> BlockId {
        let mut builder = self.builder().clone();
        let sealed = builder.build(transactions);
        assert_eq!(sealed.block().transactions().len(), transactions.len(), "all can be executed");
        builder.advance(&sealed);
        let block = ReceiptedBlock { block: sealed.block().clone(), receipts: sealed.receipts.clone() };
        let block = recent(block, &builder);
        let id = block.id();
        self.blocks.push(block);
        self.builders.push(builder);
        self.publish(None);
        self.tell(&[Event::Sealed { block: id, transactions: transactions.len() }]);
        id
    }

    /// Shows an open block with these transactions.
    pub fn open(&mut self, transactions: &[Transaction]) {
        let mut builder = self.builder().clone();
        let mut open = builder.open();
        for tx in transactions {
            open.push(tx).expect("it can be executed");
        }
        let changes = open.state().changes().expect("the state is in memory");
        let state = OpenState::new(builder.parent.layer.clone(), builder.codes.clone(), changes);
        let pending = PendingBlock {
            header: open.header().clone(),
            transactions: open.transactions().into(),
            receipts: open.receipts().into(),
            state: Arc::new(state),
        };
        self.publish(Some(Arc::new(pending)));
    }

    /// Gives up the newest `count` blocks.
    pub fn release(&mut self, count: usize) {
        for _ in 0..count {
            let block = self.blocks.pop().expect("there is a block to give up").id();
            self.builders.pop();
            // What is built again is another block, even of the same transactions.
            let builder = self.builders.last_mut().expect("the genesis stays");
            builder.builds += 100;
            self.publish(None);
            self.tell(&[Event::Released { block, by: ReleasedBy::Chain }]);
        }
    }

    /// Makes all blocks final.
    pub fn finalize(&mut self) {
        for block in &self.blocks[self.finalized + 1..] {
            self.archive.insert(block.block.clone(), None);
        }
        self.finalized = self.blocks.len() - 1;
        self.publish(None);
    }

    fn tell(&self, events: &[Event]) {
        self.pool.note(events, Time::from_millis(1));
        self.feed.tell(Time::from_millis(1), events);
    }

    fn publish(&self, pending: Option<Arc<PendingBlock>>) {
        let oldest = (self.blocks.len().saturating_sub(self.states_max)).min(self.finalized);
        let finalized = self.blocks[self.finalized].id();
        self.feed.publish(snapshot(&self.blocks[oldest..], finalized, pending));
    }

    /// A connection.
    pub fn client(&self) -> Client {
        Client::connect(&self.url).expect("the server listens")
    }

    /// Posts JSON and gives the answer.
    pub fn post(&self, body: &Value) -> Response {
        self.client().post(body.to_string().as_bytes()).expect("the server answers")
    }

    /// Calls a method; the result if there is one, else the error. A result that the specification does not allow is a
    /// failed test.
    #[allow(clippy::needless_pass_by_value, reason = "a test writes its parameters where it calls")]
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let answer = self.post(&request);
        assert_eq!(answer.status, 200);
        let mut answer: Value = serde_json::from_slice(&answer.body).expect("it is JSON");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
        match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => {
                let result = answer["result"].take();
                let refused = self.schemas.as_ref().and_then(|schemas| schemas.refuse(method, &result));
                assert!(refused.is_none() || is_exempt(method, &result), "{method}: {refused:?}");
                Ok(result)
            }
        }
    }

    /// The result of a call that must have one.
    pub fn ok(&self, method: &str, params: Value) -> Value {
        self.call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The error of a call that must have one.
    pub fn error(&self, method: &str, params: Value) -> Value {
        match self.call(method, params) {
            Ok(result) => panic!("{method}: {result}"),
            Err(error) => error,
        }
    }

    /// Whether the archive has a block.
    pub fn is_archived(&self, number: u64) -> bool {
        self.archive.block(number).is_ok_and(|block| block.is_some())
    }
}

fn snapshot(blocks: &[Arc<RecentBlock>], finalized: BlockId, pending: Option<Arc<PendingBlock>>) -> Snapshot {
    let parts = Parts {
        tags: Tags { safe: finalized, finalized },
        pending,
        queue: Arc::new(queue::Snapshot {
            base: finalized,
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
        rules: pool_config().rules(HEAD),
        health: Health::default(),
        insight: rpc::Insight::default(),
    };
    Snapshot::new(blocks.to_vec(), parts).expect("the blocks follow each other")
}
