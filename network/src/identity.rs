//! Our certificate, and the TLS settings of both sides: 1.3 only, mutual, no resumption, no 0-RTT.

use crate::{
    certificate::{CertificateError, key_info, peer_of},
    config::Role,
};
use jam::{Ed25519Key, Ed25519Secret, HeaderHash};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error as TlsError, OtherError, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key},
    pki_types::{
        CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
    },
    server::{
        NoServerSessionStorage,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use std::sync::Arc;

/// Why our own TLS settings cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The certificate cannot be written.
    #[error("our certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS does not take it.
    #[error("TLS does not take our certificate: {0}")]
    Tls(#[from] TlsError),
    /// The cipher that QUIC begins with is missing.
    #[error("the TLS provider lacks the cipher that QUIC begins with")]
    Cipher(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
}

/// What stands before the 32 bytes of an Ed25519 secret in PKCS #8.
const PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Our certificate and its key.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    pub(crate) fn new(secret: &Ed25519Secret) -> Result<Self, IdentityError> {
        let params = CertificateParams::new([secret.public().certificate_name()])?;
        let certificate = params.self_signed(&Self::key_pair(secret)?)?.der().clone();
        Ok(Self { certificate, key: pkcs8(secret) })
    }

    pub(crate) fn key_pair(secret: &Ed25519Secret) -> Result<KeyPair, rcgen::Error> {
        KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8(secret), &PKCS_ED25519)
    }

    #[cfg(test)]
    pub(crate) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// For connections that others open.
    pub(crate) fn server(&self, genesis: HeaderHash) -> Result<QuicServerConfig, IdentityError> {
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(Arc::new(Verifier::new()))
            .with_single_cert(vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))?;
        config.alpn_protocols = names(genesis).into();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config.try_into()?)
    }

    /// For connections that we open.
    pub(crate) fn client(&self, genesis: HeaderHash, role: Role) -> Result<QuicClientConfig, IdentityError> {
        let mut config = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new()))
            .with_client_auth_cert(
                vec![self.certificate.clone()],
                PrivateKeyDer::Pkcs8(self.key.clone_key()),
            )?;
        let [builder, plain] = names(genesis);
        config.alpn_protocols = match role {
            Role::Builder => vec![builder, plain],
            Role::Node => vec![plain],
        };
        config.resumption = Resumption::disabled();
        Ok(config.try_into()?)
    }
}

fn pkcs8(secret: &Ed25519Secret) -> PrivatePkcs8KeyDer<'static> {
    [&PKCS8[..], &secret.to_bytes()].concat().into()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The protocol's names on this chain: for builders, and plain.
pub(crate) fn names(genesis: HeaderHash) -> [Vec<u8>; 2] {
    let plain = format!("jamnp-s/0/{:02x}{:02x}{:02x}{:02x}", genesis[0], genesis[1], genesis[2], genesis[3]);
    [format!("{plain}/builder").into_bytes(), plain.into_bytes()]
}

/// Checks the other side's certificate, and that it has the key.
#[derive(Debug)]
struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new() -> Self {
        Self { algorithms: ring::default_provider().signature_verification_algorithms }
    }

    /// The signature of the handshake by the certificate's key, which [`peer_of`] has found to be an Ed25519 key.
    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let key = peer_of(certificate).map_err(refused)?;
        let info = SubjectPublicKeyInfoDer::from(key_info(&key));
        verify_tls13_signature_with_raw_key(message, &info, signature, &self.algorithms)
    }
}

fn refused(error: CertificateError) -> TlsError {
    TlsError::InvalidCertificate(rustls::CertificateError::Other(OtherError(Arc::new(error))))
}

/// What both sides of a handshake ask of a verifier in the same words: TLS 1.3 only, and Ed25519 only.
macro_rules! verify_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, TlsError> {
            Err(TlsError::General("only TLS 1.3 is spoken here".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, TlsError> {
            self.verify(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
    };
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let key = peer_of(end_entity).map_err(refused)?;
        let dialled = Ed25519Key::from_certificate_name(&server_name.to_str());
        if dialled != Ok(key) {
            return Err(refused(CertificateError::OtherPeer));
        }
        Ok(ServerCertVerified::assertion())
    }

    verify_signatures!();
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        peer_of(end_entity).map(|_| ClientCertVerified::assertion()).map_err(refused)
    }

    verify_signatures!();
}
