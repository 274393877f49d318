//! Webhook endpoints, what they are still to be told, and what nobody took.

use super::{Answer, Rest, call::Call, problem::Problem, routes::Handled};
use ::sender::{
    endpoint::Secret,
    facade::{DeliveryFilter, EndpointView, NewEndpoint},
};
use hyper::StatusCode;
use sender_model::AccountId;
use serde::Serialize;

/// An endpoint with its new secret: the only time that it is shown.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    endpoint: &'a EndpointView,
    secret: &'a str,
}

fn shown(status: StatusCode, (endpoint, secret): &(EndpointView, Secret)) -> Result<Answer, Problem> {
    Answer::json(status, &Shown { endpoint, secret: secret.expose() })
}

pub(super) fn create<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let new = call.body::<NewEndpoint>()?;
        rest.webhooks.check(&new.url).await?;
        shown(StatusCode::CREATED, &rest.sender.create_endpoint(new).await?)
    })
}

pub(super) fn list<'a>(rest: &'a Rest, _: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.endpoints()) })
}

pub(super) fn remove<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        rest.sender.remove_endpoint(call.name(0)).await?;
        Ok(Answer::nothing())
    })
}

pub(super) fn rotate<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { shown(StatusCode::OK, &rest.sender.rotate_secret(call.name(0)).await?) })
}

fn filter(rest: &Rest, call: &Call) -> Result<DeliveryFilter, Problem> {
    let chain_id = call.query("chainId")?.unwrap_or_else(|| rest.sender.home_chain());
    let address = call.query("address")?;
    Ok(DeliveryFilter {
        account: address.map(|address| AccountId { chain_id, address }),
        endpoint: call.query("endpoint")?,
        after: call.query("after")?,
        limit: call.query("limit")?.unwrap_or_default(),
    })
}

pub(super) fn deliveries<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.deliveries(filter(rest, call)?).await?) })
}

pub(super) fn dead_letters<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.dead_letters(filter(rest, call)?).await?) })
}

pub(super) fn replay<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        rest.sender.replay(&call.named(0)?).await?;
        Ok(Answer::nothing())
    })
}
