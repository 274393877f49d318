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
        return Err(Error::from(crate::SubmitError::Refused(txpool::Error::TypeNotSupported)));
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
        None => estimate(&mut simulator, &request, api.config.limits.call_gas_max)?,
    };
    let chain_id = api.chain.chain_id;
    let unsigned = request.unsigned(Missing { nonce, gas, chain_id });
    api.reply(&json!({ "raw": unsigned.encoded(), "tx": shown(&unsigned) }))
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

/// The transaction as go-ethereum writes one that has no signature yet: fields of the other kind of fees are null.
fn shown(filled: &Transaction) -> Value {
    let is_legacy = filled.is_legacy();
    let dynamic = filled.max_priority_fee_per_gas();
    let mut tx = json!({
        "type": U64::from(filled.ty()),
        "nonce": U64::from(filled.nonce()),
        "to": filled.to(),
        "gas": U64::from(filled.gas_limit()),
        "gasPrice": filled.gas_price().map(U128::from),
        "maxFeePerGas": dynamic.map(|_| U128::from(filled.max_fee_per_gas())),
        "maxPriorityFeePerGas": dynamic.map(U128::from),
        "value": filled.value(),
        "input": filled.input(),
        "v": "0x0",
        "r": "0x0",
        "s": "0x0",
        "hash": filled.hash(),
    });
    if !is_legacy {
        tx["chainId"] = json!(filled.chain_id().map(U64::from));
        tx["accessList"] = json!(filled.access_list());
        tx["yParity"] = json!("0x0");
    }
    if let Some(list) = filled.authorization_list() {
        tx["authorizationList"] = json!(list);
    }
    tx
}
