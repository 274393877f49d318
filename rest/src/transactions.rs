//! Transactions: handing over, finding, cancelling, replacing.

use super::{Answer, Rest, call::Call, problem::Problem, routes::Handled};
use ::sender::facade::{Filter, Page, RawTransaction, SendFrom, Taken, Transaction, TransactionRequest};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use hyper::StatusCode;
use sender_model::{AccountId, FeeCap, Fees, Intent, RequestId, StateName};
use serde::{Deserialize, Serialize};
use types::Time;

/// A request as callers write it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTransaction {
    from: Option<Address>,
    group: Option<String>,
    chain_id: Option<u64>,
    to: Option<Address>,
    value: Option<U256>,
    data: Option<Bytes>,
    gas: Option<u64>,
    max_fee_per_gas: Option<FeeCap>,
    max_priority_fee_per_gas: Option<FeeCap>,
    fee_cap: Option<FeeCap>,
    #[serde(default)]
    access_list: Vec<AccessListEntry>,
    #[serde(default)]
    legacy: bool,
    /// In milliseconds.
    expires_at: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AccessListEntry {
    address: Address,
    storage_keys: Vec<B256>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    raw_transaction: Bytes,
    token: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Replacement {
    max_fee_per_gas: Option<FeeCap>,
    max_priority_fee_per_gas: Option<FeeCap>,
}

/// A transaction with its state's name and the hash that matters, for those who want to know no more.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    status: StateName,
    hash: Option<B256>,
    #[serde(flatten)]
    transaction: Transaction,
}

impl From<Transaction> for View {
    fn from(transaction: Transaction) -> Self {
        Self { status: StateName::of(&transaction.request.state), hash: transaction.hash(), transaction }
    }
}

/// Both fields, or neither.
fn fees(max: Option<FeeCap>, priority: Option<FeeCap>) -> Result<Option<Fees>, Problem> {
    match (max, priority) {
        (None, None) => Ok(None),
        (Some(FeeCap(max_fee_per_gas)), Some(FeeCap(priority))) if priority <= max_fee_per_gas => {
            Ok(Some(Fees { max_fee_per_gas, max_priority_fee_per_gas: priority }))
        }
        (Some(_), Some(_)) => Err(Problem::invalid("maxPriorityFeePerGas is more than maxFeePerGas")),
        _ => Err(Problem::invalid("maxFeePerGas and maxPriorityFeePerGas come together")),
    }
}

impl NewTransaction {
    fn submission(self, key: Option<RequestId>, home_chain: u64) -> Result<TransactionRequest, Problem> {
        // The same values are the same request, however they were written.
        let body = keccak256(serde_json::to_vec(&self).map_err(|why| Problem::internal(&why))?);
        let chain_id = self.chain_id.unwrap_or(home_chain);
        let from = match (self.from, self.group) {
            (Some(address), None) => SendFrom::Account(AccountId { chain_id, address }),
            (None, Some(name)) => SendFrom::Group { name, chain_id: self.chain_id },
            _ => return Err(Problem::invalid("either from or group says who is to send")),
        };
        let access_list = self.access_list.into_iter().map(|entry| (entry.address, entry.storage_keys));
        let intent = Intent {
            to: self.to,
            value: self.value.unwrap_or_default(),
            data: self.data.unwrap_or_default(),
            gas: self.gas,
            fees: fees(self.max_fee_per_gas, self.max_priority_fee_per_gas)?,
            fee_cap: self.fee_cap,
            access_list: access_list.collect(),
            legacy: self.legacy,
        };
        if intent.to.is_none() && intent.data.is_empty() {
            return Err(Problem::invalid("without to there must be data: the code that makes a contract"));
        }
        Ok(TransactionRequest { key, from, intent, body, expires_at: self.expires_at.map(Time::from_millis) })
    }
}

fn taken(Taken { transaction, replayed }: Taken) -> Result<Answer, Problem> {
    let status = if replayed { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok(Answer::json(status, &View::from(transaction))?.replayed(replayed))
}

pub(super) fn submit<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let new = call.body::<NewTransaction>()?;
        let submission = new.submission(call.key(), rest.sender.home_chain())?;
        taken(rest.sender.submit(submission).await?)
    })
}

pub(super) fn submit_raw<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let Raw { raw_transaction, token } = call.body()?;
        let raw = RawTransaction { key: call.key(), token, bytes: raw_transaction };
        taken(rest.sender.submit_raw(raw).await?)
    })
}

pub(super) fn list<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let filter = Filter {
            chain_id: call.query("chainId")?,
            address: call.query("address")?,
            group: call.query("group")?,
            state: call.query("state")?,
            after: call.query("after")?,
            limit: call.query("limit")?.unwrap_or_default(),
        };
        let Page { items, next } = rest.sender.list(filter).await?;
        let items = items.into_iter().map(View::from).collect::<Vec<_>>();
        Answer::ok(&Page { items, next })
    })
}

pub(super) fn get<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&View::from(rest.sender.get(&call.named(0)?).await?)) })
}

pub(super) fn by_key<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&View::from(rest.sender.by_key(call.name(0)).await?)) })
}

pub(super) fn by_hash<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        match rest.sender.by_hash(call.named(0)?).await? {
            Some(transaction) => Answer::ok(&View::from(transaction)),
            None => Err(Problem::not_found("no transaction of ours has this hash")),
        }
    })
}

pub(super) fn cancel<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let result = rest.sender.cancel(&call.named(0)?).await?;
        Answer::ok(&serde_json::json!({ "result": result }))
    })
}

pub(super) fn replace<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let Replacement { max_fee_per_gas, max_priority_fee_per_gas } = call.body()?;
        let fees = fees(max_fee_per_gas, max_priority_fee_per_gas)?;
        let result = rest.sender.replace(&call.named(0)?, fees).await?;
        Answer::ok(&serde_json::json!({ "result": result }))
    })
}
