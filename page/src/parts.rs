//! What the page shows, as named parts. Each part is sent again only when it changes.

use super::{Sources, accounts, assets, faults};
use observe::{Line, health::Code};
use queue::{Bundle, State, Unbundled};
use rpc::{Insight, Snapshot, Times};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use types::{BlockId, CoreUse, Run, Time};

/// So many final bundles are shown,
const FINAL: usize = 24;
/// and so many that were released.
const RELEASED: usize = 8;
/// Why a bundle is slow while the journal cannot be written: what else is known of it was seen before.
const STALLED: &str = "The journal cannot be written, so nothing is sent and nothing that validators say is taken in; \
                       that is safe, since everything up to the last write is on disk; it goes on by itself when there \
                       is room again.";
/// So many blocks are shown with their sizes.
const SIZES: usize = 40;

/// All parts: `node`, `health`, `heads`, `pool`, `refused`, `totals`, `slots`, `sizes`, `accounts`, `faults`, and one for each
/// bundle, those that are not formed yet included.
pub(super) fn all(sources: &Sources, viewers: usize) -> BTreeMap<String, Value> {
    let snapshot = sources.feed.snapshot();
    let now = sources.clock.now();
    let mut parts = BTreeMap::new();
    let mut put = |name: &str, value: Value| drop(parts.insert(name.to_owned(), value));
    let mut node = sources.facts.clone();
    node["build"] = json!(*assets::BUILD);
    put("node", node);
    let health = (sources.health)();
    let is_stalled = health.has(Code::JournalStalled);
    put("health", health.to_json());
    put("heads", heads(&snapshot, viewers));
    put("pool", pool(&snapshot));
    let refused = sources.api.stats().refused().into_iter().filter(|(_, count)| *count > 0);
    put("refused", json!(refused.collect::<BTreeMap<_, _>>()));
    put("totals", totals(&snapshot, sources));
    put("slots", slots(&snapshot.insight));
    put("sizes", sizes(&snapshot.insight));
    put("accounts", accounts::access(sources.managed.as_ref()));
    if let Some(devnet) = &sources.devnet {
        put("faults", faults::view(devnet));
    }
    let queue = &snapshot.queue;
    let newest = || queue.finished.iter().rev();
    let released = newest().filter(|bundle| bundle.state == State::Released).take(RELEASED);
    let last = newest().filter(|bundle| bundle.state != State::Released).take(FINAL);
    // Blocks that are in no bundle yet are shown as the one that they will be; it keeps its name when it is formed.
    if let Some(unbundled) = &queue.unbundled {
        let mut part = unbundled_part(&snapshot, unbundled, now);
        if is_stalled {
            part["why"] = json!(STALLED);
        }
        put(&part_name(&unbundled.run), part);
    }
    for bundle in queue.bundles.iter().chain(last).chain(released) {
        let times = sources.index.times(&bundle.run.first.hash);
        let name = part_name(&bundle.run);
        let mut part = bundle_part(&snapshot, bundle, &times, now);
        if is_stalled && !matches!(bundle.state, State::Finalized | State::Released) {
            part["why"] = json!(STALLED);
        }
        put(&name, part);
    }
    parts
}

fn part_name(run: &Run) -> String {
    format!("b{}-{}", run.first.number, &run.first.hash.to_string()[2..10])
}

/// A line of the log: number, time, level, text, and the number of the block that it is about.
pub(super) fn line(line: &Line) -> Value {
    let block = line.block.map(|block| block.number);
    json!([line.number, line.at.as_millis(), line.level, line.text, block])
}

fn id(block: BlockId) -> Value {
    json!({ "number": block.number, "hash": block.hash })
}

fn heads(snapshot: &Snapshot, viewers: usize) -> Value {
    let health = &snapshot.health;
    let open = snapshot.pending.as_ref();
    json!({
        "latest": id(snapshot.latest().id()),
        "safe": id(snapshot.tags.safe),
        "finalized": id(snapshot.tags.finalized),
        "bestSlot": health.best_slot,
        "finalSlot": health.final_slot,
        "lagBlocks": snapshot.insight.outlook.as_ref().map(|outlook| outlook.finality_lag()),
        "peers": health.peers,
        "unfinished": snapshot.latest().id().number.saturating_sub(snapshot.tags.finalized.number),
        "fullness": snapshot.queue.fullness as f64 / 1000.0,
        "openTransactions": open.map_or(0, |open| open.transactions.len()),
        "viewers": viewers,
    })
}

fn pool(snapshot: &Snapshot) -> Value {
    let (pool, totals) = (snapshot.pool, snapshot.pool.totals);
    json!({
        "pending": pool.pending, "queued": pool.queued, "belowBaseFee": pool.below_base_fee,
        "bundled": pool.bundled, "senders": pool.senders, "bytes": pool.bytes,
        "totals": {
            "added": totals.added, "replaced": totals.replaced, "evicted": totals.evicted,
            "expired": totals.expired, "dropped": totals.dropped, "returned": totals.returned,
            "finalized": totals.finalized,
        },
    })
}

fn totals(snapshot: &Snapshot, sources: &Sources) -> Value {
    let stats = snapshot.queue.stats;
    json!({
        "executedTwice": sources.store.stats().repeated,
        "windowsMissed": sources.observer.windows_missed(),
        "packages": stats.packages, "sends": stats.sends, "timeouts": stats.timeouts,
        "guaranteed": stats.guaranteed, "duplicateGuarantees": stats.duplicate_guarantees,
        "releases": stats.releases, "dissolved": stats.dissolved,
    })
}

/// The cores in the last slots: a slot, and for each core 0 (free), 1 (somebody else's) or bundle and version.
fn slots(insight: &Insight) -> Value {
    let used = |used: &CoreUse| match used {
        CoreUse::Free => json!(0),
        CoreUse::Other => json!(1),
        CoreUse::Ours { bundle, version } => json!([bundle, version]),
    };
    let slots = insight.slots.iter().map(|slot| {
        let cores = slot.cores.iter().map(used).collect::<Vec<_>>();
        json!([slot.slot, cores])
    });
    json!(slots.collect::<Vec<_>>())
}

fn sizes(insight: &Insight) -> Value {
    let newest = insight.sizes.iter().rev().take(SIZES);
    let rows = newest.map(|(block, sizes)| {
        json!([
            block,
            sizes.witness_bytes,
            sizes.codes_bytes,
            sizes.transactions_bytes,
            sizes.bundle_bytes,
            sizes.export_segments,
            sizes.gas,
            sizes.transactions,
        ])
    });
    json!(rows.collect::<Vec<_>>())
}

fn unbundled_part(snapshot: &Snapshot, unbundled: &Unbundled, now: Time) -> Value {
    let outlook = snapshot.insight.outlook.as_deref();
    let Unbundled { run, since, transactions, .. } = *unbundled;
    let is_abandoned = snapshot.queue.abandoned_from.is_some_and(|from| from <= run.first.number);
    json!({
        "number": run.first.number,
        "last": run.last.number,
        "blocks": run.blocks(),
        "hash": run.first.hash,
        "formed": false,
        "state": if is_abandoned { State::Abandoned } else { State::Queued { version: 1 } }.name(),
        "transactions": transactions,
        "sealedAt": since.as_millis(),
        "since": null,
        "version": 1,
        "core": null,
        "sends": 0,
        "failed": 0,
        "life": null,
        "givesUpAt": null,
        "why": outlook.and_then(|outlook| queue::why_unbundled(unbundled, outlook, now)),
    })
}

fn bundle_part(snapshot: &Snapshot, bundle: &Bundle, times: &Times, now: Time) -> Value {
    let outlook = snapshot.insight.outlook.as_deref();
    let ahead = outlook.and_then(|outlook| outlook.bundles.get(&bundle.number())).copied();
    let since = times.reached(&bundle.state);
    let ms = |time: Option<Time>| time.map(Time::as_millis);
    let version = bundle.versions.last();
    json!({
        "number": bundle.number(),
        "last": bundle.run.last.number,
        "blocks": bundle.run.blocks(),
        "hash": bundle.run.first.hash,
        "formed": true,
        "state": bundle.state.name(),
        "transactions": bundle.transactions(),
        "sealedAt": bundle.sealed_at().as_millis(),
        "since": ms(since),
        "version": version_of(bundle),
        "core": version.map(|version| version.core),
        "sends": bundle.versions.iter().map(|version| version.sends).sum::<u32>(),
        "failed": bundle.counted(),
        "life": ahead.and_then(|ahead| ahead.anchor_life),
        "givesUpAt": ms(ahead.and_then(|ahead| ahead.gives_up_at)),
        "why": outlook.and_then(|outlook| queue::why_slow(bundle, outlook, since, now)),
    })
}

/// The version that is on its way, will be sent, or went through.
fn version_of(bundle: &Bundle) -> u32 {
    match bundle.state {
        State::Queued { version } | State::Submitted { version, .. } | State::Guaranteed { version, .. } => {
            version
        }
        _ => bundle.versions.last().map_or(1, |version| version.number),
    }
}
