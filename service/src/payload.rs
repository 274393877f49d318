//! What a work item tells the service about a run of blocks: what it stands on, how many blocks it has, which one is the last,
//! and the builder's signature of that one.
//!
//! Each block names its parent by hash, so the signature of the last block covers the whole run. The parent header in RLP, the
//! number of blocks (u32, little-endian), 32 bytes, 64 bytes. Small, since the package message is limited to 200 KiB: everything
//! that grows with the run is in the extrinsics, the [headers](encode_headers) too. There is one encoding; what decodes
//! encodes to the same bytes again.

use alloc::vec::Vec;
use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes};
use alloy_rlp::{Decodable, Encodable};
use jam::Signature;

/// The bytes of a payload behind the parent header.
pub const TAIL_BYTES: usize = 4 + 32 + 64;

/// The payload of a work item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    /// The header of the block that the run stands on.
    pub parent: Header,
    /// How many blocks the run has.
    pub blocks: u32,
    /// The hash of the last one.
    pub last: B256,
    /// The builder's signature of that hash.
    pub signature: Signature,
}

/// Why bytes are no payload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PayloadError {
    /// The parent header does not decode.
    #[error("the parent header does not decode: {0}")]
    Header(alloy_rlp::Error),
    /// What follows the parent header has another length.
    #[error("{0} bytes after the parent header, not {TAIL_BYTES}")]
    Tail(usize),
    /// The parent header is not in its only encoding.
    #[error("the parent header is not in its only encoding")]
    Encoding,
}

/// Why bytes are not the headers of a run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeadersError {
    /// A header does not decode.
    #[error("header {index} does not decode: {why}")]
    Header {
        /// Which one, from zero.
        index: u32,
        /// Why.
        why: alloy_rlp::Error,
    },
    /// Something follows the last header.
    #[error("{0} bytes follow the last header")]
    Excess(usize),
    /// A header is not in its only encoding.
    #[error("a header is not in its only encoding")]
    Encoding,
}

impl Payload {
    /// The bytes of the work item's payload.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.parent.length() + TAIL_BYTES);
        self.parent.encode(&mut out);
        out.extend_from_slice(&self.blocks.to_le_bytes());
        out.extend_from_slice(self.last.as_slice());
        out.extend_from_slice(self.signature.as_slice());
        out.into()
    }

    /// Reads what [`Payload::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        let rest = &mut &*bytes;
        let parent = Header::decode(rest).map_err(PayloadError::Header)?;
        let tail: &[u8; TAIL_BYTES] = (*rest).try_into().map_err(|_| PayloadError::Tail(rest.len()))?;
        let (blocks, tail) = tail.split_first_chunk::<4>().expect("the tail begins with four bytes");
        let (last, signature) = tail.split_first_chunk::<32>().expect("then 32 bytes follow");
        let payload = Self {
            parent,
            blocks: u32::from_le_bytes(*blocks),
            last: B256::new(*last),
            signature: Signature::from_slice(signature),
        };
        if *payload.encode() != *bytes { Err(PayloadError::Encoding) } else { Ok(payload) }
    }
}

/// The headers of a run as they travel: in RLP, one behind the other.
pub fn encode_headers<'a>(headers: impl Iterator<Item = &'a Header> + Clone) -> Bytes {
    let mut out = Vec::with_capacity(headers.clone().map(Encodable::length).sum());
    headers.for_each(|header| header.encode(&mut out));
    out.into()
}

/// Reads so many headers that [`encode_headers`] wrote. Nothing is reserved for headers that are only declared.
pub fn decode_headers(bytes: &[u8], count: u32) -> Result<Vec<Header>, HeadersError> {
    let (rest, mut headers) = (&mut &*bytes, Vec::new());
    for index in 0..count {
        headers.push(Header::decode(rest).map_err(|why| HeadersError::Header { index, why })?);
    }
    if !rest.is_empty() {
        return Err(HeadersError::Excess(rest.len()));
    }
    if *encode_headers(headers.iter()) != *bytes { Err(HeadersError::Encoding) } else { Ok(headers) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header { number: 7, base_fee_per_gas: Some(9), ..Header::default() }
    }

    fn payload() -> Payload {
        let signature = Signature::repeat_byte(3);
        Payload { parent: header(), blocks: 5, last: B256::repeat_byte(4), signature }
    }

    #[test]
    fn what_is_cut_off_or_longer_is_refused() {
        let bytes = payload().encode();
        assert_eq!(Payload::decode(&bytes), Ok(payload()));
        assert_eq!(Payload::decode(&bytes[..bytes.len() - 1]), Err(PayloadError::Tail(TAIL_BYTES - 1)));
        assert_eq!(Payload::decode(&[&bytes[..], &[0]].concat()), Err(PayloadError::Tail(TAIL_BYTES + 1)));
        assert!(matches!(Payload::decode(&[]), Err(PayloadError::Header(_))));
    }

    #[test]
    fn headers_are_as_many_as_declared() {
        let headers = [header(), Header::default(), header()];
        let bytes = encode_headers(headers.iter());
        assert_eq!(decode_headers(&bytes, 3).unwrap(), headers);
        assert!(matches!(decode_headers(&bytes, 4), Err(HeadersError::Header { index: 3, .. })));
        let length = header().length();
        assert_eq!(decode_headers(&bytes, 2), Err(HeadersError::Excess(length)));
        assert!(matches!(decode_headers(&[], u32::MAX), Err(HeadersError::Header { index: 0, .. })));
        assert_eq!(decode_headers(&[], 0), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn one_encoding(at in 0..1100_usize, flip in 1..=255_u8) {
            let mut bytes = payload().encode().to_vec();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(other) = Payload::decode(&bytes) {
                prop_assert_eq!(&other.encode()[..], &bytes[..]);
                prop_assert_ne!(other, payload());
            }
            let headers = [header(), header()];
            let mut bytes = encode_headers(headers.iter()).to_vec();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(others) = decode_headers(&bytes, 2) {
                prop_assert_eq!(&encode_headers(others.iter())[..], &bytes[..]);
                prop_assert_ne!(&others[..], &headers[..]);
            }
        }
    }
}
