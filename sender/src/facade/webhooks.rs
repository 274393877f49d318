//! Webhook endpoints, deliveries and dead letters.

use super::{
    DeliveryFilter, DeliveryId, DeliveryView, EndpointView, Error, NewEndpoint, Page, Replayed, Sender,
};
use crate::{
    endpoint::{Endpoint, ROTATION_MS, Secret},
    store::Outcome,
    webhook::signature,
    worker::Message,
};
use alloy_primitives::hex;
use sender_model::{Commit, Delivery};
use std::time::Duration;

/// Endpoints that there may be.
const ENDPOINTS_MAX: usize = 32;
const URL_BYTES_MAX: usize = 2_048;
const PAGE_USUAL: usize = 50;
const PAGE_MAX: usize = 500;
/// Dead letters that one call replays.
const REPLAYED_USUAL: usize = 500;
const REPLAYED_MAX: usize = 5_000;
/// How long a dead letter waits for its account to be taken.
const OWNED_WITHIN: usize = 40;

impl Sender {
    /// Makes an endpoint. The secret is shown here and never again.
    pub async fn create_endpoint(&self, new: NewEndpoint) -> Result<(EndpointView, Secret), Error> {
        if self.shared.registry.endpoints().len() >= ENDPOINTS_MAX {
            return Err(Error::Exists(format!("there can be {ENDPOINTS_MAX} webhook endpoints")));
        }
        let plain = new.url.starts_with("https://") || new.url.starts_with("http://");
        if !plain || new.url.len() > URL_BYTES_MAX {
            return Err(Error::Invalid(
                "a webhook's url begins with https:// or http://, and is not too long".into(),
            ));
        }
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|why| Error::Invalid(format!("no random bytes: {why}")))?;
        let endpoint = Endpoint {
            id: format!("wh-{}", hex::encode(name)),
            settings: new,
            secret: fresh_secret()?,
            previous: None,
            created_at: self.shared.now().as_millis(),
        };
        self.put(None, Some(&endpoint)).await?;
        Ok((endpoint.view(), endpoint.secret))
    }

    /// All endpoints.
    pub fn endpoints(&self) -> Vec<EndpointView> {
        self.shared.registry.endpoints().iter().map(Endpoint::view).collect()
    }

    fn endpoint(&self, id: &str) -> Result<Endpoint, Error> {
        let endpoints = self.shared.registry.endpoints();
        let found = endpoints.iter().find(|endpoint| endpoint.id == id).cloned();
        found.ok_or_else(|| Error::UnknownEndpoint(id.to_owned()))
    }

    async fn put(&self, before: Option<&Endpoint>, after: Option<&Endpoint>) -> Result<(), Error> {
        let Some(id) = before.or(after).map(|endpoint| endpoint.id.clone()) else { return Ok(()) };
        let shared = &self.shared;
        shared.registry.put_endpoint(&*shared.store, &shared.holder, &id, before, after).await
    }

    /// Removes an endpoint; what it was still to be told is dropped.
    pub async fn remove_endpoint(&self, id: &str) -> Result<(), Error> {
        let endpoint = self.endpoint(id)?;
        self.put(Some(&endpoint), None).await
    }

    /// Gives an endpoint a new secret, shown here and never again. The old one signs too for a day.
    pub async fn rotate_secret(&self, id: &str) -> Result<(EndpointView, Secret), Error> {
        let before = self.endpoint(id)?;
        let until = (self.shared.now() + Duration::from_millis(ROTATION_MS)).as_millis();
        let previous = Some((before.secret.clone(), until));
        let after = Endpoint { secret: fresh_secret()?, previous, ..before.clone() };
        self.put(Some(&before), Some(&after)).await?;
        Ok((after.view(), after.secret))
    }

    /// Deliveries that are still to be made.
    pub async fn deliveries(&self, filter: DeliveryFilter) -> Result<Page<DeliveryView>, Error> {
        self.letters('d', filter).await
    }

    /// Deliveries that were given up.
    pub async fn dead_letters(&self, filter: DeliveryFilter) -> Result<Page<DeliveryView>, Error> {
        self.letters('x', filter).await
    }

    async fn letters(&self, letter: char, filter: DeliveryFilter) -> Result<Page<DeliveryView>, Error> {
        let prefix = match filter.account {
            Some(account) => format!("{letter}/{account}/"),
            None => format!("{letter}/"),
        };
        let limit = if filter.limit == 0 { PAGE_USUAL } else { filter.limit.min(PAGE_MAX) };
        let after = filter.after.map(|id| format!("{letter}/{}", id.row()));
        let rows = self.shared.store.scan(prefix, after, limit).await?;
        let full = rows.len() == limit;
        let mut items = Vec::new();
        let mut next = None;
        for (_, row) in rows {
            let view = view(&serde_json::from_slice(&row)?);
            next = full.then(|| view.id.to_string());
            if filter.endpoint.as_ref().is_none_or(|endpoint| view.endpoint == *endpoint) {
                items.push(view);
            }
        }
        Ok(Page { items, next })
    }

    /// Tries a dead letter again, from the start.
    pub async fn replay(&self, id: &DeliveryId) -> Result<(), Error> {
        let unknown = || Error::UnknownDelivery(id.to_string());
        let account = id.account().ok_or_else(unknown)?;
        let row = self.shared.store.get(vec![format!("x/{}", id.row())]).await?.pop().flatten();
        let delivery: Delivery = serde_json::from_slice(&row.ok_or_else(unknown)?)?;
        // Only who runs the account may bring it back.
        let owned = self.shared.ask(account, |_, _| Ok(())).await;
        owned.map_err(|unasked| unasked.into_error(account))??;
        for _ in 0..OWNED_WITHIN {
            self.shared.tell(account, Message::Wake)?;
            let epoch = self.shared.workers().get(&account).and_then(|handle| handle.epoch());
            let Some(epoch) = epoch else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let commit: Commit = delivery.replay(epoch, self.shared.now())?;
            match self.shared.store.commit(commit).await? {
                Outcome::Committed => {
                    self.shared.notify_deliverer(crate::deliveries::DeliveryMessage::News(account));
                    return Ok(());
                }
                Outcome::Conflict(_) => return Err(unknown()),
                Outcome::Stale => {}
            }
        }
        Err(Error::NotOwner { account, holder: "another process".into() })
    }

    /// Tries all dead letters of a filter again, from the oldest on, so many at most. How many are pending again, and where to
    /// go on if there are more. One that was replayed or removed meanwhile is left out.
    pub async fn replay_all(&self, mut filter: DeliveryFilter) -> Result<Replayed, Error> {
        let most = if filter.limit == 0 { REPLAYED_USUAL } else { filter.limit.min(REPLAYED_MAX) };
        let (mut replayed, mut looked_at) = (0, 0);
        loop {
            filter.limit = PAGE_MAX.min(most - looked_at);
            let page = self.dead_letters(filter.clone()).await?;
            looked_at += filter.limit;
            for letter in &page.items {
                match self.replay(&letter.id).await {
                    Ok(()) => replayed += 1,
                    Err(Error::UnknownDelivery(_)) => {}
                    Err(why) if replayed == 0 => return Err(why),
                    // What was done is done; the rest can be asked for again.
                    Err(_) => return Ok(Replayed { replayed, next: Some(letter.id.to_string()) }),
                }
            }
            let Some(next) = page.next else { return Ok(Replayed { replayed, next: None }) };
            if looked_at >= most {
                return Ok(Replayed { replayed, next: Some(next) });
            }
            filter.after = Some(next.parse().map_err(|_| Error::UnknownDelivery(next.clone()))?);
        }
    }
}

fn view(delivery: &Delivery) -> DeliveryView {
    let Delivery { account, subject, sequence, endpoint, tries, next_at, .. } = delivery;
    DeliveryView {
        id: DeliveryId::new(*account, subject, *sequence, endpoint),
        event_id: delivery.event_id(),
        account: *account,
        subject: subject.clone(),
        sequence: *sequence,
        endpoint: endpoint.clone(),
        tries: *tries,
        next_at: next_at.as_millis(),
    }
}

fn fresh_secret() -> Result<Secret, Error> {
    signature::fresh_secret().map_err(|why| Error::Invalid(format!("no random bytes: {why}")))
}
