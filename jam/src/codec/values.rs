//! The encodings of numbers, bytes, options, sequences, sets and maps.

use super::{Bytes, Decode, DecodeError, Decoder, Encode, Malformed, put_exactly, put_natural};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use alloy_primitives::FixedBytes;

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
