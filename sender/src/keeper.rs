//! What has to be done now and then and belongs to no account's worker: taking accounts whose process has died, reading
//! what other processes have registered, growing and paying for groups, forgetting what ended long ago.

use crate::{
    facade::{Error, Sender},
    forget::Forgetting,
    model::key,
    shared::Shared,
    worker::Message,
};
use std::{sync::Arc, time::Duration};

const TICK: Duration = Duration::from_secs(1);
/// In ticks.
const DISCOVERED_EVERY: u64 = 5;
const GROUPS_EVERY: u64 = 5;
const FORGOTTEN_EVERY: u64 = 60;

/// Rows by which an account has something to do: live requests, bound nonces, commands, deliveries.
const LETTERS: [char; 4] = ['l', 'n', 'c', 'd'];

/// Ends when the sender stops.
pub(crate) async fn run(sender: Sender) {
    let shared = sender.shared().clone();
    let mut stopping = shared.stopping.subscribe();
    let mut forgetting = Forgetting::default();
    for tick in 1_u64.. {
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        if let Err(why) = work(&sender, &shared, &mut forgetting, tick).await {
            tracing::warn!(%why, "Sender: housekeeping has to wait");
        }
    }
}

async fn work(
    sender: &Sender,
    shared: &Arc<Shared>,
    forgetting: &mut Forgetting,
    tick: u64,
) -> Result<(), Error> {
    if shared.store.is_shared() {
        shared.registry.refresh(&*shared.store).await?;
        if tick.is_multiple_of(DISCOVERED_EVERY) {
            discover(shared).await?;
        }
    }
    if tick.is_multiple_of(GROUPS_EVERY) {
        sender.tend_groups().await;
    }
    if tick.is_multiple_of(FORGOTTEN_EVERY) {
        forgetting.pass(shared).await?;
    }
    Ok(())
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
            if !runs && shared.targets.contains_key(&account.chain_id) {
                shared.tell(account, Message::Wake)?;
            }
        }
    }
    Ok(())
}
