//! How often one client may call: a bucket for each address that fills with time and is emptied by calls.

use crate::{Limits, Rate};
use parking_lot::Mutex;
use std::{collections::HashMap, net::IpAddr, time::Instant};

/// So many addresses are remembered; with more, full buckets are forgotten first.
const CLIENTS_MAX: usize = 4096;

pub(crate) struct Rates {
    rate: Option<Rate>,
    on_loopback: bool,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    calls: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { rate: limits.rate, on_loopback: limits.rate_on_loopback, buckets: Mutex::default() }
    }

    /// Whether a client may make so many calls now; if so they are counted.
    pub(crate) fn allows(&self, client: IpAddr, calls: usize) -> bool {
        match self.rate {
            Some(rate) if self.on_loopback || !client.to_canonical().is_loopback() => {
                self.take(rate, client, calls, Instant::now())
            }
            _ => true,
        }
    }

    fn take(&self, rate: Rate, client: IpAddr, calls: usize, now: Instant) -> bool {
        let (fill, most) = (f64::from(rate.calls_per_second), f64::from(rate.burst_calls));
        let full =
            |bucket: &Bucket| bucket.calls + now.duration_since(bucket.at).as_secs_f64() * fill >= most;
        let mut buckets = self.buckets.lock();
        if buckets.len() >= CLIENTS_MAX && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| !full(bucket));
            if buckets.len() >= CLIENTS_MAX {
                return false;
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { calls: most, at: now });
        bucket.calls = (bucket.calls + now.duration_since(bucket.at).as_secs_f64() * fill).min(most);
        bucket.at = now;
        let allowed = bucket.calls >= calls as f64;
        if allowed {
            bucket.calls -= calls as f64;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_is_emptied_by_calls_and_filled_by_time() {
        let rate = Rate { calls_per_second: 10, burst_calls: 20 };
        let rates = Rates::new(&Limits { rate: Some(rate), rate_on_loopback: true, ..Limits::default() });
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let start = Instant::now();
        assert!(rates.take(rate, one, 20, start));
        assert!(!rates.take(rate, one, 1, start));
        assert!(rates.take(rate, other, 1, start), "each has its own");
        assert!(rates.take(rate, one, 10, start + Duration::from_secs(1)));
        assert!(!rates.take(rate, one, 21, start + Duration::from_secs(100)), "never more than the burst");
        assert!(rates.take(rate, one, 20, start + Duration::from_secs(100)));
    }

    #[test]
    fn this_machine_is_not_limited_unless_asked() {
        let rate = Some(Rate { calls_per_second: 1, burst_calls: 1 });
        let rates = Rates::new(&Limits { rate, ..Limits::default() });
        assert!((0..10).all(|_| rates.allows(IpAddr::from([127, 0, 0, 1]), 1)));
        let away = IpAddr::from([10, 0, 0, 1]);
        assert!(rates.allows(away, 1) && !rates.allows(away, 1));
    }
}
