//! Accounts, codes, slots and proofs.

use super::{Api, Json, Method};
use crate::{
    Error, Params, State, error,
    hex::{Hex, Slot},
    reading::{At, AtAny},
};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U64, U256};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_getBalance", Method::Now(balance)),
    ("eth_getTransactionCount", Method::Now(nonce)),
    ("eth_getCode", Method::Now(code)),
    ("eth_getStorageAt", Method::Now(storage)),
    ("eth_getStorageValues", Method::Apart(storage_values)),
    ("eth_getProof", Method::Apart(proof)),
];

/// The state that the parameter at `index` names; the latest if it does not.
fn state(api: &Api, params: &Params, index: usize) -> Result<Arc<dyn State>, Error> {
    params.at_most(index + 1)?;
    let AtAny(at) = params.optional(index)?.unwrap_or_default();
    api.reading().state(at).map(|(_, state)| state)
}

fn balance(api: &Api, params: &Params) -> Result<Json, Error> {
    let address = params.hex::<Address>(0)?;
    let account = state(api, params, 1)?.account(address).map_err(Error::internal)?;
    api.reply(&account.map_or(U256::ZERO, |account| account.balance))
}

/// On the open block what waits in the pool counts too, so that a client can send one after the other.
fn nonce(api: &Api, params: &Params) -> Result<Json, Error> {
    let address = params.hex::<Address>(0)?;
    let AtAny(at) = params.optional(1)?.unwrap_or_default();
    let account = state(api, params, 1)?.account(address).map_err(Error::internal)?;
    let nonce = account.map_or(0, |account| account.nonce);
    let pooled = (at == At::Pending).then(|| api.pool.next_nonce(&address)).flatten();
    api.reply(&U64::from(pooled.map_or(nonce, |pooled| pooled.max(nonce))))
}

fn code(api: &Api, params: &Params) -> Result<Json, Error> {
    let address = params.hex::<Address>(0)?;
    let state = state(api, params, 1)?;
    let account = state.account(address).map_err(Error::internal)?;
    let code = account.filter(|account| account.code_hash != KECCAK256_EMPTY);
    let code = code.map(|account| state.code(account.code_hash)).transpose();
    api.reply(&code.map_err(Error::internal)?.unwrap_or_default())
}

fn storage(api: &Api, params: &Params) -> Result<Json, Error> {
    let address = params.hex::<Address>(0)?;
    let Slot(slot) = params.hex(1)?;
    let value = state(api, params, 2)?.slot(address, slot.into()).map_err(Error::internal)?;
    api.reply(&B256::from(value))
}

fn storage_values(api: &Api, params: &Params) -> Result<Json, Error> {
    type Requests = BTreeMap<Hex<Address>, Vec<Hex<Slot>>>;
    let requests = params.required::<Requests>(0)?;
    let slots = requests.values().map(Vec::len).sum::<usize>();
    if slots == 0 {
        return Err(Error::params("empty request"));
    }
    let max = api.config.limits.slots_max;
    if slots > max {
        return Err(Error::new(error::CLIENT_LIMIT, format!("too many slots (max {max})")));
    }
    let state = state(api, params, 1)?;
    let read = |address: Address, slot: &Hex<Slot>| {
        state.slot(address, slot.0.0.into()).map(B256::from).map_err(Error::internal)
    };
    let values = requests.iter().map(|(Hex(address), slots)| {
        let values = slots.iter().map(|slot| read(*address, slot)).collect::<Result<Vec<_>, _>>()?;
        Ok((*address, values))
    });
    api.reply(&values.collect::<Result<BTreeMap<_, _>, Error>>()?)
}

/// Keys are shown as they were asked for: a whole word, or as short as they are.
fn proof(api: &Api, params: &Params) -> Result<Json, Error> {
    let address = params.hex::<Address>(0)?;
    let texts = params.required::<Vec<String>>(1)?;
    let keys = params.required::<Vec<Hex<Slot>>>(1)?.into_iter().map(|key| U256::from_be_bytes(key.0.0.0));
    let keys = keys.collect::<Vec<_>>();
    let max = api.config.limits.slots_max;
    if keys.len() > max {
        return Err(Error::params(format!("too many keys: {}, at most {max}", keys.len())));
    }
    params.at_most(3)?;
    let AtAny(at) = params.optional(2)?.unwrap_or_default();
    let state = api.reading().provable(at)?;
    let account = state.account(address).map_err(Error::internal)?;
    let proof = state.proof(address, &keys).map_err(Error::internal)?;
    // What does not exist has no hashes either.
    let storage_hash = account.as_ref().map_or(B256::ZERO, |_| proof.storage_hash);
    let code_hash = account.as_ref().map_or(B256::ZERO, |account| account.code_hash);
    let account = account.unwrap_or_default();
    let mut slots = Vec::with_capacity(keys.len());
    for ((key, text), proof) in keys.iter().zip(&texts).zip(&proof.slots) {
        let value = state.slot(address, *key).map_err(Error::internal)?;
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let key = if digits.len() > 62 { json!(B256::from(*key)) } else { json!(key) };
        slots.push(json!({ "key": key, "value": value, "proof": proof }));
    }
    api.reply(&json!({
        "address": address,
        "accountProof": proof.account,
        "balance": account.balance,
        "codeHash": code_hash,
        "nonce": U64::from(account.nonce),
        "storageHash": storage_hash,
        "storageProof": slots,
    }))
}
