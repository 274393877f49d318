//! What a builder adds to signatures so that they can be checked together.

use crate::{Signature, field::bytes, recover};
use alloc::{collections::BTreeMap, vec::Vec};

/// What belongs to one signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Which of the keys made it.
    pub key: u32,
    /// y of its point R, whose x is r; big-endian.
    pub r_y: [u8; 32],
}

/// Hints for a list of signatures: a key stands once, however many signatures it made.
///
/// As bytes: the number of keys (u32, little-endian), the keys, and for each signature the key's index (u32, little-endian)
/// and R's y.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// x and y of each public key, big-endian. An address is the end of the Keccak-256 hash of these 64 bytes.
    pub keys: Vec<[u8; 64]>,
    /// One for each signature, in the same order.
    pub signatures: Vec<Hint>,
}

const KEY_BYTES: usize = 64;
const HINT_BYTES: usize = 4 + 32;

impl Hints {
    /// The hints out of each signature's key and R's y.
    pub fn collect(signatures: impl IntoIterator<Item = ([u8; 64], [u8; 32])>) -> Self {
        let mut places = BTreeMap::new();
        let mut hints = Self::default();
        for (key, r_y) in signatures {
            let key = *places.entry(key).or_insert_with(|| {
                hints.keys.push(key);
                hints.keys.len() as u32 - 1
            });
            hints.signatures.push(Hint { key, r_y });
        }
        hints
    }

    /// How many bytes [`encode`](Self::encode) makes of so many keys and signatures.
    pub const fn bytes_for(keys: usize, signatures: usize) -> usize {
        4 + keys * KEY_BYTES + signatures * HINT_BYTES
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(Self::bytes_for(self.keys.len(), self.signatures.len()));
        encoded.extend_from_slice(&(self.keys.len() as u32).to_le_bytes());
        self.keys.iter().for_each(|key| encoded.extend_from_slice(key));
        for hint in &self.signatures {
            encoded.extend_from_slice(&hint.key.to_le_bytes());
            encoded.extend_from_slice(&hint.r_y);
        }
        encoded
    }

    /// The hints out of bytes; none if these end too early or too late. Allocates no more than about the bytes' length. Whether the hints
    /// are right is for [`verify`](crate::verify) to say.
    pub fn decode(encoded: &[u8]) -> Option<Self> {
        let (count, rest) = encoded.split_first_chunk::<4>()?;
        let key_bytes = (u32::from_le_bytes(*count) as usize).checked_mul(KEY_BYTES)?;
        let (keys, signatures) = rest.split_at_checked(key_bytes)?;
        let (keys, _) = keys.as_chunks::<KEY_BYTES>();
        let (signatures, trailing) = signatures.as_chunks::<HINT_BYTES>();
        if !trailing.is_empty() {
            return None;
        }
        let hint = |encoded: &[u8; HINT_BYTES]| {
            let (key, r_y) = encoded.split_first_chunk::<4>()?;
            Some(Hint { key: u32::from_le_bytes(*key), r_y: r_y.try_into().ok()? })
        };
        let signatures = signatures.iter().map(hint).collect::<Option<_>>()?;
        Some(Self { keys: keys.to_vec(), signatures })
    }
}

/// What [`Hints::collect`] takes of a signature: its key and R's y. None if it has no key, or a high s, and so cannot be checked together
/// with others. A builder that has the key from admission needs only [`r_y`].
pub fn hint_of(signature: &Signature) -> Option<([u8; 64], [u8; 32])> {
    let key = recover::recover(signature)?;
    let low = !crate::scalar::Scalar::parse(signature.s)?.is_high();
    low.then_some((key, r_y(&signature.r, signature.odd_y)?))
}

/// y of the point whose x is r, with this parity; none if there is no such point.
pub fn r_y(r: &[u64; 4], odd: bool) -> Option<[u8; 32]> {
    Some(bytes(&recover::lift(r, odd)?.y.0))
}
