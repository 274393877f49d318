//! What an operator's tools ask a running node for.

use super::{Guarantors, Methods, reply};
use crate::{
    data::Copy,
    rebuild::{Known, NoBundle, Rebuilt, rebuild},
};
use ::sender::Copied;
use alloy_primitives::hex;
use jam::Ed25519Key;
use network::Endpoint;
use rpc::{Error, Json, Params};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use store::StoreError;
use tokio::sync::Mutex;

/// The bundle that was made last. Held while one is made, so that there is never more than one.
pub(crate) type Kept = Mutex<Option<Arc<Rebuilt>>>;

/// Bytes of a file in one answer.
const PART_BYTES: usize = 2 << 20;

/// The guarantors of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    /// How many there are; none while they are not known.
    pub(crate) guarantors: usize,
    /// How many of them are connected.
    pub(crate) connected: usize,
}

/// Which guarantors of each core can be reached. Empty until the node has followed a block.
pub(crate) fn reach(guarantors: &Guarantors, endpoint: &Endpoint) -> Vec<Reach> {
    let is_connected = |key: &&Ed25519Key| endpoint.connection(key).is_some();
    let of = |core: &Vec<Ed25519Key>| Reach {
        guarantors: core.len(),
        connected: core.iter().filter(is_connected).count(),
    };
    guarantors.lock().iter().map(of).collect()
}

impl Methods {
    /// How many guarantors of each core are connected. Empty until the node has followed a block.
    pub(super) fn peers(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(0)?;
        let cores = reach(&self.guarantors, &self.endpoint);
        let cores = cores.iter().enumerate().map(|(core, Reach { guarantors, connected })| {
            json!({ "core": core, "guarantors": guarantors, "connected": connected })
        });
        reply(&json!({ "connected": self.endpoint.connections().len(), "cores": cores.collect::<Vec<_>>() }))
    }

    /// Copies everything that is durable now into a new directory on the node's machine, the sender's rows included if they
    /// are in a file.
    pub(super) async fn backup(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let directory = PathBuf::from(params.required::<String>(0)?);
        if !directory.is_absolute() {
            return Err(Error::params("invalid argument 0: the directory must be an absolute path"));
        }
        let (store, spec, sender) = (self.store.clone(), self.spec.clone(), self.sender.clone());
        let one = Arc::clone(&self.backing_up);
        let copied = tokio::task::spawn_blocking(move || {
            // Held by the work, not by the call: whoever asks may hang up while the copy is made.
            let Some(_one) = one.try_lock() else {
                return Err("a backup is being made already; one at a time".to_owned());
            };
            let copy = |path: &Path| Ok(sender.map(|sender| sender.copy(path)).transpose()?);
            crate::data::backup(&store, &spec, &directory, copy).map_err(|why| why.to_string())
        });
        let Copy { finalized, sender } = copied.await.map_err(Error::internal)?.map_err(Error::other)?;
        let sender = sender.map(|sender| match sender {
            Copied::File => "copied",
            Copied::Memory => "in memory",
            Copied::Elsewhere => "in Redis",
        });
        reply(&json!({ "number": finalized.number, "hash": finalized.hash, "sender": sender }))
    }

    /// A part of one file of a block's bundle, which is made again for it.
    pub(super) async fn bundle_file(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(3)?;
        let number = params.required::<u64>(0)?;
        let name = params.required::<String>(1)?;
        let offset = params.optional::<usize>(2)?.unwrap_or(0);
        let rebuilt = self.rebuilt(number, offset == 0 && name == "bundle.json").await?;
        let Some(file) = rebuilt.file(&name) else {
            let names = rebuilt.files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(Error::params(format!("invalid argument 1: the files are {names}")));
        };
        let part = file.get(offset..).unwrap_or_default();
        let part = &part[..part.len().min(PART_BYTES)];
        reply(&json!({
            "first": { "number": rebuilt.run.first.number, "hash": rebuilt.run.first.hash },
            "last": { "number": rebuilt.run.last.number, "hash": rebuilt.run.last.hash },
            "length": file.len(),
            "data": hex::encode_prefixed(part),
        }))
    }

    /// The bundle of a block: the one that is kept, unless it is of another block or a fresh one is wanted.
    async fn rebuilt(&self, number: u64, fresh: bool) -> Result<Arc<Rebuilt>, Error> {
        let mut kept = self.rebuilt.lock().await;
        if let Some(rebuilt) = kept.as_ref().filter(|rebuilt| !fresh && rebuilt.run.contains(number)) {
            return Ok(Arc::clone(rebuilt));
        }
        let queue = self.feed.snapshot().queue.clone();
        let bundles = queue.bundles.iter().chain(queue.finished.iter().rev());
        let known = Known::of(number, bundles);
        let (store, bundler) = (self.store.clone(), self.bundler.clone());
        let made = tokio::task::spawn_blocking(move || rebuild(&store, &bundler, &known, |_| {}));
        let made = match made.await.map_err(Error::internal)? {
            Ok(made) => Arc::new(made),
            Err(NoBundle::Store(why @ StoreError::Damaged { .. })) => return Err(Error::internal(why)),
            Err(why) => return Err(Error::other(why.to_string())),
        };
        *kept = Some(Arc::clone(&made));
        Ok(made)
    }
}
