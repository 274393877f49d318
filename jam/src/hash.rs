//! Hashes, and names for what they are hashes of.

use crate::codec::Encode;
use alloy_primitives::{B256, Keccak256};

/// Any 32-byte hash.
pub type Hash = B256;

/// BLAKE2b-256 over the parts, one after the other.
pub fn blake2b(parts: &[&[u8]]) -> Hash {
    let mut state = blake2b_simd::Params::new().hash_length(32).to_state();
    for part in parts {
        state.update(part);
    }
    Hash::from_slice(state.finalize().as_bytes())
}

/// keccak-256 over the parts, one after the other.
pub fn keccak(parts: &[&[u8]]) -> Hash {
    let mut state = Keccak256::new();
    for part in parts {
        state.update(part);
    }
    state.finalize()
}

/// BLAKE2b-256 of a value's encoding.
pub fn hash_of(value: &impl Encode) -> Hash {
    blake2b(&[&value.encode()])
}

/// Declares types of 32 bytes that must not be mistaken for each other.
macro_rules! named_bytes32 {
    ($($(#[$meta:meta])* $name:ident)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $crate::hash::Hash);

        impl $name {
            /// All zeros.
            pub const ZERO: Self = Self($crate::hash::Hash::ZERO);
        }

        impl core::ops::Deref for $name {
            type Target = $crate::hash::Hash;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl $crate::codec::Encode for $name {
            fn encode_to(&self, out: &mut alloc::vec::Vec<u8>) {
                $crate::codec::Encode::encode_to(&self.0, out);
            }
        }

        impl $crate::codec::Decode for $name {
            const MIN_BYTES: usize = 32;

            fn decode_from(
                input: &mut $crate::codec::Decoder<'_>,
            ) -> Result<Self, $crate::codec::DecodeError> {
                $crate::codec::Decode::decode_from(input).map(Self)
            }
        }

        #[cfg(any(test, feature = "sample"))]
        impl $crate::sample::Sample for $name {
            fn sample(source: &mut $crate::sample::Source<'_>) -> Self {
                Self($crate::sample::Sample::sample(source))
            }
        }
    )*};
}
pub(crate) use named_bytes32;

named_bytes32! {
    /// Hash of a JAM block's header.
    HeaderHash
    /// Hash of a work package: BLAKE2b-256 of its encoding.
    PackageHash
    /// Hash of a work report.
    ReportHash
    /// Root of the Merkle tree over a package's exported segments.
    SegmentRoot
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    #[test]
    fn the_hashes_are_the_well_known_ones() {
        let blake = b256!("bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
        assert_eq!(blake2b(&[b"a", b"bc"]), blake);
        let keccak_abc = b256!("4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
        assert_eq!(keccak(&[b"ab", b"c"]), keccak_abc);
    }
}
