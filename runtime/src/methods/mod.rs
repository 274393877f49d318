//! JSON-RPC methods that need more than `rpc` knows: the store, the bundler, the validators, and the keys of a development
//! network.
//!
//! | method | who | what |
//! |---|---|---|
//! | `builder_peers` | all | how many guarantors of each core are connected |
//! | `builder_service` | all | the service's code on the chain, and its owner's orders |
//! | `builder_serviceOrder PAYLOAD` | operator | submits a signed order of the service's owner once, to guarantors of a core |
//! | `builder_backup DIRECTORY` | operator | copies the data while the node runs |
//! | `builder_bundleFile NUMBER NAME OFFSET` | operator; all in `pectin dev` | a block's bundle, made again, a part of one of its files at a time |
//! | `evm_mine`, `dev_faucet ADDRESS [WEI]` | all, in `pectin dev` alone | a block now; a transaction from a development account |

mod dev;
mod service;
mod tools;

pub use dev::Faucet;
pub(crate) use tools::reach;

use crate::{gateway::Gateway, monitor::Monitor};
use bundler::Bundler;
use futures_util::{FutureExt, future::BoxFuture};
use jam::Ed25519Key;
use network::Endpoint;
use parking_lot::Mutex;
use rpc::{Backend, Caller, Error, Feed, Json, Params, PoolIndex, error};
use serde::Serialize;
use std::sync::Arc;
use store::Store;

/// Who guarantees on each core, as the driver last saw it.
pub(crate) type Guarantors = Arc<Mutex<Vec<Vec<Ed25519Key>>>>;

/// The methods of a development network.
#[derive(Debug)]
pub struct DevMethods {
    /// Whose money `dev_faucet` gives away.
    pub faucet: Option<Faucet>,
}

/// See the [module](self).
pub(super) struct Methods {
    pub(super) store: Store,
    pub(super) bundler: Bundler,
    pub(super) feed: Feed,
    pub(super) pool: Arc<PoolIndex>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) gateway: Gateway,
    pub(super) endpoint: Endpoint,
    pub(super) guarantors: Guarantors,
    pub(super) monitor: Arc<Monitor>,
    /// The chain specification, which belongs to a backup.
    pub(super) spec: String,
    pub(super) dev: Option<DevMethods>,
    /// Managed accounts, whose rows belong to a backup too.
    pub(super) sender: Option<::sender::Sender>,
    /// Held while a backup is made.
    pub(super) backing_up: Arc<Mutex<()>>,
    /// The bundle that was made last: it is fetched in parts.
    pub(super) rebuilt: tools::Kept,
}

impl rpc::Extension for Methods {
    fn methods(&self) -> &'static [&'static str] {
        &[
            "builder_peers",
            "builder_service",
            "builder_serviceOrder",
            "builder_backup",
            "builder_bundleFile",
            "evm_mine",
            "dev_faucet",
        ]
    }

    fn call<'a>(
        &'a self,
        method: &'a str,
        params: &'a Params,
        caller: &'a Caller,
    ) -> Option<BoxFuture<'a, Result<Json, Error>>> {
        let dev = self.dev.as_ref();
        match method {
            "builder_peers" => Some(std::future::ready(self.peers(params)).boxed()),
            "builder_service" => Some(self.service(params).boxed()),
            "builder_serviceOrder" => {
                Some(async { self.service_order(only_for(caller.operator, params)?).await }.boxed())
            }
            // It writes to the disk, and pages of any origin may ask a development network.
            "builder_backup" => Some(async { self.backup(only_for(caller.operator, params)?).await }.boxed()),
            "builder_bundleFile" => {
                let allowed = caller.operator || dev.is_some();
                Some(async move { self.bundle_file(only_for(allowed, params)?).await }.boxed())
            }
            "evm_mine" => dev.map(|_| self.mine(params).boxed()),
            "dev_faucet" => dev?.faucet.as_ref().map(|faucet| self.pay(faucet, params).boxed()),
            _ => None,
        }
    }

    fn health(&self) -> Option<serde_json::Value> {
        Some(self.monitor.health().to_json())
    }
}

/// The parameters of a call, if the caller may make it.
fn only_for(allowed: bool, params: &Params) -> Result<&Params, Error> {
    let why = "only for the operator: send the token as `Authorization: Bearer ..`";
    allowed.then_some(params).ok_or_else(|| Error::new(error::NOT_FOUND, why))
}

fn reply<T: Serialize + ?Sized>(value: &T) -> Result<Json, Error> {
    serde_json::value::to_raw_value(value).map_err(Error::internal)
}
