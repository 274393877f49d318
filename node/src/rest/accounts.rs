//! Accounts, their nonces, groups of them, and what chains ask for.

use super::{Answer, Rest, call::Call, routes::Handled};
use ::sender::facade::NewGroup;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;

/// How long a nonce is lent if the caller does not say.
const LOAN_MS: u64 = 60_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Reservation {
    ttl_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Release {
    nonce: u64,
    token: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Growth {
    accounts: usize,
}

pub(super) fn list<'a>(rest: &'a Rest, _: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.accounts().await?) })
}

pub(super) fn create<'a>(rest: &'a Rest, _: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let address = rest.sender.create_account().await?;
        Answer::json(StatusCode::CREATED, &json!({ "address": address }))
    })
}

pub(super) fn health<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        Answer::ok(&rest.sender.health(account).await?)
    })
}

pub(super) fn pause<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        Answer::ok(&json!({ "result": rest.sender.pause(account).await? }))
    })
}

pub(super) fn resume<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        Answer::ok(&json!({ "result": rest.sender.resume(account).await? }))
    })
}

pub(super) fn nonce_health<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        Answer::ok(&rest.sender.nonce_health(account).await?)
    })
}

pub(super) fn reserve<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        let Reservation { ttl_ms } = call.body()?;
        let loan = rest.sender.reserve_nonce(account, ttl_ms.unwrap_or(LOAN_MS)).await?;
        Answer::json(StatusCode::CREATED, &loan)
    })
}

pub(super) fn release<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        let Release { nonce, token } = call.body()?;
        rest.sender.release_nonce(account, nonce, &token).await?;
        Ok(Answer::nothing())
    })
}

pub(super) fn reset<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let account = call.account(rest.sender.home_chain())?;
        Answer::ok(&json!({ "result": rest.sender.reset_nonce(account).await? }))
    })
}

pub(super) fn groups<'a>(rest: &'a Rest, _: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.groups()) })
}

pub(super) fn group<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async { Answer::ok(&rest.sender.group(call.name(0))?) })
}

pub(super) fn create_group<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let group = rest.sender.create_group(call.body::<NewGroup>()?).await?;
        Answer::json(StatusCode::CREATED, &group)
    })
}

pub(super) fn grow_group<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let Growth { accounts } = call.body()?;
        Answer::ok(&rest.sender.grow_group(call.name(0), accounts).await?)
    })
}

pub(super) fn fees<'a>(rest: &'a Rest, call: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let chain_id = call.query("chainId")?.unwrap_or_else(|| rest.sender.home_chain());
        Answer::ok(&rest.sender.fees(chain_id).await?)
    })
}

pub(super) fn service_health<'a>(rest: &'a Rest, _: &'a Call) -> Handled<'a> {
    Box::pin(async {
        let chains = rest.sender.chains();
        let store = rest.sender.store_trouble();
        let well = store.is_none() && chains.iter().all(|(_, trouble)| trouble.is_none());
        let chains = chains.iter().map(|(id, trouble)| {
            json!({ "chainId": id, "trouble": trouble, "providers": rest.sender.providers(*id) })
        });
        let answer = json!({
            "status": if well { "ok" } else { "degraded" },
            "homeChain": rest.sender.home_chain(),
            "chains": chains.collect::<Vec<_>>(),
            "store": { "trouble": store },
            "totals": rest.sender.stats().totals,
        });
        Answer::ok(&answer)
    })
}
