//! `eth_fillTransaction`: what a wallet would have to ask for in four calls before it signs.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    call::{Missing, Request, estimate},
    reading::At,
};
use alloy_consensus::{Transaction as _, Typed2718};
use alloy_primitives::{U64, U128};
use serde_json::{Value, json};
use types::Transaction;

pub(super) const METHODS: &[(&str, Method)] = &[("eth_fillTransaction", Method::Apart(fill))];

fn fill(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let mut request = params.object::<Request>(0)?;
    request.check(api.chain.chain_id)?;
    request.check_input()?;
    if request.blob_hashes.is_some() || request.max_blob_fee.is_some() {
        return Err(Error::from(crate::SendError::Refused(txpool::Error::TypeNotSupported)));
    }
    if request.to.is_none() && request.input.is_empty() {
        return Err(Error::other("contract creation without any data provided"));
    }
    fill_fees(api, &mut request)?;
    let from = request.from.unwrap_or_default();
    let mut simulator = api.simulator_at(At::Pending)?;
    let nonce = match request.nonce {
        Some(nonce) => nonce,
        None => simulator.account(from)?.nonce.max(api.pool.next_nonce(&from).unwrap_or(0)),
    };
    let gas = match request.gas {
        Some(gas) => gas,
        None => estimate(&mut simulator, &request, &api.config.limits)?,
    };
    let chain_id = api.chain.chain_id;
    let unsigned = request.unsigned(Missing { nonce, gas, chain_id });
    api.reply(&json!({ "raw": unsigned.encoded(), "tx": shown(&unsigned, chain_id) }))
}

/// A tip as others pay it, and room for the base fee to double.
fn fill_fees(api: &Api, request: &mut Request) -> Result<(), Error> {
    if request.gas_price.is_some() {
        return Ok(());
    }
    let base = u128::from(api.feed.snapshot().latest().header().base_fee_per_gas.unwrap_or(0));
    let tip = match (request.max_tip, request.max_fee) {
        (Some(tip), _) => tip,
        (None, Some(fee)) => api.suggested_tip().min(fee),
        (None, None) => api.suggested_tip(),
    };
    let fee = request.max_fee.unwrap_or_else(|| tip.saturating_add(base.saturating_mul(2)));
    if fee < tip {
        return Err(Error::other(format!("maxFeePerGas ({fee:#x}) < maxPriorityFeePerGas ({tip:#x})")));
    }
    (request.max_tip, request.max_fee) = (Some(tip), Some(fee));
    Ok(())
}

/// The transaction as the specification has one that is not signed yet: without the fields that a signature brings, and
/// without those of the other kind of fees.
fn shown(filled: &Transaction, chain_id: u64) -> Value {
    let mut tx = json!({
        "type": U64::from(filled.ty()),
        "chainId": U64::from(chain_id),
        "nonce": U64::from(filled.nonce()),
        "to": filled.to(),
        "gas": U64::from(filled.gas_limit()),
        "gasPrice": U128::from(filled.max_fee_per_gas()),
        "value": filled.value(),
        "input": filled.input(),
    });
    if let Some(list) = filled.access_list() {
        tx["accessList"] = json!(list);
    }
    if let Some(tip) = filled.max_priority_fee_per_gas() {
        tx["maxFeePerGas"] = json!(U128::from(filled.max_fee_per_gas()));
        tx["maxPriorityFeePerGas"] = json!(U128::from(tip));
    }
    if let Some(list) = filled.authorization_list() {
        tx["authorizationList"] = json!(list);
    }
    tx
}
