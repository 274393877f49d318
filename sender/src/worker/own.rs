//! Taking an account, and giving it back.

use super::{Ending, Message, NotOwned, Owned, Worker};
use crate::{
    deliveries::DeliveryMessage,
    facade::Error,
    stats::Stats,
    store::{Acquired, LEASE_MS, load_account},
};
use futures_util::stream::FuturesUnordered;
use sender_model::Fence;
use std::{sync::Arc, sync::atomic::Ordering, time::Duration};
use types::Time;

/// How often a lease is renewed.
pub(super) const RENEW_MS: u64 = LEASE_MS / 3;

/// How long a worker rests at most while another process has the account.
const REST_MS: u64 = 1_000;
/// How long a worker rests that could not take or keep its account; it doubles up to a limit.
const BACKOFF_MS: u64 = 100;
const BACKOFF_MAX_MS: u64 = 30_000;

/// Why an account is not ours yet.
enum NotYet {
    /// Another process has it, and its lease lasts so long.
    Held(String, u64),
    /// It needs a key that is not here.
    Elsewhere,
    /// It could not be taken.
    Failed(String),
}

/// How long to rest after so many failures in a row.
fn backoff_ms(failures: u32) -> u64 {
    BACKOFF_MS.saturating_mul(1 << failures.min(20)).min(BACKOFF_MAX_MS)
}

impl Worker {
    /// Takes the account, however long it takes, unless the sender stops first or the account is not for us.
    pub(super) async fn own(&mut self) -> Result<Owned, Ending> {
        // What was lost once may be taken at once. If that does not help, it is not the account's fault.
        if self.failures > 1 {
            self.rest("nobody: it was lost", backoff_ms(self.failures)).await?;
        }
        loop {
            if *self.stopping.borrow() {
                return Err(Ending::Stopping);
            }
            match self.try_own().await {
                Ok(owned) => return Ok(owned),
                Err(NotYet::Elsewhere) => return Err(Ending::Elsewhere),
                Err(NotYet::Held(holder, left_ms)) => self.rest(&holder, left_ms.clamp(50, REST_MS)).await?,
                Err(NotYet::Failed(why)) => {
                    self.failures = self.failures.saturating_add(1);
                    self.shared.stats.degrade(self.id);
                    self.rest(&why, backoff_ms(self.failures)).await?;
                }
            }
        }
    }

    /// Rests, unless the sender stops first. Whoever wants something meanwhile is told whose the account is.
    async fn rest(&mut self, holder: &str, ms: u64) -> Result<(), Ending> {
        let not_owned = NotOwned { holder: holder.to_owned() };
        let rest = tokio::time::sleep(Duration::from_millis(ms));
        tokio::pin!(rest);
        loop {
            let message = tokio::select! {
                () = &mut rest => return Ok(()),
                _ = self.stopping.wait_for(|stopping| *stopping) => return Err(Ending::Stopping),
                message = self.inbox.recv() => message.ok_or(Ending::Stopping)?,
            };
            self.refuse_one(message, &not_owned);
        }
    }

    /// Takes the account if nobody has it.
    async fn try_own(&mut self) -> Result<Owned, NotYet> {
        let (shared, id) = (&self.shared, self.id);
        let allowed = async {
            shared.check_chain(id.chain_id).await?;
            shared.may_run(id).await
        };
        match allowed.await {
            Ok(true) => {}
            Ok(false) => return Err(NotYet::Elsewhere),
            Err(Error::Target(why)) => {
                tracing::debug!(account = %id, %why, "Sender: the chain is not known yet");
                return Err(NotYet::Held(format!("nobody: {why}"), REST_MS));
            }
            Err(why) => {
                tracing::warn!(account = %id, %why, "Sender: the account is not taken");
                return Err(NotYet::Failed(format!("nobody: {why}")));
            }
        }
        let lease = id.to_string();
        // Where nobody else can write, whoever held the lease is dead: it need not run out.
        let force = !shared.store.is_shared();
        let acquired = shared.store.acquire(lease.clone(), shared.holder.clone(), LEASE_MS, force).await;
        let epoch = match acquired {
            Ok(Acquired::Taken { epoch, .. }) => epoch,
            Ok(Acquired::Held { holder, until }) => {
                return Err(NotYet::Held(holder, until.since(shared.now()).as_millis() as u64));
            }
            Err(why) => {
                tracing::warn!(account = %id, %why, "Sender: no lease");
                return Err(NotYet::Failed("nobody: the store does not answer".into()));
            }
        };
        let now = shared.now();
        let config = Arc::new(shared.config_of(id));
        let account = match load_account(&*shared.store, config, id, epoch, now).await {
            Ok(account) => account,
            Err(why) => {
                tracing::error!(account = %id, %why, "Sender: the account cannot be loaded");
                drop(shared.store.release(Fence { lease, epoch }).await);
                return Err(NotYet::Failed(format!("nobody: {why}")));
            }
        };
        let bound = account.nonces().filter(|(_, state)| state.slot().is_some()).count();
        Stats::count(&shared.stats.counters.recovered, bound as u64);
        Stats::count(&shared.stats.counters.leases_taken, 1);
        self.gauge.epoch.store(epoch, Ordering::Relaxed);
        self.target.adopt(id.address);
        shared.notify_deliverer(DeliveryMessage::Taken(id, epoch));
        tracing::debug!(account = %id, epoch, bound, "Sender: account taken");
        Ok(Owned {
            account,
            epoch,
            renew_at: now + Duration::from_millis(RENEW_MS),
            sweep_at: Time::ZERO,
            shown_at: Time::ZERO,
            has_more: false,
            idle_since: None,
            asked: FuturesUnordered::new(),
            waiting: vec![],
        })
    }

    /// Gives the account back. What was asked for it is dropped; whoever waits for a commit is told that there was none.
    pub(super) async fn disown(&mut self, owned: Owned, ending: Ending) {
        let Owned { account, epoch, waiting, .. } = owned;
        drop(account);
        waiting.into_iter().for_each(|after| after(false));
        self.gauge.epoch.store(0, Ordering::Relaxed);
        self.shared.notify_deliverer(DeliveryMessage::Lost(self.id));
        if ending == Ending::Lost {
            Stats::count(&self.shared.stats.counters.leases_lost, 1);
        }
        // If it is not ours any more the store says so and does nothing; then the next attempt has to wait.
        let fence = Fence { lease: self.id.to_string(), epoch };
        if let Err(why) = self.shared.store.release(fence).await {
            tracing::debug!(account = %self.id, %why, "Sender: the lease runs out by itself");
        }
    }

    /// Answers those who want something of an account that is not ours.
    pub(super) fn refuse(&mut self, not_owned: &NotOwned) {
        while let Ok(message) = self.inbox.try_recv() {
            self.refuse_one(message, not_owned);
        }
    }

    fn refuse_one(&self, message: Message, not_owned: &NotOwned) {
        match message {
            Message::Operation(operation) => operation(Err(not_owned.clone()))(false),
            // It is durable; whoever owns the account finds it.
            Message::Admit(_) => self.gauge.admitted(),
            Message::Wake => {}
        }
    }

    /// Nobody is served any more.
    pub(super) fn refuse_all(&mut self) {
        self.inbox.close();
        self.refuse(&NotOwned { holder: "nobody: it is shutting down".into() });
        self.shared.stats.set(self.id, None);
    }
}
