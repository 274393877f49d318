//! Bytes close to others, from a seed: a small fuzzer without feedback, for tests.

use jam::{Params, sample::Source};

/// Makes bytes that are close to given ones.
#[derive(Debug)]
pub struct Mutator(Source<'static>);

impl Mutator {
    /// The same seed gives the same bytes.
    pub const fn new(seed: u64) -> Self {
        Self(Source::new(&Params::TINY, seed))
    }

    /// A few changes: bits, bytes, numbers, pieces that go, come twice, or come from `other`.
    pub fn mutate(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.0.below(4) {
            self.change(&mut bytes, other);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.0.below(bytes.len() + 1);
        let end = (at + 1 + self.0.below(16)).min(bytes.len());
        match self.0.below(6) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.0.below(8)),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = self.0.bits() as u8),
            2 => {
                let edge = [0, 1, 0x7f, 0x80, 0xfe, 0xff][self.0.below(6)];
                bytes[at.min(end)..end].fill(edge);
            }
            3 => drop(bytes.drain(at.min(end)..end)),
            4 => {
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let from = self.0.below(other.len() + 1);
                let to = (from + self.0.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
        }
    }
}
