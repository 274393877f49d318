//! Services' accounts over the chain's entries: what is read from the state, and what a run changed.
//!
//! The state is the map that the state root is computed from. A service's storage, preimages and requests are in it under keys
//! that cannot be listed by service, and nothing here needs to: footprints are kept in the account.

use alloy_primitives::Bytes;
use jam::{
    Hash, Params,
    codec::{Decode, Encode},
    hash::blake2b,
    spec::StateKey,
    state::{ServiceInfo, preimage_key, request_key, service_key, storage_key},
};
use std::{collections::BTreeMap, sync::Arc};

/// A state as its keys and values.
pub type Entries = BTreeMap<StateKey, Bytes>;
/// What became of entries; `None` for those that are gone.
pub type Changes = BTreeMap<StateKey, Option<Bytes>>;

/// Bytes that an entry in a service's storage counts beside key and value.
const STORAGE_ENTRY_BYTES: u64 = 34;
/// Bytes that a request counts beside its length.
const REQUEST_BYTES: u64 = 81;

/// Accounts, with changes on top of a state.
#[derive(Clone, Debug)]
pub struct Accounts<'a> {
    params: &'a Params,
    base: &'a Entries,
    /// What earlier rounds of accumulation changed.
    settled: Arc<Changes>,
    /// What this round changed.
    changes: Changes,
}

impl<'a> Accounts<'a> {
    /// The accounts of a state.
    pub fn new(params: &'a Params, base: &'a Entries) -> Self {
        Self { params, base, settled: Arc::default(), changes: Changes::new() }
    }

    /// All that changed.
    pub fn into_changes(mut self) -> Changes {
        self.settle();
        Arc::unwrap_or_clone(self.settled)
    }

    /// What changed since it was settled.
    pub(crate) fn into_fresh_changes(self) -> Changes {
        self.changes
    }

    /// A round is over: the next one begins on top of its changes.
    pub(crate) fn settle(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        if !changes.is_empty() {
            Arc::make_mut(&mut self.settled).extend(changes);
        }
    }

    pub(crate) fn get(&self, key: &StateKey) -> Option<&Bytes> {
        match self.changes.get(key).or_else(|| self.settled.get(key)) {
            Some(changed) => changed.as_ref(),
            None => self.base.get(key),
        }
    }

    pub(crate) fn set(&mut self, key: StateKey, value: Option<Bytes>) {
        self.changes.insert(key, value);
    }

    /// A service's account.
    pub fn info(&self, service: u32) -> Option<ServiceInfo> {
        // What is in the state was written by this code, or belongs to a state that cannot be read.
        ServiceInfo::decode(self.get(&service_key(service))?, self.params).ok()
    }

    pub(crate) fn exists(&self, service: u32) -> bool {
        self.get(&service_key(service)).is_some()
    }

    pub(crate) fn set_info(&mut self, service: u32, info: &ServiceInfo) {
        self.set(service_key(service), Some(info.encode().into()));
    }

    pub(crate) fn storage(&self, service: u32, name: &[u8]) -> Option<&Bytes> {
        self.get(&storage_key(service, name))
    }

    /// A preimage that a service keeps.
    pub fn preimage(&self, service: u32, hash: Hash) -> Option<&Bytes> {
        self.get(&preimage_key(service, hash))
    }

    /// What is recorded of a request for a preimage: up to three slots.
    pub fn request(&self, service: u32, hash: Hash, len: u32) -> Option<Vec<u32>> {
        Vec::decode(self.get(&request_key(service, hash, len))?, self.params).ok()
    }

    pub(crate) fn set_request(&mut self, service: u32, hash: Hash, len: u32, slots: Option<&Vec<u32>>) {
        self.set(request_key(service, hash, len), slots.map(|slots| slots.encode().into()));
    }

    /// The preimage of a hash if a service had it at a slot (Λ).
    pub fn historical(&self, service: u32, slot: u32, hash: Hash) -> Option<Bytes> {
        let preimage = self.preimage(service, hash)?;
        let slots = self.request(service, hash, u32::try_from(preimage.len()).ok()?)?;
        let was_there = match slots[..] {
            [since] => since <= slot,
            [since, until] => since <= slot && slot < until,
            [since, until, again] => since <= slot && slot < until || again <= slot,
            _ => false,
        };
        was_there.then(|| preimage.clone())
    }

    /// Gives a service a preimage that it asked for; whether it is still wanted (I, Y of section 12.2).
    pub fn integrate(&mut self, service: u32, preimage: &Bytes, slot: u32) -> bool {
        let Ok(len) = u32::try_from(preimage.len()) else { return false };
        let hash = blake2b(&[preimage]);
        let wanted =
            self.exists(service) && self.request(service, hash, len).is_some_and(|slots| slots.is_empty());
        if wanted {
            self.set_request(service, hash, len, Some(&vec![slot]));
            self.set(preimage_key(service, hash), Some(preimage.clone()));
        }
        wanted
    }

    /// Notes that a service accumulated.
    pub fn note_accumulated(&mut self, service: u32, slot: u32) {
        if let Some(mut info) = self.info(service) {
            info.last_accumulation_slot = slot;
            self.set_info(service, &info);
        }
    }
}

/// The least balance of an account (a_t).
pub(crate) fn threshold(params: &Params, info: &ServiceInfo) -> u64 {
    let items = params.deposit_per_item.saturating_mul(info.items.into());
    let bytes = params.deposit_per_byte.saturating_mul(info.bytes);
    params.deposit_per_account.saturating_add(items).saturating_add(bytes).saturating_sub(info.deposit_offset)
}

/// Counts an entry of storage that changed its length.
pub(crate) fn count_storage(
    info: &mut ServiceInfo,
    name: usize,
    before: Option<usize>,
    after: Option<usize>,
) {
    let bytes = |value: usize| STORAGE_ENTRY_BYTES + name as u64 + value as u64;
    if let Some(before) = before {
        info.items = info.items.saturating_sub(1);
        info.bytes = info.bytes.saturating_sub(bytes(before));
    }
    if let Some(after) = after {
        info.items = info.items.saturating_add(1);
        info.bytes = info.bytes.saturating_add(bytes(after));
    }
}

/// Counts a new request.
pub(crate) fn count_request(info: &mut ServiceInfo, len: u32) {
    info.items = info.items.saturating_add(2);
    info.bytes = info.bytes.saturating_add(REQUEST_BYTES + u64::from(len));
}

/// Counts a request that is gone.
pub(crate) fn uncount_request(info: &mut ServiceInfo, len: u32) {
    info.items = info.items.saturating_sub(2);
    info.bytes = info.bytes.saturating_sub(REQUEST_BYTES + u64::from(len));
}

/// The length of the only preimage that an account with so many bytes may have asked for.
pub(crate) fn only_request_len(info: &ServiceInfo) -> Option<u32> {
    u32::try_from(info.bytes.saturating_sub(REQUEST_BYTES)).ok()
}
