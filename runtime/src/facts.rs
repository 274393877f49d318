//! What the page knows of a node when it starts.

use super::Config;
use driver::Started;
use observe::Limits;
use std::time::Duration;

/// What the page knows of a node and what never changes while it runs.
pub(super) fn facts(config: &Config) -> serde_json::Value {
    let Started { clock, pool, queue, settings, .. } = &config.driver;
    let bundler = &config.builder.bundler;
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    serde_json::json!({
        "version": config.version,
        "chainId": bundler.config.chain_id,
        "service": bundler.config.service,
        "genesis": config.genesis.hash,
        "dev": config.devnet.is_some(),
        "dryRun": settings.dry_run,
        "validators": bundler.params.validators,
        "cores": bundler.params.cores,
        "slotMs": ms(clock.slot_duration()),
        "epochMs": clock.start_of(0).as_millis(),
        "windowOpensBeforeMs": ms(queue.window_opens_before),
        "windowClosesBeforeMs": ms(queue.window_closes_before),
        "guaranteeTimeoutMs": ms(queue.guarantee_timeout),
        "retriesMax": queue.max_retries,
        "history": queue.history,
        "anchorMargin": queue.anchor_margin,
        "inflightMax": queue.max_inflight,
        "unsentBytesMax": queue.unsent_max.bytes,
        "runGasMax": bundler.limits.run_gas_max,
        "refineGasMax": bundler.limits.refine_gas_max,
        "bundleBytesMax": bundler.limits.bundle_bytes_max,
        "exportSegmentsMax": bundler.limits.export_segments_max,
        "gasMax": bundler.limits.gas_max,
        "transactionsMax": bundler.limits.transactions_max,
        "pendingMax": pool.pending_max,
        "queuedMax": pool.queued_max,
        "poolBytesMax": pool.pool_bytes_max,
    })
}

/// What the page's bars are full at.
pub(super) fn limits(config: &Config) -> Limits {
    let (Started { pool, .. }, bundler) = (&config.driver, &config.builder.bundler);
    Limits {
        pending_max: pool.pending_max,
        queued_max: pool.queued_max,
        bundle_bytes_max: bundler.limits.bundle_bytes_max,
        gas_max: bundler.limits.gas_max,
        refine_gas_max: bundler.limits.refine_gas_max,
    }
}
