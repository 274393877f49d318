//! `/metrics`, `/healthz`, `/readyz` and the page, as the real node serves them.

use super::{
    dev, get,
    health::{fault, ready, until_because},
    send, text,
};
use harness::{http::Client, process::call};
use observe::{Kind, METRICS, Metric};
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

/// Name, labels and value of each sample.
fn samples(scrape: &str) -> Vec<(String, Vec<String>, f64)> {
    let lines = scrape.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let outside = labels.split('"').step_by(2).collect::<String>();
        let names = outside.trim_end_matches('}').split([',', '=']).filter(|name| !name.is_empty());
        (name.to_owned(), names.map(str::to_owned).collect(), value.parse::<f64>().expect(line))
    };
    lines.map(sample).collect()
}

/// Series, label and value of each label in a scrape.
pub(super) fn labelled(scrape: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let labels = rest.rsplit_once('}').unwrap().0;
        let parts = labels.split('"').collect::<Vec<_>>();
        for pair in parts.chunks_exact(2) {
            found.push((name.to_owned(), pair[0].trim_matches([',', '=']).to_owned(), pair[1].to_owned()));
        }
    }
    found
}

pub(super) fn value(scrape: &str, series: &str) -> f64 {
    let line = scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("there is no {series}")).parse().unwrap()
}

#[test]
fn a_scrape_has_every_metric_of_the_table_and_no_other() {
    let (mut pectin, url) = dev(&[]);
    send(&url, 0, 3);
    let mut client = Client::connect(&url).unwrap();
    call(&mut client, "eth_chainId", &json!([])).unwrap();
    call(&mut client, "eth_nothing", &json!([])).unwrap_err();
    call(&mut client, "eth_sendRawTransaction", &json!(["0x01"])).unwrap_err();
    pectin.wait_for("bundle finalized bundle=1").unwrap();
    // The transactions may be in several blocks, and a busy machine may just have missed a window.
    let scrape = loop {
        let answer = get(&url, "/metrics");
        assert_eq!(answer.status, 200);
        let scrape = text(&answer);
        let are_final = value(&scrape, "pectin_transaction_final_seconds_count") >= 3.0;
        if are_final && value(&scrape, "pectin_ready") == 1.0 {
            break scrape;
        }
    };
    // In the order of the table, each with its kind and meaning.
    let said =
        |what: &str| scrape.lines().filter_map(|line| line.strip_prefix(what)).collect::<Vec<_>>().join("\n");
    // A counter's name is without the ending that its samples have, as OpenMetrics wants it.
    let family = |metric: &Metric| match metric.kind {
        Kind::Counter => metric.name.trim_end_matches("_total").to_owned(),
        Kind::Gauge | Kind::Histogram => metric.name.to_owned(),
    };
    let kinds = METRICS.iter().map(|metric| format!("{} {}", family(metric), metric.kind.name()));
    assert_eq!(said("# TYPE "), kinds.collect::<Vec<_>>().join("\n"));
    let helps = METRICS.iter().map(|metric| format!("{} {}", family(metric), metric.help));
    assert_eq!(said("# HELP "), helps.collect::<Vec<_>>().join("\n"));
    let samples = samples(&scrape);
    for metric in METRICS {
        let ends: &[&str] =
            if metric.kind.name() == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        for end in ends {
            let of = |(name, ..): &&(String, Vec<String>, f64)| *name == format!("{}{end}", metric.name);
            let labels =
                samples.iter().filter(of).map(|(_, labels, _)| labels.clone()).collect::<BTreeSet<_>>();
            let bound = (*end == "_bucket").then_some("le");
            let expected =
                bound.into_iter().chain(metric.labels.iter().copied()).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(labels.into_iter().collect::<Vec<_>>(), [expected], "{}{end}", metric.name);
        }
    }
    assert_eq!(value(&scrape, "pectin_pool_events_total{event=\"added\"}"), 3.0);
    assert_eq!(value(&scrape, "pectin_pool_refused_total{reason=\"malformed\"}"), 1.0);
    assert_eq!(value(&scrape, "pectin_rpc_requests_total{method=\"eth_chainId\",outcome=\"result\"}"), 1.0);
    assert_eq!(value(&scrape, "pectin_rpc_requests_total{method=\"other\",outcome=\"error\"}"), 1.0);
    assert_eq!(value(&scrape, "pectin_transactions_executed_twice_total"), 0.0);
    assert!(value(&scrape, "pectin_queue_events_total{event=\"finalized\"}") >= 1.0);
    assert!(value(&scrape, "pectin_bundle_stage_seconds_count{stage=\"finalized\"}") >= 1.0);
    assert!(value(&scrape, "pectin_witness_bytes_sum") > 0.0);
    assert!(value(&scrape, "process_resident_memory_bytes") > 1e6);
    assert!(scrape.ends_with("# EOF\n"), "{scrape}");
}

#[test]
fn a_node_that_gets_no_blocks_is_up_but_not_ready() {
    let (_pectin, url) = dev(&[]);
    while ready(&url).0 != 200 {}
    fault(&url, &json!({ "fault": "skip", "slots": 20 }));
    let (status, reason) = until_because(&url, "jam_silent");
    assert_eq!((status, &reason["level"]), (503, &json!("unready")));
    assert!(reason["text"].as_str().unwrap().starts_with("No block of JAM has arrived for"), "{reason}");
    assert_eq!(get(&url, "/healthz").status, 200);
    assert_eq!(value(&text(&get(&url, "/metrics")), "pectin_ready"), 0.0);
    while ready(&url).0 != 200 {}
}

#[test]
fn a_proxy_is_told_to_pass_on_the_stream_as_it_comes() {
    let (_pectin, url) = dev(&[]);
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /page/live HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let head = lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect::<Vec<_>>();
    for header in ["content-type: text/event-stream", "cache-control: no-cache", "x-accel-buffering: no"] {
        assert!(head.iter().any(|line| line == header), "{header} is missing: {head:#?}");
    }
}

#[test]
fn only_those_who_may_ask_are_answered_and_nobody_can_do_anything_by_accident() {
    let (_pectin, url) = dev(&[]);
    let mut client = Client::connect(&url).unwrap();
    let mut ask = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        client.request(method, path, headers, body.as_bytes()).unwrap().status
    };
    for path in
        ["/", "/tx/0x12", "/page/main.js", "/page/live", "/metrics", "/healthz", "/readyz", "/dev/faults"]
    {
        assert_eq!(ask("GET", path, &[("host", "evil.example")], ""), 403, "{path}");
    }
    for path in ["/", "/page/main.js", "/page/style.css", "/metrics", "/healthz"] {
        assert_eq!(ask("GET", path, &[], ""), 200, "{path}");
    }
    assert_eq!(ask("POST", "/metrics", &[], ""), 405);
    assert_eq!(ask("GET", "/page/../Cargo.toml", &[], ""), 404);
    assert_eq!(ask("GET", "/nothing", &[], ""), 404);
    let heal = json!({ "fault": "heal" }).to_string();
    let own = [("x-pectin-page", "1")];
    assert_eq!(ask("POST", "/dev/faults", &[], &heal), 403, "a form of another page");
    let foreign = [own[0], ("origin", "http://evil.example")];
    assert_eq!(ask("POST", "/dev/faults", &foreign, &heal), 403);
    assert_eq!(ask("OPTIONS", "/dev/faults", &foreign, ""), 405, "no permission to ask");
    assert_eq!(ask("GET", "/dev/faults", &own, ""), 405);
    assert_eq!(ask("POST", "/dev/faults", &own, "{\"fault\":\"melt\"}"), 400);
    assert_eq!(ask("POST", "/dev/faults", &own, "{\"fault\":\"validator\",\"index\":6,\"down\":true}"), 400);
    assert_eq!(ask("POST", "/dev/faults", &own, &heal), 200);
}
