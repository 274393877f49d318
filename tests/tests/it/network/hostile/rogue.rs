//! A peer on bare QUIC that can be as rude as it likes.

use jam::{Ed25519Secret, HeaderHash};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, ServerConfig,
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};
use std::{net::SocketAddr, sync::Arc};

/// What a rogue shows of itself.
pub(super) struct Papers {
    pub(super) key: KeyPair,
    pub(super) names: Vec<String>,
    pub(super) protocol: Vec<u8>,
}

impl Papers {
    /// Papers in order.
    pub(super) fn proper(index: u32, genesis: HeaderHash) -> Self {
        let secret = Ed25519Secret::trivial(index);
        let head =
            [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        let der = PrivatePkcs8KeyDer::from([&head[..], &secret.to_bytes()].concat());
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ED25519).unwrap();
        let names = vec![secret.public().certificate_name()];
        let protocol = format!("jamnp-s/0/{}", &genesis.to_string()[2..10]).into_bytes();
        Self { key, names, protocol }
    }

    fn certificate(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let params = CertificateParams::new(self.names.clone()).unwrap();
        let certificate = params.self_signed(&self.key).unwrap().der().clone();
        (vec![certificate], PrivatePkcs8KeyDer::from(self.key.serialize_der()).into())
    }

    pub(super) fn client(&self, shows_certificate: bool) -> ClientConfig {
        let (chain, key) = self.certificate();
        let builder = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Gullible));
        let mut config = match shows_certificate {
            true => builder.with_client_auth_cert(chain, key).unwrap(),
            false => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![self.protocol.clone()];
        ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()))
    }

    pub(super) fn server(&self) -> ServerConfig {
        let (chain, key) = self.certificate();
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_client_cert_verifier(Arc::new(Gullible))
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![self.protocol.clone()];
        ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).unwrap()))
    }
}

/// Connects; the other side may find out later that it does not like us.
pub(super) async fn connect(papers: &Papers, to: SocketAddr) -> Result<Connection, ConnectionError> {
    connect_with(papers.client(true), to).await
}

pub(super) async fn connect_with(
    config: ClientConfig,
    to: SocketAddr,
) -> Result<Connection, ConnectionError> {
    let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    endpoint.connect_with(config, to, "anybody").unwrap().await
}

/// Listens, and does with each connection what `manners` say.
pub(super) fn listen<F: Future<Output = ()> + Send + 'static>(
    papers: &Papers,
    manners: impl Fn(Connection) -> F + Send + 'static,
) -> SocketAddr {
    let endpoint = Endpoint::server(papers.server(), ([127, 0, 0, 1], 0).into()).unwrap();
    let addr = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if let Ok(connection) = incoming.await {
                tokio::spawn(manners(connection));
            }
        }
    });
    addr
}

/// Opens a stream of a kind and writes messages, each with its length, and perhaps ends it.
pub(super) async fn speak(
    connection: &Connection,
    kind: u8,
    messages: &[&[u8]],
    fin: bool,
) -> (quinn::SendStream, quinn::RecvStream) {
    let (mut send, recv) = connection.open_bi().await.unwrap();
    let mut bytes = vec![kind];
    for message in messages {
        bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
        bytes.extend_from_slice(message);
    }
    // The other side may have had enough already.
    let _ = send.write_all(&bytes).await;
    if fin {
        let _ = send.finish();
    }
    (send, recv)
}

/// Believes everybody.
#[derive(Debug)]
struct Gullible;

impl ServerCertVerifier for Gullible {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519, SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

impl ClientCertVerifier for Gullible {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519, SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
