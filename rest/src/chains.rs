//! Chains, and what is set for each of them.

use super::{
    Reply, Rest,
    extract::{Body, Name},
    ok,
};
use ::sender::facade::ChainView;
use axum::extract::State;
use sender_model::ChainSettings;
use std::sync::Arc;

const TAG: &str = "chains";

/// Lists the chains with their settings.
#[utoipa::path(get, path = "/v1/chains", tag = TAG,
    responses((status = 200, description = "All of them.", body = Vec<ChainView>)))]
pub(super) async fn list(State(rest): State<Arc<Rest>>) -> Reply {
    ok(&rest.sender.chain_views())
}

/// Returns a chain with its settings.
#[utoipa::path(get, path = "/v1/chains/{chainId}", tag = TAG, params(("chainId" = u64, Path)),
    responses((status = 200, description = "The chain.", body = ChainView)))]
pub(super) async fn get(State(rest): State<Arc<Rest>>, Name(chain_id): Name<u64>) -> Reply {
    ok(&rest.sender.chain(chain_id)?)
}

/// Sets these for a chain, at once and for good, in place of what was set here before. What is not named is as in the file.
#[utoipa::path(post, path = "/v1/chains/{chainId}/settings", tag = TAG, params(("chainId" = u64, Path)),
    request_body = ChainSettings, responses((status = 200, description = "The chain.", body = ChainView)))]
pub(super) async fn set(
    State(rest): State<Arc<Rest>>,
    Name(chain_id): Name<u64>,
    Body(settings): Body<ChainSettings>,
) -> Reply {
    ok(&rest.sender.set_chain(chain_id, settings).await?)
}
