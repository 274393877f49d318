use super::*;
use hyper::header::{HOST, LOCATION};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// Answers every request on a connection with the same bytes; nothing at all if there are none.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &'static str) {
    let mut asked = Vec::new();
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut part).await {
        asked.extend_from_slice(&part[..length]);
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            drop(stream.write_all(answer.as_bytes()).await);
        }
    }
}

/// A server with one answer; gives its address and counts its connections.
async fn server(text: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, connections) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(answer(stream, text));
        }
    });
    (address, connections)
}

fn get(url: String) -> Request {
    let timeout = Duration::from_secs(30);
    Request { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new(), timeout }
}

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine";

#[tokio::test]
async fn connections_are_used_again_and_redirects_are_not_followed() {
    let (address, connections) = server(FINE).await;
    let client = Client::new(Rules::anywhere());
    for _ in 0..3 {
        let response = client.send(get(format!("http://{address}/a"))).await.unwrap();
        assert!(response.is_success());
        assert_eq!(&response.body[..], b"fine");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    let moved = "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let (address, _) = server(moved).await;
    let response = client.send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(
        (response.status, &response.headers[LOCATION]),
        (307, &"http://127.0.0.1:1/".parse().unwrap())
    );
    assert!(!response.is_success());
}

#[tokio::test]
async fn private_addresses_get_nothing_in_any_spelling() {
    let (address, connections) = server(FINE).await;
    let port = address.port();
    let client = Client::new(Rules::public());
    for host in
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"]
    {
        let url = format!("http://{host}:{port}/hunter2");
        for error in [client.check(&url).await.unwrap_err(), client.send(get(url)).await.unwrap_err()] {
            assert!(
                matches!(error, HttpError::Forbidden { .. } | HttpError::Unresolved { .. }),
                "{host}: {error}"
            );
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!error.may_have_arrived());
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    // The Host header is the caller's affair; where the connection goes is not.
    let mut disguised = get(format!("http://127.0.0.1:{port}/"));
    disguised.headers.insert(HOST, "public.example".parse().unwrap());
    assert!(matches!(client.send(disguised).await, Err(HttpError::Forbidden { .. })));
    let client = Client::new(Rules::public().allowing(["127.0.0.0/8".parse().unwrap()]));
    assert!(client.send(get(format!("http://127.0.0.1:{port}/"))).await.unwrap().is_success());
}

#[tokio::test]
async fn answers_have_a_length_and_a_time() {
    let (address, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 4000000\r\n\r\nbegin").await;
    let client = Client::new(Rules { response_bytes_max: 1000, ..Rules::anywhere() });
    let url = format!("http://{address}/");
    assert_eq!(client.send(get(url)).await.unwrap_err(), HttpError::TooLarge(1000));
    let (address, _) = server("").await;
    let timeout = Duration::from_millis(20);
    let silent = Request { timeout, ..get(format!("http://{address}/")) };
    let error = client.send(silent).await.unwrap_err();
    assert_eq!(error, HttpError::Timeout(timeout));
    assert!(error.may_have_arrived() && !error.is_connection());
    let (address, _) = server("nonsense\r\n\r\n").await;
    let error = client.send(get(format!("http://{address}/"))).await.unwrap_err();
    assert!(matches!(error, HttpError::Broken(_)), "{error}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = client.send(get(format!("http://{closed}/"))).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }) && error.is_connection(), "{error}");
}

/// A server with a certificate for a name, and the certificate.
async fn tls_server(name: &str) -> (SocketAddr, rcgen::CertifiedKey<rcgen::KeyPair>) {
    let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(answer(stream, FINE));
            }
        }
    });
    (address, issued)
}

#[tokio::test]
async fn the_certificate_must_be_for_the_name_in_the_url_and_from_somebody_trusted() {
    let (address, issued) = tls_server("localhost").await;
    let url = format!("https://localhost:{}/", address.port());
    let trusting =
        |cert: &rcgen::Certificate| Client::new(Rules::anywhere().trusting(cert.der().clone()).unwrap());
    assert!(trusting(&issued.cert).send(get(url.clone())).await.unwrap().is_success());
    let error = Client::new(Rules::anywhere()).send(get(url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error}");
    // The address is right, the certificate is trusted, and the name is another one.
    let (address, issued) = tls_server("other.example").await;
    let url = format!("https://localhost:{}/", address.port());
    let error = trusting(&issued.cert).send(get(url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }) && !error.may_have_arrived(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_name_server_that_stays_silent_is_not_waited_for() {
    let limit = Rules::public().connect_timeout;
    let begun = tokio::time::Instant::now();
    let silent = std::future::pending::<std::io::Result<()>>();
    let error = connect::within(limit, silent).await.unwrap_err();
    assert_eq!((error.kind(), begun.elapsed().as_secs()), (std::io::ErrorKind::TimedOut, limit.as_secs()));
}

#[test]
fn questions_are_not_printed() {
    let mut request = get("https://host.example/hunter2".to_owned());
    request.headers.insert(HOST, "hunter2".parse().unwrap());
    request.body = Bytes::from_static(b"hunter2");
    let printed = format!("{request:?}");
    assert!(printed.contains("GET") && !printed.contains("hunter2"), "{printed}");
}

#[test]
fn what_is_no_url_is_refused_without_being_repeated() {
    for wrong in [
        "",
        "/path",
        "ftp://host.example/",
        "host.example:80",
        "http://",
        "https://user:hunter2@host.example/",
        "http:///hunter2",
        "http://ho st/hunter2",
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(matches!(error, HttpError::Url(_)), "{wrong}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    assert!(parse("https://host.example:8443/a?b=c").is_ok());
    assert!(parse("http://[::1]:80").is_ok());
}
