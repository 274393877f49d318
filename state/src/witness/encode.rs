//! A witness to bytes.

use super::{Opening, StemProof, VERSION, Witness};
use crate::table::{Position, uncovered};
use alloc::{vec, vec::Vec};

impl Witness {
    /// The bytes of the witness.
    pub fn encode(&self) -> Vec<u8> {
        let in_stems = self.stems.iter().map(StemProof::bytes_max).sum::<usize>();
        let mut out =
            Vec::with_capacity(41 + self.tokens.len().div_ceil(4) + 32 * self.hashes.len() + in_stems);
        out.push(VERSION);
        out.extend_from_slice(self.root.as_slice());
        out.extend_from_slice(&length(self.tokens.len()));
        let mut packed = vec![0; self.tokens.len().div_ceil(4)];
        for (i, token) in self.tokens.iter().enumerate() {
            packed[i / 4] |= (*token as u8) << (i % 4 * 2);
        }
        out.extend_from_slice(&packed);
        out.extend_from_slice(&length(self.hashes.len()));
        self.hashes.iter().for_each(|hash| out.extend_from_slice(hash.as_slice()));
        self.stems.iter().for_each(|stem| encode_stem(stem, &mut out));
        out
    }
}

impl StemProof {
    /// Its encoding is not longer.
    fn bytes_max(&self) -> usize {
        let opening = match &self.opening {
            Opening::Sealed(_) => 32,
            // The sub-indices and two bit fields: of at most as many bits, and of at most eight for each sub-index.
            Opening::Open { subs, values, rest } => 3 * subs.len() + 32 * (values.len() + rest.len()),
        };
        33 + opening
    }
}

fn length(n: usize) -> [u8; 4] {
    u32::try_from(n).expect("a tree of four billion nodes does not fit in memory").to_le_bytes()
}

fn encode_stem(proof: &StemProof, out: &mut Vec<u8>) {
    out.extend_from_slice(&proof.stem);
    match &proof.opening {
        Opening::Sealed(root) => {
            out.extend_from_slice(&0_u16.to_le_bytes());
            out.extend_from_slice(root.as_slice());
        }
        Opening::Open { subs, values, rest } => {
            out.extend_from_slice(&(subs.len() as u16).to_le_bytes());
            out.extend_from_slice(subs);
            bits(marks(subs.iter(), values.iter().map(|(sub, _)| sub)), out);
            values.iter().for_each(|(_, value)| out.extend_from_slice(value.as_slice()));
            let mut closed = Vec::new();
            uncovered(subs, Position::ROOT, &mut |at| closed.push(at.code()));
            bits(marks(closed.iter(), rest.iter().map(|(code, _)| code)), out);
            rest.iter().for_each(|(_, hash)| out.extend_from_slice(hash.as_slice()));
        }
    }
}

/// For each of `all`, whether it is among `some`, which are in the same order.
fn marks<'a, T: PartialEq + 'a>(
    all: impl Iterator<Item = &'a T>,
    some: impl Iterator<Item = &'a T>,
) -> impl Iterator<Item = bool> {
    let mut some = some.peekable();
    all.map(move |item| some.next_if(|next| *next == item).is_some())
}

fn bits(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    for (i, bit) in bits.enumerate() {
        if i % 8 == 0 {
            out.push(0);
        }
        *out.last_mut().expect("a byte was pushed at the first bit") |= u8::from(bit) << (i % 8);
    }
}
