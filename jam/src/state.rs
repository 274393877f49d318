//! The parts of the chain's state that decide what becomes of a work package.

use crate::{
    Hash, Params, WorkReport,
    block::TicketBody,
    codec::{
        Decode, DecodeError, Decoder, Encode, PerCore, PerEpochSlot, PerQueue, PerValidator, UpToEpochSlots,
        UpToHistory, UpToPool, put_exactly, wire,
    },
    hash::{HeaderHash, PackageHash, ReportHash, SegmentRoot, blake2b},
    keys::{BandersnatchKey, BlsKey, Ed25519Key},
    merkle::MountainRange,
    spec::StateKey,
};
use alloy_primitives::{Bytes, FixedBytes};
use std::collections::{BTreeMap, BTreeSet};

wire! {
    /// A validator's keys.
    pub struct ValidatorKeys {
        /// Seals blocks.
        pub bandersnatch: BandersnatchKey,
        /// Signs everything else.
        pub ed25519: Ed25519Key,
        /// Signs for bridges.
        pub bls: BlsKey,
        /// Where it can be reached.
        pub metadata: FixedBytes<128>,
    }

    /// A set of validators (κ, λ).
    pub struct Validators {
        /// One entry per validator.
        pub keys: Vec<ValidatorKeys> => PerValidator,
    }

    /// A report that waits to become available.
    pub struct PendingReport {
        /// The report.
        pub report: WorkReport,
        /// The slot of the block that reported it.
        pub slot: u32,
    }

    /// The reports that wait, one per core at most (ρ).
    pub struct PendingReports {
        /// By core.
        pub cores: Vec<Option<PendingReport>> => PerCore,
    }

    /// What is remembered of a block.
    pub struct RecentBlock {
        /// Its hash.
        pub hash: HeaderHash,
        /// The root of the log of accumulation outputs after it.
        pub beefy_root: Hash,
        /// The state root after it; zero until the next block tells.
        pub state_root: Hash,
        /// The packages reported in it, and the roots of their exports.
        pub reported: BTreeMap<PackageHash, SegmentRoot>,
    }

    /// The last blocks (β).
    pub struct RecentBlocks {
        /// Oldest first.
        pub blocks: Vec<RecentBlock> => UpToHistory,
        /// The log of accumulation outputs.
        pub log: MountainRange,
    }

    /// An available report that waits for others.
    pub struct ReadyReport {
        /// The report.
        pub report: WorkReport,
        /// The packages it waits for.
        pub waits_for: BTreeSet<PackageHash>,
    }

    /// Available reports that wait for others, by slot of the epoch (ω).
    pub struct ReadyQueue {
        /// By slot of the epoch.
        pub slots: Vec<Vec<ReadyReport>> => PerEpochSlot,
    }

    /// Packages accumulated in the last blocks, as many blocks as an epoch has slots (ξ).
    pub struct Accumulated {
        /// Oldest block first.
        pub blocks: Vec<BTreeSet<PackageHash>> => PerEpochSlot,
    }

    /// The authorizers of one core.
    pub struct AuthPool {
        /// Any of them will do.
        pub authorizers: Vec<Hash> => UpToPool,
    }

    /// The authorizers of all cores (α).
    pub struct AuthPools {
        /// By core.
        pub cores: Vec<AuthPool> => PerCore,
    }

    /// The authorizers that one core will have.
    pub struct AuthQueue {
        /// One for each slot, again and again.
        pub authorizers: Vec<Hash> => PerQueue,
    }

    /// The authorizers that all cores will have (φ).
    pub struct AuthQueues {
        /// By core.
        pub cores: Vec<AuthQueue> => PerCore,
    }

    /// What disputes came to (ψ).
    pub struct DisputeRecords {
        /// Reports judged right.
        pub good: BTreeSet<ReportHash>,
        /// Reports judged wrong.
        pub bad: BTreeSet<ReportHash>,
        /// Reports that nobody can judge.
        pub wonky: BTreeSet<ReportHash>,
        /// Validators that lied.
        pub offenders: BTreeSet<Ed25519Key>,
    }

    /// The chain's randomness (η): now, and at the starts of the last three epochs.
    pub struct Entropy {
        /// η₀.
        pub now: Hash,
        /// η₁.
        pub epoch: Hash,
        /// η₂, which assigns guarantors to cores.
        pub assignment: Hash,
        /// η₃, which assigned them in the epoch before.
        pub previous_assignment: Hash,
    }

    /// A service's account, without its storage (δ).
    pub struct ServiceInfo {
        /// Version of the format: 0.
        pub version: u8,
        /// The service's code.
        pub code_hash: Hash,
        /// Its balance.
        pub balance: u64,
        /// Gas that a work item must bring at least.
        pub min_item_gas: u64,
        /// Gas that a transfer must bring at least.
        pub min_memo_gas: u64,
        /// Bytes in its storage.
        pub bytes: u64,
        /// Storage that needs no deposit.
        pub deposit_offset: u64,
        /// Items in its storage.
        pub items: u32,
        /// When it was created.
        pub creation_slot: u32,
        /// When it last accumulated.
        pub last_accumulation_slot: u32,
        /// Who created it.
        pub parent_service: u32,
    }

    /// Which services may do what others may not (χ).
    pub struct Privileges {
        /// May change these privileges.
        pub bless: u32,
        /// By core: may name its authorizers.
        pub assign: Vec<u32> => PerCore,
        /// May name validators.
        pub designate: u32,
        /// May create services with reserved numbers.
        pub register: u32,
        /// Those that accumulate in every block, and the gas for it.
        pub always_accumulate: BTreeMap<u32, u64>,
    }

    /// What a service said when it accumulated (an entry of θ).
    pub struct AccumulationOutput {
        /// The service.
        pub service: u32,
        /// What it said.
        pub output: Hash,
    }
}

/// Who authors the slots of an epoch: winners of the ticket contest, or validators by lot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotSealers {
    /// The winners.
    Tickets(Vec<TicketBody>),
    /// Validators' keys.
    Keys(Vec<BandersnatchKey>),
}

/// The state of block production (γ).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Safrole {
    /// The validators of the next epoch (γ_P).
    pub next_validators: Validators,
    /// The commitment to their keys that tickets are checked with (γ_Z).
    pub ring_root: FixedBytes<144>,
    /// Who authors the slots of this epoch (γ_S).
    pub sealers: SlotSealers,
    /// The best tickets for the next epoch so far (γ_A).
    pub tickets: Vec<TicketBody>,
}

impl Encode for Safrole {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.next_validators.encode_to(out);
        self.ring_root.encode_to(out);
        match &self.sealers {
            SlotSealers::Tickets(tickets) => {
                out.push(0);
                put_exactly(tickets, out);
            }
            SlotSealers::Keys(keys) => {
                out.push(1);
                put_exactly(keys, out);
            }
        }
        self.tickets.encode_to(out);
    }
}

impl Decode for Safrole {
    const MIN_BYTES: usize = 0;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        use crate::codec::{As, Malformed};
        let next_validators = Validators::decode_from(input)?;
        let ring_root = Decode::decode_from(input)?;
        let start = input.clone();
        let sealers = match input.byte()? {
            0 => SlotSealers::Tickets(PerEpochSlot::take(input)?),
            1 => SlotSealers::Keys(PerEpochSlot::take(input)?),
            tag => return Err(start.error(Malformed::Tag { tag })),
        };
        let tickets = UpToEpochSlots::take(input)?;
        Ok(Self { next_validators, ring_root, sealers, tickets })
    }
}

/// The places of the state's parts, by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum StateIndex {
    /// α.
    AuthPools = 1,
    /// φ.
    AuthQueues = 2,
    /// β.
    RecentBlocks = 3,
    /// γ.
    Safrole = 4,
    /// ψ.
    Disputes = 5,
    /// η.
    Entropy = 6,
    /// ι.
    NextValidators = 7,
    /// κ.
    Validators = 8,
    /// λ.
    PreviousValidators = 9,
    /// ρ.
    PendingReports = 10,
    /// τ.
    Slot = 11,
    /// χ.
    Privileges = 12,
    /// π.
    Statistics = 13,
    /// ω.
    ReadyQueue = 14,
    /// ξ.
    Accumulated = 15,
    /// θ.
    AccumulationOutputs = 16,
}

impl StateIndex {
    /// The key of this part.
    pub const fn key(self) -> StateKey {
        let mut key = [0; 31];
        key[0] = self as u8;
        FixedBytes(key)
    }
}

/// The key of a service's account.
pub fn service_key(service: u32) -> StateKey {
    let mut key = [0; 31];
    key[0] = 255;
    for (i, byte) in service.to_le_bytes().into_iter().enumerate() {
        key[1 + 2 * i] = byte;
    }
    FixedBytes(key)
}

/// The key of an entry in a service's storage.
pub fn storage_key(service: u32, name: &[u8]) -> StateKey {
    service_entry_key(service, &u32::MAX.to_le_bytes(), name)
}

/// The key of a preimage that a service keeps.
pub fn preimage_key(service: u32, hash: Hash) -> StateKey {
    service_entry_key(service, &(u32::MAX - 1).to_le_bytes(), hash.as_slice())
}

/// The key of the record that a service asked for a preimage.
pub fn request_key(service: u32, hash: Hash, len: u32) -> StateKey {
    service_entry_key(service, &len.to_le_bytes(), hash.as_slice())
}

fn service_entry_key(service: u32, kind: &[u8], name: &[u8]) -> StateKey {
    let hash = blake2b(&[kind, name]);
    let mut key = [0; 31];
    for (i, byte) in service.to_le_bytes().into_iter().enumerate() {
        key[2 * i] = byte;
        key[2 * i + 1] = hash[i];
    }
    key[8..].copy_from_slice(&hash[4..27]);
    FixedBytes(key)
}

/// Why a state cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateError {
    /// A part is not there.
    #[error("the state has no {0:?}")]
    Missing(StateIndex),
    /// A part does not decode.
    #[error("the state's {0:?} does not decode: {1}")]
    Malformed(StateIndex, DecodeError),
    /// It is the state after another block.
    #[error("the state is that after {found}, not after {expected}")]
    OtherBlock {
        /// The block that it should be after.
        expected: HeaderHash,
        /// The newest block that it remembers.
        found: HeaderHash,
    },
}

/// One part of a state that is given by its keys.
pub fn state_part<T: Decode>(
    state: &BTreeMap<StateKey, Bytes>,
    index: StateIndex,
    params: &Params,
) -> Result<T, StateError> {
    let bytes = state.get(&index.key()).ok_or(StateError::Missing(index))?;
    T::decode(bytes, params).map_err(|error| StateError::Malformed(index, error))
}

impl PendingReports {
    /// No report on any core.
    pub fn none(params: &Params) -> Self {
        Self { cores: vec![None; usize::from(params.cores)] }
    }
}

impl DisputeRecords {
    /// No disputes yet.
    pub const fn none() -> Self {
        Self {
            good: BTreeSet::new(),
            bad: BTreeSet::new(),
            wonky: BTreeSet::new(),
            offenders: BTreeSet::new(),
        }
    }
}

impl RecentBlocks {
    /// No blocks.
    pub const EMPTY: Self = Self { blocks: vec![], log: MountainRange::EMPTY };
}

impl ReadyQueue {
    /// Nothing waits.
    pub fn empty(params: &Params) -> Self {
        Self { slots: vec![vec![]; params.epoch_slots as usize] }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Vec::is_empty)
    }
}

impl Accumulated {
    /// Nothing was accumulated.
    pub fn none(params: &Params) -> Self {
        Self { blocks: vec![BTreeSet::new(); params.epoch_slots as usize] }
    }

    /// Whether a package is among them.
    pub fn contains(&self, package: &PackageHash) -> bool {
        self.blocks.iter().any(|block| block.contains(package))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam_std_common as theirs;

    #[test]
    fn keys_are_those_of_the_reference() {
        let reference = |key: theirs::StorageKey| FixedBytes(key.0);
        assert_eq!(StateIndex::PendingReports.key(), reference(theirs::SystemKey::Availability.into()));
        for id in [0, 7, 0x0102_0304, u32::MAX] {
            assert_eq!(service_key(id), reference(theirs::ServiceKey::Info { id }.into()));
            let value = theirs::ServiceKey::Value { id, key: b"head" };
            assert_eq!(storage_key(id, b"head"), reference(value.into()));
            let hash = Hash::repeat_byte(9);
            let preimage = theirs::ServiceKey::Preimage { id, hash: hash.0 };
            assert_eq!(preimage_key(id, hash), reference(preimage.into()));
            let request = theirs::ServiceKey::Request { id, len: 300, hash: hash.0 };
            assert_eq!(request_key(id, hash, 300), reference(request.into()));
        }
    }
}
