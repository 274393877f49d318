//! The Gray Paper's serialization: how values become bytes, and how hostile bytes become an error.
//!
//! Decoding is strict. Every value has exactly one encoding: naturals must be minimal, sets and maps ascending, flags
//! 0 or 1, and nothing may follow the value. A declared length is checked against the bytes that are left before
//! anything is allocated, so memory is bounded by the input.
//!
//! Lengths that the protocol fixes (one entry per validator, per core, per slot of an epoch) come from the
//! [`Params`] that the caller passes: there is no process-wide setting, and a tiny and a full chain can be decoded
//! side by side.

use crate::Params;
pub use alloy_primitives::Bytes;
use alloy_primitives::FixedBytes;
use std::collections::{BTreeMap, BTreeSet};

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

/// A way in which a field travels when it is not the usual one of its type.
pub(crate) trait As<T> {
    const MIN_BYTES: usize;
    fn put(value: &T, out: &mut Vec<u8>);
    fn take(input: &mut Decoder<'_>) -> Result<T, DecodeError>;
}

/// The usual way.
pub(crate) struct Plain;

impl<T: Encode + Decode> As<T> for Plain {
    const MIN_BYTES: usize = T::MIN_BYTES;

    fn put(value: &T, out: &mut Vec<u8>) {
        value.encode_to(out);
    }

    fn take(input: &mut Decoder<'_>) -> Result<T, DecodeError> {
        T::decode_from(input)
    }
}

/// An integer in the variable-length form.
pub(crate) struct Natural;

impl<T: Copy + TryFrom<u64> + Into<u64>> As<T> for Natural {
    const MIN_BYTES: usize = 1;

    fn put(value: &T, out: &mut Vec<u8>) {
        put_natural((*value).into(), out);
    }

    fn take(input: &mut Decoder<'_>) -> Result<T, DecodeError> {
        let start = input.clone();
        T::try_from(input.natural()?).map_err(|_| start.error(Malformed::Natural))
    }
}

/// A sequence with its number of entries before it, at most `N`.
pub(crate) struct AtMost<const N: usize>;

impl<T: Encode + Decode, const N: usize> As<Vec<T>> for AtMost<N> {
    const MIN_BYTES: usize = 1;

    fn put(value: &Vec<T>, out: &mut Vec<u8>) {
        value.encode_to(out);
    }

    fn take(input: &mut Decoder<'_>) -> Result<Vec<T>, DecodeError> {
        input.at_most(N)
    }
}

/// A sequence whose length, or the most it may be, depends on the chain's parameters.
macro_rules! by_params {
    ($($(#[$meta:meta])* $name:ident $way:ident |$params:ident| $len:expr;)*) => {$(
        $(#[$meta])*
        pub(crate) struct $name;

        impl<T: Encode + Decode> As<Vec<T>> for $name {
            const MIN_BYTES: usize = 1;

            fn put(value: &Vec<T>, out: &mut Vec<u8>) {
                by_params!(@put $way value, out)
            }

            fn take(input: &mut Decoder<'_>) -> Result<Vec<T>, DecodeError> {
                let $params = input.params();
                input.$way(usize::from($len))
            }
        }

        #[cfg(any(test, feature = "sample"))]
        impl<T: crate::sample::Sample> crate::sample::SampleAs<Vec<T>> for $name {
            fn sample(source: &mut crate::sample::Source<'_>) -> Vec<T> {
                let $params = source.params();
                source.$way(usize::from($len))
            }
        }
    )*};
    (@put exactly $value:ident, $out:ident) => { put_exactly($value, $out) };
    (@put at_most $value:ident, $out:ident) => { $value.encode_to($out) };
}

by_params! {
    /// One entry per validator.
    PerValidator exactly |params| params.validators;
    /// One entry per core.
    PerCore exactly |params| params.cores;
    /// One entry per slot of an epoch.
    PerEpochSlot exactly |params| params.epoch_slots as u16;
    /// One vote per validator of a super-majority.
    PerMajority exactly |params| params.super_majority();
    /// The bytes of one bit per core.
    CoreBits exactly |params| params.cores.div_ceil(8);
    /// At most one entry per validator.
    UpToValidators at_most |params| params.validators;
    /// At most one entry per core.
    UpToCores at_most |params| params.cores;
    /// At most as many tickets as a block may bring.
    UpToTickets at_most |params| params.tickets_per_block_max;
    /// At most one entry per slot of an epoch.
    UpToEpochSlots at_most |params| params.epoch_slots as u16;
    /// At most as many authorizers as a core's pool holds.
    UpToPool at_most |params| params.auth_pool_max;
    /// At most as many blocks as are remembered.
    UpToHistory at_most |params| params.recent_blocks;
    /// One entry per place in a core's queue of authorizers.
    PerQueue exactly |params| params.auth_queue_len;
}

/// Declares a struct together with its encoding: the fields in order, each in the usual way of its type unless
/// `=> Way` says another.
macro_rules! wire {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(=> $way:ty)?,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::codec::Encode for $name {
            fn encode_to(&self, out: &mut Vec<u8>) {
                $(<wire!(@way $($way)?) as $crate::codec::As<$type>>::put(&self.$field, out);)*
            }
        }

        impl $crate::codec::Decode for $name {
            const MIN_BYTES: usize = 0 $(+ <wire!(@way $($way)?) as $crate::codec::As<$type>>::MIN_BYTES)*;

            fn decode_from(
                input: &mut $crate::codec::Decoder<'_>,
            ) -> Result<Self, $crate::codec::DecodeError> {
                Ok(Self {
                    $($field: <wire!(@way $($way)?) as $crate::codec::As<$type>>::take(input)?,)*
                })
            }
        }

        #[cfg(any(test, feature = "sample"))]
        impl $crate::sample::Sample for $name {
            fn sample(source: &mut $crate::sample::Source<'_>) -> Self {
                Self {
                    $($field: <wire!(@way $($way)?) as $crate::sample::SampleAs<$type>>::sample(source),)*
                }
            }
        }
    )*};
    (@way) => { $crate::codec::Plain };
    (@way $way:ty) => { $way };
}
pub(crate) use wire;

macro_rules! little_endian {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            fn encode_to(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }

        impl Decode for $type {
            const MIN_BYTES: usize = size_of::<$type>();

            fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_le_bytes(input.array()?))
            }
        }
    )*};
}

little_endian!(u8 u16 u32 u64);

impl Encode for bool {
    fn encode_to(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Decode for bool {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        match input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(start.error(Malformed::Tag { tag })),
        }
    }
}

impl<const N: usize> Encode for FixedBytes<N> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_slice());
    }
}

impl<const N: usize> Decode for FixedBytes<N> {
    const MIN_BYTES: usize = N;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self(input.array()?))
    }
}

impl Encode for Bytes {
    fn encode_to(&self, out: &mut Vec<u8>) {
        put_natural(self.len() as u64, out);
        out.extend_from_slice(self);
    }
}

impl Decode for Bytes {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let len = input.length(1, usize::MAX)?;
        Ok(Self::copy_from_slice(input.take(len)?))
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.is_some().encode_to(out);
        if let Some(value) = self {
            value.encode_to(out);
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bool::decode_from(input)?.then(|| T::decode_from(input)).transpose()
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        put_natural(self.len() as u64, out);
        put_exactly(self, out);
    }
}

impl<T: Decode> Decode for Vec<T> {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        input.at_most(usize::MAX)
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.0.encode_to(out);
        self.1.encode_to(out);
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    const MIN_BYTES: usize = A::MIN_BYTES + B::MIN_BYTES;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok((A::decode_from(input)?, B::decode_from(input)?))
    }
}

impl<T: Encode> Encode for BTreeSet<T> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        put_natural(self.len() as u64, out);
        self.iter().for_each(|value| value.encode_to(out));
    }
}

impl<T: Decode + Ord> Decode for BTreeSet<T> {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        let values = Vec::<T>::decode_from(input)?;
        if !values.is_sorted_by(|a, b| a < b) {
            return Err(start.error(Malformed::Order));
        }
        Ok(values.into_iter().collect())
    }
}

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        put_natural(self.len() as u64, out);
        for (key, value) in self {
            key.encode_to(out);
            value.encode_to(out);
        }
    }
}

impl<K: Decode + Ord, V: Decode> Decode for BTreeMap<K, V> {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        let entries = Vec::<(K, V)>::decode_from(input)?;
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(start.error(Malformed::Order));
        }
        Ok(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
