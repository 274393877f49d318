//! The running sender against a chain in memory: what callers rely on, and what they may do wrong.

mod accounts;
mod chains;
mod forget;
mod groups;
mod mock_chain;
mod requests;
mod shared;
mod waiting;

use super::{Error, NewGroup, SendFrom, Sender, Settings, StartDeliveries, Transaction, TransactionRequest};
use crate::{
    clock::Clock,
    keys::LocalKeys,
    signer::Keys,
    store::{Memory, Store},
};
use alloy_primitives::{Address, B256, U256, keccak256};
use mock_chain::Chain;
use sender_model::{AccountId, Config, Event, Intent, RequestId, RequestOptions, State, Subject};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast;

/// The chain's id.
const CHAIN: u64 = 99;
/// Nothing in here takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sender with some accounts over a chain in memory.
struct World {
    sender: Sender,
    chain: Arc<Chain>,
    store: Arc<dyn Store>,
    keys: Arc<dyn Keys>,
    events: broadcast::Receiver<Arc<Event>>,
}

impl World {
    async fn new(accounts: u8) -> Self {
        let keys = (1..=accounts).map(B256::repeat_byte);
        let keys: Arc<dyn Keys> = Arc::new(LocalKeys::new(keys, true));
        let chain = Chain::new(CHAIN);
        for address in keys.addresses() {
            chain.pay(address, U256::from(10).pow(U256::from(18)));
        }
        Self::on(chain, Arc::new(Memory::with_clock(Clock::default())), keys).await
    }

    async fn on(chain: Arc<Chain>, store: Arc<dyn Store>, keys: Arc<dyn Keys>) -> Self {
        Self::with(chain, store, keys, config(), None).await
    }

    async fn with(
        chain: Arc<Chain>,
        store: Arc<dyn Store>,
        keys: Arc<dyn Keys>,
        config: Config,
        deliveries: Option<StartDeliveries>,
    ) -> Self {
        Self::started(chain, store, keys, config, deliveries, "test").await.unwrap()
    }

    /// The same under a name; an error if it does not start.
    async fn try_on(
        chain: Arc<Chain>,
        store: Arc<dyn Store>,
        keys: Arc<dyn Keys>,
        holder: &str,
    ) -> Result<Self, Error> {
        Self::started(chain, store, keys, config(), None, holder).await
    }

    async fn started(
        chain: Arc<Chain>,
        store: Arc<dyn Store>,
        keys: Arc<dyn Keys>,
        config: Config,
        deliveries: Option<StartDeliveries>,
        holder: &str,
    ) -> Result<Self, Error> {
        let settings = Settings {
            store: store.clone(),
            keys: keys.clone(),
            targets: vec![chain.clone()],
            config,
            chains: Default::default(),
            holder: holder.into(),
            clock: Clock::default(),
            deliveries,
        };
        let sender = Sender::start(settings).await?;
        let events = sender.subscribe();
        Ok(Self { sender, chain, store, keys, events })
    }

    fn account(&self, index: usize) -> AccountId {
        AccountId { chain_id: CHAIN, address: self.keys.addresses()[index] }
    }

    async fn send(&self, key: &str, from: AccountId, value: u64) -> Transaction {
        self.sender.submit(submission(key, SendFrom::Account(from), value)).await.unwrap().transaction
    }

    /// Waits until a request is as wanted.
    async fn until(&mut self, key: &str, wanted: impl Fn(&State) -> bool) -> Transaction {
        let id: RequestId = key.parse().unwrap();
        let waiting = async {
            loop {
                let transaction = self.sender.get(&id).await.unwrap();
                if wanted(&transaction.request.state) {
                    return transaction;
                }
                // Being held is told by no event, so the wait ends by itself too.
                let _told = tokio::time::timeout(Duration::from_millis(20), self.events.recv()).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{key} does not get there"))
    }

    async fn confirmed(&mut self, key: &str) -> Transaction {
        self.until(key, |state| matches!(state, State::Confirmed { .. })).await
    }

    /// The kinds of a request's events, whose numbers must be without holes.
    async fn story(&self, key: &str) -> Vec<String> {
        let subject = Subject::Request(key.parse().unwrap());
        let rows = self.store.scan(format!("e/{subject}/"), None, 100).await.unwrap();
        let events: Vec<Event> = rows.iter().map(|(_, row)| serde_json::from_slice(row).unwrap()).collect();
        let sequences: Vec<u32> = events.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (1..=events.len() as u32).collect::<Vec<_>>());
        events.iter().map(|event| format!("{:?}", event.kind)).collect()
    }
}

/// Everything happens sooner than in a node.
fn config() -> Config {
    Config {
        backoff_ms: 20,
        sweep_ms: 50,
        gap_grace_ms: 200,
        replacement_interval_ms: 50,
        queue_max: 100,
        ..Config::default()
    }
}

/// A transfer to an address that tells which request it was.
fn submission(key: &str, from: SendFrom, value: u64) -> TransactionRequest {
    let intent = Intent { to: Some(receiver(key)), value: U256::from(value), ..Intent::default() };
    let body = keccak256(serde_json::to_vec(&intent).unwrap());
    TransactionRequest {
        key: Some(key.parse().unwrap()),
        from,
        intent,
        body,
        expires_at: None,
        options: RequestOptions::default(),
    }
}

fn receiver(key: &str) -> Address {
    Address::from_word(keccak256(key))
}

/// Whoever of a group is the least loaded.
fn of_group(name: &str) -> SendFrom {
    SendFrom::Group { name: name.into(), chain_id: None }
}

fn group(name: &str, members: Vec<Address>) -> NewGroup {
    NewGroup {
        name: name.into(),
        chain_id: CHAIN,
        size_min: members.len().max(1),
        size_max: 4,
        members,
        transactions_per_account: 2,
        funding: None,
    }
}
