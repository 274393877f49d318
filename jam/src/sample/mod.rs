//! Random values of every type, from a seed: for tests and benches, here and in other crates.
//!
//! The values are well-formed (they decode again) but mean nothing: hashes match nothing, signatures are no
//! signatures. The same seed gives the same values for ever.

mod author;
mod simulated;

pub use author::{Author, Body};
pub use simulated::{Signer, allow_simulated_keys};
pub(crate) use simulated::{is_simulated, simulated_signature};

use crate::{
    ImportRoot, ImportSpec, Params, WorkError, WorkResult,
    bundle::{Bundle, Import},
    codec,
    hash::{PackageHash, SegmentRoot, blake2b},
    package::{ExtrinsicSpec, WorkPackage},
    params::SEGMENT_BYTES,
};
use alloy_primitives::{Bytes, FixedBytes};
use std::collections::{BTreeMap, BTreeSet};

/// A seeded source of randomness for the values of one chain.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    params: &'a Params,
    state: u64,
}

impl<'a> Source<'a> {
    /// Starts from a seed.
    pub const fn new(params: &'a Params, seed: u64) -> Self {
        Self { params, state: seed }
    }

    /// The next 64 bits (SplitMix64).
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub const fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.bits().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }

    pub(crate) const fn params(&self) -> &'a Params {
        self.params
    }

    /// Exactly `len` values.
    pub(crate) fn exactly<T: Sample>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::sample(self)).collect()
    }

    /// A few values, at most `max`: short sequences, so that nested values stay small.
    pub(crate) fn at_most<T: Sample>(&mut self, max: usize) -> Vec<T> {
        let len = self.below(max.saturating_add(1).min(4));
        self.exactly(len)
    }
}

/// A type of which there are random values.
pub trait Sample: Sized {
    /// One of them.
    fn sample(source: &mut Source<'_>) -> Self;
}

/// The same for a field that travels in a way of its own.
pub(crate) trait SampleAs<T> {
    fn sample(source: &mut Source<'_>) -> T;
}

impl<T: Sample> SampleAs<T> for codec::Plain {
    fn sample(source: &mut Source<'_>) -> T {
        T::sample(source)
    }
}

impl<T: Sample> SampleAs<T> for codec::Natural {
    fn sample(source: &mut Source<'_>) -> T {
        T::sample(source)
    }
}

impl<T: Sample, const N: usize> SampleAs<Vec<T>> for codec::AtMost<N> {
    fn sample(source: &mut Source<'_>) -> Vec<T> {
        source.at_most(N)
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Sample for $type {
            fn sample(source: &mut Source<'_>) -> Self {
                // Every length of the variable-length form should come up.
                let shift = source.below(64);
                (source.bits() >> shift) as Self
            }
        }
    )*};
}

integers!(u8 u16 u32 u64);

impl Sample for bool {
    fn sample(source: &mut Source<'_>) -> Self {
        source.bits() & 1 == 1
    }
}

impl<const N: usize> Sample for FixedBytes<N> {
    fn sample(source: &mut Source<'_>) -> Self {
        Self::from_slice(&source.bytes(N))
    }
}

impl Sample for Bytes {
    fn sample(source: &mut Source<'_>) -> Self {
        let len = source.below(300);
        source.bytes(len).into()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        bool::sample(source).then(|| T::sample(source))
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        source.at_most(usize::MAX)
    }
}

impl<A: Sample, B: Sample> Sample for (A, B) {
    fn sample(source: &mut Source<'_>) -> Self {
        (A::sample(source), B::sample(source))
    }
}

impl<T: Sample + Ord> Sample for BTreeSet<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        Vec::sample(source).into_iter().collect()
    }
}

impl<K: Sample + Ord, V: Sample> Sample for BTreeMap<K, V> {
    fn sample(source: &mut Source<'_>) -> Self {
        Vec::<(K, V)>::sample(source).into_iter().collect()
    }
}

impl Sample for ImportSpec {
    fn sample(source: &mut Source<'_>) -> Self {
        let root = match bool::sample(source) {
            true => ImportRoot::Segments(SegmentRoot::sample(source)),
            false => ImportRoot::Package(PackageHash::sample(source)),
        };
        Self { root, index: u16::sample(source) >> 1 }
    }
}

impl Sample for WorkResult {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(8) {
            1 => Self::Failed(WorkError::OutOfGas),
            2 => Self::Failed(WorkError::CodeOversize),
            _ => Self::Output(Bytes::sample(source)),
        }
    }
}

impl Sample for Bundle {
    /// A package whose blobs and imports are there, with the right hashes of the blobs.
    fn sample(source: &mut Source<'_>) -> Self {
        let mut package = WorkPackage::sample(source);
        let mut extrinsics = vec![];
        for spec in package.items.iter_mut().flat_map(|item| &mut item.extrinsics) {
            let blob = Bytes::sample(source);
            *spec = ExtrinsicSpec { hash: blake2b(&[&blob]), len: blob.len() as u32 };
            extrinsics.push(blob);
        }
        let imports = (0..package.imports().count())
            .map(|_| Import { segment: source.bytes(SEGMENT_BYTES).into(), proof: Vec::sample(source) })
            .collect();
        Self { package, extrinsics, imports }
    }
}
