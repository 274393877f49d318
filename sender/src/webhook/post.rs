//! One delivery, from its row to its end.

use super::{Clock, Post, signature};
use crate::{
    endpoint::Endpoint,
    http::{HttpError, Request},
    stats::Stats,
    store::{Outcome, SCAN_ROWS_MAX, Store, StoreError},
};
use bytes::Bytes;
use hyper::{Method, header};
use sender_model::{Delivery, Event, Next, key};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use types::Time;

/// How long an endpoint may take.
pub const POST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the store is left alone after it did not answer.
const STORE_PAUSE_MS: u64 = 1_000;

/// How a delivery ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It is recorded; this is the lane's next one.
    Recorded(Option<Delivery>),
    /// The account is somebody else's now.
    Stale,
}

/// What a delivery needs.
#[derive(Clone)]
pub(super) struct DeliveryTask {
    pub(super) store: Arc<dyn Store>,
    pub(super) post: Arc<dyn Post>,
    pub(super) clock: Clock,
    pub(super) stats: Arc<Stats>,
    /// Whom to tell; nobody any more if there is none.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) epoch: u64,
}

impl DeliveryTask {
    /// Tells the endpoint, records how that went, and looks for what comes next.
    pub(super) async fn run(self, delivery: Delivery) -> Ended {
        match self.try_run(&delivery).await {
            Ok(ended) => ended,
            Err(why) => {
                tracing::warn!(%why, event = %delivery.event_key(), "a delivery could not be recorded");
                let next_at = self.clock.now() + types::Duration::from_millis(STORE_PAUSE_MS);
                Ended::Recorded(Some(Delivery { next_at, ..delivery }))
            }
        }
    }

    async fn try_run(&self, delivery: &Delivery) -> Result<Ended, Failed> {
        // Later than the store has it: the store did not answer last time. What it has counts.
        let stored = self.head(delivery).await?;
        let Some(delivery) = stored else { return Ok(Ended::Recorded(None)) };
        let told = match self.event(&delivery).await? {
            None => None,
            Some(event) => Some(self.tell(&event).await),
        };
        let now = self.clock.now();
        let commit = match &told {
            None | Some(Ok(())) => delivery.succeed(self.epoch)?,
            Some(Err(why)) => delivery.fail(self.epoch, why.wait(), now)?,
        };
        match self.store.commit(commit).await? {
            Outcome::Stale => return Ok(Ended::Stale),
            Outcome::Committed => self.note(&delivery, told, now),
            Outcome::Conflict(_) => {}
        }
        Ok(Ended::Recorded(self.head(&delivery).await?))
    }

    /// Lets it be known how a try went: in numbers, and what was given up in the log.
    fn note(&self, delivery: &Delivery, told: Option<Result<(), Refused>>, now: Time) {
        let (counters, endpoint) = (&self.stats.counters, &delivery.endpoint);
        let why = match told {
            None => return,
            Some(Ok(())) => return Stats::count(&counters.webhooks_delivered, 1),
            Some(Err(why)) => why,
        };
        Stats::count(&counters.webhooks_failed, 1);
        match delivery.after_failure(why.wait(), now) {
            Next::Retry(next) => {
                tracing::debug!(endpoint, tries = next.tries, %why, "a webhook was not taken");
            }
            Next::Dead(dead) => {
                Stats::count(&counters.webhooks_dead, 1);
                let event = delivery.event_id();
                tracing::warn!(endpoint, event, tries = dead.tries, %why, "a webhook is given up: see the dead letters");
            }
        }
    }

    /// The first delivery of a lane, as the store has it.
    async fn head(&self, like: &Delivery) -> Result<Option<Delivery>, Failed> {
        let prefix = key::deliveries_about(like.account, &like.subject);
        let rows = self.store.scan(prefix, None, SCAN_ROWS_MAX).await?;
        for (_, row) in rows {
            let delivery = serde_json::from_slice::<Delivery>(&row)?;
            if delivery.endpoint == like.endpoint {
                return Ok(Some(delivery));
            }
        }
        Ok(None)
    }

    /// What to tell; nothing if the endpoint is gone or does not want it.
    async fn event(&self, delivery: &Delivery) -> Result<Option<Event>, Failed> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        let row = self.store.get(vec![delivery.event_key()]).await?.pop().flatten();
        let Some(row) = row else { return Ok(None) };
        let event = serde_json::from_slice::<Event>(&row)?;
        let events = &endpoint.settings.events;
        Ok((events.is_empty() || events.contains(&event.kind)).then_some(event))
    }

    async fn tell(&self, event: &Event) -> Result<(), Refused> {
        let Some(endpoint) = &self.endpoint else { return Ok(()) };
        let (id, body, now) = (event.id(), body(event), self.clock.now());
        let request = Request {
            method: Method::POST,
            url: endpoint.settings.url.clone(),
            headers: signed(endpoint, &id, now, &body)?,
            body: Bytes::from(body),
            timeout: POST_TIMEOUT,
        };
        let response = self.post.post(request).await?;
        if response.is_success() {
            return Ok(());
        }
        let wait =
            response.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Err(Refused::Status(response.status, wait.map(Duration::from_secs)))
    }
}

fn signed(endpoint: &Endpoint, id: &str, now: Time, body: &[u8]) -> Result<hyper::HeaderMap, Refused> {
    let headers =
        signature::headers(id, now, body, endpoint.secrets(now), endpoint.settings.legacy_signature);
    headers.map_err(|_| Refused::Header)
}

/// The body of a webhook. It is the same however often it is sent.
pub fn body(event: &Event) -> Vec<u8> {
    let body = json!({
        "id": event.id(),
        "type": event.kind,
        "timestamp": event.at.as_millis(),
        "sequence": event.sequence,
        "account": event.account,
        "subject": event.subject,
        "data": event.data,
    });
    body.to_string().into_bytes()
}

/// Why an endpoint does not have it.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("it answered {0}")]
    Status(u16, Option<Duration>),
    #[error("the event's name cannot stand in a header")]
    Header,
}

impl Refused {
    /// How long the endpoint wants to be left alone, if it says so (`Retry-After`, in seconds).
    const fn wait(&self) -> Option<Duration> {
        match self {
            Self::Status(_, wait) => *wait,
            Self::Http(_) | Self::Header => None,
        }
    }
}

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a row is damaged: {0}")]
    Row(#[from] serde_json::Error),
}
