//! `sender_subscribe`: what webhooks tell, over a WebSocket, as it happens.

use ::sender::{Sender, webhook};
use alloy_primitives::Address;
use futures_util::{StreamExt, future::BoxFuture, stream};
use rpc::{Caller, Error, Extension, Json, Notices, Params, error};
use sender_model::{Event, EventKind, Subject};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::broadcast;

/// The sender's subscription.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) sender: Sender,
    /// Whether no token is needed.
    pub(crate) open: bool,
}

/// Which events; all by default.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    /// Only of this account.
    address: Option<Address>,
    /// Only about this request.
    request: Option<String>,
    /// Only of these kinds.
    #[serde(default)]
    events: Vec<EventKind>,
}

impl Wanted {
    fn wants(&self, event: &Event) -> bool {
        let about = |wanted: &String| matches!(&event.subject, Subject::Request(id) if id.as_str() == wanted);
        self.address.is_none_or(|address| address == event.account.address)
            && self.request.as_ref().is_none_or(about)
            && (self.events.is_empty() || self.events.contains(&event.kind))
    }
}

impl Extension for Push {
    fn methods(&self) -> &'static [&'static str] {
        &[]
    }

    fn call<'a>(
        &'a self,
        method: &'a str,
        _: &'a Params,
        _: &'a Caller,
    ) -> Option<BoxFuture<'a, Result<Json, Error>>> {
        // Over a WebSocket both are answered before they come here.
        let why = match method {
            "sender_subscribe" => Error::new(error::METHOD_NOT_FOUND, "notifications not supported"),
            "sender_unsubscribe" => Error::other("subscription not found"),
            _ => return None,
        };
        Some(Box::pin(std::future::ready(Err(why))))
    }

    fn subscribe(&self, space: &str, params: &Params, caller: &Caller) -> Option<Result<Notices, Error>> {
        (space == "sender").then(|| {
            if !self.open && !caller.operator {
                let why = "only for the operator: send the token as `Authorization: Bearer ..`";
                return Err(Error::new(error::NOT_FOUND, why));
            }
            params.at_most(1)?;
            Ok(notices(self.sender.subscribe(), params.optional::<Wanted>(0)?.unwrap_or_default()))
        })
    }
}

/// Events as they happen. It ends when the client was too slow: it must not believe that it has seen all.
fn notices(events: broadcast::Receiver<Arc<Event>>, wanted: Wanted) -> Notices {
    let all = stream::unfold((events, wanted), |(mut events, wanted)| async move {
        loop {
            let event = events.recv().await.ok()?;
            let text = wanted.wants(&event).then(|| String::from_utf8(webhook::body(&event)).ok()).flatten();
            if let Some(notice) = text.and_then(|text| RawValue::from_string(text).ok()) {
                return Some((notice, (events, wanted)));
            }
        }
    });
    all.boxed()
}
