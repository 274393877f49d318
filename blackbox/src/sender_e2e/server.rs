//! A small HTTP server for the judge's own parts.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{future::Future, io, net::SocketAddr};
use tokio::{net::TcpListener, task::JoinHandle};

/// What a server answers; `None` breaks the connection.
pub(super) type Reply = Option<(u16, Bytes)>;

/// A server that runs until it is dropped.
pub(super) struct Server {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves on a free port of this machine.
pub(super) async fn serve<H, F>(handle: H) -> io::Result<Server>
where
    H: Fn(HeaderMap, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let handle = handle.clone();
            tokio::spawn(async move {
                let service = service_fn(|request: Request<Incoming>| answer(handle.clone(), request));
                // A connection that breaks is what the judge is about.
                let _ended = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(Server { address, task })
}

async fn answer<H, F>(handle: H, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, io::Error>
where
    H: Fn(HeaderMap, Bytes) -> F,
    F: Future<Output = Reply>,
{
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let (status, body) = handle(head.headers, body).await.ok_or(io::ErrorKind::ConnectionReset)?;
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = hyper::StatusCode::from_u16(status).map_err(io::Error::other)?;
    Ok(response)
}
