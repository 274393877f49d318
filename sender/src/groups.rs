//! Account groups: the least loaded account is picked, a group whose accounts are all busy grows, and an owner pays for
//! accounts that run dry.

use crate::facade::{Error, Funding, Group, NewGroup, SendFrom, Sender, TransactionRequest};
use alloy_primitives::{Address, U256, keccak256};
use sender_model::{AccountId, Intent, RequestId, RequestOptions, State};

/// Accounts of one group at most.
const SIZE_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 64;

impl Sender {
    /// All groups.
    pub fn groups(&self) -> Vec<Group> {
        self.shared().registry.groups().to_vec()
    }

    /// A group by name.
    pub fn group(&self, name: &str) -> Result<Group, Error> {
        self.shared().registry.group(name).ok_or_else(|| Error::UnknownGroup(name.to_owned()))
    }

    /// Makes a group, with as many new accounts as it needs. The same again changes nothing; another one of the same name
    /// is [`Error::Exists`]. It is finished even if whoever asked for it has gone: no account is made for nothing.
    pub async fn create_group(&self, new: NewGroup) -> Result<Group, Error> {
        let sender = self.clone();
        tokio::spawn(async move { sender.make_group(new).await }).await.map_err(|_| Error::Stopping)?
    }

    async fn make_group(&self, new: NewGroup) -> Result<Group, Error> {
        self.check(&new)?;
        if let Some(existing) = self.shared().registry.group(&new.name) {
            let known = |address: &Address| existing.settings.members.contains(address);
            let same = new.members.iter().all(known)
                && NewGroup { members: existing.settings.members.clone(), ..new.clone() }
                    == existing.settings;
            let other = || Error::Exists(format!("there is another group {}", new.name));
            return if same { Ok(existing) } else { Err(other()) };
        }
        let missing = new.size_min.saturating_sub(new.members.len());
        let mut group = Group { settings: new, top_ups: Default::default(), paid: Default::default() };
        group.settings.members.extend(self.make_accounts(missing).await?);
        self.put_group(None, &group).await?;
        self.fund(&group).await;
        Ok(group)
    }

    fn check(&self, new: &NewGroup) -> Result<(), Error> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if new.name.is_empty() || new.name.len() > NAME_BYTES_MAX || !new.name.bytes().all(plain) {
            let rule = format!("a group's name has 1 to {NAME_BYTES_MAX} letters, digits, _ or -");
            return Err(Error::Invalid(rule));
        }
        let sizes = 1 <= new.size_min && new.size_min <= new.size_max && new.size_max <= SIZE_MAX;
        if !sizes || new.members.len() > new.size_max {
            return Err(Error::Invalid(format!(
                "a group has 1 <= sizeMin <= sizeMax <= {SIZE_MAX}, and at most sizeMax members"
            )));
        }
        self.shared().target(new.chain_id)?;
        let owner = new.funding.map(|funding| funding.owner);
        if owner.is_some_and(|owner| new.members.contains(&owner)) {
            return Err(Error::Invalid(
                "the owner cannot be a member: it would pay itself, and the fees, for ever".into(),
            ));
        }
        if new.funding.is_some_and(|funding| funding.amount.is_zero()) {
            return Err(Error::Invalid(
                "a top-up of nothing would be made again and again, for its fees".into(),
            ));
        }
        for address in new.members.iter().copied().chain(owner) {
            self.signer(address)?;
        }
        Ok(())
    }

    async fn make_accounts(&self, count: usize) -> Result<Vec<Address>, Error> {
        let mut made = Vec::with_capacity(count);
        for _ in 0..count {
            made.push(self.create_account().await?);
        }
        Ok(made)
    }

    async fn put_group(&self, before: Option<&Group>, after: &Group) -> Result<(), Error> {
        let shared = self.shared();
        shared.registry.put_group(&*shared.store, &shared.holder, before, after).await
    }

    /// Adds so many new accounts to a group, at most up to its greatest size; to the end, as when it is made.
    pub async fn grow_group(&self, name: &str, more: usize) -> Result<Group, Error> {
        let (sender, name) = (self.clone(), name.to_owned());
        tokio::spawn(async move { sender.add_accounts(&name, more).await })
            .await
            .map_err(|_| Error::Stopping)?
    }

    async fn add_accounts(&self, name: &str, more: usize) -> Result<Group, Error> {
        let before = self.group(name)?;
        let room = before.settings.size_max.saturating_sub(before.settings.members.len());
        if more.min(room) == 0 {
            return Ok(before);
        }
        let mut after = before.clone();
        after.settings.members.extend(self.make_accounts(more.min(room)).await?);
        self.put_group(Some(&before), &after).await?;
        tracing::info!(group = name, size = after.settings.members.len(), "Sender: group has grown");
        self.fund(&after).await;
        Ok(after)
    }

    /// The least loaded account of a group whose key is here: other processes may have added accounts with keys of their
    /// own. One that was never paid for is picked only if there is no other. A caller that names another chain than the
    /// group's means something else.
    pub(crate) fn pick(&self, name: &str, wanted_chain: Option<u64>) -> Result<AccountId, Error> {
        let group = self.group(name)?;
        let chain_id = group.settings.chain_id;
        if let Some(wanted) = wanted_chain.filter(|wanted| *wanted != chain_id) {
            let name = name.to_owned();
            return Err(Error::GroupChain { name, group_chain: chain_id, chain_id: wanted });
        }
        let workers = self.shared().workers();
        let load = |address: &Address| {
            let handle = workers.get(&AccountId { chain_id, address: *address });
            handle.map_or(0, |handle| handle.load())
        };
        let unpaid = |address: &Address| group.settings.funding.is_some() && !group.paid.contains(address);
        let mut ranked = group.settings.members.clone();
        ranked.sort_by_cached_key(|address| (unpaid(address), load(address)));
        drop(workers);
        let held = ranked.iter().find(|address| self.holds_key(address));
        // Without any key the first one says what is wrong.
        let address = *held.or(ranked.first()).ok_or_else(|| Error::UnknownGroup(name.to_owned()))?;
        Ok(AccountId { chain_id, address })
    }

    fn holds_key(&self, address: &Address) -> bool {
        self.shared().keys.signer(*address).is_some()
    }

    /// Whether all accounts of a group that this process sends for have as much to do as they should.
    pub(crate) fn is_busy(&self, group: &Group) -> bool {
        let settings = &group.settings;
        let account = |address: &Address| AccountId { chain_id: settings.chain_id, address: *address };
        let busy = |address| self.shared().load(account(address)) >= settings.transactions_per_account;
        let mut ours = settings.members.iter().filter(|address| self.holds_key(address)).peekable();
        settings.members.len() < settings.size_max && ours.peek().is_some() && ours.all(busy)
    }

    /// Looks after all groups: grows those that are busy, pays for accounts that run dry.
    pub(crate) async fn tend_groups(&self) {
        for group in self.groups() {
            if self.is_busy(&group)
                && let Err(why) = self.grow_group(&group.settings.name, 1).await
            {
                tracing::warn!(group = group.settings.name, %why, "Sender: the group cannot grow");
            }
            let current = self.shared().registry.group(&group.settings.name);
            self.fund(&current.unwrap_or(group)).await;
        }
    }

    /// Pays for accounts of a group that run dry. What does not work now is tried again with the next look.
    async fn fund(&self, group: &Group) {
        let Some(funding) = group.settings.funding else { return };
        let mut after = group.clone();
        for address in &group.settings.members {
            if let Err(why) = self.top_up(&mut after, &funding, *address).await {
                let name = &group.settings.name;
                tracing::warn!(group = name, account = %address, %why, "Sender: no top-up");
                if matches!(why, Error::Target(_) | Error::Stopping) {
                    // It would be the same for all others.
                    break;
                }
            }
        }
        if after != *group
            && let Err(why) = self.put_group(Some(group), &after).await
        {
            tracing::debug!(%why, "Sender: the group was changed by somebody else");
        }
    }

    /// Pays for one account if it runs dry. The request's name counts the top-ups, so a crash in between pays once.
    async fn top_up(&self, group: &mut Group, funding: &Funding, address: Address) -> Result<(), Error> {
        let chain_id = group.settings.chain_id;
        let count = group.top_ups.get(&address).copied().unwrap_or_default();
        let name = |count: u32| -> Result<RequestId, Error> {
            let text = format!("top-up:{}:{address:x}:{count}", group.settings.name);
            text.parse().map_err(|why| Error::Invalid(format!("{why}")))
        };
        // First what was paid, then what is there: a balance from before the last top-up must not ask for another.
        let (id, counted, paid_at) = match self.get(&name(count)?).await {
            Ok(last) if !last.request.state.is_terminal() => return Ok(()),
            Ok(last) => (name(count + 1)?, count + 1, included_at(&last.request.state)),
            Err(Error::Forgotten(last)) => (name(count + 1)?, count + 1, last.block.unwrap_or_default()),
            Err(Error::UnknownRequest(id)) => (id, count, 0),
            Err(error) => return Err(error),
        };
        let target = self.shared().target(chain_id)?;
        let mut stopping = self.shared().stopping.subscribe();
        let view = tokio::select! {
            view = target.view(address, Some((0, u64::MAX))) => view?,
            _ = stopping.wait_for(|stopping| *stopping) => return Err(Error::Stopping),
        };
        if view.balance > U256::ZERO {
            group.paid.insert(address);
        }
        // A node that lags behind has not seen the last one.
        if view.balance >= funding.threshold || view.latest.number < paid_at {
            return Ok(());
        }
        let intent = Intent { to: Some(address), value: funding.amount, ..Intent::default() };
        let body = keccak256(serde_json::to_vec(&intent)?);
        let from = SendFrom::Account(AccountId { chain_id, address: funding.owner });
        self.submit(TransactionRequest {
            key: Some(id),
            from,
            intent,
            body,
            expires_at: None,
            options: RequestOptions::default(),
        })
        .await?;
        group.top_ups.insert(address, counted);
        Ok(())
    }
}

/// The height of the block that a request has ended in, if it has ended in one.
fn included_at(state: &State) -> u64 {
    match state {
        State::Confirmed { inclusion, .. } | State::Reverted { inclusion, .. } => inclusion.block.number,
        _ => 0,
    }
}
