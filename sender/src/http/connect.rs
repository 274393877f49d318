//! From a name to a connection, by way of addresses that were checked.

use super::{HttpError, Rules};
use core::{
    pin::Pin,
    task::{Context, Poll},
};
use hyper::Uri;
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use rustls::{ClientConfig, pki_types::ServerName};
use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// Makes connections by the rules.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    rules: Arc<Rules>,
    tls: Arc<ClientConfig>,
}

/// Bytes both ways, encrypted or not.
pub(super) struct Stream(Box<dyn Bytes>);

trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

impl Connector {
    pub(super) fn new(rules: Rules) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the default versions of TLS")
            .with_root_certificates(rules.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { rules: Arc::new(rules), tls: Arc::new(tls) }
    }

    /// The addresses of a URL's host, each of them allowed.
    pub(super) async fn addresses(&self, url: &Uri) -> Result<Vec<SocketAddr>, HttpError> {
        let host = host(url);
        let port = url.port_u16().unwrap_or(if is_tls(url) { 443 } else { 80 });
        let unresolved = |why: &str| HttpError::Unresolved { host: host.to_owned(), why: why.to_owned() };
        let found = within(self.rules.connect_timeout, tokio::net::lookup_host((host, port))).await;
        let addresses = found.map_err(|why| unresolved(&why.to_string()))?.collect::<Vec<_>>();
        // One that is not allowed makes the name suspect: its owner may let it point elsewhere a moment later.
        match addresses.iter().map(SocketAddr::ip).find(|address| !self.rules.allow(*address)) {
            Some(address) => Err(HttpError::Forbidden { host: host.to_owned(), address }),
            None if addresses.is_empty() => Err(unresolved("it has no address")),
            None => Ok(addresses),
        }
    }

    async fn connect(self, url: Uri) -> Result<TokioIo<Stream>, HttpError> {
        let addresses = self.addresses(&url).await?;
        let failed = |why: String| HttpError::Connect { host: host(&url).to_owned(), why };
        let limit = self.rules.connect_timeout;
        match tokio::time::timeout(limit, self.open(&addresses, &url)).await {
            Ok(opened) => opened.map(TokioIo::new).map_err(|why| failed(why.to_string())),
            Err(_) => Err(failed(format!("nothing within {limit:?}"))),
        }
    }

    async fn open(&self, addresses: &[SocketAddr], url: &Uri) -> io::Result<Stream> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        if !is_tls(url) {
            return Ok(Stream(Box::new(stream)));
        }
        let name = ServerName::try_from(host(url).to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await?;
        Ok(Stream(Box::new(stream)))
    }
}

/// What is found in time: a name server may stay silent for longer than anybody wants to wait.
pub(super) async fn within<T>(limit: Duration, search: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("nothing within {limit:?}"));
    tokio::time::timeout(limit, search).await.unwrap_or_else(|_| Err(late()))
}

fn is_tls(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

/// The host, without the brackets of an IPv6 address.
fn host(url: &Uri) -> &str {
    let host = url.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, HttpError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        Box::pin(self.clone().connect(url))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
