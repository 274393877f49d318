//! Loading an account: scans, page by page, until everything is there.

use super::{SCAN_ROWS_MAX, Store, StoreError};
use sender_model::{Account, AccountId, Config, Key, LoadError, Rows, Value, key};
use std::sync::Arc;
use types::Time;

/// Why an account could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Loading {
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rows are damaged.
    #[error(transparent)]
    Rows(#[from] LoadError),
}

/// Loads an account for the owner of `epoch`.
pub async fn load_account(
    store: &dyn Store,
    config: Arc<Config>,
    id: AccountId,
    epoch: u64,
    now: Time,
) -> Result<Account, Loading> {
    let account = store.get(vec![key::account(id)]).await?.pop().flatten();
    let nonces = scan_all(store, &key::nonces(id)).await?;
    let live = scan_all(store, &key::all_live(id)).await?;
    let names: Vec<Key> = live
        .iter()
        .filter_map(|(name, _)| key::request_of_live(name))
        .map(|request| key::request(&request))
        .collect();
    let mut requests = Vec::new();
    for names in names.chunks(SCAN_ROWS_MAX) {
        requests.extend(store.get(names.to_vec()).await?.into_iter().flatten());
    }
    Ok(Account::load(config, id, epoch, Rows { account, nonces, requests }, now)?)
}

/// Reads all rows whose names begin with `prefix`.
pub async fn scan_all(store: &dyn Store, prefix: &str) -> Result<Vec<(Key, Value)>, StoreError> {
    let mut rows: Vec<(Key, Value)> = Vec::new();
    loop {
        let after = rows.last().map(|(key, _)| key.clone());
        let page = store.scan(prefix.to_owned(), after, SCAN_ROWS_MAX).await?;
        let last = page.len() < SCAN_ROWS_MAX;
        rows.extend(page);
        if last {
            return Ok(rows);
        }
    }
}
