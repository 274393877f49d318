//! Everything that is measured, at one moment.

use super::{Observer, process::Process, table::OUTCOMES, text::Text};
use crate::{
    counters::STAGES,
    health::{Code, Health},
};
use ::sender::stats::Gauges;
use rpc::Snapshot;
use types::Time;

/// What was built, and from which commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Build {
    /// The release.
    pub version: &'static str,
    /// The commit.
    pub commit: &'static str,
}

/// What a scrape is made of, besides what was counted.
#[derive(Debug)]
pub struct Scraped<'a> {
    /// The binary that runs.
    pub build: Build,
    /// What was counted.
    pub observer: &'a Observer,
    /// The newest picture.
    pub snapshot: &'a Snapshot,
    /// What RPC counted.
    pub rpc: &'a rpc::Stats,
    /// What the sender counted; nothing if there is none.
    pub sender: &'a ::sender::stats::Snapshot,
    /// What the store has done.
    pub store: store::Stats,
    /// Limits, to compare with.
    pub limits: Limits,
    /// How healthy the node is.
    pub health: &'a Health,
    /// Pages that are open.
    pub viewers: usize,
    /// When the process started.
    pub started: Time,
    /// When this is.
    pub now: Time,
}

/// The limits that gauges are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Transactions that may be pending,
    pub pending_max: usize,
    /// and queued.
    pub queued_max: usize,
    /// Bytes of a bundle.
    pub bundle_bytes_max: usize,
    /// Gas of a block.
    pub gas_max: u64,
    /// Gas of JAM's virtual machine for a bundle.
    pub refine_gas_max: u64,
}

/// A scrape, in the order of the [table](super::METRICS).
pub fn scrape(scraped: &Scraped<'_>) -> String {
    let mut text = Text::default();
    node(&mut text, scraped);
    chain(&mut text, scraped);
    pool(&mut text, scraped);
    building(&mut text, scraped);
    queue(&mut text, scraped);
    store(&mut text, scraped);
    rpc(&mut text, scraped);
    sender(&mut text, scraped.sender);
    text.finish()
}

fn node(text: &mut Text, scraped: &Scraped<'_>) {
    let Build { version, commit } = scraped.build;
    let labels = vec![("version", version), ("commit", commit)];
    text.labelled("pectin_build_info", &[(labels, 1)]);
    let process = Process::now();
    text.one("process_start_time_seconds", scraped.started.as_millis() as f64 / 1000.0);
    text.one("process_cpu_seconds_total", process.cpu.as_secs_f64());
    text.one("process_resident_memory_bytes", process.resident_bytes);
    text.one("process_open_fds", process.open_fds);
    text.one("pectin_ready", u8::from(scraped.health.is_ready()));
    let reasons = Code::ALL.iter().map(|code| (code.name(), u8::from(scraped.health.has(*code))));
    text.each("pectin_health_reason", "reason", reasons);
    text.one("pectin_page_viewers", scraped.viewers);
}

fn chain(text: &mut Text, scraped: &Scraped<'_>) {
    let Scraped { snapshot, observer, .. } = scraped;
    let (health, outlook) = (&snapshot.health, snapshot.insight.outlook.as_deref());
    let clock = outlook.map(|outlook| outlook.clock);
    text.one("pectin_clock_slot", clock.map_or(0, |clock| clock.slot_at(scraped.now)));
    text.one("pectin_best_slot", health.best_slot.unwrap_or(0));
    text.one("pectin_final_slot", health.final_slot.unwrap_or(0));
    text.one("pectin_finality_lag_blocks", outlook.map_or(0, queue::Outlook::finality_lag));
    text.one("pectin_slot_seconds", clock.map_or(0.0, |clock| clock.slot_duration().as_secs_f64()));
    text.one("pectin_peers", health.peers);
    let tags = [
        ("latest", snapshot.latest().id().number),
        ("safe", snapshot.tags.safe.number),
        ("finalized", snapshot.tags.finalized.number),
    ];
    text.each("pectin_block_number", "tag", tags);
    text.each("pectin_alarms_total", "alarm", observer.counters.alarms.all());
    text.one("pectin_transactions_executed_twice_total", scraped.store.repeated);
}

fn pool(text: &mut Text, scraped: &Scraped<'_>) {
    let (pool, counters, limits) = (scraped.snapshot.pool, &scraped.observer.counters, &scraped.limits);
    let states = [("pending", pool.pending), ("queued", pool.queued), ("bundled", pool.bundled)];
    text.each("pectin_pool_transactions", "state", states);
    let most = [("pending", limits.pending_max), ("queued", limits.queued_max)];
    text.each("pectin_pool_transactions_max", "state", most);
    text.one("pectin_pool_below_base_fee", pool.below_base_fee);
    text.one("pectin_pool_senders", pool.senders);
    text.one("pectin_pool_bytes", pool.bytes);
    text.each("pectin_pool_events_total", "event", counters.pool.all());
    text.each("pectin_pool_ended_total", "reason", counters.ended.all());
    text.each("pectin_pool_refused_total", "reason", scraped.rpc.refused());
    text.histograms("pectin_transaction_final_seconds", [(None, counters.final_seconds.buckets())]);
}

fn building(text: &mut Text, scraped: &Scraped<'_>) {
    let (counters, limits) = (&scraped.observer.counters, &scraped.limits);
    let open = scraped.snapshot.pending.as_ref().map_or(0, |pending| pending.transactions.len());
    text.one("pectin_open_transactions", open);
    for (name, histogram) in [
        ("pectin_block_transactions", &counters.block_transactions),
        ("pectin_block_gas", &counters.block_gas),
        ("pectin_block_refine_gas", &counters.refine_gas),
        ("pectin_bundle_bytes", &counters.bundle_bytes),
        ("pectin_witness_bytes", &counters.witness_bytes),
    ] {
        text.histograms(name, [(None, histogram.buckets())]);
    }
    text.one("pectin_bundle_bytes_max", limits.bundle_bytes_max);
    let gas = scraped.snapshot.insight.refine_gas.newest();
    text.one("pectin_bundle_refine_gas_estimate", gas.map_or(0, |gas| gas.estimate));
    text.one("pectin_bundle_refine_gas_used", gas.and_then(|gas| gas.exact).unwrap_or(0));
    text.one("pectin_bundle_refine_gas_max", limits.refine_gas_max);
    text.one("pectin_block_gas_max", limits.gas_max);
}

fn queue(text: &mut Text, scraped: &Scraped<'_>) {
    let (queue, counters) = (&scraped.snapshot.queue, &scraped.observer.counters);
    let count = |name: &str| queue.bundles.iter().filter(|bundle| bundle.state.name() == name).count();
    let states = ["Queued", "Submitted", "Guaranteed", "Accumulated", "Abandoned"];
    let named = states.map(|name| (name.to_lowercase(), count(name)));
    text.each("pectin_queue_bundles", "state", named.iter().map(|(name, count)| (name.as_str(), *count)));
    let unbundled = queue.unbundled.as_ref();
    text.one("pectin_queue_unbundled_blocks", unbundled.map_or(0, |unbundled| unbundled.run.blocks()));
    text.one("pectin_queue_unbundled_bytes", unbundled.map_or(0, |unbundled| unbundled.size.bytes));
    text.one("pectin_queue_fullness_ratio", queue.fullness as f64 / 1000.0);
    text.each("pectin_queue_events_total", "event", counters.queue.all());
    text.one("pectin_queue_packages_total", queue.stats.packages);
    text.one("pectin_queue_sends_total", queue.stats.sends);
    let stages = STAGES.iter().zip(&counters.stage_seconds);
    let stages = stages.map(|(stage, histogram)| (Some(("stage", *stage)), histogram.buckets()));
    text.histograms("pectin_bundle_stage_seconds", stages);
    let oldest = queue.bundles.first().map(queue::Bundle::sealed_at);
    let oldest = oldest.or(unbundled.map(|unbundled| unbundled.since));
    let oldest = oldest.map(|sealed_at| scraped.now.since(sealed_at));
    text.one("pectin_queue_oldest_seconds", oldest.unwrap_or_default().as_secs_f64());
}

fn store(text: &mut Text, scraped: &Scraped<'_>) {
    let seconds = scraped.observer.commits().buckets();
    text.histograms("pectin_store_commit_seconds", [(None, seconds)]);
    text.one("pectin_store_syncs_total", scraped.store.syncs);
    text.one("pectin_store_bytes", scraped.store.bytes);
}

fn rpc(text: &mut Text, scraped: &Scraped<'_>) {
    text.one("pectin_rpc_connections", scraped.rpc.connections());
    let methods = scraped.rpc.methods();
    let mut outcomes = Vec::new();
    for (method, stats) in &methods {
        let errors = stats.errors();
        let counts = [stats.seconds().count.saturating_sub(errors), errors];
        for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
            outcomes.push((vec![("method", *method), ("outcome", outcome)], count));
        }
    }
    text.labelled("pectin_rpc_requests_total", &outcomes);
    let seconds = methods.iter().map(|(method, stats)| (Some(("method", *method)), stats.seconds()));
    text.histograms("pectin_rpc_request_seconds", seconds);
}

fn sender(text: &mut Text, sender: &::sender::stats::Snapshot) {
    let sum = |read: fn(&Gauges) -> usize| sender.accounts.values().map(read).sum::<usize>();
    let accounts = [
        ("all", sender.accounts.len()),
        ("degraded", sum(|gauges| usize::from(gauges.degraded))),
        ("stuck", sum(|gauges| usize::from(gauges.stuck))),
    ];
    text.each("pectin_sender_accounts", "state", accounts);
    let requests = [
        ("waiting", sum(|gauges| gauges.queue)),
        ("held", sum(|gauges| gauges.held)),
        ("bound", sum(|gauges| gauges.borrowed)),
        ("submitted", sum(|gauges| gauges.submitted)),
    ];
    text.each("pectin_sender_requests", "state", requests);
    let nonces = [
        ("leased", sum(|gauges| gauges.leased)),
        ("free", sum(|gauges| gauges.free)),
        ("next", sum(|gauges| usize::try_from(gauges.next).unwrap_or(usize::MAX))),
    ];
    text.each("pectin_sender_nonces", "state", nonces);
    let events = sender.totals.all();
    text.each("pectin_sender_events_total", "event", events.iter().map(|(name, _, count)| (*name, *count)));
    text.histograms("pectin_sender_sent_seconds", [(None, sender.queued_to_sent.clone())]);
    text.histograms("pectin_sender_mined_seconds", [(None, sender.queued_to_mined.clone())]);
}
