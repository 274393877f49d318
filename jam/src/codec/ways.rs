//! How the fields of a struct travel, and the macro that declares a struct together with its encoding.

use super::{Decode, DecodeError, Decoder, Encode, Malformed, put_exactly, put_natural};
use alloc::vec::Vec;

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
            fn encode_to(&self, out: &mut alloc::vec::Vec<u8>) {
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
