//! Commands over HTTPS, as behind a proxy that ends TLS for the node.

use super::{Network, run};
use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{net::SocketAddr, path::Path, sync::Arc};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A proxy on loopback that ends TLS for a node; its certificate is written to a file.
async fn proxy(node: SocketAddr, certificate: &Path) -> SocketAddr {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = BASE64_STANDARD.encode(issued.cert.der());
    let pem = format!("-----BEGIN CERTIFICATE-----\n{pem}\n-----END CERTIFICATE-----\n");
    std::fs::write(certificate, pem).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![issued.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not believe the certificate is not served.
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let mut node = TcpStream::connect(node).await.unwrap();
                // An end without a TLS close is how this ends, and all that there is to know.
                drop(tokio::io::copy_bidirectional(&mut client, &mut node).await);
            });
        }
    });
    address
}

#[test]
fn commands_speak_https_and_believe_only_whom_they_are_told_to() {
    let network = Network::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let certificate = directory.path().join("ca.pem");
    let node = network.url.strip_prefix("http://").unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = runtime.block_on(proxy(node, &certificate));
    let url = format!("https://localhost:{}", address.port());
    let ca = certificate.to_str().unwrap();
    // JSON-RPC and REST.
    let queue = run(&["queue", "--rpc-url", &url, "--rpc-ca", ca]).good();
    assert!(queue.contains("final"), "{queue}");
    let to = "0x00000000000000000000000000000000000000aa";
    let sent = run(&["send", "--to", to, "--value", "1", "--rpc-url", &url, "--rpc-ca", ca]).good();
    assert!(sent.contains("mined"), "{sent}");
    run(&["queue", "--rpc-url", &url]).refused(1, "certificate");
    let none = directory.path().join("none.pem");
    std::fs::write(&none, "none").unwrap();
    run(&["queue", "--rpc-url", &url, "--rpc-ca", none.to_str().unwrap()])
        .refused(2, "holds no certificates");
    network.stop();
}
