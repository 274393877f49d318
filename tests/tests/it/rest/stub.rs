//! A small server that stands for whoever the node talks to: a receiver of webhooks, a remote signer, a provider.

use hyper::{HeaderMap, header::HeaderName};
use std::{net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// A request.
pub(super) struct Asked {
    /// Method and path.
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

type Handler = dyn Fn(Asked) -> (u16, String) + Send + Sync;

/// Serves on a free port for as long as the test runs.
pub(super) async fn serve(answer: impl Fn(Asked) -> (u16, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, answer): (_, Arc<Handler>) = (listener.local_addr().unwrap(), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, answer.clone()));
        }
    });
    at
}

async fn talk(stream: TcpStream, answer: Arc<Handler>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut headers, mut first, mut line) = (HeaderMap::new(), String::new(), String::new());
        stream.read_line(&mut first).await.ok().filter(|length| *length > 0)?;
        loop {
            line.clear();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.parse::<HeaderName>().ok()?, value.parse().ok()?);
        }
        let length =
            headers.get("content-length").map_or(Some(0), |length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length?];
        stream.read_exact(&mut body).await.ok()?;
        let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let (status, text) = answer(Asked { line, headers, body });
        let head = match status {
            204 => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            _ => format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{text}", text.len()),
        };
        stream.write_all(head.as_bytes()).await.ok()?;
    }
}
