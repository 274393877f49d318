//! `eth_getLogs` over many blocks of which few match, against reading those few: on the store that the node has, in a
//! file.

use super::{
    cost, median_of_pairs,
    rpc::{LoopDriver, api, feed_of},
};
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope};
use alloy_primitives::{Address, B256, Bytes, Log, U64, U256};
use bundler::Draft;
use harness::blocks::{self, Call, MemoryChain, Wallet};
use jam::HeaderHash;
use queue::Record;
use rpc::{Caller, LayerState, Params, PoolIndex, RecentBlock};
use runtime::StoreArchive;
use serde_json::{json, value::RawValue};
use service::genesis::Genesis;
use state::CodeSet;
use std::sync::Arc;
use store::{Batch, ChainIdentity, FoundLog, LogFilter, LogLimits, Options, Store, Unfinished};
use types::{ReceiptedBlock, SealedBlock};

const BLOCKS: u64 = 10_000;
/// Logs of other contracts in each block.
const OTHERS: usize = 20;
/// One block in so many has a log that matches.
const ONE_IN: u64 = 100;
const ADDRESS: Address = Address::repeat_byte(0xaa);
const PAIRS: usize = 41;
/// Blocks in one step of the store.
const BLOCKS_AT_ONCE: u64 = 1_000;

/// The ratio.
pub(super) fn logs() -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be built");
    let folder = tempfile::tempdir().expect("there is room for a file");
    let (store, last) = store(folder.path());
    let chain = MemoryChain::new(&[]);
    let state = Arc::new(LayerState::new(chain.parent.layer, chain.codes));
    let index = Arc::new(PoolIndex::default());
    let archive = Arc::new(StoreArchive(store.clone()));
    let api = runtime.block_on(async {
        let driver = Arc::new(LoopDriver::start(index.clone()));
        api(feed_of(vec![RecentBlock::new(last, state)]), index, archive, driver)
    });
    let params = json!([{ "fromBlock": "0x1", "toBlock": format!("{:#x}", BLOCKS), "address": ADDRESS }]);
    let params = RawValue::from_string(params.to_string()).expect("it is JSON");
    let filter = LogFilter { addresses: vec![ADDRESS], topics: vec![] };
    let ours = || {
        let params = Params::new(Some(&params)).expect("it is a list");
        let caller = Caller::default();
        let call = api.call("eth_getLogs", params, &caller);
        let (spent, answer) = cost(|| runtime.block_on(call));
        let found = answer.expect("the range is allowed").get().matches("logIndex").count();
        assert_eq!(found as u64, BLOCKS / ONE_IN);
        spent
    };
    let floor = || {
        let (spent, text) = cost(|| {
            let reader = store.reader().expect("the file can be read");
            let numbers = (1..=BLOCKS).step_by(ONE_IN as usize);
            let entries = numbers.flat_map(|number| {
                reader.logs(number..=number, &filter, LogLimits::NONE).expect("the file can be read")
            });
            serde_json::to_string(&entries.map(|entry| View::new(&entry)).collect::<Vec<_>>())
        });
        assert_eq!(text.expect("it can be written").matches("logIndex").count() as u64, BLOCKS / ONE_IN);
        spent
    };
    median_of_pairs(PAIRS, ours, floor)
}

/// The same fields that the answer has.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    block_number: U64,
    transaction_hash: B256,
    transaction_index: U64,
    block_hash: B256,
    block_timestamp: U64,
    log_index: U64,
    removed: bool,
}

impl View {
    fn new(entry: &FoundLog) -> Self {
        Self {
            address: entry.log.address,
            topics: entry.log.data.topics().to_vec(),
            data: entry.log.data.data.clone(),
            block_number: U64::from(entry.block.number),
            transaction_hash: entry.tx_hash,
            transaction_index: U64::from(entry.tx_index),
            block_hash: entry.block.hash,
            block_timestamp: U64::from(entry.timestamp),
            log_index: U64::from(entry.log_index),
            removed: false,
        }
    }
}

/// A store with blocks of many logs, all final but the newest, which is given too.
fn store(folder: &std::path::Path) -> (Store, ReceiptedBlock) {
    let genesis = Genesis::dev(&blocks::config());
    let chain = ChainIdentity {
        genesis: genesis.id().hash,
        service: blocks::SERVICE,
        builder: blocks::config().builder,
        jam_genesis: HeaderHash(B256::ZERO),
    };
    let options = Options::new(chain, jam::Params::TINY);
    let store = Store::open(folder.join("pectin.redb"), options, &genesis).expect("a store can be made");
    let tx = Wallet::new(1).eip1559(Call::to(ADDRESS, 0));
    let (mut parent, mut newest) = (genesis.header, None);
    let mut batch = Batch::new();
    for number in 1..=BLOCKS + 1 {
        let log = |address, index: u64| {
            Log::new_unchecked(address, vec![U256::from(index).into()], Bytes::from_static(&[1; 32]))
        };
        let mut logs = (0..OTHERS as u64)
            .map(|other| log(Address::with_last_byte(other as u8), other))
            .collect::<Vec<_>>();
        if number % ONE_IN == 1 && number <= BLOCKS {
            logs.push(log(ADDRESS, number));
        }
        let receipt = Receipt { status: Eip658Value::Eip658(true), cumulative_gas_used: 21_000, logs };
        let receipt = receipt.with_bloom();
        let parent_hash = parent.hash_slow();
        let header = Header { number, parent_hash, logs_bloom: receipt.logs_bloom, ..Header::default() };
        let block = SealedBlock::new(header.clone(), vec![tx.clone()]);
        let receipts = Arc::<[_]>::from([ReceiptEnvelope::Eip1559(receipt)]);
        let parent = std::mem::replace(&mut parent, header);
        let draft = Draft { parent, block: block.clone(), signature: jam::Signature::default() };
        let (writes, created) = (Arc::default(), CodeSet::default());
        batch.sealed(number, Unfinished { draft, receipts: receipts.clone(), writes, created });
        if number.is_multiple_of(BLOCKS_AT_ONCE) {
            batch.queue(Record::Finalized { through: block.id() });
            store.commit(&std::mem::take(&mut batch)).expect("there is room");
        }
        newest = Some(ReceiptedBlock { block, receipts });
    }
    store.commit(&batch).expect("there is room");
    (store, newest.expect("there is at least the first"))
}
