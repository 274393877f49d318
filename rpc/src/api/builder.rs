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
    ("builder_releasePreview", Method::Now(release_preview)),
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
        "unbundled": unbundled(api, &snapshot),
        "queueFullness": queue.fullness as f64 / 1000.0,
        "totals": {
            "packages": stats.packages, "sends": stats.sends, "timeouts": stats.timeouts,
            "guaranteed": stats.guaranteed, "duplicateGuarantees": stats.duplicate_guarantees,
            "releases": stats.releases, "dissolved": stats.dissolved,
        },
    }))
}

fn queue(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let snapshot = api.feed.snapshot();
    let queue = &snapshot.queue;
    let all = |bundles: &[Bundle]| bundles.iter().map(|bundle| shown(api, bundle, false)).collect::<Vec<_>>();
    api.reply(&json!({
        "base": id(queue.base),
        "bundles": all(&queue.bundles),
        "unbundled": unbundled(api, &snapshot),
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
        At::Hash(hash) => bundle.blocks.iter().any(|block| block.id.hash == hash),
        At::Number(number) => bundle.run.contains(number),
        _ => false,
    };
    let queue = &snapshot.queue;
    // Of several with one number the unfinished one is meant, or the last that was released.
    let found = queue.bundles.iter().rfind(is).or_else(|| queue.finished.iter().rfind(is));
    api.reply(&found.map(|bundle| shown(api, bundle, true)))
}

/// The blocks that `builder_release` would undo: the whole bundle of a block, and all that stand on it.
fn release_preview(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let (snapshot, number) = (api.feed.snapshot(), number(params)?);
    let queue = &snapshot.queue;
    let bundle = queue.bundles.iter().find(|bundle| bundle.run.contains(number));
    let may = |state: State| matches!(state, State::Queued { .. } | State::Submitted { .. });
    let first = match (bundle, &queue.unbundled) {
        (Some(bundle), _) => may(bundle.state).then(|| bundle.number()),
        (None, Some(unbundled)) => unbundled.run.contains(number).then_some(number),
        (None, None) => None,
    };
    let first = first.filter(|first| queue.abandoned_from.is_none_or(|from| *first < from));
    let newest = snapshot.latest().id().number;
    api.reply(&first.map(|first| {
        json!({ "first": U64::from(first), "last": U64::from(newest), "blocks": newest.saturating_sub(first) + 1 })
    }))
}

/// The blocks that are in no bundle yet.
fn unbundled(api: &Api, snapshot: &Snapshot) -> Value {
    let Some(unbundled) = &snapshot.queue.unbundled else { return Value::Null };
    let now = api.backend.now();
    let outlook = snapshot.insight.outlook.as_ref();
    json!({
        "first": id(unbundled.run.first),
        "last": id(unbundled.run.last),
        "blocks": unbundled.run.blocks(),
        "transactionCount": unbundled.transactions,
        "bundleBytes": unbundled.size.bytes,
        "gas": unbundled.size.gas,
        "since": unbundled.since.as_millis(),
        "whySlow": outlook.and_then(|outlook| queue::why_unbundled(unbundled, outlook, now)),
    })
}

/// A bundle by the name that operators know it by: `B-7`.
fn by_name(params: &Params) -> Result<u64, Error> {
    let name = params.required::<String>(0)?;
    let number = name.strip_prefix("B-").and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        Error::params("invalid argument 0: a bundle is called B- and the number of a block in it")
    })
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
        "name": bundle.run.bundle_name(),
        "first": id(bundle.run.first),
        "last": id(bundle.run.last),
        "blocks": bundle.run.blocks(),
        "parent": id(bundle.parent),
        "state": bundle.state.name(),
        "version": version(&bundle.state),
        "core": core(&bundle.state),
        "transactionCount": bundle.transactions(),
        "sealedAt": bundle.sealed_at().as_millis(),
        "versions": versions.collect::<Vec<_>>(),
        "times": times(&block_times(api, &bundle.run.first, Some(bundle))),
    });
    if full {
        let snapshot = api.feed.snapshot();
        value["whySlow"] = json!(why_slow(api, &snapshot, bundle));
        let blocks = bundle.blocks.iter().map(|block| {
            json!({
                "number": U64::from(block.id.number),
                "hash": block.id.hash,
                "transactionCount": block.transactions,
                "sealedAt": block.sealed_at.as_millis(),
                "sizes": snapshot.insight.sizes.get(&block.id.number).map_or(Value::Null, sizes),
            })
        });
        value["blockList"] = blocks.collect();
        value["refineGas"] = snapshot.insight.refine_gas.of(bundle.run).map_or(Value::Null, |gas| {
            json!({ "estimate": gas.estimate, "used": gas.exact, "max": api.config.limits.refine_gas_max })
        });
        value["transactions"] = json!(transactions(api, bundle));
    }
    value
}

/// The hashes of the transactions in a bundle, as far as its blocks are there: released ones are not.
fn transactions(api: &Api, bundle: &Bundle) -> Vec<B256> {
    let reading = api.reading();
    let found = bundle.blocks.iter().filter_map(|block| {
        let found = reading.block(At::Number(block.id.number)).ok().flatten()?;
        (found.hash() == Some(block.id.hash)).then_some(found)
    });
    let hashes = |found: crate::reading::Found| {
        found.transactions().iter().map(types::Transaction::hash).collect::<Vec<_>>()
    };
    found.flat_map(hashes).collect()
}

/// Why a bundle is slow, whether that is safe, and what happens next; nothing if it is not slow.
fn why_slow(api: &Api, snapshot: &Snapshot, bundle: &Bundle) -> Option<String> {
    let outlook = snapshot.insight.outlook.as_ref()?;
    let since = api.pool.times(&bundle.run.first.hash).reached(&bundle.state);
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
        "refineGas": sizes.refine_gas,
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
    let has = |bundle: &Bundle, block: BlockId| bundle.blocks.iter().any(|one| one.id == block);
    let bundle = block.and_then(|block| bundles.find(|bundle| has(bundle, block)));
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

/// When a block got on. When it was sealed stands in its bundle too, which a restart does not forget.
fn block_times(api: &Api, block: &BlockId, bundle: Option<&Bundle>) -> Times {
    let times = api.pool.times(&block.hash);
    let in_bundle =
        |bundle: &Bundle| bundle.blocks.iter().find(|one| one.id == *block).map(|one| one.sealed_at);
    let sealed = times.sealed.or(bundle.and_then(in_bundle));
    // From its submission on the first block of its bundle knows.
    let times = bundle.map_or(times, |bundle| api.pool.times(&bundle.run.first.hash));
    Times { sealed, ..times }
}
