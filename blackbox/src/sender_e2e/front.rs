//! The node as its callers see it: REST, and JSON-RPC for reading chains.

use alloy_primitives::Address;
use hyper::{HeaderMap, Method, header};
use sender::http::{Client, Request, Rules};
use serde_json::{Value, json};
use std::time::Duration;

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A caller.
#[derive(Clone)]
pub(super) struct Front {
    client: Client,
    url: String,
}

impl Front {
    pub(super) fn new(url: String) -> Self {
        Self { client: Client::new(Rules::anywhere()), url }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Result<Value, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let key = key.parse().map_err(|_| "a key that is no header")?;
            headers.insert("idempotency-key", key);
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default().into();
        let url = format!("{}{path}", self.url);
        let request = Request { method, url, headers, body, timeout: TIMEOUT };
        let answer = self.client.send(request).await.map_err(|why| why.to_string())?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if !answer.is_success() {
            return Err(format!("{path}: status {}: {text}", answer.status));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|why| format!("{path}: {why}: {text}"))
    }

    /// Hands a request over; done when it is acknowledged.
    pub(super) async fn submit(
        &self,
        key: &str,
        chain_id: u64,
        from: Address,
        to: Address,
        data: &str,
    ) -> Result<(), String> {
        let body = json!({ "chainId": chain_id, "from": from, "to": to, "value": "0x1", "data": data });
        self.submit_body(key, body).await
    }

    /// The same with a body of its own.
    pub(super) async fn submit_body(&self, key: &str, body: Value) -> Result<(), String> {
        self.ask(Method::POST, "/v1/transactions", Some(key), Some(body)).await.map(drop)
    }

    /// A request as it stands.
    pub(super) async fn get(&self, key: &str) -> Result<Value, String> {
        self.ask(Method::GET, &format!("/v1/transactions/{key}"), None, None).await
    }

    /// How many requests were confirmed since the node was started.
    pub(super) async fn confirmed(&self) -> Result<u64, String> {
        let health = self.ask(Method::GET, "/v1/health", None, None).await?;
        Ok(health["totals"]["confirmed"].as_u64().unwrap_or_default())
    }

    /// How the sender's chains fare.
    pub(super) async fn health(&self) -> Result<Value, String> {
        let health = self.ask(Method::GET, "/v1/health", None, None).await?;
        Ok(health["chains"].clone())
    }

    /// Makes a webhook endpoint; its secret.
    pub(super) async fn hook(&self, url: &str) -> Result<String, String> {
        let made = self.ask(Method::POST, "/v1/webhooks", None, Some(json!({ "url": url }))).await?;
        made["secret"].as_str().map(str::to_owned).ok_or_else(|| format!("no secret in {made}"))
    }

    /// Calls a JSON-RPC method.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut answer = self.ask(Method::POST, "/", None, Some(body)).await?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(format!("{method}: {}", answer["error"])),
        }
    }

    /// The call data of every transaction of the chain.
    pub(super) async fn payloads(&self) -> Result<Vec<String>, String> {
        let latest = self.call("eth_blockNumber", json!([])).await?;
        let latest =
            latest.as_str().and_then(|number| u64::from_str_radix(number.trim_start_matches("0x"), 16).ok());
        let mut payloads = Vec::new();
        for number in 0..=latest.ok_or("no block number")? {
            let block = self.call("eth_getBlockByNumber", json!([format!("{number:#x}"), true])).await?;
            let transactions = block["transactions"].as_array().cloned().unwrap_or_default();
            payloads.extend(transactions.iter().filter_map(|tx| tx["input"].as_str().map(str::to_owned)));
        }
        Ok(payloads)
    }
}
