//! Dashboards and alerts: every metric and label in them exists, and every value that a label is compared with.

use super::{dev, get, served::labelled, text};
use observe::{METRICS, Metric, health::Code};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/pectin.json");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/alerts.yml");

const PROMETHEUS: &str = include_str!("../../../../deploy/prometheus/prometheus.yml");

/// A metric that an expression uses, with the labels that it asks for and the values that they are compared with.
type Used = (String, BTreeMap<String, Vec<String>>);

/// What Prometheus says of each target itself.
const UP: Metric =
    Metric { name: "up", kind: observe::Kind::Gauge, unit: "1", labels: &[], help: "Whether it answers." };

/// Words of the language that are neither metrics nor functions.
const WORDS: [&str; 9] =
    ["by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless"];

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The metrics in an expression. Groupings, functions, durations and texts are passed over.
fn metrics(expression: &str) -> Vec<Used> {
    let mut used = Vec::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        if first == '[' {
            rest = &rest[rest.find(']').unwrap()..];
        }
        if !first.is_ascii_alphabetic() {
            // A number may be followed by a letter (1e9), which is no name.
            let number = rest.find(|c: char| !(is_name(c) || c == '.')).unwrap_or(rest.len());
            rest = if first.is_ascii_digit() {
                &rest[number..]
            } else {
                &rest[first.len_utf8().min(rest.len())..]
            };
            continue;
        }
        let (name, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        let next = after.trim_start();
        // `sum by (..) (..)`: a function all the same.
        let is_grouped = ["by ", "by(", "without ", "without("].iter().any(|word| next.starts_with(word));
        rest = after;
        if WORDS.contains(&name) {
            if next.starts_with('(') {
                rest = &next[next.find(')').unwrap()..];
            }
        } else if let Some(selector) = next.strip_prefix('{') {
            let (inside, after) = selector.split_at(selector.find('}').unwrap());
            used.push((name.to_owned(), labels(inside)));
            rest = after;
        } else if !next.starts_with('(') && !is_grouped {
            used.push((name.to_owned(), BTreeMap::new()));
        }
    }
    used
}

/// The labels in a selector, each with the values that it is compared with. A dashboard's variable is no value.
fn labels(selector: &str) -> BTreeMap<String, Vec<String>> {
    let parts = selector.split('"').collect::<Vec<_>>();
    let label = |pair: &[&str]| {
        let name = pair[0].trim_matches(|c| !is_name(c)).to_owned();
        let is_pattern = pair[0].trim_end().ends_with('~');
        let values = pair.get(1).copied().into_iter().filter(|value| !value.contains('$'));
        let values =
            values.flat_map(|value| if is_pattern { value.split('|').collect() } else { vec![value] });
        (name, values.map(str::to_owned).collect())
    };
    parts.chunks(2).map(label).filter(|(name, _)| !name.is_empty()).collect()
}

/// The metric that a series belongs to.
fn metric(series: &str) -> Option<&'static Metric> {
    let known = |name: &str| METRICS.iter().chain([&UP]).find(|metric| metric.name == name);
    known(series).or_else(|| {
        let parts = ["_bucket", "_sum", "_count"].iter().find_map(|end| series.strip_suffix(end))?;
        known(parts).filter(|metric| metric.kind.name() == "histogram")
    })
}

/// What is wrong with an expression.
fn wrong(expression: &str) -> Vec<String> {
    let used = metrics(expression);
    let mut wrong = Vec::new();
    if used.is_empty() {
        wrong.push(format!("no metric in {expression}"));
    }
    for (series, labels) in used {
        let Some(metric) = metric(&series) else {
            wrong.push(format!("there is no {series}: {expression}"));
            continue;
        };
        // What Prometheus adds, and what a histogram has.
        let known = |label: &String| {
            metric.labels.contains(&&**label) || ["instance", "job", "le"].contains(&&**label)
        };
        wrong.extend(
            labels.keys().filter(|label| !known(label)).map(|label| format!("{series} has no {label}")),
        );
    }
    wrong
}

/// The values in an expression that no node serves. `served` has those of each label of each metric; lists in the source
/// are served whole, also where nothing has been counted yet.
fn unserved(expression: &str, served: &BTreeMap<(String, String), BTreeSet<String>>) -> Vec<String> {
    let jobs = serde_yaml_ng::from_str::<serde_yaml_ng::Value>(PROMETHEUS).unwrap();
    let jobs = jobs["scrape_configs"].as_sequence().unwrap().iter();
    let jobs = jobs.map(|job| job["job_name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>();
    let mut wrong = Vec::new();
    for (series, labels) in metrics(expression) {
        let name = metric(&series).map_or(&*series, |metric| metric.name).to_owned();
        for (label, values) in labels {
            let known = match &*label {
                "job" => Some(&jobs),
                _ => served.get(&(name.clone(), label.clone())),
            };
            let is_known = |value: &String| known.is_some_and(|known| known.contains(value));
            let unknown = values.into_iter().filter(|value| !is_known(value));
            wrong.extend(unknown.map(|value| format!("{series} has no {label}={value:?}")));
        }
    }
    wrong
}

fn of_dashboard() -> Vec<String> {
    let mut found = Vec::new();
    expressions(&serde_json::from_str(DASHBOARD).unwrap(), &mut found);
    found
}

fn of_alerts() -> Vec<String> {
    let found = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    found.map(str::to_owned).collect()
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match (name.as_str(), value) {
            ("expr", Value::String(text)) => found.push(text.clone()),
            _ => expressions(value, found),
        }),
        Value::Array(all) => all.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn every_metric_of_the_dashboard_exists() {
    let found = of_dashboard();
    assert!(found.len() > 30, "{}", found.len());
    assert_eq!(found.iter().flat_map(|text| wrong(text)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_metric_of_the_alerts_exists() {
    let found = of_alerts();
    assert_eq!(found.len(), ALERTS.matches("- alert: ").count());
    assert_eq!(found.iter().flat_map(|text| wrong(text)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_value_of_a_label_is_one_that_the_node_serves() {
    let (_pectin, url) = dev(&[]);
    // One call that fails and one that does not, so that both outcomes are there.
    get(&url, "/metrics");
    let mut client = harness::http::Client::connect(&url).unwrap();
    for method in ["eth_chainId", "eth_nothing"] {
        drop(harness::process::call(&mut client, method, &serde_json::json!([])));
    }
    let mut served = BTreeMap::<_, BTreeSet<_>>::new();
    for (series, label, value) in labelled(&text(&get(&url, "/metrics"))) {
        let name = metric(&series).unwrap().name.to_owned();
        served.entry((name, label)).or_default().insert(value);
    }
    let all = of_dashboard().into_iter().chain(of_alerts());
    assert_eq!(all.flat_map(|text| unserved(&text, &served)).collect::<Vec<_>>(), [""; 0]);
    let wrong = |text: &str| unserved(text, &served);
    assert_eq!(
        wrong("rate(pectin_queue_events_total{event=\"window_mist\"}[5m])"),
        ["pectin_queue_events_total has no event=\"window_mist\""]
    );
    assert_eq!(wrong("pectin_pool_transactions{state=~\"pending|quened\"}").len(), 1);
    assert_eq!(wrong("up{job=\"pectn\"} == 0").len(), 1);
    assert!(wrong("up{job=\"pectin\", instance=~\"$instance\"} == 0").is_empty());
}

/// What is gone and what cannot be sent is told.
#[test]
fn a_node_that_is_gone_and_what_cannot_be_sent_raise_an_alarm() {
    let all = of_alerts();
    for words in ["absent(up{job=", "event=\"not_submitted\""] {
        assert!(all.iter().any(|text| text.contains(words)), "{words}");
    }
}

/// Alarms take the node's own judgement: each reason raises one by itself. Two do not, on purpose: a pause is the operator's
/// wish, and a node that catches up is only not ready, for which there is an alarm if it lasts.
#[test]
fn every_reason_of_health_raises_an_alarm() {
    let used = of_alerts().iter().flat_map(|text| metrics(text)).collect::<Vec<_>>();
    let reasons = used.iter().filter(|(name, _)| name == "pectin_health_reason");
    let raised = reasons.flat_map(|(_, labels)| labels["reason"].clone()).collect::<BTreeSet<_>>();
    let silent = ["catching_up", "paused"];
    let all = Code::ALL.iter().map(|code| code.name()).filter(|name| !silent.contains(name));
    assert_eq!(raised, all.map(str::to_owned).collect());
    assert!(of_alerts().contains(&"pectin_ready == 0".to_owned()));
}

#[test]
fn a_metric_that_does_not_exist_is_found() {
    let names = |text: &str| metrics(text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        names("sum by (le, a) (rate(x_bucket{l=\"y{\"}[5m])) / on (b) y * 1e9 > 0.5"),
        ["x_bucket", "y"]
    );
    assert_eq!(names("max(a{i=~\"$instance\"} - b)"), ["a", "b"]);
    assert!(wrong("pectin_peers == 0").is_empty());
    assert_eq!(wrong("pectin_nothing == 0").len(), 1);
    assert_eq!(wrong("pectin_peers_bucket == 0").len(), 1, "it is no histogram");
    assert_eq!(wrong("pectin_queue_bundles{stat=\"queued\"}"), ["pectin_queue_bundles has no stat"]);
    assert_eq!(wrong("1 + 1").len(), 1);
}
