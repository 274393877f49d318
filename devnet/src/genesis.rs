//! How a chain begins: validators with trivial keys, one authorizer on every core, and our service with its builder's key.
//!
//! The chain specification (JIP-4) says all of it, so the file is enough to run a validator or a builder: the service's code, which
//! has its configuration, and the authorizers' code are preimages of the service, and its head is the first EVM block.

use crate::{authorizer::Authorizer, chain::State, keys::Keys};
use alloy_primitives::{Bytes, FixedBytes};
use jam::{
    ChainSpec, Hash, Header, HeaderHash, Params,
    codec::{Decode, Encode},
    hash::blake2b,
    rules::{
        history,
        safrole::{ValidatorSets, epoch_mark, fallback_keys},
        statistics::Statistics,
    },
    spec::{Bootnode, StateKey},
    state::{
        Accumulated, AuthPool, AuthPools, AuthQueue, AuthQueues, DisputeRecords, Entropy, PendingReports,
        Privileges, ReadyQueue, RecentBlock, RecentBlocks, Safrole, ServiceInfo, SlotSealers, StateIndex,
        Validators, preimage_key, request_key, service_key,
    },
};
use service::{
    Config as ServiceConfig,
    accumulate::{HEAD, ServiceState, StorageError, WAITING},
};
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};
use types::BlockId;

/// The number of our service on a dev chain.
pub const SERVICE: u32 = 7;
/// More than any storage needs.
const BALANCE: u64 = 1 << 60;
/// Gas that a work item must bring at least.
const MIN_ITEM_GAS: u64 = 10_000;

/// What a dev chain begins with.
#[derive(Clone, Debug)]
pub struct Genesis {
    /// A name for machines.
    pub id: String,
    /// The parameters: how many validators and cores there are.
    pub params: Params,
    /// The service, with its builder's key.
    pub service: ServiceConfig,
    /// The first EVM block.
    pub head: BlockId,
    /// Who may use the cores.
    pub authorizer: Authorizer,
    /// Where validators listen, if that never changes: then the state says so too.
    pub fixed_addresses: Option<Vec<SocketAddr>>,
}

/// Why a chain specification is not one of a chain with our service.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoService {
    /// There is no account with our code.
    #[error("no service in the chain specification runs Pectin's EVM")]
    NotThere,
    /// Its storage does not hold a head.
    #[error("the service's storage: {0}")]
    Storage(#[from] StorageError),
}

/// The tiny parameters for another number of cores, with three validators each. With 341 cores they are those of the
/// real network.
pub fn params(cores: u16) -> Params {
    if cores == Params::FULL.cores {
        return Params::FULL;
    }
    let cores = cores.clamp(1, 1000);
    // A third of the validators can recover what all hold; a segment must be made of whole pieces.
    let data_shards = (1..=u32::from(cores)).rev().find(|count| 2052 % count == 0).unwrap_or(1);
    Params {
        cores,
        validators: 3 * cores,
        piece_bytes: 2 * data_shards,
        segment_pieces: 2052 / data_shards,
        ..Params::TINY
    }
}

impl Genesis {
    /// A chain with this service and this first EVM block.
    pub fn new(params: Params, service: ServiceConfig, head: BlockId) -> Self {
        let authorizer = Authorizer::default();
        Self { id: "pectin-dev".into(), params, service, head, authorizer, fixed_addresses: None }
    }

    /// The validators: trivial keys.
    fn validators(&self) -> Validators {
        let addr = |index: u32| self.fixed_addresses.as_ref()?.get(index as usize).copied();
        let keys = (0..u32::from(self.params.validators)).map(|i| Keys::trivial(i).public(addr(i)));
        Validators { keys: keys.collect() }
    }

    /// The first header. It commits to the validators only.
    pub fn header(&self) -> Header {
        Header::genesis(Some(epoch_mark(&NO_ENTROPY, &self.validators())))
    }

    /// The chain specification, with the validators at these addresses.
    pub fn spec(&self, addresses: &[SocketAddr]) -> ChainSpec {
        let bootnode = |(index, addr): (u32, &SocketAddr)| Bootnode {
            key: Keys::trivial(index).ed25519.public(),
            addr: *addr,
        };
        let genesis_header = self.header();
        ChainSpec {
            id: self.id.clone(),
            bootnodes: (0..).zip(addresses).map(bootnode).collect(),
            genesis_state: self.state(genesis_header.hash()).entries(),
            genesis_header,
            params: self.params,
        }
    }

    fn state(&self, genesis: HeaderHash) -> State {
        let params = &self.params;
        let validators = self.validators();
        let cores = usize::from(params.cores);
        let sealers = SlotSealers::Keys(fallback_keys(params, NO_ENTROPY.assignment, &validators));
        let safrole = Safrole {
            next_validators: validators.clone(),
            ring_root: FixedBytes::ZERO,
            sealers,
            tickets: vec![],
        };
        let sets = ValidatorSets { previous: validators.clone(), current: validators.clone(), safrole };
        let authorizer = self.authorizer.hash(&self.service.builder);
        let queue = AuthQueue { authorizers: vec![authorizer; usize::from(params.auth_queue_len)] };
        let pool = AuthPool { authorizers: vec![authorizer; usize::from(params.auth_pool_max)] };
        let mut recent = RecentBlocks::EMPTY;
        recent.log.append(history::accumulate_root(&[]));
        recent.blocks.push(RecentBlock {
            hash: genesis,
            beefy_root: recent.log.root(),
            state_root: Hash::ZERO,
            reported: BTreeMap::new(),
        });
        State {
            slot: 0,
            pools: Arc::new(AuthPools { cores: vec![pool; cores] }),
            queues: Arc::new(AuthQueues { cores: vec![queue; cores] }),
            recent,
            epoch: Arc::new(State::epoch_of(params, 0, &sets, &NO_ENTROPY)),
            sets: Arc::new(sets),
            designated: Arc::new(validators),
            entropy: NO_ENTROPY,
            disputes: Arc::new(DisputeRecords::none()),
            pending: PendingReports::none(params).cores.into_iter().map(|_| None).collect(),
            privileges: Arc::new(privileges(params)),
            statistics: Arc::new(Statistics::none(params)),
            ready: Arc::new(ReadyQueue::empty(params)),
            accumulated: Arc::new(Accumulated::none(params)),
            outputs: vec![],
            services: Arc::new(self.service_entries()),
        }
    }

    /// The service's account: its code, the authorizers' code, the records that they were asked for, and its storage. A public network
    /// may have a service 0 that makes others; here that number is free.
    fn service_entries(&self) -> BTreeMap<StateKey, Bytes> {
        let (id, code) = (self.service.service, self.service.code());
        let storage = ServiceState::new(self.head).storage(id);
        let mut entries =
            storage.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<BTreeMap<_, _>>();
        let (items, bytes) = count_storage(&entries, id);
        let mut info = ServiceInfo {
            version: 0,
            code_hash: blake2b(&[&code]),
            balance: BALANCE,
            min_item_gas: MIN_ITEM_GAS,
            min_memo_gas: MIN_ITEM_GAS,
            bytes,
            deposit_offset: 0,
            items,
            creation_slot: 0,
            last_accumulation_slot: 0,
            parent_service: id,
        };
        give(&mut entries, &mut info, id, code);
        Authorizer::ALL.iter().for_each(|authorizer| give(&mut entries, &mut info, id, authorizer.code()));
        entries.insert(service_key(id), info.encode().into());
        entries
    }
}

/// Items and bytes of what our service has in its storage, as the Gray Paper counts them.
pub(crate) fn count_storage(entries: &BTreeMap<StateKey, Bytes>, service: u32) -> (u32, u64) {
    let storage = [HEAD, WAITING].into_iter().filter_map(|name| {
        let value = entries.get(&jam::state::storage_key(service, name))?;
        Some((34 + name.len() + value.len()) as u64)
    });
    storage.fold((0, 0), |(items, bytes), entry| (items + 1, bytes + entry))
}

/// Gives a service a preimage that is available since slot 0.
fn give(entries: &mut BTreeMap<StateKey, Bytes>, info: &mut ServiceInfo, service: u32, blob: Bytes) {
    let (hash, len) = (blake2b(&[&blob]), blob.len());
    entries.insert(request_key(service, hash, len as u32), vec![0_u32].encode().into());
    entries.insert(preimage_key(service, hash), blob);
    info.items += 2;
    info.bytes += 81 + len as u64;
}

const NO_ENTROPY: Entropy =
    Entropy { now: Hash::ZERO, epoch: Hash::ZERO, assignment: Hash::ZERO, previous_assignment: Hash::ZERO };

/// Nobody has privileges that matter here.
fn privileges(params: &Params) -> Privileges {
    Privileges {
        bless: 0,
        assign: vec![0; usize::from(params.cores)],
        designate: 0,
        register: 0,
        always_accumulate: BTreeMap::new(),
    }
}

/// The service of a chain specification: its configuration, and the state that it begins with.
pub fn service_of(spec: &ChainSpec) -> Result<(ServiceConfig, ServiceState), NoService> {
    let accounts = spec.genesis_state.iter().filter_map(|(key, value)| {
        let service = service_number(key)?;
        Some((service, ServiceInfo::decode(value, &spec.params).ok()?))
    });
    for (service, info) in accounts {
        let code = spec.genesis_state.get(&preimage_key(service, info.code_hash));
        let Some(config) = code.and_then(|code| ServiceConfig::from_code(service, code)) else { continue };
        let entry = |key: &StateKey| spec.genesis_state.get(key).map(|value| &value[..]);
        return Ok((config, ServiceState::from_storage(service, entry)?));
    }
    Err(NoService::NotThere)
}

/// Which authorizer lets the builder of a service onto the cores of a chain specification; `None` if it is none of these.
pub fn authorizer_of(spec: &ChainSpec, service: &ServiceConfig) -> Option<Authorizer> {
    let pools = spec.genesis_state.get(&StateIndex::AuthPools.key())?;
    let pools = AuthPools::decode(pools, &spec.params).ok()?;
    let first = pools.cores.first()?;
    let known = |authorizer: &Authorizer| first.authorizers.contains(&authorizer.hash(&service.builder));
    Authorizer::ALL.into_iter().find(known)
}

/// The service whose account has this key.
fn service_number(key: &StateKey) -> Option<u32> {
    let service = u32::from_le_bytes([key[1], key[3], key[5], key[7]]);
    (*key == service_key(service)).then_some(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn genesis(cores: u16) -> Genesis {
        let service = ServiceConfig::native(SERVICE, jam::Ed25519Secret::trivial(99).public());
        Genesis::new(params(cores), service, BlockId::new(0, Hash::repeat_byte(5)))
    }

    #[test]
    fn a_specification_says_everything() {
        let addresses = (1..=6).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect::<Vec<_>>();
        let spec = genesis(2).spec(&addresses);
        let spec = ChainSpec::from_json(&spec.to_json()).unwrap();
        let (config, state) = service_of(&spec).unwrap();
        assert_eq!(config, genesis(2).service);
        assert_eq!(state.head(), genesis(2).head);
        assert_eq!(spec.bootnodes[3].addr, addresses[3]);
        let start = jam::follow::Start::from_state(&spec.params, spec.genesis_hash(), &spec.genesis_state);
        assert_eq!(start.unwrap().hash, spec.genesis_hash());
        let other = ChainSpec { genesis_state: BTreeMap::new(), ..spec };
        assert_eq!(service_of(&other), Err(NoService::NotThere));
    }

    #[test]
    fn a_specification_says_who_may_use_the_cores() {
        for authorizer in Authorizer::ALL {
            let spec = Genesis { authorizer, ..genesis(2) }.spec(&[]);
            assert_eq!(authorizer_of(&spec, &genesis(2).service), Some(authorizer));
            let other =
                ServiceConfig { builder: jam::Ed25519Secret::trivial(1).public(), ..genesis(2).service };
            let expected = Some(Authorizer::Null).filter(|_| authorizer == Authorizer::Null);
            assert_eq!(authorizer_of(&spec, &other), expected);
        }
    }

    #[test]
    fn any_number_of_cores_makes_parameters_that_fit() {
        for cores in [1, 2, 3, 5, 12, 100, 341] {
            let params = params(cores);
            assert_eq!((params.check(), params.cores), (Ok(()), cores));
        }
        assert_eq!((params(2), params(341)), (Params::TINY, Params::FULL));
    }
}
