//! The service's code, and orders of its owner.
//!
//! An order is signed elsewhere; the node only carries it to guarantors, so it needs no owner's key. It is sent once for each call and
//! kept nowhere: whether the chain obeyed it is what `builder_service` says, and to send it again is harmless, since its number counts once.

use super::{Methods, reply};
use alloy_primitives::Bytes;
use driver::CodeStatus;
use network::{SegmentRoots, Submission};
use queue::ServiceCode;
use rpc::{Error, Json, Params};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

/// So long guarantors may take to take a package.
const SUBMIT_MAX: Duration = Duration::from_secs(4);

impl Methods {
    pub(super) async fn service(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(0)?;
        let CodeStatus { best, finalized, is_known, .. } = self.code_status().await?;
        reply(&json!({ "isKnown": is_known, "best": code(&best), "finalized": code(&finalized) }))
    }

    pub(super) async fn service_order(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let payload = params.required::<Bytes>(0)?;
        if !service::order::is_order(&payload) {
            let why = "invalid argument 0: it is no order; `pectin service order` makes one";
            return Err(Error::params(why));
        }
        let CodeStatus { best, place, .. } = self.code_status().await?;
        let Some((context, core, guarantors)) = place else {
            let why = "the node follows no recent block, or no core with a connected guarantor is free; try again in a slot";
            return Err(Error::other(why.to_owned()));
        };
        let bundle = self.bundler.order_bundle(payload, best.hash, context);
        let package = bundle.package.hash();
        let submission = Submission::new(core, &bundle, &SegmentRoots::default(), &self.bundler.params);
        let submission = submission.map_err(|why| Error::other(why.to_string()))?;
        let deadline = Instant::now() + SUBMIT_MAX;
        let taken = network::submit(&self.endpoint, &guarantors, &submission, deadline).await;
        let taken =
            taken.map_err(|why| Error::other(format!("no guarantor of core {core} took it: {why}")))?;
        reply(&json!({ "package": package.0, "core": core, "guarantor": taken.by.to_string() }))
    }

    async fn code_status(&self) -> Result<CodeStatus, Error> {
        self.gateway.code().await.ok_or_else(|| Error::other("it is shutting down".to_owned()))
    }
}

fn code(code: &ServiceCode) -> Value {
    let requested = code.orders.requested.map(|(hash, bytes)| json!({ "codeHash": hash, "bytes": bytes }));
    json!({ "codeHash": code.hash, "lastOrder": code.orders.last, "requested": requested })
}
