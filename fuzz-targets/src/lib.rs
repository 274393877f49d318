//! What fuzzing runs: one function of bytes for each thing that hostile or damaged bytes can reach.
//!
//! ```text
//!   bytes ─▶ Target::run ─▶ nothing, or a panic: that is a finding
//! ```
//!
//! `fuzz/` has a program for each target that lets libFuzzer choose the bytes. The integration tests run the same
//! functions over the seeds and over everything that was ever found, and over bytes close to them.
//!
//! Where bytes would be refused at the first signature or hash, a target mends what it must (it holds all keys), so that
//! what comes behind is looked at too. `fuzz/README.md` says what each target promises.
//!
//! This is a crate because `fuzz/` is a workspace of its own, built with instrumentation, and should build no judge and no
//! test; and because targets need features of the product's crates that nothing else does: `faults` (rows that are planted in a store), `model` (a plain twin to
//! compare with), `offline` (streams from memory) and `sample` (random values).

mod block_import;
mod bundle_refine;
mod chain_spec;
mod codec;
mod config_file;
mod hints;
mod journal;
mod message;
mod mutate;
mod precompiles;
mod queue_ops;
mod raw_transaction;
mod rpc;
mod sections;
mod seeds;
mod signatures;
mod txpool_ops;
mod witness;

pub use mutate::Mutator;
pub use seeds::folder;

/// One thing to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its program and its folders.
    pub name: &'static str,
    /// Takes any bytes; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Real data to begin with, each with a name. The same in every run.
    pub seeds: fn() -> Vec<(String, Vec<u8>)>,
    /// Memory that one run may hold at once, whatever the bytes are.
    pub memory_bytes_max: usize,
}

const MIB: usize = 1 << 20;

macro_rules! targets {
    ($($name:ident $mib:literal,)*) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            run: $name::run,
            seeds: $name::seeds,
            memory_bytes_max: $mib * MIB,
        },)*];
    };
}

targets! {
    block_import 64,
    bundle_refine 256,
    chain_spec 64,
    codec 16,
    config_file 16,
    hints 16,
    journal 64,
    message 96,
    precompiles 16,
    queue_ops 64,
    raw_transaction 16,
    rpc 512,
    signatures 16,
    txpool_ops 64,
    witness 64,
}

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
