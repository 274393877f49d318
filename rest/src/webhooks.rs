//! Webhook endpoints, pending deliveries, and dead letters.

use super::{
    Reply, Rest,
    extract::{Body, Name, Query, parsed},
    json, ok,
    problem::Problem,
};
use ::sender::{
    endpoint::Secret,
    facade::{DeliveryFilter, DeliveryId, DeliveryView, EndpointView, NewEndpoint, Page, Replayed},
};
use alloy_primitives::Address;
use axum::{extract::State, response::IntoResponse};
use hyper::StatusCode;
use sender_model::{AccountId, openapi};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const TAG: &str = "webhooks";

/// An endpoint with its new secret.
#[derive(Serialize, ToSchema)]
struct EndpointWithSecret {
    #[serde(flatten)]
    #[schema(inline)]
    endpoint: EndpointView,
    /// The key of the signatures. It is not shown again.
    #[schema(value_type = String, pattern = "^whsec_")]
    secret: Secret,
}

fn with_secret(status: StatusCode, (endpoint, secret): (EndpointView, Secret)) -> Reply {
    json(status, &EndpointWithSecret { endpoint, secret })
}

/// Which deliveries to list.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Selection {
    /// The chain of the address; the node's own by default.
    #[serde(default, deserialize_with = "parsed")]
    chain_id: Option<u64>,
    /// Only of this account.
    #[serde(default, deserialize_with = "parsed")]
    #[param(value_type = Option<openapi::Address>)]
    address: Option<Address>,
    /// Only to this endpoint.
    #[serde(default, deserialize_with = "parsed")]
    endpoint: Option<String>,
    /// The `next` of the page before.
    #[serde(default, deserialize_with = "parsed")]
    #[param(value_type = Option<String>)]
    after: Option<DeliveryId>,
    /// The most deliveries of a page.
    #[serde(default, deserialize_with = "parsed")]
    limit: Option<usize>,
}

impl Selection {
    fn filter(self, home_chain: u64) -> DeliveryFilter {
        let chain_id = self.chain_id.unwrap_or(home_chain);
        DeliveryFilter {
            account: self.address.map(|address| AccountId { chain_id, address }),
            endpoint: self.endpoint,
            after: self.after,
            limit: self.limit.unwrap_or_default(),
        }
    }
}

/// Lists all endpoints.
#[utoipa::path(get, path = "/v1/webhooks", tag = TAG,
    responses((status = 200, description = "All of them, without secrets.", body = Vec<EndpointView>)))]
pub(super) async fn list(State(rest): State<Arc<Rest>>) -> Reply {
    ok(&rest.sender.endpoints())
}

/// Creates an endpoint. Its secret is shown now and never again.
#[utoipa::path(post, path = "/v1/webhooks", tag = TAG, request_body = NewEndpoint,
    responses((status = 201, description = "Events are delivered from now on.", body = EndpointWithSecret)))]
pub(super) async fn create(State(rest): State<Arc<Rest>>, Body(new): Body<NewEndpoint>) -> Reply {
    rest.webhooks.check(&new.url).await?;
    with_secret(StatusCode::CREATED, rest.sender.create_endpoint(new).await?)
}

/// Removes an endpoint.
#[utoipa::path(delete, path = "/v1/webhooks/{id}", tag = TAG, params(("id" = String, Path)),
    responses((status = 204, description = "It is done.")))]
pub(super) async fn remove(State(rest): State<Arc<Rest>>, Name(id): Name<String>) -> Reply {
    rest.sender.remove_endpoint(&id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Rotates the secret of an endpoint. The old one signs too for a day.
#[utoipa::path(post, path = "/v1/webhooks/{id}/rotate", tag = TAG, params(("id" = String, Path)),
    responses((status = 200, description = "The new secret, shown now and never again.", body = EndpointWithSecret)))]
pub(super) async fn rotate(State(rest): State<Arc<Rest>>, Name(id): Name<String>) -> Reply {
    with_secret(StatusCode::OK, rest.sender.rotate_secret(&id).await?)
}

/// Lists pending deliveries.
#[utoipa::path(get, path = "/v1/deliveries", tag = TAG, params(Selection),
    responses((status = 200, description = "A page.", body = Page<DeliveryView>)))]
pub(super) async fn deliveries(State(rest): State<Arc<Rest>>, Query(selection): Query<Selection>) -> Reply {
    ok(&rest.sender.deliveries(selection.filter(rest.sender.home_chain())).await?)
}

/// Lists deliveries that were given up.
#[utoipa::path(get, path = "/v1/dead-letters", tag = TAG, params(Selection),
    responses((status = 200, description = "A page.", body = Page<DeliveryView>)))]
pub(super) async fn dead_letters(State(rest): State<Arc<Rest>>, Query(selection): Query<Selection>) -> Reply {
    ok(&rest.sender.dead_letters(selection.filter(rest.sender.home_chain())).await?)
}

/// Which dead letters to replay; all by default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Replay {
    /// Only of this chain's accounts; the node's own by default. It counts only with an address.
    chain_id: Option<u64>,
    /// Only of this account.
    #[schema(value_type = Option<openapi::Address>)]
    address: Option<Address>,
    /// Only to this endpoint.
    endpoint: Option<String>,
    /// The `next` of the answer before.
    #[schema(value_type = Option<String>)]
    after: Option<String>,
    /// The most that are looked at; 500 by default, at most 5000.
    limit: Option<usize>,
}

/// Replays dead letters, with all their retries.
#[utoipa::path(post, path = "/v1/dead-letters/replay", tag = TAG, request_body = Replay,
    responses((status = 200, description = "How many are pending again.", body = Replayed)))]
pub(super) async fn replay_all(State(rest): State<Arc<Rest>>, Body(which): Body<Replay>) -> Reply {
    let after = which.after.map(|after| after.parse().map_err(Problem::invalid)).transpose()?;
    let selection = Selection {
        chain_id: which.chain_id,
        address: which.address,
        endpoint: which.endpoint,
        after,
        limit: which.limit,
    };
    ok(&rest.sender.replay_all(selection.filter(rest.sender.home_chain())).await?)
}

/// Replays a dead letter, with all its retries.
#[utoipa::path(post, path = "/v1/dead-letters/{id}/replay", tag = TAG, params(("id" = String, Path)),
    responses((status = 204, description = "It is pending again.")))]
pub(super) async fn replay(State(rest): State<Arc<Rest>>, Name(id): Name<DeliveryId>) -> Reply {
    rest.sender.replay(&id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
