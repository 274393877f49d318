//! The loop: a pass, then waiting for whatever comes first.

use super::{Ending, Message, Owned, Reply, Worker, own::RENEW_MS};
use crate::{
    shared::events_of,
    signer::SignerError,
    stats::Stats,
    store::{LEASE_MS, Outcome},
};
use futures_util::{FutureExt, StreamExt};
use sender_model::{Action, Fence, Identified, NonceState, Purpose, ReceiptAnswer, SendClass, classify, key};
use std::time::Duration;
use types::Time;

/// Passes in a row: what one commit allows, the next pass does.
const PASSES_MAX: usize = 4;
/// Words and answers that are taken in before something is written.
const BATCH_MAX: usize = 256;
/// How long an account stays without anything to do.
const IDLE_MS: u64 = 10_000;
/// An account without anything to do looks at the chain this often.
const IDLE_LOOK_MS: u64 = 30_000;

/// What a worker was woken by.
enum Woken {
    Message(Message),
    Reply(Reply),
    News,
    Endpoints,
    Settings,
    Time,
    Stop,
}

impl Worker {
    /// Drives the account until it is lost, has nothing to do, or the sender stops.
    pub(super) async fn drive(&mut self, owned: &mut Owned) -> Ending {
        let shared = self.shared.clone();
        let mut turn = shared.turns.turn().await;
        loop {
            let now = self.shared.now();
            if let Err(ending) = self.keep(owned, now).await {
                return ending;
            }
            if self.shared.store.is_shared() && owned.account.lacks_key() {
                return Ending::Elsewhere;
            }
            if let Err(ending) = self.pass(owned).await {
                return ending;
            }
            if self.is_done(owned).await {
                return Ending::Idle;
            }
            drop(turn);
            let woken = self.wait(owned).await;
            turn = shared.turns.turn().await;
            if let Err(ending) = self.take_in(owned, woken).await {
                return ending;
            }
        }
    }

    /// Renews the lease, and looks for what others have left.
    async fn keep(&mut self, owned: &mut Owned, now: Time) -> Result<(), Ending> {
        if now >= owned.renew_at {
            owned.renew_at = now + Duration::from_millis(RENEW_MS);
            let fence = Fence { lease: self.id.to_string(), epoch: owned.epoch };
            if self.shared.store.renew(fence, LEASE_MS).await != Ok(true) {
                tracing::warn!(account = %self.id, "Sender: the lease is lost");
                return Err(Ending::Lost);
            }
        }
        self.sweep(owned, now).await.map_err(|why| {
            tracing::warn!(account = %self.id, %why, "Sender: the store does not answer");
            Ending::Lost
        })
    }

    /// Asks the model what to do and does it, until there is nothing more to do at once.
    async fn pass(&mut self, owned: &mut Owned) -> Result<(), Ending> {
        owned.has_more = true;
        for _ in 0..PASSES_MAX {
            Stats::count(&self.shared.stats.counters.passes, 1);
            let actions = owned.account.poll(self.shared.now());
            let quiet = actions.is_empty();
            for action in actions {
                self.count(&action);
                owned.asked.push(self.perform(action));
            }
            // Local keys, and a pool in this process, often answer at once.
            self.take_answers(owned).await?;
            let wrote = self.commit(owned).await?;
            if quiet && !wrote {
                owned.has_more = false;
                break;
            }
        }
        self.show(owned);
        Ok(())
    }

    fn count(&self, action: &Action) {
        let counters = &self.shared.stats.counters;
        match action {
            Action::Send { .. } => Stats::count(&counters.sent, 1),
            Action::Sign(draft) if matches!(draft.purpose, Purpose::Bump { .. } | Purpose::Cancel { .. }) => {
                Stats::count(&counters.replaced, 1);
            }
            _ => {}
        }
    }

    /// Makes durable what changed, and answers those who wait for it. Whether there was something.
    pub(super) async fn commit(&mut self, owned: &mut Owned) -> Result<bool, Ending> {
        let commit = match owned.account.take_commit() {
            Ok(commit) => commit,
            Err(why) => {
                tracing::error!(account = %self.id, %why, "Sender: no commit can be made");
                return Err(Ending::Lost);
            }
        };
        let Some(commit) = commit else {
            owned.waiting.drain(..).for_each(|after| after(true));
            return Ok(false);
        };
        let events = events_of(&commit);
        match self.shared.store.commit(commit).await {
            Ok(Outcome::Committed) => {
                owned.account.committed();
                self.failures = 0;
                self.shared.publish(events);
                owned.waiting.drain(..).for_each(|after| after(true));
                Ok(true)
            }
            other => {
                Stats::count(&self.shared.stats.counters.conflicts, 1);
                tracing::warn!(account = %self.id, ?other, "Sender: not committed; the account is loaded again");
                Err(Ending::Lost)
            }
        }
    }

    /// Commits before so much has changed that no commit could hold it.
    async fn commit_much(&mut self, owned: &mut Owned) -> Result<(), Ending> {
        if owned.account.has_much_to_write() {
            self.commit(owned).await?;
        }
        Ok(())
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self, owned: &mut Owned) -> Woken {
        let now = self.shared.now();
        let until = self.wake_at(owned, now);
        let sleep = tokio::time::sleep(until.since(now));
        let news = async {
            // A target that is gone has no more news.
            let changed = match &mut self.news {
                Some(news) => news.changed().await.is_ok(),
                None => false,
            };
            if !changed {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            _ = self.stopping.wait_for(|stopping| *stopping) => Woken::Stop,
            Some(reply) = owned.asked.next(), if !owned.asked.is_empty() => Woken::Reply(reply),
            message = self.inbox.recv() => message.map_or(Woken::Stop, Woken::Message),
            () = news => Woken::News,
            Ok(()) = self.endpoints.changed() => Woken::Endpoints,
            Ok(()) = self.chains.changed() => Woken::Settings,
            () = sleep => Woken::Time,
        }
    }

    fn wake_at(&self, owned: &Owned, now: Time) -> Time {
        let idle = owned.idle_since.is_some();
        let model =
            if idle { now + Duration::from_millis(IDLE_LOOK_MS) } else { owned.account.poll_timeout(now) };
        let idle_end = owned.idle_since.map_or(Time::MAX, |since| since + Duration::from_millis(IDLE_MS));
        // At least a millisecond: a clock that stands still must not become a busy loop.
        let soonest = now + Duration::from_millis(1);
        if owned.has_more {
            return soonest;
        }
        model.min(owned.renew_at).min(owned.sweep_at).min(idle_end).max(soonest)
    }

    /// Takes in what woke the worker and all else that is there, and writes what follows.
    async fn take_in(&mut self, owned: &mut Owned, woken: Woken) -> Result<(), Ending> {
        let now = self.shared.now();
        match woken {
            Woken::Stop => return Err(Ending::Stopping),
            Woken::Message(message) => self.take_message(owned, message, now),
            Woken::Reply(reply) => self.take_reply(owned, reply, now).await?,
            Woken::News => self.take_news(owned, now),
            Woken::Endpoints => self.take_endpoints(owned),
            Woken::Settings => owned.account.set_config(self.shared.config_of(self.id)),
            Woken::Time => {}
        }
        for _ in 0..BATCH_MAX {
            let Ok(message) = self.inbox.try_recv() else { break };
            self.take_message(owned, message, now);
            self.commit_much(owned).await?;
        }
        self.take_answers(owned).await?;
        self.commit(owned).await.map(|_| ())
    }

    async fn take_answers(&mut self, owned: &mut Owned) -> Result<(), Ending> {
        for _ in 0..BATCH_MAX {
            let Some(Some(reply)) = owned.asked.next().now_or_never() else { break };
            self.take_reply(owned, reply, self.shared.now()).await?;
            self.commit_much(owned).await?;
        }
        Ok(())
    }

    fn take_news(&mut self, owned: &mut Owned, now: Time) {
        let Some(news) = self.news.as_mut().map(|news| *news.borrow_and_update()) else { return };
        if news.looks != self.heard.looks {
            owned.account.wake(now);
        }
        if news.finalized != self.heard.finalized {
            owned.account.handle_finalized(news.finalized);
        }
        self.heard = news;
    }

    fn take_endpoints(&mut self, owned: &mut Owned) {
        self.endpoints.mark_unchanged();
        owned.account.set_endpoints(self.shared.registry.endpoint_names(self.id));
    }

    fn take_message(&mut self, owned: &mut Owned, message: Message, now: Time) {
        // What comes after a rest wants a fresh look at the chain.
        if owned.idle_since.take().is_some() {
            owned.account.wake(now);
        }
        match message {
            Message::Wake => owned.sweep_at = now,
            Message::Admit(request) => {
                self.gauge.admitted();
                owned.account.admit(*request);
            }
            Message::Operation(operation) => {
                owned.waiting.push(operation(Ok((&mut owned.account, now))));
            }
        }
    }

    async fn take_reply(&mut self, owned: &mut Owned, reply: Reply, now: Time) -> Result<(), Ending> {
        if matches!(reply, Reply::Look(_)) && owned.account.has_changes() {
            self.commit(owned).await?;
        }
        let (account, counters) = (&mut owned.account, &self.shared.stats.counters);
        match reply {
            Reply::Look(Some(view)) => {
                let (_, before) = account.range();
                account.handle_view(view, now);
                let (_, after) = account.range();
                if after > before && before > 0 {
                    tracing::info!(account = %self.id, before, after, "Sender: others have used nonces of the account");
                }
                self.mark_bundled(owned);
            }
            Reply::Look(None) => account.handle_view_failed(now),
            Reply::Simulated(id, simulation) => account.handle_simulation(&id, simulation, now),
            Reply::Signed(ticket, Ok(signed)) => account.handle_signed(ticket, signed, now),
            Reply::Signed(ticket, Err(SignerError::Refused(_) | SignerError::NoKey(_))) => {
                account.handle_sign_refused(ticket, now);
            }
            Reply::Signed(ticket, Err(_)) => account.handle_sign_failed(ticket, now),
            Reply::Sent(nonce, hash, answer) => {
                let class = classify(&answer, hash);
                if !matches!(class, SendClass::Taken) {
                    Stats::count(&counters.refused, 1);
                    tracing::debug!(account = %self.id, nonce, ?answer, "Sender: not taken");
                }
                account.handle_answer(nonce, hash, &answer, now);
            }
            Reply::Receipts(nonce, answers) => {
                if answers.iter().all(|(_, answer)| *answer == ReceiptAnswer::NotFound) {
                    Stats::count(&counters.nonces_without_receipts, 1);
                }
                account.handle_receipts(nonce, &answers, now);
            }
            Reply::Block(Some(check)) => account.handle_block(check, now),
            Reply::Block(None) => {}
            Reply::Identified(nonce, identified) => {
                let slot = account.nonce_state(nonce).and_then(NonceState::slot);
                if let Identified::Found { hash, .. } = identified
                    && slot.is_some_and(|slot| slot.attempt(hash).is_some())
                {
                    Stats::count(&counters.per_nonce_anomalies, 1);
                }
                account.handle_identified(nonce, identified, now);
            }
        }
        Ok(())
    }

    /// Tells the model which nonces stand in a block that is being built.
    fn mark_bundled(&self, owned: &mut Owned) {
        let bundled = self.target.bundled(self.id.address);
        let nonces: Vec<u64> = owned.account.nonces().map(|(nonce, _)| nonce).collect();
        for nonce in nonces {
            owned.account.handle_bundled(nonce, bundled.contains(&nonce));
        }
    }

    /// Whether there has been nothing to do for a while, and nobody is to be told or obeyed.
    async fn is_done(&mut self, owned: &mut Owned) -> bool {
        let now = self.shared.now();
        if !owned.account.is_idle() || !self.inbox.is_empty() || !owned.waiting.is_empty() {
            owned.idle_since = None;
            return false;
        }
        let since = *owned.idle_since.get_or_insert(now);
        if now.since(since) < Duration::from_millis(IDLE_MS) {
            return false;
        }
        owned.idle_since = Some(now);
        for left in [key::deliveries(self.id), key::commands(self.id)] {
            if !self.shared.store.scan(left, None, 1).await.is_ok_and(|rows| rows.is_empty()) {
                return false;
            }
        }
        true
    }
}
