//! A scrape as text: samples are gathered under the names of the [table](super::METRICS), and `prometheus-client` writes
//! them in the OpenMetrics format, which every Prometheus of the last years takes.
//!
//! Values are read when a scrape is made, so there is no registry that lives on: each scrape is one collector.

use super::table::{Kind, METRICS, Metric};
use histogram::Buckets;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode},
    metrics::MetricType,
    registry::Registry,
};
use std::fmt;

/// What `/metrics` says that it is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A value of a sample.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Whole(u64),
    Fraction(f64),
    Histogram(Buckets),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Fraction(value)
    }
}

macro_rules! whole {
    ($($type:ty),+) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Whole(value.try_into().unwrap_or(u64::MAX))
            }
        })+
    };
}
whole!(u8, u32, u64, usize);

type Labels = Vec<(String, String)>;

/// The samples of one metric.
#[derive(Debug)]
struct Family {
    metric: &'static Metric,
    samples: Vec<(Labels, Value)>,
}

/// A scrape that is being gathered.
#[derive(Debug, Default)]
pub(super) struct Text {
    families: Vec<Family>,
}

impl Text {
    fn add(&mut self, name: &str, samples: impl Iterator<Item = (Labels, Value)>) {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        debug_assert!(metric.is_some(), "{name} is not in the table");
        if let Some(metric) = metric {
            self.families.push(Family { metric, samples: samples.collect() });
        }
    }

    /// A metric with one value.
    pub(super) fn one(&mut self, name: &str, value: impl Into<Value>) {
        self.add(name, [(vec![], value.into())].into_iter());
    }

    /// A metric with a value for each value of its label.
    pub(super) fn each<'a, V: Into<Value>>(
        &mut self,
        name: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, V)>,
    ) {
        let sample = |(of, value): (&str, V)| (vec![(label.to_owned(), of.to_owned())], value.into());
        self.add(name, values.into_iter().map(sample));
    }

    /// A metric with a value for each set of labels.
    pub(super) fn labelled(&mut self, name: &str, values: &[(Vec<(&str, &str)>, u64)]) {
        let owned = |(label, of): &(&str, &str)| ((*label).to_owned(), (*of).to_owned());
        let sample = |(labels, value): &(Vec<(&str, &str)>, u64)| {
            (labels.iter().map(owned).collect(), Value::Whole(*value))
        };
        self.add(name, values.iter().map(sample));
    }

    /// A histogram, or several that differ in a label.
    pub(super) fn histograms<'a>(
        &mut self,
        name: &str,
        all: impl IntoIterator<Item = (Option<(&'a str, &'a str)>, Buckets)>,
    ) {
        let owned = |(label, of): (&str, &str)| (label.to_owned(), of.to_owned());
        let sample = |(label, buckets): (Option<(&str, &str)>, Buckets)| {
            (label.into_iter().map(owned).collect(), Value::Histogram(buckets))
        };
        self.add(name, all.into_iter().map(sample));
    }

    /// The text of what was gathered.
    pub(super) fn finish(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        encode(&mut text, &registry).expect("writing to a string does not fail, and numbers have 63 bits");
        text
    }
}

impl Collector for Text {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { metric: Metric { name, kind, help, .. }, samples } in &self.families {
            let kind_name = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            // OpenMetrics has the ending with the samples of a counter, not with its name.
            let name = name.strip_suffix("_total").filter(|_| *kind == Kind::Counter).unwrap_or(name);
            let mut metric = encoder.encode_descriptor(name, help, None, kind_name)?;
            for (labels, value) in samples {
                if labels.is_empty() {
                    sample(&mut metric, *kind, value)?;
                } else {
                    sample(&mut metric.encode_family(labels)?, *kind, value)?;
                }
            }
        }
        Ok(())
    }
}

fn sample(encoder: &mut MetricEncoder<'_>, kind: Kind, value: &Value) -> fmt::Result {
    match (kind, value) {
        (Kind::Counter, Value::Whole(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(value, None),
        (Kind::Counter, Value::Fraction(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(value, None),
        (_, Value::Whole(value)) => encoder.encode_gauge(value),
        (_, Value::Fraction(value)) => encoder.encode_gauge(value),
        (_, Value::Histogram(Buckets { bounds, up_to, count, sum })) => {
            let mut below = 0;
            // Ours say how many values are at most as large as a bound; wanted is how many are in each bucket.
            let in_bucket = |(bound, up_to): (f64, &u64)| {
                let count = up_to - below;
                below = *up_to;
                (bound, count)
            };
            let bounds = bounds.iter().copied().chain([f64::INFINITY]);
            let buckets = bounds.zip(up_to).map(in_bucket).collect::<Vec<_>>();
            encoder.encode_histogram::<NoLabelSet>(*sum, *count, &buckets, None)
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
        text.one("pectin_peers", 6_usize);
        text.labelled("pectin_build_info", &[(vec![("version", "1 \"a\""), ("commit", "b\\c")], 1)]);
        text.each("pectin_alarms_total", "alarm", [("foreign_head", 2_u64)]);
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
# HELP pectin_alarms What must never happen: the chain's service differs from ours, cannot be read, or has a head that was not built here.
# TYPE pectin_alarms counter
pectin_alarms_total{alarm="foreign_head"} 2
# HELP pectin_rpc_request_seconds How long calls took; for subscriptions see the connections.
# TYPE pectin_rpc_request_seconds histogram
pectin_rpc_request_seconds_sum{method="eth_call"} 3.25
pectin_rpc_request_seconds_count{method="eth_call"} 2
pectin_rpc_request_seconds_bucket{le="0.5",method="eth_call"} 1
pectin_rpc_request_seconds_bucket{le="1.0",method="eth_call"} 1
pectin_rpc_request_seconds_bucket{le="+Inf",method="eth_call"} 2
# EOF
"#;
        assert_eq!(text.finish(), expected);
    }
}
