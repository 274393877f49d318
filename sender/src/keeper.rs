//! What has to be done now and then and belongs to no account's worker: taking accounts whose process has died, reading
//! what other processes have registered, growing and paying for groups, looking at balances, forgetting what ended long
//! ago.

use crate::{
    facade::{Error, Sender},
    forget::Forgetting,
    shared::Shared,
    store::scan_all,
    worker::Message,
};
use sender_model::{AccountId, key};
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

/// Rows by which an account has something to do: live requests, bound nonces, commands, deliveries.
const LETTERS: [char; 4] = ['l', 'n', 'c', 'd'];

/// Ends when the sender stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    let mut idle = VecDeque::new();
    let mut forgetting = Forgetting::default();
    for tick in 1_u64.. {
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        if let Err(why) = work(&shared, tick, &mut idle, &mut forgetting).await {
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

async fn work(
    shared: &Arc<Shared>,
    tick: u64,
    idle: &mut VecDeque<AccountId>,
    forgetting: &mut Forgetting,
) -> Result<(), Error> {
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
        forgetting.pass(shared).await?;
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
