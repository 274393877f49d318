//! What a peer's certificate says: its key, and that its name is the key's.
//!
//! JAMNP-S wants an Ed25519 key and exactly one alternative name, N(k). Who signed the certificate and when it is
//! valid does not matter: the handshake itself proves that the peer has the key. So only these two fields are looked at.

use jam::Ed25519Key;
use x509_cert::{
    Certificate,
    der::{Decode, oid::ObjectIdentifier},
    ext::pkix::{SubjectAltName, name::GeneralName},
    spki::SubjectPublicKeyInfoOwned,
};

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

const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// What stands before the 32 bytes of an Ed25519 key in its usual DER form.
const KEY_INFO: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The usual DER form (SubjectPublicKeyInfo) of a key.
pub(crate) fn key_info(key: &Ed25519Key) -> Vec<u8> {
    [&KEY_INFO[..], key.as_slice()].concat()
}

fn key_of(info: &SubjectPublicKeyInfoOwned) -> Option<Ed25519Key> {
    let key = <[u8; 32]>::try_from(info.subject_public_key.as_bytes()?).ok()?;
    (info.algorithm.oid == ED25519).then(|| Ed25519Key(key.into()))
}

/// The peer that a certificate is of.
pub fn peer_of(certificate: &[u8]) -> Result<Ed25519Key, CertificateError> {
    let certificate = Certificate::from_der(certificate).map_err(|_| CertificateError::Malformed)?;
    let signed = certificate.tbs_certificate;
    let key = key_of(&signed.subject_public_key_info).ok_or(CertificateError::OtherKey)?;
    if key.is_weak() {
        return Err(CertificateError::WeakKey);
    }
    let names = signed.get::<SubjectAltName>().ok().flatten().map(|(_, SubjectAltName(names))| names);
    match names.as_deref() {
        Some([GeneralName::DnsName(name)]) if name.as_str() == key.certificate_name() => Ok(key),
        Some([GeneralName::DnsName(_)]) => Err(CertificateError::OtherName),
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
