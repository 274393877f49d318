//! Managed accounts, in this node: the sender over this node's own pool, and its methods on JSON-RPC.
//!
//! ```text
//!   eth_sendTransaction, REST ──▶ sender::Sender ──▶ worker per account ──▶ Pool: snapshots, gateway (this chain)
//!                                      │                            └────▶ Evm: JSON-RPC (other chains)
//!                                      └── its own file in the data directory, or Redis
//! ```
//!
//! The sender has an [`rpc::Api`] of its own for its questions to this node, without extensions: its simulations have
//! their own turn beside those of clients, and nothing in it can call itself.

mod methods;
mod params;
mod pool;
mod push;
mod search;
mod typed;

pub(crate) use methods::Methods;
pub(crate) use pool::Pool;
pub(crate) use push::Push;
pub use typed::preimage as typed_data_preimage;

use ::clock::SystemClock;
use ::sender::{
    Sender, Settings,
    http::Client,
    keys::{KeyRing, Web3Signer},
    signer::{Keys, SignerError},
    store::{Embedded, EmbeddedOptions, Memory, Redis, RedisOptions, Store, StoreError},
    target::{Evm, Target, TargetError},
    webhook,
};
use sender_model::{ChainSettings, Config};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Where the sender keeps what must not be lost.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// Nowhere: it is gone with the process.
    Memory,
    /// In one file.
    File(PathBuf),
    /// In Redis, shared with other processes: address and namespace.
    Redis(String, String),
}

impl std::fmt::Debug for StoreLocation {
    /// The address of a Redis server may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("Memory"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Redis(_, namespace) => f.debug_tuple("Redis").field(namespace).finish(),
        }
    }
}

/// What the node's sender is made of.
pub struct SenderConfig {
    /// Where it keeps its rows.
    pub store: StoreLocation,
    /// The keys that are here.
    pub keys: Vec<Arc<dyn Keys>>,
    /// A remote signer that has more, and the way to it.
    pub web3signer: Option<(String, Client)>,
    /// Other chains: id and providers.
    pub chains: Vec<(u64, Vec<String>)>,
    /// Settings of single chains.
    pub chain_settings: BTreeMap<u64, ChainSettings>,
    /// Where other processes over the same store reach this one's REST interface.
    pub advertise: Option<String>,
    /// How accounts are run.
    pub model: Config,
    /// Whether its methods need no token: only on a development network.
    pub open: bool,
    /// Brings webhooks to where they may go.
    pub webhooks: Client,
}

impl std::fmt::Debug for SenderConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SenderConfig")
            .field("store", &self.store)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// Why the sender does not start.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// Its rows cannot be had.
    #[error("the sender's store: {0}")]
    Store(#[from] StoreError),
    /// The remote signer cannot be used.
    #[error("the remote signer: {0}")]
    Signer(#[from] SignerError),
    /// A provider is of another chain.
    #[error("the sender's targets: {0}")]
    Target(#[from] TargetError),
    /// It does not start.
    #[error("the sender: {0}")]
    Start(#[from] ::sender::Error),
}

/// Starts the sender over this node's pool.
pub(crate) async fn start(
    config: SenderConfig,
    home: Arc<dyn Target>,
    time: &SystemClock,
) -> Result<Sender, SenderError> {
    let clock = ::sender::Clock::from(time.clone());
    let SenderConfig {
        store, mut keys, web3signer, chains, chain_settings, advertise, model, webhooks, ..
    } = config;
    if let Some((url, client)) = web3signer {
        keys.push(Arc::new(Web3Signer::connect(&url, client).await?));
    }
    let keys: Arc<dyn Keys> = Arc::new(KeyRing(keys));
    let store = open(store, &clock).await?;
    let mut targets = vec![home];
    for (chain_id, urls) in chains {
        let target = Evm::new(chain_id, &urls, Default::default());
        target.check().await;
        targets.push(Arc::new(target));
    }
    let name = format!("pectin-{}-{}", std::process::id(), clock.now().as_millis());
    let holder = ::sender::holder_at(&name, advertise.as_deref());
    let delivery_clock = clock.clone();
    let deliver = move |deliveries| {
        drop(tokio::spawn(webhook::run(deliveries, Arc::new(webhooks), delivery_clock)));
    };
    let deliveries: Option<::sender::StartDeliveries> = Some(Box::new(deliver));
    let chains = chain_settings;
    Ok(Sender::start(Settings { store, keys, targets, config: model, chains, holder, clock, deliveries })
        .await?)
}

async fn open(location: StoreLocation, clock: &::sender::Clock) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match location {
        StoreLocation::Memory => Arc::new(Memory::with_clock(clock.clone())),
        StoreLocation::File(path) => Arc::new(Embedded::open(
            &path,
            EmbeddedOptions { clock: clock.clone(), ..EmbeddedOptions::default() },
        )?),
        StoreLocation::Redis(url, namespace) => {
            let redis = Redis::connect(&RedisOptions { url, namespace, answer_ms: 2_000 }).await?;
            match redis.durability() {
                ::sender::store::Durability::EveryWrite => tracing::info!("{}", redis.durability()),
                weaker => tracing::error!("{weaker}"),
            }
            Arc::new(redis)
        }
    })
}
