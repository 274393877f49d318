//! Reading what nodes answer. What cannot be read is nothing, never a guess.

use super::heads::Block;
use alloy_primitives::{Address, B256, Bytes, U256};
use sender_model::{Head, Inclusion, Intent, Quote, ReceiptAnswer};
use serde_json::{Value, json};

/// Logs of receipts that are kept with a request; a longer receipt is kept without them.
const RECEIPT_BYTES_MAX: usize = 128 * 1024;

pub(super) fn hex(number: u64) -> String {
    format!("{number:#x}")
}

pub(super) fn wide(value: &Value) -> Option<U256> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    U256::from_str_radix(digits, 16).ok()
}

pub(super) fn quantity(value: &Value) -> Option<u128> {
    wide(value)?.try_into().ok()
}

pub(super) fn number(value: &Value) -> Option<u64> {
    quantity(value)?.try_into().ok()
}

pub(super) fn head(block: &Value) -> Option<Head> {
    Some(Head { number: number(block.get("number")?)?, hash: block.get("hash")?.as_str()?.parse().ok()? })
}

/// A block with the hashes of its transactions.
pub(super) fn block(block: &Value) -> Option<Block> {
    let hash = |value: &Value| value.as_str()?.parse::<B256>().ok();
    let transactions = block.get("transactions").and_then(Value::as_array);
    Some(Block {
        head: head(block)?,
        parent: hash(block.get("parentHash")?)?,
        timestamp: number(block.get("timestamp")?)?,
        base_fee: block.get("baseFeePerGas").and_then(quantity),
        transactions: transactions.into_iter().flatten().filter_map(hash).collect(),
    })
}

/// The transaction that a receipt is of.
pub(super) fn receipt_hash(receipt: &Value) -> Option<B256> {
    receipt.get("transactionHash")?.as_str()?.parse().ok()
}

/// Whether a receipt is of a transaction.
pub(super) fn is_receipt_of(receipt: &Value, hash: B256) -> bool {
    receipt_hash(receipt) == Some(hash)
}

/// What a chain with EIP-1559 asks for after a block with this base fee: the next one may ask for an eighth more.
pub(super) fn quote(base_fee: u128, priority_fee_per_gas: u128) -> Quote {
    Quote::dynamic(base_fee.saturating_add(base_fee / 8), priority_fee_per_gas)
}

/// A receipt as a node gives it; null if it has none.
pub fn receipt(receipt: Value) -> ReceiptAnswer {
    if receipt.is_null() {
        return ReceiptAnswer::NotFound;
    }
    match inclusion(receipt) {
        Some(inclusion) => ReceiptAnswer::Found(inclusion),
        None => ReceiptAnswer::Error,
    }
}

fn inclusion(mut receipt: Value) -> Option<Inclusion> {
    let number = number(receipt.get("blockNumber")?)?;
    let hash = receipt.get("blockHash")?.as_str()?.parse().ok()?;
    let success = quantity(receipt.get("status")?)? == 1;
    shorten(&mut receipt);
    Some(Inclusion { block: Head { number, hash }, success, receipt: Some(receipt) })
}

/// Leaves the logs out if they make a receipt too long to be kept with every event.
fn shorten(receipt: &mut Value) {
    if receipt.to_string().len() > RECEIPT_BYTES_MAX
        && let Some(fields) = receipt.as_object_mut()
    {
        fields.insert("logs".into(), json!([]));
        fields.insert("logsOmitted".into(), json!(true));
    }
}

pub(super) fn revert_data(data: Option<&Value>) -> Bytes {
    // Some nodes wrap it once more.
    let text = data.and_then(|data| data.as_str().or_else(|| data.get("data")?.as_str()));
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// A request as `eth_call` and `eth_estimateGas` take it.
pub fn call_object(from: Address, intent: &Intent) -> Value {
    let mut call = json!({ "from": from, "value": intent.value, "input": intent.data });
    if let Some(to) = intent.to {
        call["to"] = json!(to);
    }
    if let Some(gas) = intent.gas {
        call["gas"] = json!(hex(gas));
    }
    if !intent.access_list.is_empty() {
        let item =
            |(address, slots): &(Address, Vec<B256>)| json!({ "address": address, "storageKeys": slots });
        call["accessList"] = intent.access_list.iter().map(item).collect();
    }
    call
}
