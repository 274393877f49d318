//! A running node, and a caller that believes no answer which the document does not allow.

use bytes::Bytes;
use harness::process::Pectin;
use hyper::{
    HeaderMap, Method,
    header::{self, HeaderName, HeaderValue},
};
use sender::http::{Client, Request, Response, Rules};
use serde_json::{Value, json};
use std::time::Duration;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The first account of every development network, and the second.
pub(super) const ALICE: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
pub(super) const BOB: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/// A caller.
pub(super) struct Caller {
    client: Client,
    pub(super) url: String,
    pub(super) token: Option<String>,
    document: Value,
    /// Everything that was answered, as it came.
    pub(super) heard: Vec<String>,
}

/// An answer whose body is JSON, or nothing.
pub(super) struct JsonResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// Starts a network with quick slots.
pub(super) fn dev(arguments: &[&str]) -> (Pectin, Caller) {
    let common = ["dev", "--http-port", "0", "--slot-ms", "400"];
    let mut pectin = Pectin::start(common.iter().chain(arguments)).unwrap();
    let line = pectin.wait_for("RPC ").unwrap();
    let url = line.split_whitespace().nth(1).unwrap().to_owned();
    pectin.wait_for("ready in").unwrap();
    (pectin, Caller::new(url, None))
}

impl Caller {
    pub(super) fn new(url: String, token: Option<String>) -> Self {
        let document = rest::document();
        Self { client: Client::new(Rules::anywhere()), url, token, document, heard: vec![] }
    }

    /// Sends a request as it is; gives the answer as it is.
    pub(super) async fn raw(
        &mut self,
        method: Method,
        path: &str,
        more: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        }
        for (name, value) in more {
            let name = name.parse::<HeaderName>().unwrap();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let url = format!("{}{path}", self.url);
        let request = Request { method, url, headers, body: body.into(), timeout: TIMEOUT };
        let response = self.client.send(request).await.unwrap();
        self.heard.push(format!("{:?} {}", response.headers, String::from_utf8_lossy(&response.body)));
        response
    }

    /// Asks, and checks question and answer against the document.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Value,
    ) -> JsonResponse {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.raw(method.clone(), path, &headers, text).await;
        let operation = self.operation(&method, path);
        let status = response.status.to_string();
        let described = &operation["responses"];
        let described =
            if described[&status].is_object() { &described[&status] } else { &described["default"] };
        let read = match response.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&response.body).unwrap(),
        };
        match described["content"].as_object().and_then(|content| content.iter().next()) {
            Some((kind, content)) => {
                assert_eq!(response.headers[header::CONTENT_TYPE], kind.as_str(), "{method} {path}");
                self.check(&content["schema"], &read, &format!("{method} {path} {status}"));
            }
            None => assert!(read.is_null(), "{method} {path} {status}: {read}"),
        }
        if response.status < 300 && !body.is_null() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            self.check(schema, &body, &format!("the body of {method} {path}"));
        }
        JsonResponse { status: response.status, headers: response.headers, body: read }
    }

    pub(super) async fn get(&mut self, path: &str) -> JsonResponse {
        self.ask(Method::GET, path, None, Value::Null).await
    }

    pub(super) async fn post(&mut self, path: &str, body: Value) -> JsonResponse {
        self.ask(Method::POST, path, None, body).await
    }

    /// Calls a JSON-RPC method; gives the whole answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answer = self.raw(Method::POST, "/", &[("content-type", "application/json")], body).await;
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Hands over a transfer of one wei.
    pub(super) async fn transfer(&mut self, key: &str, from: &str) -> JsonResponse {
        let body = json!({ "from": from, "to": BOB, "value": "0x1" });
        self.ask(Method::POST, "/v1/transactions", Some(key), body).await
    }

    /// Waits until a transaction is in one of these states.
    pub(super) async fn until(&mut self, id: &str, states: &[&str]) -> Value {
        for _ in 0..1_200 {
            let answer = self.get(&format!("/v1/transactions/{id}")).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            if states.contains(&answer.body["status"].as_str().unwrap()) {
                return answer.body;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{id} does not become {states:?}");
    }

    fn operation(&self, method: &Method, path: &str) -> Value {
        let path = path.split('?').next().unwrap();
        let like = |pattern: &str| {
            let (wanted, given) = (pattern.split('/'), path.split('/'));
            wanted.clone().count() == given.clone().count()
                && wanted.zip(given).all(|(wanted, given)| wanted.starts_with('{') || wanted == given)
        };
        let paths = self.document["paths"].as_object().unwrap();
        // A path without names is meant before one with them.
        let exact = paths.get(path).filter(|methods| !methods[method.as_str().to_lowercase()].is_null());
        let found =
            exact.or_else(|| paths.iter().find(|(pattern, _)| like(pattern)).map(|(_, methods)| methods));
        let operation = found.map(|methods| methods[method.as_str().to_lowercase()].clone());
        operation.filter(|operation| !operation.is_null()).unwrap_or_else(|| {
            json!({ "responses": { "default": { "content": { "application/problem+json": {
                "schema": { "$ref": "#/components/schemas/Problem" } } } } } })
        })
    }

    fn check(&self, schema: &Value, value: &Value, what: &str) {
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap_or_else(|why| panic!("{what}: {why}"));
        let errors =
            validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path()));
        let errors = errors.collect::<Vec<_>>();
        assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
    }
}
