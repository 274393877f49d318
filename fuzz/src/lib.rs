//! The frame of every fuzz target: libFuzzer chooses bytes, `fuzz_targets` looks at them, and the memory that they may cost
//! is limited.

pub use libfuzzer_sys;

use cap::Cap;
use std::alloc::System;

/// All memory. What is refused here ends the process, which is a finding.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Runs a target on bytes.
pub fn run(target: &fuzz_targets::Target, bytes: &[u8]) {
    let before = MEMORY.allocated();
    let limit = before.saturating_add(target.memory_bytes_max);
    MEMORY.set_limit(limit).expect("less is in use than is allowed");
    (target.run)(bytes);
    MEMORY.set_limit(usize::MAX).expect("everything is allowed");
}

/// The program of a target.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            static TARGET: std::sync::LazyLock<&'static fuzz_targets::Target> =
                std::sync::LazyLock::new(|| fuzz_targets::target($name).expect("it is listed"));
            $crate::run(&TARGET, bytes);
        });
    };
}
