//! The Gray Paper's serialization: how values become bytes, and how hostile bytes become an error.
//!
//! Decoding is strict. Every value has exactly one encoding: naturals must be minimal, sets and maps ascending, flags
//! 0 or 1, and nothing may follow the value. A declared length is checked against the bytes that are left before
//! anything is allocated, so memory is bounded by the input.
//!
//! Lengths that the protocol fixes (one entry per validator, per core, per slot of an epoch) come from the
//! [`Params`] that the caller passes: there is no process-wide setting, and a tiny and a full chain can be decoded
//! side by side.

mod values;
// Only what follows a chain has lists that are as long as the chain says.
#[cfg_attr(not(feature = "std"), allow(dead_code, unused_imports))]
mod ways;

pub use alloy_primitives::Bytes;
pub(crate) use ways::*;

use crate::Params;
use alloc::vec::Vec;

/// Why bytes are not the value they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at byte {at}: {what}")]
pub struct DecodeError {
    /// How many bytes had been read.
    pub at: usize,
    /// What was wrong there.
    pub what: Malformed,
}

/// What can be wrong with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// The value goes on, the bytes do not.
    #[error("{needed} bytes needed, {left} left")]
    Short {
        /// Bytes that the next field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A natural number in a longer form than necessary, or too large for its field.
    #[error("a number that is not in its shortest form or too large for its field")]
    Natural,
    /// More entries than allowed, or than the bytes that are left could hold.
    #[error("{len} entries declared, at most {max} possible")]
    Length {
        /// Declared.
        len: u64,
        /// Possible.
        max: usize,
    },
    /// A flag or a choice that does not exist.
    #[error("{tag} is no choice here")]
    Tag {
        /// The byte found.
        tag: u8,
    },
    /// A set or a map whose entries do not ascend.
    #[error("entries out of order or repeated")]
    Order,
    /// Bytes follow the value.
    #[error("{left} bytes too many")]
    Trailing {
        /// How many.
        left: usize,
    },
    /// The bytes do not fit together with what was decoded before them.
    #[error("{0}")]
    Inconsistent(&'static str),
}

/// A value that can be written.
pub trait Encode {
    /// Appends the encoding.
    fn encode_to(&self, out: &mut Vec<u8>);

    /// The encoding.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_to(&mut out);
        out
    }
}

/// A value that can be read.
pub trait Decode: Sized {
    /// No encoding is shorter. It limits how many entries a declared length can mean.
    const MIN_BYTES: usize;

    /// Reads one value and leaves what follows.
    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Reads a value that fills all of `bytes`.
    fn decode(bytes: &[u8], params: &Params) -> Result<Self, DecodeError> {
        let mut input = Decoder::new(bytes, params);
        let value = Self::decode_from(&mut input)?;
        input.finish()?;
        Ok(value)
    }
}

/// Bytes being read.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    params: &'a Params,
}

impl<'a> Decoder<'a> {
    /// Starts at the first byte.
    pub const fn new(bytes: &'a [u8], params: &'a Params) -> Self {
        Self { bytes, at: 0, params }
    }

    /// The parameters of the chain whose data this is.
    pub const fn params(&self) -> &'a Params {
        self.params
    }

    /// How many bytes have been read.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error `what`, here.
    pub const fn error(&self, what: Malformed) -> DecodeError {
        DecodeError { at: self.at, what }
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > self.left() {
            return Err(self.error(Malformed::Short { needed: len, left: self.left() }));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        Ok(self.take(N)?.try_into().expect("take gave N bytes"))
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    /// A natural number up to 2^64 − 1 in its variable-length form.
    pub fn natural(&mut self) -> Result<u64, DecodeError> {
        let start = self.clone();
        let first = self.byte()?;
        let extra = first.leading_ones() as usize;
        let mut low = [0; 8];
        low[..extra].copy_from_slice(self.take(extra)?);
        let low = u64::from_le_bytes(low);
        if extra == 8 {
            return if low >> 56 == 0 { Err(start.error(Malformed::Natural)) } else { Ok(low) };
        }
        let high = u64::from(first) & (0x7f >> extra);
        let value = (high << (8 * extra)) | low;
        // One byte less holds seven bits less; what fits there must not be written here.
        if extra > 0 && value >> (7 * extra) == 0 {
            return Err(start.error(Malformed::Natural));
        }
        Ok(value)
    }

    /// A declared number of entries of at least `min_bytes` each, at most `max`.
    pub fn length(&mut self, min_bytes: usize, max: usize) -> Result<usize, DecodeError> {
        let start = self.clone();
        let len = self.natural()?;
        let max = max.min(self.left() / min_bytes.max(1));
        match usize::try_from(len) {
            Ok(len) if len <= max => Ok(len),
            _ => Err(start.error(Malformed::Length { len, max })),
        }
    }

    /// Exactly `len` values without a length before them.
    pub fn exactly<T: Decode>(&mut self, len: usize) -> Result<Vec<T>, DecodeError> {
        let needed = len.saturating_mul(T::MIN_BYTES);
        if needed > self.left() {
            return Err(self.error(Malformed::Short { needed, left: self.left() }));
        }
        let mut values = Vec::with_capacity(len.min(1024));
        for _ in 0..len {
            values.push(T::decode_from(self)?);
        }
        Ok(values)
    }

    /// Up to `max` values with their number before them.
    pub fn at_most<T: Decode>(&mut self, max: usize) -> Result<Vec<T>, DecodeError> {
        let len = self.length(T::MIN_BYTES, max)?;
        self.exactly(len)
    }

    /// That nothing is left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.error(Malformed::Trailing { left })),
        }
    }
}

/// Appends a natural number in its variable-length form.
pub fn put_natural(value: u64, out: &mut Vec<u8>) {
    let extra = (0..8).find(|extra| value >> (7 * (extra + 1)) == 0).unwrap_or(8);
    let prefix = !(0xff_u64 >> extra) & 0xff;
    let high = if extra == 8 { 0 } else { value >> (8 * extra) };
    out.push((prefix | high) as u8);
    out.extend_from_slice(&value.to_le_bytes()[..extra]);
}

/// Appends values without their number.
pub fn put_exactly<T: Encode>(values: &[T], out: &mut Vec<u8>) {
    for value in values {
        value.encode_to(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn decode<T: Decode>(bytes: &[u8]) -> Result<T, DecodeError> {
        T::decode(bytes, &Params::TINY)
    }

    fn natural(bytes: &[u8]) -> Result<u64, DecodeError> {
        Decoder::new(bytes, &Params::TINY).natural()
    }

    #[test]
    fn naturals_take_the_form_of_the_gray_paper() {
        let cases: [(u64, &[u8]); 8] = [
            (0, &[0]),
            (127, &[127]),
            (128, &[0x80, 128]),
            (0x3fff, &[0xbf, 0xff]),
            (0x4000, &[0xc0, 0x00, 0x40]),
            ((1 << 56) - 1, &[0xfe, 255, 255, 255, 255, 255, 255, 255]),
            (1 << 56, &[0xff, 0, 0, 0, 0, 0, 0, 0, 1]),
            (u64::MAX, &[255; 9]),
        ];
        for (value, bytes) in cases {
            let mut out = vec![];
            put_natural(value, &mut out);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(natural(bytes), Ok(value));
        }
    }

    #[test]
    fn longer_forms_of_a_natural_are_refused() {
        for bytes in [&[0x80, 0][..], &[0x80, 127], &[0xc0, 0xff, 0x3f], &[0xff, 1, 2, 3, 4, 5, 6, 7, 0]] {
            assert_eq!(
                natural(bytes).unwrap_err(),
                DecodeError { at: 0, what: Malformed::Natural },
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        assert_eq!(decode::<u32>(&[1, 2]).unwrap_err().to_string(), "at byte 0: 4 bytes needed, 2 left");
        assert_eq!(decode::<u8>(&[1, 2]).unwrap_err().to_string(), "at byte 1: 1 bytes too many");
        assert_eq!(decode::<bool>(&[2]).unwrap_err().to_string(), "at byte 0: 2 is no choice here");
        assert_eq!(
            decode::<BTreeSet<u8>>(&[2, 5, 5]).unwrap_err().to_string(),
            "at byte 0: entries out of order or repeated"
        );
        // 2^62 entries of four bytes each, in three bytes.
        let huge = [0xff, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 2, 3];
        assert_eq!(
            decode::<Vec<u32>>(&huge).unwrap_err().to_string(),
            "at byte 0: 4611686018427387904 entries declared, at most 0 possible"
        );
    }

    proptest! {
        #[test]
        fn naturals_come_back(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let mut out = vec![];
            put_natural(value, &mut out);
            prop_assert_eq!(natural(&out), Ok(value));
        }

        #[test]
        fn what_is_read_as_a_natural_is_written_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
            let mut input = Decoder::new(&bytes, &Params::TINY);
            if let Ok(value) = input.natural() {
                let mut out = vec![];
                put_natural(value, &mut out);
                prop_assert_eq!(&out, &bytes[..input.position()]);
            }
        }
    }
}
