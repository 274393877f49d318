//! Any order of anything around the queue, on a real follower and a real service, and afterwards everything becomes
//! final. What must hold is checked after every step.

use arbitrary::Unstructured;
use jam::{Params, sample::Source};
use queue::{Config, Policy, model::Walk};

/// A walk does so many steps at most; each takes time.
const STEPS_MAX: usize = 60;

/// Bytes that a step uses, roughly: a walk is as long as its bytes.
const BYTES_PER_STEP: usize = 3;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut config = Config::new(&Params::TINY, 6000);
    if input.arbitrary().unwrap_or(false) {
        config.policy = Policy::Spec;
    }
    let steps = (input.len() / BYTES_PER_STEP).min(STEPS_MAX);
    // When the bytes are used up it is always the first thing.
    let choose = |end: usize| input.int_in_range(0..=end - 1).unwrap_or(0);
    Walk::new(config, choose).run(steps);
}

/// Noise is a walk too.
pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let noise = |seed| Source::new(&Params::TINY, seed).bytes(30 + 40 * seed as usize);
    (0..4).map(|seed| (format!("walk-{seed}"), noise(seed))).collect()
}
