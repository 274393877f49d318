//! The text format of Prometheus.

use super::table::{METRICS, Metric};
use histogram::Buckets;
use std::fmt::{Display, Write};

/// A scrape that is being written.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) text: String,
}

impl Text {
    /// Writes what a metric means. Whoever writes samples must have done so; a name that is not in the table has no help,
    /// which a test finds.
    fn begin(&mut self, name: &str) {
        if let Some(Metric { kind, help, .. }) = METRICS.iter().find(|metric| metric.name == name) {
            let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        for (place, (label, of)) in labels.iter().enumerate() {
            self.text.push(if place == 0 { '{' } else { ',' });
            let escaped = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{label}=\"{escaped}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    /// A metric with one value.
    pub(super) fn one(&mut self, name: &str, value: impl Display) {
        self.begin(name);
        self.sample(name, &[], value);
    }

    /// A metric with a value for each value of its label.
    pub(super) fn each<'a, V: Display>(
        &mut self,
        name: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, V)>,
    ) {
        self.begin(name);
        for (of, value) in values {
            self.sample(name, &[(label, of)], value);
        }
    }

    /// A metric with a value for each set of labels.
    pub(super) fn labelled<V: Display>(&mut self, name: &str, values: &[(Vec<(&str, &str)>, V)]) {
        self.begin(name);
        for (labels, value) in values {
            self.sample(name, labels, value);
        }
    }

    /// A histogram, or several that differ in a label.
    pub(super) fn histograms<'a>(
        &mut self,
        name: &str,
        all: impl IntoIterator<Item = (Option<(&'a str, &'a str)>, Buckets)>,
    ) {
        self.begin(name);
        for (label, Buckets { bounds, up_to, count, sum }) in all {
            let bucket = format!("{name}_bucket");
            let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (bound, up_to) in bounds.zip(up_to) {
                let labels = label.into_iter().chain([("le", bound.as_str())]).collect::<Vec<_>>();
                self.sample(&bucket, &labels, up_to);
            }
            let labels = label.into_iter().collect::<Vec<_>>();
            self.sample(&format!("{name}_sum"), &labels, sum);
            self.sample(&format!("{name}_count"), &labels, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use histogram::Histogram;

    #[test]
    fn samples_look_as_prometheus_wants_them() {
        let mut text = Text::default();
        text.one("pectin_peers", 6);
        text.labelled("pectin_build_info", &[(vec![("version", "1 \"a\""), ("commit", "b\\c")], 1)]);
        let histogram = Histogram::new(&[0.5, 1.0]);
        for value in [0.25, 3.0] {
            histogram.observe(value);
        }
        text.histograms("pectin_rpc_request_seconds", [(Some(("method", "eth_call")), histogram.buckets())]);
        let expected = r#"# HELP pectin_peers Connected validators.
# TYPE pectin_peers gauge
pectin_peers 6
# HELP pectin_build_info Always 1; what was built, from which commit.
# TYPE pectin_build_info gauge
pectin_build_info{version="1 \"a\"",commit="b\\c"} 1
# HELP pectin_rpc_request_seconds How long calls took; for subscriptions see the connections.
# TYPE pectin_rpc_request_seconds histogram
pectin_rpc_request_seconds_bucket{method="eth_call",le="0.5"} 1
pectin_rpc_request_seconds_bucket{method="eth_call",le="1"} 1
pectin_rpc_request_seconds_bucket{method="eth_call",le="+Inf"} 2
pectin_rpc_request_seconds_sum{method="eth_call"} 3.25
pectin_rpc_request_seconds_count{method="eth_call"} 2
"#;
        assert_eq!(text.text, expected);
    }
}
