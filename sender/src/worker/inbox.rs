//! What others have left in the store: requests that another process accepted, and commands.

use super::{Owned, Worker};
use crate::{
    deliveries::DeliveryMessage,
    store::{SCAN_ROWS_MAX, StoreError, scan_all},
};
use sender_model::{Command, Request, key};
use std::time::Duration;
use types::Time;

/// Commands that are obeyed in one sweep.
const COMMANDS_MAX: usize = 64;

/// How often to look where nobody else can write: only a request whose acceptor died half-way is found so.
const SWEEP_ALONE_MS: u64 = 30_000;

impl Worker {
    /// Looks, if it is time.
    pub(super) async fn sweep(&self, owned: &mut Owned, now: Time) -> Result<(), StoreError> {
        if now < owned.sweep_at {
            return Ok(());
        }
        let pause = if self.shared.store.is_shared() { self.shared.config.sweep_ms } else { SWEEP_ALONE_MS };
        owned.sweep_at = now + Duration::from_millis(pause);
        self.find_requests(owned).await?;
        self.obey_commands(owned, now).await
    }

    async fn find_requests(&self, owned: &mut Owned) -> Result<(), StoreError> {
        let store = &*self.shared.store;
        let live = scan_all(store, &key::all_live(self.id)).await?;
        let ids = live.iter().filter_map(|(name, _)| key::request_of_live(name));
        let unknown: Vec<String> =
            ids.filter(|id| owned.account.request(id).is_none()).map(|id| key::request(&id)).collect();
        if !unknown.is_empty() {
            // Whoever accepted them has told its own deliverer, which may not deliver for this account.
            self.shared.notify_deliverer(DeliveryMessage::News(self.id));
        }
        for names in unknown.chunks(SCAN_ROWS_MAX) {
            for row in store.get(names.to_vec()).await?.into_iter().flatten() {
                match serde_json::from_slice::<Request>(&row) {
                    Ok(request) => owned.account.admit(request),
                    Err(why) => tracing::error!(account = %self.id, %why, "Sender: a request is damaged"),
                }
            }
        }
        Ok(())
    }

    async fn obey_commands(&self, owned: &mut Owned, now: Time) -> Result<(), StoreError> {
        for (name, row) in self.shared.store.scan(key::commands(self.id), None, COMMANDS_MAX).await? {
            let Ok(command) = serde_json::from_slice::<Command>(&row) else {
                tracing::error!(account = %self.id, name, "Sender: a command is damaged");
                continue;
            };
            // A command that cannot be obeyed is answered by nothing. One that may be obeyed later is still there then.
            if let Err(why) = owned.account.handle_command(&command, now) {
                owned.sweep_at = owned.sweep_at.min(now + Duration::from_millis(self.shared.config.sweep_ms));
                tracing::debug!(account = %self.id, command = %command.id, %why, "Sender: command not obeyed");
            }
        }
        Ok(())
    }
}
