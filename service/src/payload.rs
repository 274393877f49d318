//! What a work item tells the service: the parent header, the sealed header, the builder's signature.
//!
//! The two headers in RLP, then 64 bytes. Small, since the package message is limited to 200 KiB: everything large is in
//! the extrinsics. There is one encoding; what decodes encodes to the same bytes again.

use alloy_consensus::Header;
use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, Encodable};
use jam::Signature;

/// The payload of a work item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    /// The parent's header.
    pub parent: Header,
    /// The block's header.
    pub header: Header,
    /// The builder's signature of the block's hash.
    pub signature: Signature,
}

/// Why bytes are no payload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PayloadError {
    /// A header does not decode.
    #[error("the {0} header does not decode: {1}")]
    Header(&'static str, alloy_rlp::Error),
    /// What follows the headers is no signature.
    #[error("{0} bytes after the headers, a signature has 64")]
    Signature(usize),
    /// The headers are not in their only encoding.
    #[error("the headers are not in their only encoding")]
    Encoding,
}

impl Payload {
    /// The headers and the signature.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.parent.length() + self.header.length() + 64);
        self.parent.encode(&mut out);
        self.header.encode(&mut out);
        out.extend_from_slice(self.signature.as_slice());
        out.into()
    }

    /// Reads what [`Payload::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        let rest = &mut &*bytes;
        let parent = Header::decode(rest).map_err(|error| PayloadError::Header("parent", error))?;
        let header = Header::decode(rest).map_err(|error| PayloadError::Header("sealed", error))?;
        let signature = Signature::try_from(*rest).map_err(|_| PayloadError::Signature(rest.len()))?;
        let payload = Self { parent, header, signature };
        if *payload.encode() != *bytes { Err(PayloadError::Encoding) } else { Ok(payload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payload() -> Payload {
        let header = Header { number: 7, base_fee_per_gas: Some(9), ..Header::default() };
        Payload { parent: Header::default(), header, signature: Signature::repeat_byte(3) }
    }

    #[test]
    fn what_is_cut_off_or_longer_is_refused() {
        let bytes = payload().encode();
        assert_eq!(Payload::decode(&bytes), Ok(payload()));
        assert_eq!(Payload::decode(&bytes[..bytes.len() - 1]), Err(PayloadError::Signature(63)));
        assert_eq!(Payload::decode(&[&bytes[..], &[0]].concat()), Err(PayloadError::Signature(65)));
        assert!(matches!(Payload::decode(&[]), Err(PayloadError::Header("parent", _))));
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
        }
    }
}
