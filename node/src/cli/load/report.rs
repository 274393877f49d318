//! What came of it, in numbers.

use super::ledger::{Ledger, Step};
use crate::cli::show::{seconds, table};
use serde_json::{Value, json};
use std::time::Duration;

const NAMES: [&str; 3] = ["accepted", "sealed", "final"];
/// The row of those who wait, if there are any.
const RECEIPT: &str = "receipt";

/// Counts, rates and latencies. `accepted` and `receipt` are measured from the request, the others from the acceptance.
pub(super) fn of(ledger: &Ledger) -> Value {
    let steps = ledger.steps();
    let mut value = NAMES.iter().zip(steps).map(|(name, step)| ((*name).to_owned(), view(step)));
    let mut value = Value::Object(value.by_ref().collect());
    let receipts = ledger.receipts();
    if !receipts.moments.is_empty() {
        value[RECEIPT] = view(receipts);
    }
    value["refused"] = json!(ledger.refusals());
    value["retried"] = json!(ledger.retries());
    value["evicted"] = json!(ledger.counts().evicted);
    value["unsent"] = json!(ledger.counts().unsent);
    value
}

fn view(mut step: Step) -> Value {
    step.latencies.sort_unstable();
    json!({
        "count": step.moments.len(),
        "perSecond": per_second(&step),
        "p50Ms": percentile(&step.latencies, 50),
        "p90Ms": percentile(&step.latencies, 90),
        "p99Ms": percentile(&step.latencies, 99),
        "maxMs": percentile(&step.latencies, 100),
    })
}

/// From the first to the last. Of fewer than two that come at different times nothing can be said.
fn per_second(step: &Step) -> Option<f64> {
    let (first, last) = (step.moments.iter().min()?, step.moments.iter().max()?);
    let span = last.duration_since(*first).as_secs_f64();
    (span > 0.0).then(|| ((step.moments.len() - 1) as f64 / span * 10.0).round() / 10.0)
}

/// Of sorted latencies, the one that so many of a hundred do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|latency| latency.as_millis() as u64)
}

/// The same for people.
pub(super) fn words(report: &Value) -> String {
    let names = NAMES.into_iter().chain([RECEIPT]).filter(|name| !report[*name].is_null());
    let rows = names.map(|name| {
        let step = &report[name];
        let ms = |name: &str| step[name].as_u64().map_or_else(|| "-".to_owned(), seconds);
        let rate = step["perSecond"].as_f64().map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
        [name.to_owned(), step["count"].to_string(), rate, ms("p50Ms"), ms("p90Ms"), ms("p99Ms"), ms("maxMs")]
    });
    let heads = ["", "count", "per second", "p50", "p90", "p99", "max"];
    let mut out = table(heads, &rows.collect::<Vec<_>>());
    out.push_str("accepted: from the request to its answer; sealed, final: from then on\n");
    if !report[RECEIPT].is_null() {
        out.push_str("receipt: from the request to the receipt, of those who wait for each\n");
    }
    for (why, count) in report["refused"].as_object().into_iter().flatten() {
        out.push_str(&format!("refused {count} times: {why}\n"));
    }
    for (why, count) in report["retried"].as_object().into_iter().flatten() {
        out.push_str(&format!("rejected by the full pool {count} times, and sent again: {why}\n"));
    }
    if let Some(evicted) = report["evicted"].as_u64().filter(|evicted| *evicted > 0) {
        out.push_str(&format!(
            "evicted by the full pool after they were accepted, and sent again: {evicted}\n"
        ));
    }
    if let Some(unsent) = report["unsent"].as_u64().filter(|unsent| *unsent > 0) {
        out.push_str(&format!("never accepted: {unsent}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn percentiles_and_rates() {
        let latencies = (1..=100).map(Duration::from_millis).collect::<Vec<_>>();
        assert_eq!([50, 90, 99, 100].map(|p| percentile(&latencies, p)), [50, 90, 99, 100].map(Some));
        assert_eq!(percentile(&latencies[..1], 50), Some(1));
        assert_eq!(percentile(&[], 50), None);
        let begun = Instant::now();
        let moments = (0..=20).map(|n| begun + Duration::from_millis(100 * n)).collect();
        assert_eq!(per_second(&Step { moments, latencies: vec![] }), Some(10.0));
        assert_eq!(per_second(&Step { moments: vec![begun], latencies: vec![] }), None);
    }

    #[test]
    fn an_empty_ledger_can_be_shown() {
        let report = of(&Ledger::default());
        assert!(words(&report).contains("accepted"));
    }
}
