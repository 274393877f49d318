//! The final chain, as the node gives it to anybody who asks.

use super::client::{Rpc, number};
use alloy_consensus::{Block, Header, TxEnvelope};
use alloy_primitives::{B256, Bytes, map::HashMap};
use alloy_rlp::Decodable;
use serde_json::{Value, json};
use types::BlockId;

/// A final block.
#[derive(Clone, Debug)]
pub(super) struct Mined {
    /// Its header.
    pub(super) header: Header,
    /// Its transactions.
    pub(super) transactions: Vec<TxEnvelope>,
}

impl Mined {
    /// Number and hash.
    pub(super) fn id(&self) -> BlockId {
        BlockId::new(self.header.number, self.header.hash_slow())
    }
}

/// All final blocks but the first.
#[derive(Clone, Debug)]
pub(super) struct FinalChain {
    /// The blocks.
    pub(super) blocks: Vec<Mined>,
    /// The last of them, as the node calls it.
    pub(super) finalized: BlockId,
    /// By transaction: whether it did what it should, and the gas that it used.
    pub(super) receipts: HashMap<B256, (bool, u64)>,
}

impl FinalChain {
    /// Fetches it all.
    pub(super) fn fetch(rpc: &mut Rpc) -> Result<Self, String> {
        let head = rpc.ask("eth_getBlockByNumber", json!(["finalized", false]))?;
        let height = number(&head["number"]).ok_or("the finalized block has no number")?;
        let hash = hash(&head["hash"]).ok_or("the finalized block has no hash")?;
        let numbers = || (1..=height).map(|number| json!([format!("{number:#x}")]));
        let mut blocks = Vec::new();
        for raw in all(rpc, "debug_getRawBlock", numbers())? {
            let raw = raw.as_str().and_then(|raw| raw.parse::<Bytes>().ok()).ok_or("a block is no bytes")?;
            let block =
                Block::<TxEnvelope>::decode(&mut &raw[..]).map_err(|why| format!("a block: {why}"))?;
            blocks.push(Mined { header: block.header, transactions: block.body.transactions });
        }
        let mut receipts = HashMap::default();
        for of_block in all(rpc, "eth_getBlockReceipts", numbers())? {
            for receipt in of_block.as_array().ok_or("a block has no receipts")? {
                let read = || {
                    let success = number(&receipt["status"])? == 1;
                    Some((self::hash(&receipt["transactionHash"])?, (success, number(&receipt["gasUsed"])?)))
                };
                receipts.extend([read().ok_or_else(|| format!("not a receipt: {receipt}"))?]);
            }
        }
        Ok(Self { blocks, finalized: BlockId::new(height, hash), receipts })
    }
}

fn hash(value: &Value) -> Option<B256> {
    value.as_str()?.parse().ok()
}

fn all(rpc: &mut Rpc, method: &str, params: impl Iterator<Item = Value>) -> Result<Vec<Value>, String> {
    let calls = params.map(|params| (method, params)).collect::<Vec<_>>();
    let answers = rpc.batch(&calls).ok_or("the node does not answer")?;
    answers.into_iter().map(|answer| answer.map_err(|why| format!("{method}: {why}"))).collect()
}
