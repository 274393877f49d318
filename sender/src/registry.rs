//! Webhook endpoints, account groups and settings of chains: few rows, read by all, changed by an operator.
//!
//! They belong to no account, so their changes are made under a lease of their own, which is taken by force for one
//! change and given back: two operators at two processes cannot overwrite each other, one of them is told to try again.

use crate::{
    endpoint::Endpoint,
    facade::{Error, Group},
    store::{Acquired, LEASE_MS, Outcome, Store, StoreError, scan_all},
};
use sender_model::{AccountId, Authority, ChainSettings, Commit, Fence, Precondition, Write, key};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// The lease under which the registry changes.
const LEASE: &str = "registry";

/// The settings of a chain as an operator has changed them while the sender ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredChain {
    pub chain_id: u64,
    pub settings: ChainSettings,
}

/// Endpoints, groups and settings as they are in the store.
pub(crate) struct Registry {
    endpoints: watch::Sender<Arc<Vec<Endpoint>>>,
    groups: watch::Sender<Arc<Vec<Group>>>,
    chains: watch::Sender<Arc<Vec<StoredChain>>>,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Registry {
    /// Reads the registry.
    pub(crate) async fn load(store: &dyn Store) -> Result<Self, Error> {
        let (endpoints, groups, chains) = read(store).await?;
        Ok(Self {
            endpoints: watch::channel(Arc::new(endpoints)).0,
            groups: watch::channel(Arc::new(groups)).0,
            chains: watch::channel(Arc::new(chains)).0,
            changing: Mutex::default(),
        })
    }

    /// Reads it again, for what other processes have changed.
    pub(crate) async fn refresh(&self, store: &dyn Store) -> Result<(), Error> {
        let (endpoints, groups, chains) = read(store).await?;
        set(&self.endpoints, endpoints);
        set(&self.groups, groups);
        set(&self.chains, chains);
        Ok(())
    }

    pub(crate) fn watch_endpoints(&self) -> watch::Receiver<Arc<Vec<Endpoint>>> {
        self.endpoints.subscribe()
    }

    pub(crate) fn endpoints(&self) -> Arc<Vec<Endpoint>> {
        self.endpoints.borrow().clone()
    }

    /// The endpoints that are told of an account.
    pub(crate) fn endpoint_names(&self, account: AccountId) -> Vec<String> {
        let endpoints = self.endpoints.borrow();
        let told = endpoints.iter().filter(|endpoint| endpoint.settings.tells_of(account));
        told.map(|endpoint| endpoint.id.clone()).collect()
    }

    pub(crate) fn watch_chains(&self) -> watch::Receiver<Arc<Vec<StoredChain>>> {
        self.chains.subscribe()
    }

    /// What an operator has changed of a chain's settings.
    pub(crate) fn chain(&self, chain_id: u64) -> Option<StoredChain> {
        self.chains.borrow().iter().find(|chain| chain.chain_id == chain_id).cloned()
    }

    /// Replaces the settings of a chain: by others, or nothing by them.
    pub(crate) async fn put_chain(
        &self,
        store: &dyn Store,
        holder: &str,
        before: Option<&StoredChain>,
        after: &StoredChain,
    ) -> Result<(), Error> {
        let _one = self.changing.lock().await;
        change(store, holder, key::chain_settings(after.chain_id), before, Some(after)).await?;
        self.refresh(store).await
    }

    pub(crate) fn groups(&self) -> Arc<Vec<Group>> {
        self.groups.borrow().clone()
    }

    pub(crate) fn group(&self, name: &str) -> Option<Group> {
        self.groups.borrow().iter().find(|group| group.settings.name == name).cloned()
    }

    /// Replaces an endpoint: by another, by nothing, or nothing by it.
    pub(crate) async fn put_endpoint(
        &self,
        store: &dyn Store,
        holder: &str,
        id: &str,
        before: Option<&Endpoint>,
        after: Option<&Endpoint>,
    ) -> Result<(), Error> {
        let _one = self.changing.lock().await;
        change(store, holder, key::endpoint(id), before, after).await?;
        self.refresh(store).await
    }

    /// Replaces a group by another, or nothing by it.
    pub(crate) async fn put_group(
        &self,
        store: &dyn Store,
        holder: &str,
        before: Option<&Group>,
        after: &Group,
    ) -> Result<(), Error> {
        let _one = self.changing.lock().await;
        change(store, holder, key::group(&after.settings.name), before, Some(after)).await?;
        self.refresh(store).await
    }
}

fn set<T: PartialEq>(sender: &watch::Sender<Arc<Vec<T>>>, values: Vec<T>) {
    sender.send_if_modified(|current| {
        let changed = **current != values;
        if changed {
            *current = Arc::new(values);
        }
        changed
    });
}

async fn read(store: &dyn Store) -> Result<(Vec<Endpoint>, Vec<Group>, Vec<StoredChain>), Error> {
    let endpoints = rows(store, &key::endpoints()).await?;
    let groups = rows(store, &key::groups()).await?;
    Ok((endpoints, groups, rows(store, &key::all_chain_settings()).await?))
}

async fn rows<T: DeserializeOwned>(store: &dyn Store, prefix: &str) -> Result<Vec<T>, Error> {
    let rows = scan_all(store, prefix).await?;
    rows.iter().map(|(_, row)| Ok(serde_json::from_slice(row)?)).collect()
}

async fn change<T: Serialize>(
    store: &dyn Store,
    holder: &str,
    key: String,
    before: Option<&T>,
    after: Option<&T>,
) -> Result<(), Error> {
    let precondition = match before {
        Some(before) => Precondition::Is(key.clone(), serde_json::to_vec(before)?),
        None => Precondition::Absent(key.clone()),
    };
    let write = match after {
        Some(after) => Write::Put(key, serde_json::to_vec(after)?),
        None => Write::Delete(key),
    };
    let acquired = store.acquire(LEASE.into(), holder.into(), LEASE_MS, true).await?;
    let Acquired::Taken { epoch, .. } = acquired else {
        return Err(StoreError::Unusable("the registry is being changed by somebody else".into()).into());
    };
    let fence = Fence { lease: LEASE.into(), epoch };
    let authority = Authority::Holder(fence.clone());
    let commit = Commit { authority, preconditions: vec![precondition], writes: vec![write] };
    let outcome = store.commit(commit).await;
    // Whether it is given back or runs out makes no difference: it is taken by force.
    drop(store.release(fence).await);
    match outcome? {
        Outcome::Committed => Ok(()),
        Outcome::Conflict(_) | Outcome::Stale => {
            Err(Error::Exists("somebody else has changed it meanwhile; look again".into()))
        }
    }
}
