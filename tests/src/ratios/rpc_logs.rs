//! `eth_getLogs` over many blocks of which few match, against reading those few.

use super::{
    cost, median_of_pairs,
    rpc::{LoopDriver, api, feed_of},
};
use crate::blocks::{Call, Chain as Builder, Wallet};
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope};
use alloy_primitives::{Address, B256, Bytes, Log, U64, U256};
use rpc::{
    Archive, Caller, LayerState, LogEntry, LogFilter, MemoryArchive, Params, PoolIndex, RecentBlock,
    matching_logs,
};
use serde_json::{json, value::RawValue};
use std::sync::Arc;
use types::{ReceiptedBlock, SealedBlock};

const BLOCKS: u64 = 10_000;
/// Logs of other contracts in each block.
const OTHERS: usize = 20;
/// One block in so many has a log that matches.
const ONE_IN: u64 = 100;
const ADDRESS: Address = Address::repeat_byte(0xaa);
const PAIRS: usize = 41;

/// The ratio.
pub(super) fn logs() -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be built");
    let (archive, last) = archive();
    let chain = Builder::new(&[]);
    let state = Arc::new(LayerState::new(chain.parent.layer, chain.codes));
    let index = Arc::new(PoolIndex::default());
    let (archive, api) = runtime.block_on(async {
        let archive = Arc::new(archive);
        let driver = Arc::new(LoopDriver::start(index.clone()));
        (archive.clone(), api(feed_of(vec![RecentBlock::new(last, state)]), index, archive, driver))
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
            let blocks = (1..=BLOCKS).step_by(ONE_IN as usize);
            let blocks = blocks.filter_map(|number| archive.block(number).expect("it is in memory"));
            let entries = blocks.flat_map(|block| matching_logs(&block, &filter).collect::<Vec<_>>());
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
    fn new(entry: &LogEntry) -> Self {
        Self {
            address: entry.log.address,
            topics: entry.log.data.topics().to_vec(),
            data: entry.log.data.data.clone(),
            block_number: U64::from(entry.block.number),
            transaction_hash: entry.transaction,
            transaction_index: U64::from(entry.transaction_index),
            block_hash: entry.block.hash,
            block_timestamp: U64::from(entry.timestamp),
            log_index: U64::from(entry.log_index),
            removed: false,
        }
    }
}

/// Blocks with many logs, and the newest of them.
fn archive() -> (MemoryArchive, ReceiptedBlock) {
    let archive = MemoryArchive::default();
    let tx = Wallet::new(1).eip1559(Call::to(ADDRESS, 0));
    let mut parent = B256::ZERO;
    let mut last = None;
    for number in 0..=BLOCKS {
        let log = |address, index: u64| {
            Log::new_unchecked(address, vec![U256::from(index).into()], Bytes::from_static(&[1; 32]))
        };
        let mut logs = (0..OTHERS as u64)
            .map(|other| log(Address::with_last_byte(other as u8), other))
            .collect::<Vec<_>>();
        if number % ONE_IN == 1 {
            logs.push(log(ADDRESS, number));
        }
        let receipt = Receipt { status: Eip658Value::Eip658(true), cumulative_gas_used: 21_000, logs };
        let receipt = receipt.with_bloom();
        let header =
            Header { number, parent_hash: parent, logs_bloom: receipt.logs_bloom, ..Header::default() };
        let block = SealedBlock::new(header, vec![tx.clone()]);
        parent = block.id().hash;
        let block = ReceiptedBlock { block, receipts: [ReceiptEnvelope::Eip1559(receipt)].into() };
        archive.insert(block.clone(), None);
        last = Some(block);
    }
    (archive, last.expect("there is at least the first"))
}
