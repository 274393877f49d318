//! What a peer's certificate says: its key, and that its name is the key's.
//!
//! JAMNP-S wants an Ed25519 key and exactly one alternative name, N(k). Who signed the certificate and when it is
//! valid does not matter: the handshake itself proves that the peer has the key. So only these two fields are read, by
//! a small reader of DER that takes nothing for granted.

use jam::Ed25519Key;

/// Why a certificate is not that of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CertificateError {
    /// It is not an X.509 certificate.
    #[error("not an X.509 certificate")]
    Malformed,
    /// It has another kind of key.
    #[error("its key is not an Ed25519 key")]
    OtherKey,
    /// Everybody can sign for its key.
    #[error("its key is weak: everybody could sign for it")]
    WeakKey,
    /// It does not have exactly one alternative name, a DNS name.
    #[error("it must have exactly one alternative name, a DNS name")]
    Names,
    /// Its name is not that of its key.
    #[error("its name is not the name of its key")]
    OtherName,
    /// It is not the peer that was dialled.
    #[error("it is not the certificate of the peer that was dialled")]
    OtherPeer,
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const BOOLEAN: u8 = 0x01;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;

const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// What stands before the 32 bytes of an Ed25519 key in its usual DER form.
const KEY_INFO: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The usual DER form (SubjectPublicKeyInfo) of a key.
pub(crate) fn key_info(key: &Ed25519Key) -> Vec<u8> {
    [&KEY_INFO[..], key.as_slice()].concat()
}

/// DER being read: tag, length, content, one after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next element, whatever it is.
    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut len = usize::from(first);
        if first >= 0x80 {
            let bytes = usize::from(first & 0x7f);
            // A certificate has at most 2^24 bytes.
            if bytes == 0 || bytes > 3 || rest.len() < bytes {
                return None;
            }
            len = rest[..bytes].iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
            rest = &rest[bytes..];
        }
        let content = rest.get(..len)?;
        self.0 = &rest[len..];
        Some((tag, content))
    }

    /// The next element, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.element().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// The next element if it has this tag.
    fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        if self.0.first() == Some(&tag) { self.expect(tag) } else { None }
    }
}

/// The key information and the extensions of a certificate.
fn parts(certificate: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let mut signed = Der(Der(certificate).expect(SEQUENCE)?);
    let mut body = Der(signed.expect(SEQUENCE)?);
    body.optional(VERSION);
    body.expect(INTEGER)?;
    // Signature algorithm, issuer, validity, subject.
    for _ in 0..4 {
        body.expect(SEQUENCE)?;
    }
    let key = body.expect(SEQUENCE)?;
    let mut extensions = None;
    while let Some((tag, content)) = body.element() {
        if tag == EXTENSIONS {
            extensions = Some(content);
        }
    }
    Some((key, extensions))
}

fn key_of(info: &[u8]) -> Option<Ed25519Key> {
    let mut info = Der(info);
    let algorithm = Der(info.expect(SEQUENCE)?).expect(OBJECT)?;
    let (unused, key) = info.expect(BIT_STRING)?.split_first()?;
    let key = <[u8; 32]>::try_from(key).ok()?;
    (algorithm == ED25519 && *unused == 0).then(|| Ed25519Key(key.into()))
}

/// All alternative names with their tags; `None` if there is no list of them.
fn alternative_names(extensions: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut list = Der(Der(extensions).expect(SEQUENCE)?);
    while let Some(extension) = list.expect(SEQUENCE) {
        let mut extension = Der(extension);
        if extension.expect(OBJECT)? != ALTERNATIVE_NAME {
            continue;
        }
        extension.optional(BOOLEAN);
        let mut names = Der(Der(extension.expect(OCTET_STRING)?).expect(SEQUENCE)?);
        return Some(std::iter::from_fn(|| names.element()).collect());
    }
    None
}

/// The peer that a certificate is of.
pub fn peer_of(certificate: &[u8]) -> Result<Ed25519Key, CertificateError> {
    let (key, extensions) = parts(certificate).ok_or(CertificateError::Malformed)?;
    let key = key_of(key).ok_or(CertificateError::OtherKey)?;
    if key.is_weak() {
        return Err(CertificateError::WeakKey);
    }
    let names = extensions.and_then(alternative_names).ok_or(CertificateError::Names)?;
    match names.as_slice() {
        [(DNS_NAME, name)] if *name == key.certificate_name().as_bytes() => Ok(key),
        [(DNS_NAME, _)] => Err(CertificateError::OtherName),
        _ => Err(CertificateError::Names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use jam::Ed25519Secret;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};

    fn certificate(names: &[String], key: &KeyPair) -> Vec<u8> {
        CertificateParams::new(names).unwrap().self_signed(key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_says_whose_it_is() {
        let secret = Ed25519Secret::trivial(3);
        let identity = Identity::new(&secret).unwrap();
        assert_eq!(peer_of(identity.certificate()), Ok(secret.public()));
    }

    #[test]
    fn every_other_certificate_is_refused_with_its_reason() {
        let secret = Ed25519Secret::trivial(1);
        let (key, name) = (Identity::key_pair(&secret).unwrap(), secret.public().certificate_name());
        let other = Ed25519Secret::trivial(2).public().certificate_name();
        let ecdsa = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let cases = [
            (certificate(std::slice::from_ref(&name), &ecdsa), CertificateError::OtherKey),
            (certificate(std::slice::from_ref(&other), &key), CertificateError::OtherName),
            (certificate(&[name.clone(), other], &key), CertificateError::Names),
            (certificate(&[name, "127.0.0.1".into()], &key), CertificateError::Names),
            (certificate(&["127.0.0.1".into()], &key), CertificateError::Names),
            (certificate(&[], &key), CertificateError::Names),
            (b"nothing".to_vec(), CertificateError::Malformed),
        ];
        for (certificate, error) in cases {
            assert_eq!(peer_of(&certificate), Err(error));
        }
    }

    proptest! {
        #[test]
        fn a_damaged_certificate_is_never_somebody_elses(at: usize, flip in 1_u8..=255, cut: usize) {
            let secret = Ed25519Secret::trivial(3);
            let mut bytes = Identity::new(&secret).unwrap().certificate().to_vec();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            prop_assert!(peer_of(&bytes).is_err() || peer_of(&bytes) == Ok(secret.public()));
            prop_assert!(peer_of(&bytes[..cut % bytes.len()]).is_err());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = peer_of(&bytes);
        }
    }
}
