//! What has to be done now and then and belongs to no account's worker: taking accounts whose process has died, reading
//! what other processes have registered, growing and paying for groups, looking at balances, forgetting what ended long
//! ago.

use crate::{
    facade::{Error, Sender},
    model::{AccountId, Fence, Request, key, retention},
    shared::Shared,
    store::{Acquired, LEASE_MS, Outcome, scan_all},
    worker::Message,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

const TICK: Duration = Duration::from_secs(1);
/// In ticks.
const DISCOVERED_EVERY: u64 = 5;
/// Where nobody else can write: only an account whose worker died is found so.
const DISCOVERED_ALONE_EVERY: u64 = 30;
const GROUPS_EVERY: Duration = Duration::from_secs(5);
const FORGOTTEN_EVERY: u64 = 60;
/// How often an account without anything to do looks at its balance.
const LOOKED_AT_EVERY: u64 = 300;
/// Requests that are forgotten at a time.
const FORGOTTEN_MAX: usize = 500;

/// Rows by which an account has something to do: live requests, bound nonces, commands, deliveries.
const LETTERS: [char; 4] = ['l', 'n', 'c', 'd'];

/// Ends when the sender stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    let mut idle = VecDeque::new();
    for tick in 1_u64.. {
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        if let Err(why) = work(&shared, tick, &mut idle).await {
            tracing::warn!(%why, "Sender: housekeeping has to wait");
        }
    }
}

/// Looks after groups, which means asking chains: a task of its own, so that a chain that does not answer delays nothing
/// else. Ends when the sender stops.
pub(crate) async fn run_groups(sender: Sender) {
    let mut stopping = sender.shared().stopping.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(GROUPS_EVERY) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        sender.tend_groups().await;
    }
}

async fn work(shared: &Arc<Shared>, tick: u64, idle: &mut VecDeque<AccountId>) -> Result<(), Error> {
    let discovered_every = if shared.store.is_shared() {
        shared.registry.refresh(&*shared.store).await?;
        DISCOVERED_EVERY
    } else {
        DISCOVERED_ALONE_EVERY
    };
    if tick.is_multiple_of(discovered_every) {
        discover(shared).await?;
    }
    if tick.is_multiple_of(LOOKED_AT_EVERY) {
        *idle = used_accounts(shared).await?;
    }
    // Not all at once: each is a question to a chain.
    let share = idle.len().div_ceil((LOOKED_AT_EVERY - tick % LOOKED_AT_EVERY) as usize);
    for account in idle.drain(..share) {
        shared.tell(account, Message::Wake)?;
    }
    if tick.is_multiple_of(FORGOTTEN_EVERY) {
        forget(shared).await?;
    }
    Ok(())
}

/// Accounts that were used once, whose keys are here and whose chains are reached.
async fn used_accounts(shared: &Arc<Shared>) -> Result<VecDeque<AccountId>, Error> {
    let rows = scan_all(&*shared.store, &key::accounts()).await?;
    let accounts = rows.iter().filter_map(|(name, _)| key::account_of(name));
    let ours = |account: &AccountId| {
        shared.targets.contains_key(&account.chain_id) && shared.keys.signer(account.address).is_some()
    };
    Ok(accounts.filter(ours).collect())
}

/// Wakes a worker for every account that has something to do.
pub(crate) async fn discover(shared: &Arc<Shared>) -> Result<(), Error> {
    for letter in LETTERS {
        let mut after = None;
        loop {
            let rows = shared.store.scan(format!("{letter}/"), after.clone(), 1).await?;
            let Some((name, _)) = rows.into_iter().next() else { break };
            let Some(account) = key::account_of(&name) else {
                after = Some(name);
                continue;
            };
            after = Some(key::after_account(letter, account));
            let runs = shared.workers().contains_key(&account);
            // Accounts of chains that are not configured any more wait until they are.
            let reached = shared.targets.contains_key(&account.chain_id);
            if !runs && reached && shared.may_run(account).await? {
                shared.tell(account, Message::Wake)?;
            }
        }
    }
    Ok(())
}

/// Forgets requests that ended long ago, the oldest first.
async fn forget(shared: &Arc<Shared>) -> Result<(), Error> {
    let now = shared.now();
    let rows = shared.store.scan(key::all_done(), None, FORGOTTEN_MAX).await?;
    for (name, _) in rows {
        let Some(id) = key::request_of_live(&name) else { continue };
        let Some(row) = shared.store.get(vec![key::request(&id)]).await?.pop().flatten() else { continue };
        let request: Request = serde_json::from_slice(&row)?;
        let old = |at| now.since(at) >= Duration::from_millis(shared.config.retention_ms);
        if !request.completed_at.is_some_and(old) {
            break;
        }
        forget_one(shared, &request).await?;
    }
    Ok(())
}

/// Forgets one request, in its account's name: the worker's if there is one, else for a moment our own.
async fn forget_one(shared: &Arc<Shared>, request: &Request) -> Result<(), Error> {
    let account: AccountId = request.account;
    let owned = shared.workers().get(&account).and_then(|handle| handle.epoch());
    let (epoch, borrowed) = match owned {
        Some(epoch) => (epoch, false),
        None => {
            let lease = account.to_string();
            match shared.store.acquire(lease, shared.holder.clone(), LEASE_MS, false).await? {
                Acquired::Taken { epoch, .. } => (epoch, true),
                Acquired::Held { .. } => return Ok(()),
            }
        }
    };
    let config = shared.config_of(account);
    let result = match retention::forget(request, epoch, &config, shared.now())? {
        // A conflict means that somebody is still to be told something about it.
        Some(commit) => shared.store.commit(commit).await,
        None => Ok(Outcome::Committed),
    };
    if borrowed {
        drop(shared.store.release(Fence::of(account, epoch)).await);
    }
    result?;
    Ok(())
}
