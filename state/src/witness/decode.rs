//! Bytes to a witness, or the reason why they are none.
//!
//! Nothing is allocated for a length before the bytes that it announces are known to be there, so memory is bounded by
//! a small multiple of the input.

use super::{Opening, StemProof, Token, VERSION, Witness};
use crate::{
    hash::Hash,
    key::{STEM_BITS, Stem, goes_right},
    table::{Position, uncovered},
};
use alloc::vec::Vec;
use blake2b::words::is_zero;

/// Why bytes are not a witness. None of them ever becomes one by waiting or by asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end too early.
    #[error("the bytes end too early")]
    Short,
    /// There are bytes, tokens or hashes that nothing uses.
    #[error("something is left over")]
    Trailing,
    /// Another version.
    #[error("version {0} is unknown")]
    Version(u8),
    /// A bit is set where zeros pad a byte.
    #[error("padding is not zero")]
    Padding,
    /// The hash of nothing stands where there must be something.
    #[error("a hash is zero")]
    ZeroHash,
    /// Deeper than a stem is long.
    #[error("a node is deeper than {STEM_BITS}")]
    Depth,
    /// A stem stands where its bits do not lead.
    #[error("a stem is off its path")]
    OffPath,
    /// An inner node above two empty ones.
    #[error("an inner node has nothing below")]
    EmptyPair,
    /// An inner node above a stem alone.
    #[error("an inner node has a lone stem below")]
    LoneStem,
    /// The sub-indices of a stem do not ascend, or are too many.
    #[error("sub-indices do not ascend")]
    Unordered,
    /// A stem that holds no value.
    #[error("a stem holds no value")]
    NoValue,
}

impl Witness {
    /// Reads a witness. Whatever is accepted encodes to the same bytes again.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(bytes);
        let [version] = bytes.array()?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let root = Hash::from(bytes.array()?);
        let tokens = tokens(&mut bytes)?;
        let hashes = hashes(&mut bytes)?;
        let mut shape = Shape { tokens: tokens.iter(), hashes: hashes.len(), stems: Vec::new(), bytes };
        shape.node(&mut [0; 31], 0)?;
        if shape.tokens.len() > 0 || shape.hashes > 0 || !shape.bytes.0.is_empty() {
            return Err(Malformed::Trailing);
        }
        let stems = shape.stems;
        Ok(Self { root, tokens, hashes, stems })
    }
}

fn tokens(bytes: &mut Bytes<'_>) -> Result<Vec<Token>, Malformed> {
    let n = bytes.length()?;
    let packed = bytes.take(n.div_ceil(4))?;
    padded(packed, n % 4 * 2)?;
    let token = |i: usize| match packed[i / 4] >> (i % 4 * 2) & 3 {
        0 => Token::Empty,
        1 => Token::Hash,
        2 => Token::Internal,
        _ => Token::Stem,
    };
    Ok((0..n).map(token).collect())
}

fn hashes(bytes: &mut Bytes<'_>) -> Result<Vec<Hash>, Malformed> {
    let m = bytes.length()?;
    let (hashes, _) = bytes.take(m.checked_mul(32).ok_or(Malformed::Short)?)?.as_chunks::<32>();
    hashes.iter().map(|hash| nonzero(*hash)).collect()
}

/// Checks that the last byte is zero from bit `n` of all on.
fn padded(bytes: &[u8], n: usize) -> Result<(), Malformed> {
    let used = n % 8;
    match bytes.last() {
        Some(last) if used > 0 && last >> used != 0 => Err(Malformed::Padding),
        _ => Ok(()),
    }
}

fn nonzero(hash: [u8; 32]) -> Result<Hash, Malformed> {
    if is_zero(&hash) { Err(Malformed::ZeroHash) } else { Ok(hash.into()) }
}

/// The walk over the tokens: checks the shape and reads the stems on its way.
struct Shape<'a> {
    tokens: core::slice::Iter<'a, Token>,
    /// Hashes that no token used yet.
    hashes: usize,
    stems: Vec<StemProof>,
    bytes: Bytes<'a>,
}

impl Shape<'_> {
    /// Checks the node at the end of `path`, the bits of which are zero from `depth` on. No deeper than a stem is long,
    /// and so is the recursion.
    fn node(&mut self, path: &mut Stem, depth: usize) -> Result<Token, Malformed> {
        let token = *self.tokens.next().ok_or(Malformed::Short)?;
        match token {
            Token::Empty => {}
            Token::Hash => self.hashes = self.hashes.checked_sub(1).ok_or(Malformed::Short)?,
            Token::Internal => self.internal(path, depth)?,
            Token::Stem => {
                let stem = self.stem()?;
                if (0..depth).any(|bit| goes_right(&stem.stem, bit) != goes_right(path, bit)) {
                    return Err(Malformed::OffPath);
                }
                self.stems.push(stem);
            }
        }
        Ok(token)
    }

    fn internal(&mut self, path: &mut Stem, depth: usize) -> Result<(), Malformed> {
        if depth == STEM_BITS {
            return Err(Malformed::Depth);
        }
        let left = self.node(path, depth + 1)?;
        let bit = 128 >> (depth % 8);
        path[depth / 8] |= bit;
        let right = self.node(path, depth + 1)?;
        path[depth / 8] &= !bit;
        match (left, right) {
            (Token::Empty, Token::Empty) => Err(Malformed::EmptyPair),
            (Token::Empty, Token::Stem) | (Token::Stem, Token::Empty) => Err(Malformed::LoneStem),
            _ => Ok(()),
        }
    }

    fn stem(&mut self) -> Result<StemProof, Malformed> {
        let stem = self.bytes.array()?;
        let covered = u16::from_le_bytes(self.bytes.array()?);
        let opening = match covered {
            0 => Opening::Sealed(nonzero(self.bytes.array()?)?),
            1..=256 => self.open(covered.into())?,
            _ => return Err(Malformed::Unordered),
        };
        Ok(StemProof { stem, opening })
    }

    fn open(&mut self, covered: usize) -> Result<Opening, Malformed> {
        let subs = self.bytes.take(covered)?;
        if !subs.is_sorted_by(|a, b| a < b) {
            return Err(Malformed::Unordered);
        }
        let present = self.bytes.bits(covered)?;
        let mut values = Vec::with_capacity(present.count());
        for (_, sub) in subs.iter().enumerate().filter(|(i, _)| present.get(*i)) {
            values.push((*sub, self.bytes.array()?.into()));
        }
        let mut closed = Vec::new();
        uncovered(subs, Position::ROOT, &mut |at| closed.push(at.code()));
        let filled = self.bytes.bits(closed.len())?;
        let mut rest = Vec::with_capacity(filled.count());
        for (_, code) in closed.iter().enumerate().filter(|(i, _)| filled.get(*i)) {
            rest.push((*code, nonzero(self.bytes.array()?)?));
        }
        if values.is_empty() && rest.is_empty() {
            return Err(Malformed::NoValue);
        }
        Ok(Opening::Open { subs: subs.to_vec(), values, rest })
    }
}

/// The bytes that were not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn bits(&mut self, n: usize) -> Result<Bits<'a>, Malformed> {
        let bytes = self.take(n.div_ceil(8))?;
        padded(bytes, n)?;
        Ok(Bits(bytes))
    }
}

/// A bit field.
struct Bits<'a>(&'a [u8]);

impl Bits<'_> {
    fn get(&self, i: usize) -> bool {
        self.0[i / 8] >> (i % 8) & 1 == 1
    }

    fn count(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }
}
