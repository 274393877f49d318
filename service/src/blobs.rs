//! Many blobs in one: each after its length (u32, little-endian).
//!
//! A package may bring 128 extrinsics, a block thousands of transactions; so all of them travel in one.

use alloc::vec::Vec;
use alloy_primitives::Bytes;

/// The bytes end in the middle of a blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the bytes end in the middle of blob {index}")]
pub struct Short {
    /// Which one, from zero.
    pub index: usize,
}

/// The bytes of a length.
pub const LENGTH_BYTES: usize = 4;

/// Joins blobs.
pub fn join<T: AsRef<[u8]>>(blobs: &[T]) -> Bytes {
    let bytes = blobs.iter().map(|blob| LENGTH_BYTES + blob.as_ref().len()).sum();
    let mut out = Vec::with_capacity(bytes);
    for blob in blobs {
        let blob = blob.as_ref();
        let length = u32::try_from(blob.len()).expect("no blob has four billion bytes");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(blob);
    }
    out.into()
}

/// Takes apart what [`join`] joined. The blobs are slices of `bytes`; nothing is copied.
pub fn split(bytes: &Bytes) -> Result<Vec<Bytes>, Short> {
    let mut blobs = Vec::new();
    let mut rest = bytes.clone();
    while !rest.is_empty() {
        let short = Short { index: blobs.len() };
        let length = rest.first_chunk::<LENGTH_BYTES>().ok_or(short)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > rest.len() - LENGTH_BYTES {
            return Err(short);
        }
        blobs.push(rest.slice(LENGTH_BYTES..LENGTH_BYTES + length));
        rest = rest.slice(LENGTH_BYTES + length..);
    }
    Ok(blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back() {
        let blobs = [&b"one"[..], b"", b"three"].map(Bytes::copy_from_slice);
        let joined = join(&blobs);
        assert_eq!(split(&joined).unwrap(), blobs);
        assert_eq!(split(&joined.slice(..joined.len() - 1)), Err(Short { index: 2 }));
        assert_eq!(split(&Bytes::from_static(&[255; 4])), Err(Short { index: 0 }));
        assert_eq!(split(&Bytes::from_static(&[1, 0, 0])), Err(Short { index: 0 }));
        assert_eq!(split(&Bytes::new()), Ok(vec![]));
    }
}
