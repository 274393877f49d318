//! Reading what nodes answer. What cannot be read is nothing, never a guess.

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

fn number(value: &Value) -> Option<u64> {
    quantity(value)?.try_into().ok()
}

pub(super) fn head(block: &Value) -> Option<Head> {
    Some(Head { number: number(block.get("number")?)?, hash: block.get("hash")?.as_str()?.parse().ok()? })
}

/// The base fee of a block; none before EIP-1559.
pub(super) fn base_fee(block: &Value) -> Option<u128> {
    block.get("baseFeePerGas").and_then(quantity)
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

/// The transaction of a sender with a nonce in a block with whole transactions.
pub(super) fn transaction_of(block: &Value, account: Address, nonce: u64) -> Option<B256> {
    let transactions = block.get("transactions")?.as_array()?;
    let ours = transactions.iter().find(|tx| {
        let from = tx.get("from").and_then(|from| from.as_str()?.parse::<Address>().ok());
        from == Some(account) && tx.get("nonce").and_then(number) == Some(nonce)
    });
    ours?.get("hash")?.as_str()?.parse().ok()
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
