//! The program accumulates what the native service does, and obeys its owner.

use alloy_primitives::{B256, Bytes};
use jam::{
    Ed25519Secret, Hash, Params, RefineContext, WorkDigest, WorkReport, WorkResult,
    codec::{Decode, Encode},
    report::{AvailabilitySpec, RefineLoad},
    state::{AuthQueues, Privileges, ServiceInfo, Validators, preimage_key, request_key, service_key},
};
use pvm::{Accounts, Block, Changes, EngineKind, Entries, Limits, Machines, PartialState};
use service::{
    Config,
    accumulate::{Claim, ServiceState},
    order::{Action, Order},
};
use std::{collections::BTreeMap, sync::Arc};
use types::BlockId;

const SERVICE: u32 = 7;
const PARAMS: Params = Params::TINY;

fn hash(number: u64) -> B256 {
    B256::left_padding_from(&(number + 1).to_be_bytes())
}

fn claim(number: u64) -> Claim {
    Claim::of_run(hash(number - 1), number, BlockId::new(number, hash(number)))
}

fn info(code_hash: Hash) -> ServiceInfo {
    ServiceInfo {
        version: 0,
        code_hash,
        balance: 1 << 60,
        min_item_gas: 10_000,
        min_memo_gas: 5,
        bytes: 3_000_000,
        deposit_offset: 0,
        items: 10,
        creation_slot: 0,
        last_accumulation_slot: 0,
        parent_service: 0,
    }
}

fn preimage(entries: &mut Entries, code: &Bytes, slot: u32) -> Hash {
    let hash = jam::hash::blake2b(&[code]);
    entries.insert(preimage_key(SERVICE, hash), code.clone());
    entries.insert(request_key(SERVICE, hash, code.len() as u32), vec![slot].encode().into());
    hash
}

fn report(number: u8, config: &Config, output: &[u8]) -> WorkReport {
    let package = jam::PackageHash(B256::repeat_byte(number));
    let digest = WorkDigest {
        service: SERVICE,
        code_hash: config.code_hash,
        payload_hash: Hash::ZERO,
        accumulate_gas: 1_000_000,
        result: WorkResult::Output(output.to_vec().into()),
        load: RefineLoad { gas_used: 0, imports: 0, extrinsic_count: 0, extrinsic_bytes: 0, exports: 0 },
    };
    WorkReport {
        spec: AvailabilitySpec {
            package,
            bundle_len: 0,
            erasure_root: Hash::ZERO,
            exports_root: jam::SegmentRoot::ZERO,
            exports_count: 0,
        },
        context: RefineContext { ..harness::blocks::context(1) },
        core: 0,
        authorizer: Hash::ZERO,
        auth_gas_used: 0,
        auth_output: Bytes::new(),
        segment_roots: BTreeMap::new(),
        digests: vec![digest],
    }
}

/// Accumulates these outputs, in one block each for every inner list.
fn accumulate(entries: &mut Entries, config: &Config, slot: u32, outputs: &[&[u8]]) -> u64 {
    let reports = (1..).zip(outputs).map(|(number, output)| report(number, config, output));
    let reports = reports.collect::<Vec<_>>();
    let state = PartialState {
        accounts: Accounts::new(&PARAMS, entries),
        designated: Arc::new(Validators { keys: vec![] }),
        queues: Arc::new(AuthQueues { cores: vec![] }),
        privileges: Arc::new(Privileges {
            bless: 0,
            assign: vec![0; usize::from(PARAMS.cores)],
            designate: 0,
            register: 0,
            always_accumulate: BTreeMap::new(),
        }),
    };
    let block = Block {
        params: &PARAMS,
        slot,
        entropy: Hash::ZERO,
        reports: &reports.iter().collect::<Vec<_>>(),
        limits: Limits::NONE,
    };
    let machines = Machines::new(EngineKind::Interpreter).unwrap();
    let accumulated = machines.accumulate(&block, state).unwrap();
    assert_eq!(accumulated.reports, outputs.len());
    let gas = accumulated.counts[&SERVICE].1;
    let changes: Changes = accumulated.state.accounts.into_changes();
    for (key, value) in changes {
        match value {
            Some(value) => entries.insert(key, value),
            None => entries.remove(&key),
        };
    }
    gas
}

fn state(entries: &Entries) -> ServiceState {
    ServiceState::from_storage(SERVICE, |key| entries.get(key).map(|value| &value[..])).unwrap()
}

fn world(config: &Config) -> Entries {
    let mut entries = Entries::new();
    let code_hash = preimage(&mut entries, &config.code(), 0);
    assert_eq!(code_hash, config.code_hash);
    entries.insert(service_key(SERVICE), info(code_hash).encode().into());
    entries
}

fn config() -> Config {
    let owner = Ed25519Secret::trivial(8).public();
    let genesis = BlockId::new(0, hash(0));
    Config { owner, genesis, ..Config::native(SERVICE, Ed25519Secret::trivial(9).public()) }.with_code_hash()
}

#[test]
fn the_program_keeps_the_state_that_the_native_service_keeps() {
    let config = config();
    let mut entries = world(&config);
    let mut native = ServiceState::new(config.genesis);
    // The first block is what the configuration says; blocks 3 and 2 wait for block 1, and what means nothing is skipped.
    for (slot, numbers) in (5..).zip([&[3, 1][..], &[2], &[6, 5, 5], &[1], &[4]]) {
        let claims = numbers.iter().map(|number| claim(*number)).collect::<Vec<_>>();
        let outputs = claims.iter().map(Claim::encode).collect::<Vec<_>>();
        let noise = [&[3, 8][..], &[9; 700]];
        let all = outputs.iter().map(|output| &output[..]).chain(noise).collect::<Vec<_>>();
        let gas = accumulate(&mut entries, &config, slot, &all);
        assert!(gas < 150_000, "{gas} gas");
        claims.iter().for_each(|claim| drop(native.apply(claim)));
        assert_eq!(state(&entries), native);
    }
    assert_eq!(native.head(), claim(6).last);
}

#[test]
fn a_live_service_gets_other_code_and_goes_on() {
    let config = config();
    let mut entries = world(&config);
    let other = Config { builder: Ed25519Secret::trivial(10).public(), ..config }.with_code_hash();
    let code = other.code();
    let order =
        |number, action| Order { number, action, code_hash: other.code_hash, code_len: code.len() as u32 };
    let request = request_key(SERVICE, other.code_hash, code.len() as u32);
    accumulate(&mut entries, &config, 5, &[&order(1, Action::Request).encode(), &claim(1).encode()]);
    assert!(entries.contains_key(&request), "solicited");
    accumulate(&mut entries, &config, 6, &[&order(2, Action::Upgrade).encode()]);
    let code_hash =
        |entries: &Entries| ServiceInfo::decode(&entries[&service_key(SERVICE)], &PARAMS).unwrap().code_hash;
    assert_eq!(code_hash(&entries), config.code_hash, "not there yet");
    preimage(&mut entries, &code, 7);
    accumulate(&mut entries, &config, 8, &[&claim(2).encode(), &order(2, Action::Upgrade).encode()]);
    assert_eq!(code_hash(&entries), other.code_hash);
    accumulate(&mut entries, &other, 9, &[&claim(3).encode(), &order(1, Action::Request).encode()]);
    assert_eq!(state(&entries).head(), claim(3).last);
}
