//! Calls that only the process that runs an account can answer: reserving and releasing nonces, transactions of outside
//! signers, replays. Over a shared store another process has the account; a process says with its lease where it can be
//! reached (`sender-advertise`), and a process that is asked in its place passes the call on and returns its answer.

use axum::{body::Body, http::request::Parts, response::Response};
use bytes::Bytes;
use hyper::{HeaderMap, StatusCode, header};
use sender::http::{Client, Request};
use std::time::Duration;

/// How long the other process may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Says that a call was passed on, so that it is not passed on again.
const FORWARDED: &str = "x-pectin-forwarded";
/// What of a call and of an answer is passed on.
const OF_CALLS: [header::HeaderName; 2] = [header::AUTHORIZATION, header::CONTENT_TYPE];
const OF_ANSWERS: [header::HeaderName; 2] = [header::CONTENT_TYPE, header::RETRY_AFTER];
const IDEMPOTENCY: [&str; 2] = ["idempotency-key", "idempotency-replayed"];

/// Marks an answer: the account is run by the process at this address.
#[derive(Clone, Debug)]
pub(super) struct OwnedAt(pub(super) String);

/// A call as it may have to be passed on.
pub(super) struct Call {
    method: hyper::Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    /// A call, unless it was passed on already.
    pub(super) fn of(head: &Parts, body: &Bytes) -> Option<Self> {
        if head.headers.contains_key(FORWARDED) {
            return None;
        }
        let path = head.uri.path_and_query()?.as_str().to_owned();
        let mut headers = picked(&head.headers, &OF_CALLS);
        headers.insert(FORWARDED, header::HeaderValue::from_static("1"));
        Some(Self { method: head.method.clone(), path, headers, body: body.clone() })
    }

    /// The answer of the process that runs the account; none if it does not answer.
    pub(super) async fn forward(self, client: &Client, OwnedAt(address): &OwnedAt) -> Option<Response> {
        let url = format!("{}{}", address.trim_end_matches('/'), self.path);
        let request =
            Request { method: self.method, url, headers: self.headers, body: self.body, timeout: TIMEOUT };
        let answer = client.send(request).await;
        let answer = answer.inspect_err(|why| tracing::warn!(%why, "a call was not passed on")).ok()?;
        let mut response = Response::new(Body::from(answer.body));
        *response.status_mut() = StatusCode::from_u16(answer.status).ok()?;
        *response.headers_mut() = picked(&answer.headers, &OF_ANSWERS);
        Some(response)
    }
}

fn picked(from: &HeaderMap, names: &[header::HeaderName]) -> HeaderMap {
    let others = IDEMPOTENCY.map(header::HeaderName::from_static);
    let value = |name: &header::HeaderName| Some((name.clone(), from.get(name)?.clone()));
    names.iter().chain(&others).filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sender::http::Rules;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    fn call(headers: &[(&'static str, &'static str)]) -> Option<Call> {
        let mut request =
            axum::http::Request::post("/v1/accounts/0x1/nonce/reserve?chainId=5").body(()).unwrap();
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        *request.headers_mut() = headers.collect();
        Call::of(&request.into_parts().0, &Bytes::from_static(b"{}"))
    }

    #[tokio::test]
    async fn a_call_is_passed_on_once_with_its_token_and_its_answer_comes_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = OwnedAt(format!("http://{}/", listener.local_addr().unwrap()));
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"{}") {
                let mut some = [0; 1024];
                let read = stream.read(&mut some).await.unwrap();
                asked.extend_from_slice(&some[..read]);
            }
            let answer =
                "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]";
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(asked).unwrap().to_lowercase()
        });
        let sent = [
            ("authorization", "Bearer canary"),
            ("content-type", "application/json"),
            ("idempotency-key", "order-7"),
            ("cookie", "secret"),
        ];
        let client = Client::new(Rules::anywhere());
        let answer = call(&sent).unwrap().forward(&client, &address).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].as_bytes()),
            (201, &b"application/json"[..])
        );
        let asked = served.await.unwrap();
        assert!(asked.starts_with("post /v1/accounts/0x1/nonce/reserve?chainid=5 http/1.1"), "{asked}");
        for header in ["authorization: bearer canary", "idempotency-key: order-7", "x-pectin-forwarded: 1"] {
            assert!(asked.contains(header), "{asked}");
        }
        assert!(!asked.contains("cookie"));
        // One that was passed on is answered here, whatever the answer is.
        assert!(call(&[("x-pectin-forwarded", "1")]).is_none());
    }
}
