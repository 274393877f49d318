//! What we cost against what is unavoidable.
//!
//! A ratio runs two sides, ours and the floor, turn by turn in one process and compares their CPU time: the machine's
//! other work hits both alike. The value is the median over the pairs. Each module measures one part of the product and lists
//! its ratios; the binary `ratios` of `tests` runs them.
//!
//! This is a crate because what is measured must be what ships: it turns on no planted bug and no failing disk, only
//! `jam`'s `sample`, whose author makes the blocks that are followed. (A build of all binaries of `tests` unifies features
//! all the same. The product itself, where it is measured as a process, is built alone.)

mod anvil;
mod block;
mod builder;
mod follow;
pub mod gas;
mod network;
mod page;
pub mod precompiles;
mod queue;
mod receipt;
pub mod rpc;
mod rpc_logs;
mod sender;
mod state;
mod txpool;

use harness::cpu::cpu_time;
use std::time::Duration;

/// A ratio with its target.
pub struct Ratio {
    /// The name that `--only` takes.
    pub name: &'static str,
    /// The value must not be above it.
    pub target: f64,
    /// Measures it; may print details, which come before the `RATIO` line.
    pub measure: fn() -> f64,
}

/// Every ratio that has a target.
pub fn all() -> Vec<&'static Ratio> {
    [
        anvil::RATIOS,
        block::RATIOS,
        follow::RATIOS,
        network::RATIOS,
        page::RATIOS,
        queue::RATIOS,
        receipt::RATIOS,
        rpc::RATIOS,
        sender::RATIOS,
        state::RATIOS,
        txpool::RATIOS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The CPU time of one call, which also gives its result.
pub fn cost<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = cpu_time();
    let result = std::hint::black_box(work());
    (cpu_time().saturating_sub(start), result)
}

/// The median over `pairs` of the cost of `ours` divided by the cost of `floor`, turn by turn, after one unmeasured
/// turn of each. Both sides report the CPU time of the part that counts, so set-up can stay outside.
pub fn median_of_pairs(
    pairs: usize,
    mut ours: impl FnMut() -> Duration,
    mut floor: impl FnMut() -> Duration,
) -> f64 {
    ours();
    floor();
    let mut ratios = Vec::with_capacity(pairs);
    for turn in 0..pairs {
        // Whoever goes second finds warmer caches; take turns at that too.
        let (a, b) = if turn % 2 == 0 {
            let a = ours();
            (a, floor())
        } else {
            let b = floor();
            (ours(), b)
        };
        ratios.push(a.as_secs_f64() / b.as_secs_f64().max(1e-9));
    }
    median(&mut ratios)
}

/// The middle value; the mean of the two middle ones if their number is even.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_outliers() {
        assert_eq!(median(&mut [100.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [1.0, 3.0]), 2.0);
        let mut turn = 0;
        let ours = || {
            turn += 1;
            Duration::from_millis(if turn == 3 { 900 } else { 20 })
        };
        assert_eq!(median_of_pairs(5, ours, || Duration::from_millis(10)), 2.0);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let (spent, sum) =
            cost(|| (0..2_000_000_u64).fold(0_u64, |a, b| a.wrapping_mul(31) ^ std::hint::black_box(b)));
        assert!(sum > 0 && spent > Duration::ZERO);
    }
}
