//! `pectin send`: hands a transaction to a running node, and shows what becomes of it.

use super::{
    Failure,
    client::{Client, RpcArgs},
    file,
};
use alloy_primitives::{Address, Bytes, U256, hex, utils::parse_units};
use clap::{Args, ValueEnum};
use hyper::{HeaderMap, Method, header::HeaderValue};
use sender::http::HttpError;
use sender_model::RequestId;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the node is asked.
const EVERY: Duration = Duration::from_millis(200);

/// How far a transaction is to get.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
enum Until {
    /// It is durable.
    Accepted,
    /// It is in the pool.
    Submitted,
    /// It is in a block.
    Mined,
    /// It is in a block that cannot go away.
    Confirmed,
}

/// What to send.
#[derive(Debug, Args)]
pub(super) struct SendArgs {
    /// Who is to get it; without a receiver the data makes a contract.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<Address>,
    /// How much: in wei, or as 1.5ether or 2gwei.
    #[arg(long, default_value = "0", value_parser = amount, value_name = "AMOUNT")]
    value: U256,
    /// Call data, or the code that makes a contract.
    #[arg(long, default_value = "0x", value_name = "HEX")]
    data: Bytes,
    /// The account that sends; by default the first one that the node runs.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "group")]
    from: Option<Address>,
    /// The group whose least loaded account sends.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The chain; the node's own by default.
    #[arg(long, value_name = "ID")]
    chain_id: Option<u64>,
    /// The gas limit; estimated by default.
    #[arg(long, value_name = "GAS")]
    gas: Option<u64>,
    /// Its name; without one a new name is made and shown. The same again with the same name is not sent twice.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<RequestId>,
    /// How far to wait for it.
    #[arg(long, default_value = "mined", value_name = "STATE")]
    wait: Until,
    /// How long to wait, in seconds.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout_secs: u64,
    #[command(flatten)]
    rpc: RpcArgs,
    /// The file with the operator's token; a development network needs none.
    #[arg(long, env = "PECTIN_TOKEN_FILE", hide_env = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Reads an amount.
fn amount(text: &str) -> Result<U256, String> {
    let wrong = || format!("{text:?} is no amount: write wei, 1.5ether or 2gwei");
    let unit = ["ether", "gwei", "wei"].into_iter().find(|unit| text.ends_with(unit));
    let number = text.strip_suffix(unit.unwrap_or_default()).unwrap_or_default().trim();
    if number.is_empty() {
        return Err(wrong());
    }
    let Some(unit) = unit else { return number.parse().map_err(|_| wrong()) };
    let parsed = parse_units(number, unit).map_err(|_| wrong())?;
    if parsed.is_negative() { Err(wrong()) } else { Ok(parsed.get_absolute()) }
}

pub(super) fn run(args: &SendArgs) -> Result<(), Failure> {
    let token = args.token_file.as_deref().map(|path| file::read(path, "the token file")).transpose()?;
    let client = args.rpc.client()?.with_token(token.as_deref())?.with_timeout(ANSWER_TIMEOUT);
    send(args, &Node(client))
}

/// The running node.
struct Node(Client);

impl Node {
    fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&RequestId>,
        body: &Value,
    ) -> Result<Value, Failure> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert("idempotency-key", HeaderValue::from_str(key.as_str()).map_err(Failure::usage)?);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.0.send(method, path, headers, body).map_err(|why| unanswered(&why, key))?;
        let value = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        if answer.is_success() {
            return Ok(value);
        }
        let why = value["detail"].as_str().unwrap_or("it does not say why");
        Err(Failure::Runtime(format!("the node refused ({}): {why}", answer.status)))
    }

    /// The first account that it runs.
    fn first_account(&self) -> Result<Address, Failure> {
        let accounts = self.ask(Method::GET, "/v1/accounts", None, &Value::Null)?;
        let first = accounts[0]["address"].as_str().and_then(|address| address.parse().ok());
        first.ok_or_else(|| Failure::usage("the node runs no account; see `pectin account`"))
    }
}

fn send(args: &SendArgs, node: &Node) -> Result<(), Failure> {
    let from = match (args.from, &args.group) {
        (None, None) => Some(node.first_account()?),
        (from, _) => from,
    };
    let body = json!({
        "from": from, "group": args.group, "chainId": args.chain_id, "to": args.to, "value": args.value,
        "data": args.data, "gas": args.gas,
    });
    let id = match &args.idempotency_key {
        Some(key) => key.clone(),
        None => fresh_key()?,
    };
    // Before it is sent: if the answer is lost, whoever asks again needs the name, or pays twice.
    println!("request    {id}");
    let mut now = node.ask(Method::POST, "/v1/transactions", Some(&id), &body)?;
    let (begun, mut shown) = (Instant::now(), String::new());
    loop {
        let line = describe(&now);
        if line != shown {
            println!("{line}");
            shown = line;
        }
        if let Some(result) = outcome(&now, args.wait) {
            return result;
        }
        if begun.elapsed() > Duration::from_secs(args.timeout_secs) {
            let why = "it did not get there in time; it goes on, and the same command shows it with --idempotency-key";
            return Err(Failure::Runtime(format!("{why} {id}")));
        }
        std::thread::sleep(EVERY);
        now = node.ask(Method::GET, &format!("/v1/transactions/{id}"), None, &Value::Null)?;
    }
}

/// A name for a request that was given none.
fn fresh_key() -> Result<RequestId, Failure> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Failure::runtime)?;
    format!("cli-{}", hex::encode(random)).parse().map_err(Failure::runtime)
}

/// There is no answer; what to do if nobody knows whether the request was taken.
fn unanswered(why: &HttpError, key: Option<&RequestId>) -> Failure {
    match key.filter(|_| why.may_have_arrived()) {
        Some(key) => Failure::Runtime(format!(
            "{why}; it may have been taken: the same command with --idempotency-key {key} does not send it twice"
        )),
        None => Failure::runtime(why),
    }
}

/// Where it stands, in a line.
fn describe(now: &Value) -> String {
    let status = now["status"].as_str().unwrap_or("?");
    let state = &now["state"][status];
    let mut line = format!("{status:10}");
    if let Some(held) = state["held"].as_str() {
        line.push_str(&format!(" held: {held}"));
    }
    if let Some(nonce) = state["nonce"].as_u64() {
        line.push_str(&format!(" nonce {nonce}"));
    }
    if let Some(hash) = now["hash"].as_str() {
        line.push_str(&format!(" hash {hash}"));
    }
    if let Some(number) = state["inclusion"]["block"]["number"].as_u64() {
        line.push_str(&format!(" block {number}"));
    }
    if status == "failed" {
        line.push_str(&format!(" {state}"));
    }
    line
}

/// Whether it has got there, or never will.
fn outcome(now: &Value, wait: Until) -> Option<Result<(), Failure>> {
    let reached = match now["status"].as_str()? {
        "accepted" | "bound" => Until::Accepted,
        "submitted" | "cancelling" => Until::Submitted,
        "mined" => Until::Mined,
        "confirmed" => Until::Confirmed,
        ended => return Some(Err(Failure::Runtime(format!("it has ended: {ended}")))),
    };
    (reached >= wait).then_some(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        for (text, wei) in [
            ("0", 0_u128),
            ("12", 12),
            ("0x10", 16),
            ("2gwei", 2_000_000_000),
            ("1.5 ether", 1_500_000_000_000_000_000),
            ("7wei", 7),
        ] {
            assert_eq!(amount(text), Ok(U256::from(wei)), "{text}");
        }
        for wrong in ["", "x", "-1", "-1ether", "1.5", "ether", "1 btc"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_state_is_shown_and_judged() {
        let confirmed = json!({ "status": "confirmed", "hash": "0x1", "state": { "confirmed": {
            "nonce": 3, "inclusion": { "block": { "number": 9 } } } } });
        assert_eq!(describe(&confirmed), "confirmed  nonce 3 hash 0x1 block 9");
        assert_eq!(outcome(&confirmed, Until::Mined), Some(Ok(())));
        let held = json!({ "status": "accepted", "state": { "accepted": { "held": "funds" } } });
        assert_eq!(describe(&held), "accepted   held: funds");
        assert_eq!(outcome(&held, Until::Submitted), None);
        let cancelled = json!({ "status": "cancelled", "state": "cancelled" });
        assert_eq!(describe(&cancelled), "cancelled ");
        assert!(matches!(outcome(&cancelled, Until::Accepted), Some(Err(_))));
    }
}
