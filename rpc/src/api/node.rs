//! About the node and its network: `eth_chainId`, `eth_syncing`, `net_*`, `web3_*` and their like.

use super::{Api, Caller, Json, Method};
use crate::{Error, Params};
use alloy_primitives::{Address, Bytes, U64, keccak256};
use serde_json::json;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_chainId", Method::Now(|api, params| none(api, params, &U64::from(api.chain.chain_id)))),
    (
        "eth_blockNumber",
        Method::Now(|api, params| none(api, params, &U64::from(api.feed.snapshot().latest().id().number))),
    ),
    ("eth_syncing", Method::Now(syncing)),
    ("eth_accounts", Method::Later(|api, params, caller| Box::pin(accounts(api, params, caller)))),
    ("eth_mining", Method::Now(|api, params| none(api, params, &false))),
    ("eth_hashrate", Method::Now(|api, params| none(api, params, &U64::ZERO))),
    ("eth_coinbase", Method::Now(|api, params| none(api, params, &api.chain.beneficiary))),
    ("eth_protocolVersion", Method::Now(|api, params| none(api, params, &U64::from(68)))),
    (
        "eth_config",
        Method::Now(|api, params| none(api, params, &api.chain.forks(api.feed.snapshot().latest().header()))),
    ),
    ("eth_capabilities", Method::Now(capabilities)),
    ("net_version", Method::Now(|api, params| none(api, params, &api.chain.chain_id.to_string()))),
    ("net_listening", Method::Now(|api, params| none(api, params, &true))),
    (
        "net_peerCount",
        Method::Now(|api, params| none(api, params, &U64::from(api.feed.snapshot().health.peers))),
    ),
    ("web3_clientVersion", Method::Now(|api, params| none(api, params, &api.chain.version))),
    ("web3_sha3", Method::Now(|api, params| api.reply(&keccak256(params.hex::<Bytes>(0)?)))),
    ("rpc_modules", Method::Now(modules)),
];

fn none<T: serde::Serialize + ?Sized>(api: &Api, params: &Params, value: &T) -> Result<Json, Error> {
    params.at_most(0)?;
    api.reply(value)
}

/// The accounts of an extension that has some; else none.
async fn accounts(api: &Api, params: &Params, caller: &Caller) -> Result<Json, Error> {
    let mut extensions = api.extensions.iter();
    match extensions.find_map(|extension| extension.call("eth_accounts", params, caller)) {
        Some(call) => call.await,
        None => none(api, params, &[Address::ZERO; 0]),
    }
}

fn syncing(api: &Api, params: &Params) -> Result<Json, Error> {
    let snapshot = api.feed.snapshot();
    if !snapshot.health.syncing {
        return none(api, params, &false);
    }
    let (from, to) = (U64::from(snapshot.tags.finalized.number), U64::from(snapshot.latest().id().number));
    none(api, params, &json!({ "startingBlock": from, "currentBlock": from, "highestBlock": to }))
}

fn modules(api: &Api, params: &Params) -> Result<Json, Error> {
    let names = api.methods();
    let spaces = names.iter().filter_map(|name| name.split('_').next());
    none(api, params, &spaces.map(|space| (space, "1.0")).collect::<std::collections::BTreeMap<_, _>>())
}

/// What the node still has, and from which block on.
fn capabilities(api: &Api, params: &Params) -> Result<Json, Error> {
    let snapshot = api.feed.snapshot();
    let (genesis, head) = (U64::from(api.chain.genesis.number), snapshot.latest().id());
    let oldest_proof = U64::from(snapshot.blocks()[0].id().number);
    let oldest_state = api.archive.oldest_state().map_err(Error::internal)?.map_or(oldest_proof, U64::from);
    let kept = json!({ "disabled": false, "oldestBlock": genesis });
    let states = json!({ "disabled": false, "oldestBlock": oldest_state });
    let proofs = json!({ "disabled": false, "oldestBlock": oldest_proof });
    none(
        api,
        params,
        &json!({
            "head": { "number": U64::from(head.number), "hash": head.hash },
            "state": states, "stateproofs": proofs,
            "tx": kept, "logs": kept, "receipts": kept, "blocks": kept,
        }),
    )
}
