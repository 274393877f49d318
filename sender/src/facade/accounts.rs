//! Accounts and their nonces.

use super::{AccountView, Done, Error, FeeReport, Loan, Sender};
use crate::{
    shared::Unasked,
    signer::Signer,
    store::{Outcome, load_account},
    transaction,
    worker::Message,
};
use alloy_primitives::{Address, hex};
use sender_model::{
    Account, AccountId, Command, CommandKind, FeeCap, Fees, Health, Intent, Nonce, NonceHealth,
    OperationError, Signed, Speed,
};
use std::{sync::Arc, time::Duration};
use types::Time;

/// The longest loan of a nonce.
const LOAN_MS_MAX: u64 = 3_600_000;
/// How long an account that was not looked at yet is waited for.
const LOOKS: usize = 40;
const LOOK_PAUSE: Duration = Duration::from_millis(50);

impl Sender {
    /// All accounts whose keys are held here, of all chains.
    pub async fn accounts(&self) -> Result<Vec<AccountView>, Error> {
        let (addresses, groups) = (self.shared.keys.addresses(), self.shared.registry.groups());
        let mut views = Vec::new();
        for chain_id in self.shared.targets.keys().copied() {
            for address in &addresses {
                let account = AccountId { chain_id, address: *address };
                let group = groups
                    .iter()
                    .map(|group| &group.settings)
                    .find(|group| group.chain_id == chain_id && group.members.contains(address));
                let active =
                    self.shared.workers().get(&account).is_some_and(|handle| handle.epoch().is_some());
                views.push(AccountView {
                    chain_id,
                    address: *address,
                    group: group.map(|group| group.name.clone()),
                    active,
                });
            }
        }
        Ok(views)
    }

    /// The addresses of all accounts whose keys are held here.
    pub fn addresses(&self) -> Vec<Address> {
        self.shared.keys.addresses()
    }

    /// Makes a key; the account exists on every chain that there is a target for.
    pub async fn create_account(&self) -> Result<Address, Error> {
        Ok(self.shared.keys.create().await?)
    }

    /// The key of an account, for signatures that are no transactions.
    pub fn signer(&self, address: Address) -> Result<Arc<dyn Signer>, Error> {
        let account = AccountId { chain_id: self.shared.home_chain, address };
        self.shared.keys.signer(address).ok_or(Error::UnknownAccount(account))
    }

    /// Signs a transaction of which everything is known, and does nothing with it. If it is sent by somebody, its nonce
    /// is a foreign one for the account's queue.
    pub async fn sign_transaction(
        &self,
        account: AccountId,
        intent: &Intent,
        nonce: Nonce,
        gas: u64,
        fees: Fees,
    ) -> Result<Signed, Error> {
        let signer = self.signer(account.address)?;
        Ok(transaction::sign_with(&*signer, account.chain_id, intent, nonce, gas, fees).await?)
    }

    /// How an account is doing.
    pub async fn health(&self, account: AccountId) -> Result<Health, Error> {
        self.look_at(account, |account, now| account.health(now)).await
    }

    /// The nonce book in numbers.
    pub async fn nonce_health(&self, account: AccountId) -> Result<NonceHealth, Error> {
        self.look_at(account, |account, now| account.nonce_health(now)).await
    }

    /// Asks the owner, once it has seen the chain; if that is another process, the rows say what they can.
    async fn look_at<T: Send + 'static>(
        &self,
        account: AccountId,
        look: fn(&Account, Time) -> T,
    ) -> Result<T, Error> {
        self.known(account)?;
        for left in (0..LOOKS).rev() {
            let asked = self.shared.ask(account, move |account, now| match account.view() {
                None if left > 0 => Err(OperationError::NoView),
                _ => Ok(look(account, now)),
            });
            match asked.await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(_)) => tokio::time::sleep(LOOK_PAUSE).await,
                Err(Unasked::NotOwned(_) | Unasked::Lost) => break,
                Err(Unasked::Error(error)) => return Err(error),
            }
        }
        let config = Arc::new(self.shared.config_of(account));
        let now = self.shared.now();
        let read = load_account(&*self.shared.store, config, account, 0, now).await?;
        Ok(look(&read, now))
    }

    /// Whether the account is ours to speak about: its key is here, or nonces of it are lent by us.
    fn known(&self, account: AccountId) -> Result<(), Error> {
        self.shared.target(account.chain_id)?;
        let managed = self.shared.keys.signer(account.address).is_some();
        if managed || self.shared.workers().contains_key(&account) {
            return Ok(());
        }
        Err(Error::UnknownAccount(account))
    }

    /// Binds no more nonces for an account.
    pub async fn pause(&self, account: AccountId) -> Result<Done, Error> {
        self.set_paused(account, true, CommandKind::Pause).await
    }

    /// Goes on.
    pub async fn resume(&self, account: AccountId) -> Result<Done, Error> {
        self.set_paused(account, false, CommandKind::Resume).await
    }

    async fn set_paused(&self, account: AccountId, paused: bool, kind: CommandKind) -> Result<Done, Error> {
        self.known(account)?;
        let pause = move |account: &mut Account, _| {
            account.pause_sending(paused);
            Ok(())
        };
        let done = self.order(account, pause, kind).await?;
        Ok(if done.is_some() { Done::Done } else { Done::Ordered })
    }

    /// Brings the nonce book in line with the chain.
    pub async fn reset_nonce(&self, account: AccountId) -> Result<Done, Error> {
        self.known(account)?;
        self.seen(account).await?;
        let done =
            self.order(account, |account: &mut Account, now| account.reset(now), CommandKind::Reset).await?;
        Ok(if done.is_some() { Done::Done } else { Done::Ordered })
    }

    /// Waits a moment for the owner's first look at the chain.
    async fn seen(&self, account: AccountId) -> Result<(), Error> {
        self.look_at(account, |_, _| ()).await
    }

    /// Lends a nonce to an outside signer, for so long.
    pub async fn reserve_nonce(&self, account: AccountId, ttl_ms: u64) -> Result<Loan, Error> {
        self.shared.target(account.chain_id)?;
        if ttl_ms == 0 || ttl_ms > LOAN_MS_MAX {
            return Err(Error::Invalid(format!("a nonce is lent for 1 to {LOAN_MS_MAX} ms")));
        }
        // An account whose key is elsewhere is run from its first loan on.
        self.shared.tell(account, Message::Wake)?;
        self.seen(account).await?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|why| Error::Invalid(format!("no random bytes: {why}")))?;
        let token = hex::encode(random);
        let until = self.shared.now() + Duration::from_millis(ttl_ms);
        let shown = token.clone();
        let lent = self.shared.ask(account, move |account, now| account.reserve(&shown, until, now)).await;
        let nonce = lent.map_err(|unasked| unasked.into_error(account))??;
        Ok(Loan { nonce, token, until: until.as_millis() })
    }

    /// Takes a nonce back that its signer has not used.
    pub async fn release_nonce(&self, account: AccountId, nonce: Nonce, token: &str) -> Result<(), Error> {
        self.shared.target(account.chain_id)?;
        let token = token.to_owned();
        let done = self.shared.ask(account, move |account, now| account.release(nonce, &token, now)).await;
        Ok(done.map_err(|unasked| unasked.into_error(account))??)
    }

    /// What a chain asks for; at most a few seconds old.
    pub async fn fees(&self, chain_id: u64) -> Result<FeeReport, Error> {
        let target = self.shared.target(chain_id)?;
        let (quote, at) = self.quotes.get(target, self.shared.now()).await?;
        let mut config = self.shared.config.clone();
        self.shared.settings_of(chain_id).apply(&mut config);
        let (cap, speeds) = (config.fee_cap, config.speeds);
        let first = |speed| Fees::from_quote(&quote.at_percent(speeds.percent(speed)), cap);
        Ok(FeeReport {
            chain_id,
            quote,
            first_attempt: first(Speed::Standard),
            slow: first(Speed::Slow),
            fast: first(Speed::Fast),
            fee_cap: FeeCap(cap),
            fetched_at: at.as_millis(),
        })
    }

    /// Has the owner do something; if that is another process, leaves a command for it.
    pub(super) async fn order<T: Send + 'static>(
        &self,
        account: AccountId,
        operation: impl FnOnce(&mut Account, Time) -> Result<T, OperationError> + Send + 'static,
        kind: CommandKind,
    ) -> Result<Option<T>, Error> {
        match self.shared.ask(account, operation).await {
            Ok(done) => Ok(Some(done?)),
            Err(Unasked::NotOwned(_)) => self.command(account, kind).await.map(|()| None),
            Err(unasked) => Err(unasked.into_error(account)),
        }
    }

    pub(super) async fn command(&self, account: AccountId, kind: CommandKind) -> Result<(), Error> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|why| Error::Invalid(format!("no random bytes: {why}")))?;
        let id = hex::encode(random).parse().map_err(|why| Error::Invalid(format!("{why}")))?;
        let command = Command { id, account, at: self.shared.now(), kind };
        match self.shared.store.commit(command.commit()?).await? {
            Outcome::Committed => Ok(()),
            Outcome::Conflict(_) | Outcome::Stale => {
                Err(Error::Exists("a command of the same name exists; try again".into()))
            }
        }
    }
}
