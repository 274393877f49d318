//! Transactions: submission, lookup, cancellation, replacement.

use super::{
    Reply, Rest,
    extract::{Body, Key, KeyHeader, Name, Query, parsed},
    json, ok,
    problem::Problem,
};
use ::sender::facade::{
    Cancelling, Done, Filter, Page, RawTransaction, SendFrom, Taken, Transaction, TransactionRequest,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use axum::{extract::State, response::IntoResponse};
use hyper::{StatusCode, header::HeaderName};
use sender_model::{
    AccountId, FeeCap, Fees, Intent, RequestId, RequestOptions, Simulate, Speed, StateName, maybe_number,
    openapi,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use types::Time;
use utoipa::{IntoParams, ToSchema};

const TAG: &str = "transactions";
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What is to be done, by one account (`from`) or by the least loaded one of a group.
// The hash of these fields as JSON tells a replay from another request under the same key, also after an update of the
// node: their order and form stay.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewTransaction {
    /// The account that sends.
    #[schema(value_type = Option<openapi::Address>)]
    from: Option<Address>,
    /// The group whose least loaded account sends.
    group: Option<String>,
    /// The chain; the node's own by default, or the group's. Another one than the group's is rejected.
    #[serde(default, deserialize_with = "maybe_number")]
    #[schema(value_type = Option<openapi::NumberOrText>)]
    chain_id: Option<u64>,
    /// The receiver; none creates a contract.
    #[schema(value_type = Option<openapi::Address>)]
    to: Option<Address>,
    /// Wei to transfer.
    #[schema(value_type = Option<openapi::Quantity>)]
    value: Option<U256>,
    /// Call data or init code.
    #[schema(value_type = Option<openapi::Bytes>)]
    data: Option<Bytes>,
    /// The gas limit, as a number or as hexadecimal text; estimated by default.
    #[serde(default, deserialize_with = "maybe_number")]
    #[schema(value_type = Option<openapi::NumberOrText>)]
    gas: Option<u64>,
    /// The fees of the first attempt, both or neither; the chain's by default.
    max_fee_per_gas: Option<FeeCap>,
    max_priority_fee_per_gas: Option<FeeCap>,
    /// The highest price per gas that any attempt may offer.
    fee_cap: Option<FeeCap>,
    /// Slots to declare (EIP-2930).
    #[serde(default)]
    access_list: Vec<AccessListEntry>,
    /// Whether to use the transaction type from before EIP-1559.
    #[serde(default)]
    legacy: bool,
    /// When it expires unless it has a nonce by then, in milliseconds since 1970.
    #[serde(default, deserialize_with = "maybe_number")]
    #[schema(value_type = Option<openapi::NumberOrText>)]
    expires_at: Option<u64>,
    /// Whether it is simulated before it gets a nonce: `true` (the default: on the newest state and, if it would be reverted
    /// there, on top of the account's earlier requests, or again when they are mined), `"after-parent"` (only when all earlier
    /// requests of the account are mined) or `false` (not at all; `gas` is needed).
    // Fields that came later are left out where they are not set, so that older hashes stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<openapi::Simulate>)]
    simulate: Option<Simulate>,
    /// How soon it is to be mined, if it names no fees: what part of the chain's priority fee it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<Speed>,
    /// An object of your own, which every answer and every event about the transaction repeats; at most 4096 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The webhook endpoints that are told of it, by id; all by default, and none if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhooks: Option<Vec<String>>,
}

/// Slots of an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AccessListEntry {
    #[schema(value_type = openapi::Address)]
    address: Address,
    #[schema(value_type = Vec<openapi::Hash>)]
    storage_keys: Vec<B256>,
}

/// A signed transaction for a reserved nonce.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RawTransaction)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Raw {
    #[schema(value_type = openapi::Bytes)]
    raw_transaction: Bytes,
    /// The token of the reservation.
    token: String,
}

/// The least fees of the next attempt, both or neither.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Replacement {
    max_fee_per_gas: Option<FeeCap>,
    max_priority_fee_per_gas: Option<FeeCap>,
}

/// Which transactions to list.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Selection {
    /// Only of this chain.
    #[serde(default, deserialize_with = "parsed")]
    chain_id: Option<u64>,
    /// Only of this account.
    #[serde(default, deserialize_with = "parsed")]
    #[param(value_type = Option<openapi::Address>)]
    address: Option<Address>,
    /// Only of this group's accounts.
    #[serde(default, deserialize_with = "parsed")]
    group: Option<String>,
    /// Only in this state.
    #[serde(default, deserialize_with = "parsed")]
    state: Option<StateName>,
    /// The `next` of the page before.
    #[serde(default, deserialize_with = "parsed")]
    after: Option<RequestId>,
    /// The most transactions of a page.
    #[serde(default, deserialize_with = "parsed")]
    limit: Option<usize>,
}

/// How an order was taken.
#[derive(Serialize, ToSchema)]
pub(super) struct Outcome<T> {
    pub(super) result: T,
}

/// A transaction with all that was signed for it.
#[derive(Serialize, ToSchema)]
#[schema(as = Transaction)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    /// The state's name.
    status: StateName,
    /// Of the attempt that was mined, else of the newest payload.
    #[schema(value_type = Option<openapi::Hash>)]
    hash: Option<B256>,
    #[serde(flatten)]
    #[schema(inline)]
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
        let options = RequestOptions {
            simulate: self.simulate.unwrap_or_default(),
            speed: self.speed.unwrap_or_default(),
            metadata: self.metadata,
            webhooks: self.webhooks,
        };
        let expires_at = self.expires_at.map(Time::from_millis);
        Ok(TransactionRequest { key, from, intent, body, expires_at, options })
    }
}

/// The response to a submission, new or replayed.
fn accepted(Taken { transaction, replayed }: Taken) -> Reply {
    let status = if replayed { StatusCode::OK } else { StatusCode::ACCEPTED };
    let response = json(status, &View::from(transaction))?;
    Ok((replayed.then_some([(REPLAYED, "true")]), response).into_response())
}

/// Submits a transaction. It is durable before this returns.
#[utoipa::path(post, path = "/v1/transactions", tag = TAG, params(KeyHeader), request_body = NewTransaction, responses(
    (status = 202, description = "It is durable.", body = View),
    (status = 200, description = "It was known already; Idempotency-Replayed is true.", body = View,
        headers(("Idempotency-Replayed" = String))),
))]
pub(super) async fn submit(
    State(rest): State<Arc<Rest>>,
    Key(key): Key,
    Body(new): Body<NewTransaction>,
) -> Reply {
    let submission = new.submission(key, rest.sender.home_chain())?;
    accepted(rest.sender.submit(submission).await?)
}

/// Submits a transaction that was signed elsewhere for a reserved nonce.
#[utoipa::path(post, path = "/v1/transactions/raw", tag = TAG, params(KeyHeader), request_body = Raw, responses(
    (status = 202, description = "It is durable.", body = View),
    (status = 200, description = "It was known already; Idempotency-Replayed is true.", body = View,
        headers(("Idempotency-Replayed" = String))),
))]
pub(super) async fn submit_raw(
    State(rest): State<Arc<Rest>>,
    Key(key): Key,
    Body(Raw { raw_transaction, token }): Body<Raw>,
) -> Reply {
    accepted(rest.sender.submit_raw(RawTransaction { key, token, bytes: raw_transaction }).await?)
}

/// Lists transactions, page by page.
#[utoipa::path(get, path = "/v1/transactions", tag = TAG, params(Selection),
    responses((status = 200, description = "A page.", body = Page<View>)))]
pub(super) async fn list(State(rest): State<Arc<Rest>>, Query(selection): Query<Selection>) -> Reply {
    let Selection { chain_id, address, group, state, after, limit } = selection;
    let filter = Filter { chain_id, address, group, state, after, limit: limit.unwrap_or_default() };
    let Page { items, next } = rest.sender.list(filter).await?;
    let items = items.into_iter().map(View::from).collect::<Vec<_>>();
    ok(&Page { items, next })
}

/// Returns a transaction by its name.
#[utoipa::path(get, path = "/v1/transactions/{id}", tag = TAG, params(("id" = RequestId, Path)),
    responses((status = 200, description = "The transaction.", body = View)))]
pub(super) async fn get(State(rest): State<Arc<Rest>>, Name(id): Name<RequestId>) -> Reply {
    ok(&View::from(rest.sender.get(&id).await?))
}

/// Returns a transaction by its idempotency key.
#[utoipa::path(get, path = "/v1/transactions/by-key/{key}", tag = TAG, params(("key" = RequestId, Path)),
    responses((status = 200, description = "The transaction.", body = View)))]
pub(super) async fn by_key(State(rest): State<Arc<Rest>>, Name(key): Name<String>) -> Reply {
    ok(&View::from(rest.sender.by_key(&key).await?))
}

/// Returns a transaction by the hash of any of its attempts.
#[utoipa::path(get, path = "/v1/transactions/by-hash/{hash}", tag = TAG, params(("hash" = openapi::Hash, Path)),
    responses((status = 200, description = "The transaction.", body = View)))]
pub(super) async fn by_hash(State(rest): State<Arc<Rest>>, Name(hash): Name<B256>) -> Reply {
    match rest.sender.by_hash(hash).await? {
        Some(transaction) => ok(&View::from(transaction)),
        None => Err(Problem::not_found("no transaction of ours has this hash")),
    }
}

/// Cancels a transaction: at once if nothing was sent, otherwise by a noop that competes for its nonce.
#[utoipa::path(post, path = "/v1/transactions/{id}/cancel", tag = TAG, params(("id" = RequestId, Path)),
    responses((status = 200, description = "How far that got.", body = Outcome<Cancelling>)))]
pub(super) async fn cancel(State(rest): State<Arc<Rest>>, Name(id): Name<RequestId>) -> Reply {
    ok(&Outcome { result: rest.sender.cancel(&id).await? })
}

/// Bumps the fees of a pending transaction (replacement), to at least these fees if there are any.
#[utoipa::path(post, path = "/v1/transactions/{id}/replace", tag = TAG, params(("id" = RequestId, Path)),
    request_body = Replacement, responses((status = 200, description = "It is done, or ordered.", body = Outcome<Done>)))]
pub(super) async fn replace(
    State(rest): State<Arc<Rest>>,
    Name(id): Name<RequestId>,
    Body(Replacement { max_fee_per_gas, max_priority_fee_per_gas }): Body<Replacement>,
) -> Reply {
    let fees = fees(max_fee_per_gas, max_priority_fee_per_gas)?;
    ok(&Outcome { result: rest.sender.replace(&id, fees).await? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::parse;

    const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

    fn read(more: &str) -> Result<NewTransaction, String> {
        let body = format!(r#"{{"from":"{FROM}","to":"{FROM}"{more}}}"#);
        parse(body.as_bytes()).map_err(|why| why.to_string())
    }

    #[test]
    fn numbers_are_numbers_or_hexadecimal_text_and_errors_name_the_field() {
        for more in [
            r#","gas":21000,"chainId":1,"maxFeePerGas":7,"maxPriorityFeePerGas":7"#,
            r#","gas":"0x5208","chainId":"0x1","maxFeePerGas":"0x7","maxPriorityFeePerGas":"0x7""#,
        ] {
            let new = read(more).unwrap();
            assert_eq!(
                (new.gas, new.chain_id, new.max_fee_per_gas),
                (Some(21_000), Some(1), Some(FeeCap(7)))
            );
        }
        for (field, value) in [
            ("gas", "\"much\""),
            ("gas", "-1"),
            ("gas", "\"0x10000000000000000\""),
            ("maxFeePerGas", "\"7\""),
            ("simulate", "\"later\""),
            ("speed", "\"warp\""),
            ("metadata", "7"),
        ] {
            let why = read(&format!(",\"{field}\":{value}")).unwrap_err();
            assert!(why.starts_with(&format!("{field}: ")), "{why}");
        }
    }

    #[test]
    fn what_a_key_stands_for_stays_the_same_when_fields_are_added() {
        let written = serde_json::to_string(&read("").unwrap()).unwrap();
        for later in ["simulate", "speed", "metadata", "webhooks"] {
            assert!(!written.contains(later), "{written}");
        }
        let options = read(r#","simulate":"after-parent","speed":"fast","metadata":{"a":1},"webhooks":[]"#);
        let options = options.unwrap().submission(None, 1).unwrap().options;
        assert_eq!((options.simulate, options.speed), (Simulate::AfterParent, Speed::Fast));
        assert!(options.metadata.is_some() && !options.tells("wh-1"));
    }
}
