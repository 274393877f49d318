//! The chain's state after a block: all sixteen parts and the services' entries.

use alloy_primitives::Bytes;
use jam::{
    HeaderHash, Params,
    codec::Encode,
    rules::{assurances::Pending, epoch::Epoch, safrole::ValidatorSets, statistics::Statistics},
    spec::StateKey,
    state::{
        Accumulated, AccumulationOutput, AuthPools, AuthQueues, DisputeRecords, Entropy, PendingReports,
        Privileges, ReadyQueue, RecentBlocks, Safrole, StateError, StateIndex, Validators, state_part,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// A state as its keys and values.
pub type Entries = BTreeMap<StateKey, Bytes>;

/// The state after a block. What a block did not change is shared with the state before it.
#[derive(Clone, Debug)]
pub struct State {
    /// τ.
    pub slot: u32,
    /// α.
    pub pools: Arc<AuthPools>,
    /// φ.
    pub queues: Arc<AuthQueues>,
    /// β.
    pub recent: RecentBlocks,
    /// λ, κ and γ.
    pub sets: Arc<ValidatorSets>,
    /// ι.
    pub designated: Arc<Validators>,
    /// η.
    pub entropy: Entropy,
    /// ψ.
    pub disputes: Arc<DisputeRecords>,
    /// ρ.
    pub pending: Pending,
    /// χ.
    pub privileges: Arc<Privileges>,
    /// π.
    pub statistics: Arc<Statistics>,
    /// ω.
    pub ready: Arc<ReadyQueue>,
    /// ξ.
    pub accumulated: Arc<Accumulated>,
    /// θ.
    pub outputs: Vec<AccumulationOutput>,
    /// δ: accounts, storage, preimages.
    pub services: Arc<Entries>,
    /// What follows from the sets and η for a whole epoch.
    pub epoch: Arc<Epoch>,
}

impl State {
    pub(crate) fn epoch_of(params: &Params, slot: u32, sets: &ValidatorSets, entropy: &Entropy) -> Epoch {
        Epoch::of_state(params, slot, &sets.current, &sets.previous, &sets.safrole, entropy)
    }

    /// The newest block that it remembers: the one that it is the state after.
    pub fn head(&self) -> Option<HeaderHash> {
        self.recent.blocks.last().map(|block| block.hash)
    }

    /// All keys and values.
    pub fn entries(&self) -> Entries {
        let mut entries = Entries::clone(&self.services);
        let mut put = |index: StateIndex, value: Vec<u8>| entries.insert(index.key(), value.into());
        put(StateIndex::AuthPools, self.pools.encode());
        put(StateIndex::AuthQueues, self.queues.encode());
        put(StateIndex::RecentBlocks, self.recent.encode());
        put(StateIndex::Safrole, self.sets.safrole.encode());
        put(StateIndex::Disputes, self.disputes.encode());
        put(StateIndex::Entropy, self.entropy.encode());
        put(StateIndex::NextValidators, self.designated.encode());
        put(StateIndex::Validators, self.sets.current.encode());
        put(StateIndex::PreviousValidators, self.sets.previous.encode());
        put(StateIndex::PendingReports, self.pending_reports().encode());
        put(StateIndex::Slot, self.slot.encode());
        put(StateIndex::Privileges, self.privileges.encode());
        put(StateIndex::Statistics, self.statistics.encode());
        put(StateIndex::ReadyQueue, self.ready.encode());
        put(StateIndex::Accumulated, self.accumulated.encode());
        put(StateIndex::AccumulationOutputs, self.outputs.encode());
        entries
    }

    fn pending_reports(&self) -> PendingReports {
        PendingReports { cores: self.pending.iter().map(|waiting| waiting.as_deref().cloned()).collect() }
    }

    /// Reads a state from its keys and values; what is in none of the sixteen parts belongs to services.
    pub fn from_entries(params: &Params, entries: &Entries) -> Result<Self, StateError> {
        let slot = state_part(entries, StateIndex::Slot, params)?;
        let entropy = state_part::<Entropy>(entries, StateIndex::Entropy, params)?;
        let sets = ValidatorSets {
            previous: state_part(entries, StateIndex::PreviousValidators, params)?,
            current: state_part(entries, StateIndex::Validators, params)?,
            safrole: state_part::<Safrole>(entries, StateIndex::Safrole, params)?,
        };
        let pending = state_part::<PendingReports>(entries, StateIndex::PendingReports, params)?;
        let is_part = |key: &StateKey| (1..=16).contains(&key[0]) && key[1..].iter().all(|byte| *byte == 0);
        let services = entries.iter().filter(|(key, _)| !is_part(key)).map(|(k, v)| (*k, v.clone()));
        Ok(Self {
            slot,
            pools: Arc::new(state_part(entries, StateIndex::AuthPools, params)?),
            queues: Arc::new(state_part(entries, StateIndex::AuthQueues, params)?),
            recent: state_part(entries, StateIndex::RecentBlocks, params)?,
            epoch: Arc::new(Self::epoch_of(params, slot, &sets, &entropy)),
            sets: Arc::new(sets),
            designated: Arc::new(state_part(entries, StateIndex::NextValidators, params)?),
            entropy,
            disputes: Arc::new(state_part(entries, StateIndex::Disputes, params)?),
            pending: pending.cores.into_iter().map(|waiting| waiting.map(Arc::new)).collect(),
            privileges: Arc::new(state_part(entries, StateIndex::Privileges, params)?),
            statistics: Arc::new(state_part(entries, StateIndex::Statistics, params)?),
            ready: Arc::new(state_part(entries, StateIndex::ReadyQueue, params)?),
            accumulated: Arc::new(state_part(entries, StateIndex::Accumulated, params)?),
            outputs: state_part(entries, StateIndex::AccumulationOutputs, params)?,
            services: Arc::new(services.collect()),
        })
    }
}
