//! Load for a while and nothing else: does the node's memory grow?

use super::judge::{Judge, Options, Verdict};
use std::time::{Duration, Instant};

/// The memory is looked at so often.
const LOOKS: u32 = 20;
/// Growth from the middle to the end that is none: caches fill, allocators keep what they had.
const GROWTH_PERCENT_MAX: u64 = 10;

/// Lets a node work for so many minutes; gives the verdict as for any other run. Growth is a problem too.
pub fn soak(options: &Options, minutes: u64) -> Result<Verdict, String> {
    Judge::judge(options, |judge| {
        judge.live()?;
        judge.start_load(options.seed)?;
        let begun = Instant::now();
        let all = Duration::from_secs(minutes * 60);
        let mut sizes = vec![];
        for look in 0..=LOOKS {
            while begun.elapsed() < all * look / LOOKS {
                judge.hear_of_progress(judge.world.slots(4))?;
            }
            let kib = judge.node()?.resident_kib().ok_or("the node's memory cannot be read")?;
            judge.say(format_args!("{} KiB resident, {} accepted", kib, judge.ledger.accepted()));
            sizes.push(kib);
        }
        Ok(tell(&sizes, minutes))
    })
}

/// Start, middle and end; what is wrong with it, if it grew.
fn tell(sizes: &[u64], minutes: u64) -> Vec<String> {
    let at = |place: usize| sizes.get(place).copied().unwrap_or_default();
    let (start, middle, end) = (at(0), at(sizes.len() / 2), at(sizes.len().saturating_sub(1)));
    let grew = end > middle + middle * GROWTH_PERCENT_MAX / 100;
    let mib = |kib: u64| kib as f64 / 1024.0;
    println!(
        "soak: {minutes} min, resident {:.1} MiB at the start, {:.1} in the middle, {:.1} at the end: {}",
        mib(start),
        mib(middle),
        mib(end),
        if grew { "it grew" } else { "no growth" }
    );
    grew.then(|| "the node's memory grew".to_owned()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_from_the_middle_on_is_a_problem() {
        assert!(tell(&[10_000, 50_000, 52_000], 1).is_empty());
        assert_eq!(tell(&[10_000, 50_000, 56_000], 1).len(), 1);
    }
}
