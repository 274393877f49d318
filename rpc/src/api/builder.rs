//! What only a builder has: the queue, a transaction's way to finality, and the operator's orders.

use super::{Api, Caller, Json, Method, story};
use crate::{
    Error, Order, Params, Snapshot, error,
    pooled::Times,
    reading::{At, AtAny},
};
use alloy_primitives::{Address, B256, U64};
use futures_util::future::BoxFuture;
use queue::{Bundle, State};
use serde_json::{Value, json};
use std::sync::Arc;
use types::{BlockId, Time};

pub(super) const METHODS: &[(&str, Method)] = &[
    ("builder_status", Method::Now(status)),
    ("builder_queue", Method::Now(queue)),
    ("builder_bundle", Method::Now(bundle)),
    ("builder_transaction", Method::Now(transaction)),
    ("builder_pause", Method::Later(|api, params, caller| order(api, params, caller, |_| Ok(Order::Pause)))),
    (
        "builder_resume",
        Method::Later(|api, params, caller| order(api, params, caller, |_| Ok(Order::Resume))),
    ),
    ("builder_seal", Method::Later(|api, params, caller| order(api, params, caller, |_| Ok(Order::Seal)))),
    (
        "builder_release",
        Method::Later(|api, params, caller| {
            order(api, params, caller, |params| Ok(Order::Release { block: number(params)? }))
        }),
    ),
    (
        "builder_flushSender",
        Method::Later(|api, params, caller| {
            order(api, params, caller, |params| Ok(Order::Flush { sender: params.hex::<Address>(0)? }))
        }),
    ),
];

/// A block's number, in hexadecimal or as a number.
fn number(params: &Params) -> Result<u64, Error> {
    match params.raw(0) {
        Some(text) if !text.starts_with('"') => params.required(0),
        _ => params.hex(0),
    }
}

fn order<'a>(
    api: &'a Arc<Api>,
    params: &'a Params,
    caller: &'a Caller,
    read: fn(&Params) -> Result<Order, Error>,
) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        if !caller.operator {
            let why = "only for the operator: send the token as `Authorization: Bearer ..`";
            return Err(Error::new(error::NOT_FOUND, why));
        }
        params.at_most(1)?;
        let done = api.backend.order(read(params)?).await;
        api.reply(&done.map_err(|error| Error::other(error.to_string()))?)
    })
}

pub(super) fn id(block: BlockId) -> Value {
    json!({ "number": U64::from(block.number), "hash": block.hash })
}

pub(super) fn ms(time: Option<Time>) -> Value {
    time.map_or(Value::Null, |time| json!(time.as_millis()))
}

fn status(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let snapshot = api.feed.snapshot();
    let (queue, pool, health) = (&snapshot.queue, snapshot.pool, &snapshot.health);
    let count = |name: &str| queue.bundles.iter().filter(|bundle| bundle.state.name() == name).count();
    let names = ["Queued", "Submitted", "Guaranteed", "Accumulated", "Abandoned"];
    let states = names.iter().map(|name| (name.to_lowercase(), json!(count(name))));
    let stats = queue.stats;
    api.reply(&json!({
        "version": api.chain.version,
        "chainId": U64::from(api.chain.chain_id),
        "genesis": id(api.chain.genesis),
        "latest": id(snapshot.latest().id()),
        "safe": id(snapshot.tags.safe),
        "finalized": id(snapshot.tags.finalized),
        "openTransactions": snapshot.pending.as_ref().map_or(0, |pending| pending.transactions.len()),
        "health": api.extensions.iter().find_map(|extension| extension.health()),
        "paused": health.paused,
        "halted": health.halted,
        "foreignHead": queue.halted.map(id),
        "peers": health.peers,
        "bestSlot": health.best_slot,
        "finalSlot": health.final_slot,
        "pool": {
            "pending": pool.pending, "queued": pool.queued, "belowBaseFee": pool.below_base_fee,
            "bundled": pool.bundled, "senders": pool.senders, "bytes": pool.bytes,
        },
        "queue": states.collect::<serde_json::Map<_, _>>(),
        "totals": {
            "packages": stats.packages, "sends": stats.sends, "timeouts": stats.timeouts,
            "guaranteed": stats.guaranteed, "duplicateGuarantees": stats.duplicate_guarantees,
            "releases": stats.releases,
        },
    }))
}

fn queue(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let queue = api.feed.snapshot().queue.clone();
    let all = |bundles: &[Bundle]| bundles.iter().map(|bundle| shown(api, bundle, false)).collect::<Vec<_>>();
    api.reply(&json!({
        "base": id(queue.base),
        "bundles": all(&queue.bundles),
        "finished": all(&queue.finished),
        "abandonedFrom": queue.abandoned_from.map(U64::from),
        "foreignHead": queue.halted.map(id),
    }))
}

fn bundle(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let snapshot = api.feed.snapshot();
    let AtAny(at) = match params.raw(0) {
        Some(text) if !text.starts_with('"') && !text.starts_with('{') => {
            AtAny(At::Number(params.required(0)?))
        }
        Some(text) if text.starts_with("\"B-") => AtAny(At::Number(by_name(params)?)),
        _ => params.required(0)?,
    };
    let is = |bundle: &&Bundle| match at {
        At::Hash(hash) => bundle.block.hash == hash,
        At::Number(number) => bundle.block.number == number,
        _ => false,
    };
    let queue = &snapshot.queue;
    // Of several with one number the unfinished one is meant, or the last that was released.
    let found = queue.bundles.iter().rfind(is).or_else(|| queue.finished.iter().rfind(is));
    api.reply(&found.map(|bundle| shown(api, bundle, true)))
}

/// A bundle by the name that operators know it by: `B-7`.
fn by_name(params: &Params) -> Result<u64, Error> {
    let name = params.required::<String>(0)?;
    let number = name.strip_prefix("B-").and_then(|number| number.parse().ok());
    number.ok_or_else(|| Error::params("invalid argument 0: a bundle is called B- and its block's number"))
}

fn shown(api: &Api, bundle: &Bundle, full: bool) -> Value {
    let versions = bundle.versions.iter().map(|version| {
        json!({
            "version": version.number,
            "packageHash": version.package.0,
            "anchor": version.context.anchor.0,
            "anchorHeight": version.anchor_height,
            "lookupAnchor": version.context.lookup_anchor.0,
            "core": version.core,
            "sentAt": version.sent_at.as_millis(),
            "sends": version.sends,
            "taken": version.taken,
            "counted": version.counted,
        })
    });
    let mut value = json!({
        "name": bundle.block.bundle_name(),
        "block": id(bundle.block),
        "parent": id(bundle.parent),
        "state": bundle.state.name(),
        "version": version(&bundle.state),
        "core": core(&bundle.state),
        "transactionCount": bundle.transactions.len(),
        "enqueuedAt": bundle.enqueued_at.as_millis(),
        "versions": versions.collect::<Vec<_>>(),
        "times": times(&block_times(api, &bundle.block, Some(bundle))),
    });
    if full {
        let snapshot = api.feed.snapshot();
        value["whySlow"] = json!(why_slow(api, &snapshot, bundle));
        value["sizes"] = snapshot.insight.sizes.get(&bundle.block.number).map_or(Value::Null, sizes);
        value["transactions"] = json!(&*bundle.transactions);
    }
    value
}

/// Why a bundle is slow, whether that is safe, and what happens next; nothing if it is not slow.
fn why_slow(api: &Api, snapshot: &Snapshot, bundle: &Bundle) -> Option<String> {
    let outlook = snapshot.insight.outlook.as_ref()?;
    let since = api.pool.times(&bundle.block.hash).reached(&bundle.state);
    queue::why_slow(bundle, outlook, since, api.backend.now())
}

fn sizes(sizes: &types::Sizes) -> Value {
    json!({
        "witnessBytes": sizes.witness_bytes,
        "codesBytes": sizes.codes_bytes,
        "transactionsBytes": sizes.transactions_bytes,
        "bundleBytes": sizes.bundle_bytes,
        "exportSegments": sizes.export_segments,
        "gas": sizes.gas,
    })
}

const fn version(state: &State) -> Option<u32> {
    match state {
        State::Queued { version } | State::Submitted { version, .. } | State::Guaranteed { version, .. } => {
            Some(*version)
        }
        _ => None,
    }
}

const fn core(state: &State) -> Option<u16> {
    match state {
        State::Submitted { core, .. } => Some(*core),
        State::Guaranteed { core, .. } => *core,
        _ => None,
    }
}

fn times(times: &Times) -> Value {
    json!({
        "sealed": ms(times.sealed),
        "submitted": ms(times.submitted),
        "guaranteed": ms(times.guaranteed),
        "accumulated": ms(times.accumulated),
        "finalized": ms(times.finalized),
        "released": ms(times.released),
    })
}

/// A transaction's way so far: where it is, in which block, in which versions of the block's bundle.
fn transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    let snapshot = api.feed.snapshot();
    let pooled = api.pool.get(&hash);
    let found = api.reading().transaction(&hash)?;
    let block =
        found.as_ref().and_then(|(found, _)| Some(BlockId::new(found.header().number, found.hash()?)));
    let open = snapshot.pending.as_ref();
    let open = open.filter(|pending| pending.transactions.iter().any(|tx| tx.hash() == hash));
    let ended = match api.pool.ended(&hash) {
        None => api.archive.ended(&hash).map_err(Error::internal)?,
        ended => ended,
    };
    let status = match (block, open, &pooled, &ended) {
        (Some(block), ..) if block.number <= snapshot.tags.finalized.number => "finalized",
        (Some(block), ..) if block.number <= snapshot.tags.safe.number => "applied",
        (Some(_), ..) => "bundled",
        (None, Some(_), ..) => "open",
        (None, None, Some(pooled), _) if pooled.pending => "pending",
        (None, None, Some(_), _) => "queued",
        (None, None, None, Some(_)) => "ended",
        (None, None, None, None) => return api.reply(&()),
    };
    let mut bundles = snapshot.queue.bundles.iter().chain(&snapshot.queue.finished);
    let bundle = block.and_then(|block| bundles.find(|bundle| bundle.block == block));
    let past = api.archive.story(&hash).map_err(Error::internal)?.unwrap_or_default();
    let since = past.accepted_at.or_else(|| api.pool.since(&hash));
    let attempts = past.attempts.max(pooled.map_or(0, |pooled| pooled.attempts));
    let ended = ended.filter(|_| status == "ended").map(|(reason, at)| (reason.to_string(), at));
    let got_on = block.map(|block| block_times(api, &block, bundle));
    let inclusion = block.zip(got_on.as_ref()).map(|(block, times)| story::Inclusion {
        block,
        times,
        is_applied: ["applied", "finalized"].contains(&status),
        is_final: status == "finalized",
    });
    let of_block = |block: &BlockId| api.pool.times(&block.hash);
    api.reply(&json!({
        "hash": hash,
        "status": status,
        "since": ms(since),
        "attempts": attempts,
        "block": block.map(id),
        "index": found.as_ref().map(|(_, index)| index),
        "times": got_on.as_ref().map(times),
        "story": story::of(since, &past, of_block, inclusion.as_ref(), ended.clone()),
        "releases": past.releases.len() as u64 + u64::from(past.forgotten),
        "bundle": bundle.map(|bundle| shown(api, bundle, false)),
        "ended": ended.map(|(reason, at)| json!({ "reason": reason, "at": at.as_millis() })),
    }))
}

/// When a block got on. That it was sealed stands in its bundle too, which a restart does not forget.
fn block_times(api: &Api, block: &BlockId, bundle: Option<&Bundle>) -> Times {
    let times = api.pool.times(&block.hash);
    Times { sealed: times.sealed.or(bundle.map(|bundle| bundle.enqueued_at)), ..times }
}
