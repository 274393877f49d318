//! Accounts, their nonces, groups of them, and what chains ask for.

use super::{
    Reply, Rest,
    extract::{Account, Body, Name, OnChain, Query},
    json, ok,
    transactions::Outcome,
};
use ::sender::{
    facade::{AccountView, Done, FeeReport, Group, Loan, NewGroup},
    stats::Totals,
};
use alloy_primitives::Address;
use axum::{extract::State, response::IntoResponse};
use hyper::StatusCode;
use sender_model::{Health, NonceHealth, openapi, providers::ProviderHealth};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

const ACCOUNTS: &str = "accounts";
const NONCES: &str = "nonces";
const GROUPS: &str = "groups";
const SERVICE: &str = "service";

/// How long a nonce is reserved if the caller does not say.
const LOAN_MS: u64 = 60_000;

/// A new account.
#[derive(Serialize, ToSchema)]
struct NewAccount {
    #[schema(value_type = openapi::Address)]
    address: Address,
}

/// For how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Reservation {
    /// Milliseconds; a minute by default.
    ttl_ms: Option<u64>,
}

/// A reserved nonce that is given back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Release {
    nonce: u64,
    /// The token of the reservation.
    token: String,
}

/// How many more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Growth {
    /// New accounts.
    accounts: usize,
}

/// How the sender is doing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ServiceHealth {
    status: ServiceStatus,
    /// The chain of callers who name none.
    home_chain: u64,
    chains: Vec<ChainHealth>,
    store: StoreHealth,
    /// Counted since the start.
    totals: Totals,
}

/// `degraded` if a chain or the store is in trouble.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum ServiceStatus {
    Ok,
    Degraded,
}

/// A chain that transactions are sent to.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ChainHealth {
    chain_id: u64,
    /// Why it cannot be used now.
    trouble: Option<String>,
    /// How each of its providers fares; none for this node's own chain.
    providers: Vec<ProviderHealth>,
}

/// The store of accounts.
#[derive(Serialize, ToSchema)]
struct StoreHealth {
    /// Why it cannot be used now.
    trouble: Option<String>,
}

/// Lists the accounts whose keys are held here.
#[utoipa::path(get, path = "/v1/accounts", tag = ACCOUNTS,
    responses((status = 200, description = "All of them.", body = Vec<AccountView>)))]
pub(super) async fn list(State(rest): State<Arc<Rest>>) -> Reply {
    ok(&rest.sender.accounts().await?)
}

/// Creates a key, and with it an account on every chain.
#[utoipa::path(post, path = "/v1/accounts", tag = ACCOUNTS,
    responses((status = 201, description = "The key is stored.", body = NewAccount)))]
pub(super) async fn create(State(rest): State<Arc<Rest>>) -> Reply {
    json(StatusCode::CREATED, &NewAccount { address: rest.sender.create_account().await? })
}

/// Returns the health of an account.
#[utoipa::path(get, path = "/v1/accounts/{address}/health", tag = ACCOUNTS,
    params(("address" = openapi::Address, Path), OnChain),
    responses((status = 200, description = "Its health.", body = Health)))]
pub(super) async fn health(State(rest): State<Arc<Rest>>, Account(account): Account) -> Reply {
    ok(&rest.sender.health(account).await?)
}

/// Pauses an account: it binds no more nonces. Transactions in flight go on.
#[utoipa::path(post, path = "/v1/accounts/{address}/pause", tag = ACCOUNTS,
    params(("address" = openapi::Address, Path), OnChain),
    responses((status = 200, description = "It is done, or ordered.", body = Outcome<Done>)))]
pub(super) async fn pause(State(rest): State<Arc<Rest>>, Account(account): Account) -> Reply {
    ok(&Outcome { result: rest.sender.pause(account).await? })
}

/// Resumes a paused account.
#[utoipa::path(post, path = "/v1/accounts/{address}/resume", tag = ACCOUNTS,
    params(("address" = openapi::Address, Path), OnChain),
    responses((status = 200, description = "It is done, or ordered.", body = Outcome<Done>)))]
pub(super) async fn resume(State(rest): State<Arc<Rest>>, Account(account): Account) -> Reply {
    ok(&Outcome { result: rest.sender.resume(account).await? })
}

/// Returns the nonces of an account in numbers.
#[utoipa::path(get, path = "/v1/accounts/{address}/nonce/health", tag = NONCES,
    params(("address" = openapi::Address, Path), OnChain),
    responses((status = 200, description = "The numbers.", body = NonceHealth)))]
pub(super) async fn nonce_health(State(rest): State<Arc<Rest>>, Account(account): Account) -> Reply {
    ok(&rest.sender.nonce_health(account).await?)
}

/// Reserves a nonce for an outside signer.
#[utoipa::path(post, path = "/v1/accounts/{address}/nonce/reserve", tag = NONCES,
    params(("address" = openapi::Address, Path), OnChain), request_body = Reservation,
    responses((status = 201, description = "It is reserved.", body = Loan)))]
pub(super) async fn reserve(
    State(rest): State<Arc<Rest>>,
    Account(account): Account,
    Body(Reservation { ttl_ms }): Body<Reservation>,
) -> Reply {
    let loan = rest.sender.reserve_nonce(account, ttl_ms.unwrap_or(LOAN_MS)).await?;
    json(StatusCode::CREATED, &loan)
}

/// Releases a reserved nonce that its signer has not used.
#[utoipa::path(post, path = "/v1/accounts/{address}/nonce/release", tag = NONCES,
    params(("address" = openapi::Address, Path), OnChain), request_body = Release,
    responses((status = 204, description = "It is done.")))]
pub(super) async fn release(
    State(rest): State<Arc<Rest>>,
    Account(account): Account,
    Body(Release { nonce, token }): Body<Release>,
) -> Reply {
    rest.sender.release_nonce(account, nonce, &token).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Brings the nonces in line with the chain. Nonces in flight or reserved stay as they are.
#[utoipa::path(post, path = "/v1/accounts/{address}/nonce/reset", tag = NONCES,
    params(("address" = openapi::Address, Path), OnChain),
    responses((status = 200, description = "It is done, or ordered.", body = Outcome<Done>)))]
pub(super) async fn reset(State(rest): State<Arc<Rest>>, Account(account): Account) -> Reply {
    ok(&Outcome { result: rest.sender.reset_nonce(account).await? })
}

/// Lists all groups.
#[utoipa::path(get, path = "/v1/groups", tag = GROUPS,
    responses((status = 200, description = "All of them.", body = Vec<Group>)))]
pub(super) async fn groups(State(rest): State<Arc<Rest>>) -> Reply {
    ok(&rest.sender.groups())
}

/// Returns a group.
#[utoipa::path(get, path = "/v1/groups/{name}", tag = GROUPS, params(("name" = String, Path)),
    responses((status = 200, description = "The group.", body = Group)))]
pub(super) async fn group(State(rest): State<Arc<Rest>>, Name(name): Name<String>) -> Reply {
    ok(&rest.sender.group(&name)?)
}

/// Creates a group, with as many new accounts as it needs.
#[utoipa::path(post, path = "/v1/groups", tag = GROUPS, request_body = NewGroup,
    responses((status = 201, description = "The group.", body = Group)))]
pub(super) async fn create_group(State(rest): State<Arc<Rest>>, Body(new): Body<NewGroup>) -> Reply {
    json(StatusCode::CREATED, &rest.sender.create_group(new).await?)
}

/// Adds new accounts to a group, at most up to its greatest size.
#[utoipa::path(post, path = "/v1/groups/{name}/grow", tag = GROUPS, params(("name" = String, Path)),
    request_body = Growth, responses((status = 200, description = "The group.", body = Group)))]
pub(super) async fn grow_group(
    State(rest): State<Arc<Rest>>,
    Name(name): Name<String>,
    Body(Growth { accounts }): Body<Growth>,
) -> Reply {
    ok(&rest.sender.grow_group(&name, accounts).await?)
}

/// Returns what a chain asks for, and what a first attempt would offer.
#[utoipa::path(get, path = "/v1/fees", tag = SERVICE, params(OnChain),
    responses((status = 200, description = "At most a few seconds old.", body = FeeReport)))]
pub(super) async fn fees(
    State(rest): State<Arc<Rest>>,
    Query(OnChain { chain_id }): Query<OnChain>,
) -> Reply {
    let chain_id = chain_id.unwrap_or_else(|| rest.sender.home_chain());
    ok(&rest.sender.fees(chain_id).await?)
}

/// Returns the health of the sender: its chains, its store and its counters.
#[utoipa::path(get, path = "/v1/health", tag = SERVICE,
    responses((status = 200, description = "Its health.", body = ServiceHealth)))]
pub(super) async fn service_health(State(rest): State<Arc<Rest>>) -> Reply {
    let chains = rest.sender.chains().into_iter().map(|(chain_id, trouble)| ChainHealth {
        chain_id,
        trouble,
        providers: rest.sender.providers(chain_id),
    });
    let chains = chains.collect::<Vec<_>>();
    let store = StoreHealth { trouble: rest.sender.store_trouble() };
    let well = store.trouble.is_none() && chains.iter().all(|chain| chain.trouble.is_none());
    ok(&ServiceHealth {
        status: if well { ServiceStatus::Ok } else { ServiceStatus::Degraded },
        home_chain: rest.sender.home_chain(),
        chains,
        store,
        totals: rest.sender.stats().totals,
    })
}
