//! Every metric there is: its name with its unit, its kind, its labels and what it means. `docs/metrics.md` is made of
//! this, and a test compares a real scrape with it.

use std::fmt::Write;

/// What kind of number it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only grows, and begins with zero when the node starts.
    Counter,
    /// It is what it is now.
    Gauge,
    /// How values are distributed since the node started.
    Histogram,
}

impl Kind {
    /// The name that Prometheus has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What kind of number it is.
    pub kind: Kind,
    /// In what it is measured.
    pub unit: &'static str,
    /// The names of its labels. None has more values than a list in the source.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($section:literal { $($kind:ident $name:literal $unit:literal [$($label:literal),*] $help:literal)+ })+) => {
        /// Every metric there is, in the order of a scrape.
        pub const METRICS: &[Metric] = &[$($(
            Metric { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help },
        )+)+];

        /// The headings of the reference, each with how many metrics follow.
        const SECTIONS: &[(&str, usize)] = &[$(($section, [$($name),+].len()),)+];
    };
}

metrics! {
    "Node" {
        Gauge "pectin_build_info" "1" ["version", "commit"] "Always 1; what was built, from which commit."
        Gauge "process_start_time_seconds" "seconds" [] "When the process started, since the Unix epoch."
        Counter "process_cpu_seconds_total" "seconds" [] "CPU time of the process."
        Gauge "process_resident_memory_bytes" "bytes" [] "Memory that the process keeps resident."
        Gauge "process_open_fds" "1" [] "Open file descriptors."
        Gauge "pectin_ready" "1" [] "1 if /readyz answers 200, else 0."
        Gauge "pectin_health_reason" "1" ["reason"] "1 while this is a reason why the node is not healthy, else 0; docs/operating.md explains each."
        Gauge "pectin_page_viewers" "1" [] "Operator's pages that are open."
    }
    "Chain" {
        Gauge "pectin_clock_slot" "slots" [] "The slot that it is by the clock."
        Gauge "pectin_best_slot" "slots" [] "The slot of JAM's best block here."
        Gauge "pectin_final_slot" "slots" [] "The slot of JAM's final block here."
        Gauge "pectin_finality_lag_blocks" "blocks" [] "Blocks that finality is behind the best block."
        Gauge "pectin_slot_seconds" "seconds" [] "How long a slot lasts."
        Gauge "pectin_peers" "1" [] "Connected validators."
        Gauge "pectin_block_number" "blocks" ["tag"] "The newest EVM block by tag: latest, safe, finalized."
        Counter "pectin_alarms_total" "1" ["alarm"] "What must never happen: the chain's service differs from ours, cannot be read, or has a head that was not built here."
        Counter "pectin_transactions_executed_twice_total" "transactions" [] "Transactions that became final although they were final before. Must stay 0."
    }
    "Pool" {
        Gauge "pectin_pool_transactions" "transactions" ["state"] "Transactions: pending, queued, or bundled in a block that is not final."
        Gauge "pectin_pool_transactions_max" "transactions" ["state"] "How many may be pending or queued."
        Gauge "pectin_pool_below_base_fee" "transactions" [] "Queued transactions that only wait for the base fee to fall."
        Gauge "pectin_pool_senders" "1" [] "Senders with at least one transaction."
        Gauge "pectin_pool_bytes" "bytes" [] "Encoded bytes of what is pending and queued."
        Counter "pectin_pool_events_total" "1" ["event"] "What happened to transactions on their way."
        Counter "pectin_pool_ended_total" "transactions" ["reason"] "Transactions that were accepted and ended without becoming final."
        Counter "pectin_pool_refused_total" "transactions" ["reason"] "Transactions that were not accepted."
        Histogram "pectin_transaction_final_seconds" "seconds" [] "From the acceptance of a transaction to its finality."
    }
    "Building" {
        Gauge "pectin_open_transactions" "transactions" [] "Transactions in the open block."
        Histogram "pectin_block_transactions" "transactions" [] "Transactions of a sealed block."
        Histogram "pectin_block_gas" "gas" [] "Gas that a sealed block used."
        Histogram "pectin_block_refine_gas" "gas" [] "Gas of JAM's virtual machine that refining a sealed block takes at most, as it was estimated."
        Histogram "pectin_bundle_bytes" "bytes" [] "Bytes of a sealed block in a bundle of its own: witness, codes, transactions, headers, payload."
        Histogram "pectin_witness_bytes" "bytes" [] "Bytes of a sealed block's witness in a bundle of its own."
        Gauge "pectin_bundle_bytes_max" "bytes" [] "How large a bundle may be."
        Gauge "pectin_bundle_refine_gas_estimate" "gas" [] "Gas of JAM's virtual machine that the bundle packed last takes at most, as it was estimated."
        Gauge "pectin_bundle_refine_gas_used" "gas" [] "Gas of JAM's virtual machine that the service's program used for it; 0 if the program was not run."
        Gauge "pectin_bundle_refine_gas_max" "gas" [] "Gas of JAM's virtual machine that a bundle may take."
        Gauge "pectin_block_gas_max" "gas" [] "Gas that a block may use."
    }
    "Queue" {
        Gauge "pectin_queue_bundles" "bundles" ["state"] "Unfinished bundles by state."
        Gauge "pectin_queue_unbundled_blocks" "blocks" [] "Sealed blocks that are in no bundle yet."
        Gauge "pectin_queue_unbundled_bytes" "bytes" [] "What they take, each in a bundle of its own."
        Gauge "pectin_queue_fullness_ratio" "1" [] "How much of what may wait does. From 0.5 on sealing slows down, at 1 it stops."
        Counter "pectin_queue_events_total" "1" ["event"] "What happened to bundles on their way; window_missed counts windows that this node was too late for."
        Counter "pectin_queue_packages_total" "packages" [] "Package versions that were built."
        Counter "pectin_queue_sends_total" "1" [] "Times that the bytes of a package were sent."
        Histogram "pectin_bundle_stage_seconds" "seconds" ["stage"] "From the seal of a bundle's first block until the bundle was first submitted, guaranteed, accumulated, finalized."
        Gauge "pectin_queue_oldest_seconds" "seconds" [] "Age of the oldest block that is not final; 0 without one."
    }
    "Store" {
        Histogram "pectin_store_commit_seconds" "seconds" [] "How long a durable step took."
        Counter "pectin_store_syncs_total" "1" [] "Times that the disk was waited for."
        Gauge "pectin_store_bytes" "bytes" [] "The length of the file; 0 if nothing is kept."
    }
    "RPC" {
        Gauge "pectin_rpc_connections" "1" [] "Open connections, the pages' included."
        Counter "pectin_rpc_requests_total" "1" ["method", "outcome"] "Calls that were answered, by method and whether the answer was a result or an error."
        Histogram "pectin_rpc_request_seconds" "seconds" ["method"] "How long calls took; for subscriptions see the connections."
    }
    "Sender" {
        Gauge "pectin_sender_accounts" "accounts" ["state"] "Managed accounts that are run here: all of them, those that cannot see their chain or sign, those whose next transaction waits for long."
        Gauge "pectin_sender_requests" "requests" ["state"] "Requests that are not in a block: waiting for a nonce, held for a reason of their own, bound to a nonce, submitted to a node."
        Gauge "pectin_sender_nonces" "nonces" ["state"] "Nonces of the managed accounts that are run here: on loan, free below the next one (gaps), and the next ones added up."
        Counter "pectin_sender_events_total" "1" ["event"] "What the sender did since the start; webhooks_dead are webhooks that were given up."
        Histogram "pectin_sender_sent_seconds" "seconds" [] "From the acceptance of a request until a node had its transaction."
        Histogram "pectin_sender_mined_seconds" "seconds" [] "From the acceptance of a request until its transaction was in a block."
    }
}

/// The name of the labels' outcome of a call.
pub(super) const OUTCOMES: [&str; 2] = ["result", "error"];

/// The reference of metrics, as Markdown.
pub fn reference() -> String {
    let mut text = String::from(
        "# Metrics\n\nThe node serves these at `/metrics`, on the port of JSON-RPC and under the same rules, in the \
         OpenMetrics text format of\nPrometheus. Every name carries its unit. No label has more values than a list in the source, so the \
         number of series is\nbounded.\n\nThis page is made of `observe/src/table.rs`; `PECTIN_BLESS=1` rewrites \
         it.\n",
    );
    let mut metrics = METRICS.iter();
    for (section, count) in SECTIONS {
        let _ = write!(
            text,
            "\n## {section}\n\n| name | kind | unit | labels | meaning |\n|---|---|---|---|---|\n"
        );
        for metric in metrics.by_ref().take(*count) {
            let labels =
                metric.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
            let Metric { name, kind, unit, help, .. } = metric;
            let _ = writeln!(text, "| `{name}` | {} | {unit} | {labels} | {help} |", kind.name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_end_as_their_kind_wants() {
        let names = METRICS.iter().map(|metric| metric.name).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), METRICS.len());
        for Metric { name, kind, help, .. } in METRICS {
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert!(help.ends_with('.'), "{name}: {help}");
        }
    }

    /// The reference in the documentation is this one.
    #[test]
    fn the_reference_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
        if std::env::var_os("PECTIN_BLESS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).unwrap();
            std::fs::write(path, reference()).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            kept == reference(),
            "docs/metrics.md is not what the table says; PECTIN_BLESS=1 rewrites it"
        );
    }
}
