//! Dashboards and alerts: every metric and label in them exists.

use node::observe::{METRICS, Metric};
use serde_json::Value;
use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/pectin.json");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/alerts.yml");

/// A metric that an expression uses, with the labels that it asks for.
type Used = (String, BTreeSet<String>);

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
            used.push((name.to_owned(), BTreeSet::new()));
        }
    }
    used
}

/// The names of the labels in a selector.
fn labels(selector: &str) -> BTreeSet<String> {
    let outside = selector.split('"').step_by(2).collect::<String>();
    let names = outside.split(|c| !is_name(c)).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The metric that a series belongs to.
fn metric(series: &str) -> Option<&'static Metric> {
    let known = |name: &str| METRICS.iter().find(|metric| metric.name == name);
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
            labels.iter().filter(|label| !known(label)).map(|label| format!("{series} has no {label}")),
        );
    }
    wrong
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
    let mut found = Vec::new();
    expressions(&serde_json::from_str(DASHBOARD).unwrap(), &mut found);
    assert!(found.len() > 30, "{}", found.len());
    assert_eq!(found.iter().flat_map(|text| wrong(text)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_metric_of_the_alerts_exists() {
    let found = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect::<Vec<_>>();
    assert_eq!(found.len(), ALERTS.matches("- alert: ").count());
    assert_eq!(found.iter().flat_map(|text| wrong(text)).collect::<Vec<_>>(), [""; 0]);
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
