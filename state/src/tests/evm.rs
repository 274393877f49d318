//! Blocks executed with revm, by a builder on a layer and by a validator on a witness.

use crate::{
    AccountKeys, BasicData, Blake2b, CodeSet, Key, Layer, MemoryValues, NotCovered, PartialTree, Tree, Value,
    Values, Witness, Writes, account_writes,
    evm::{BlockChanges, BlockState, EvmError, History},
};
use alloc::{collections::BTreeSet, sync::Arc, vec, vec::Vec};
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, TxKind, U256, address, keccak256};
use core::error::Error;
use proptest::prelude::*;
use revm::{
    Context, DatabaseCommit, DatabaseRef, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext,
    context::TxEnv,
};

const ALICE: Address = Address::repeat_byte(0xaa);
const BOB: Address = Address::repeat_byte(0xbb);
const NOBODY: Address = Address::repeat_byte(0xee);
const COUNTER: Address = Address::repeat_byte(0xcc);
const HASHES: Address = Address::repeat_byte(0xdd);
const HISTORY: Address = Address::repeat_byte(0x29);
const COINBASE: Address = Address::ZERO;

/// Adds one to slot 0.
const COUNT: [u8; 10] = [0x60, 0, 0x54, 0x60, 1, 0x01, 0x60, 0, 0x55, 0x00];
/// Writes the hash of block 7 to slot 0.
const HASH_OF_7: [u8; 7] = [0x60, 7, 0x40, 0x60, 0, 0x55, 0x00];
/// A constructor: writes 5 to slots 1 and 300, returns the ten bytes of `COUNT` that follow it.
const DEPLOY: [u8; 24] = [
    0x60, 5, 0x60, 1, 0x55, 0x60, 5, 0x61, 1, 44, 0x55, 0x60, 10, 0x60, 24, 0x5f, 0x39, 0x60, 10, 0x5f, 0xf3,
    0, 0, 0,
];
/// A constructor that destroys itself and leaves its balance to 0xbb…
const DESTROY: [u8; 22] = [
    0x73, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb,
    0xbb, 0xbb, 0xbb, 0xbb, 0xff,
];

type Chain = Layer<Arc<MemoryValues>>;

fn ether(n: u64) -> U256 {
    U256::from(n) * U256::from(10).pow(U256::from(18))
}

fn genesis() -> (Chain, CodeSet) {
    let mut writes = Writes::new();
    let mut add = |address, balance, code: &[u8], storage: Vec<(U256, U256)>| {
        writes.extend(account_writes::<Blake2b>(address, 0, balance, code, storage).unwrap());
    };
    add(ALICE, ether(100), &[], vec![]);
    add(BOB, ether(100), &[], vec![]);
    add(COUNTER, U256::ZERO, &COUNT, vec![]);
    add(HASHES, U256::ZERO, &HASH_OF_7, vec![]);
    add(HISTORY, U256::ZERO, &[0], vec![(U256::from(7), U256::from(77))]);
    (1..200_u64).for_each(|i| add(Address::left_padding_from(&i.to_be_bytes()), ether(i), &[], vec![]));
    let codes = [&COUNT[..], &HASH_OF_7, &[0]].map(Bytes::copy_from_slice).into_iter().collect();
    let pairs = || writes.iter().map(|(key, value)| (*key, *value));
    (Layer::new(Arc::new(pairs().collect()), Tree::default().extend(pairs()), 0), codes)
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Send(Address, u64),
    Call(Address),
    Create(&'static [u8], u64),
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    from: Address,
    nonce: u64,
    action: Action,
}

fn tx(sent: Sent) -> TxEnv {
    let (kind, value, data) = match sent.action {
        Action::Send(to, wei) => (TxKind::Call(to), U256::from(wei), Bytes::new()),
        Action::Call(to) => (TxKind::Call(to), U256::ZERO, Bytes::new()),
        Action::Create(code, wei) => (TxKind::Create, U256::from(wei), [code, &COUNT].concat().into()),
    };
    TxEnv::builder()
        .caller(sent.from)
        .nonce(sent.nonce)
        .kind(kind)
        .value(value)
        .data(data)
        .gas_limit(500_000)
        .gas_price(1)
        .build()
        .unwrap()
}

/// Executes what can be, skips what cannot; says which.
fn execute<V: Values>(state: BlockState<V, CodeSet>, sent: &[Sent]) -> (BlockState<V, CodeSet>, Vec<Sent>)
where
    V::Error: Error,
{
    let mut evm = Context::mainnet().with_db(state).build_mainnet();
    evm.ctx.cfg.tx_chain_id_check = false;
    evm.ctx.block.number = U256::from(8);
    let mut kept = vec![];
    for &sent in sent {
        let mark = evm.ctx.journaled_state.database.checkpoint();
        match evm.transact_commit(tx(sent)) {
            Ok(_) => kept.push(sent),
            Err(_) => evm.ctx.journaled_state.database.rollback(mark),
        }
    }
    (evm.ctx.journaled_state.database, kept)
}

fn with_history<V: Values>(values: V, codes: CodeSet) -> BlockState<V, CodeSet> {
    BlockState::new(values, codes).with_history(History { address: HISTORY, window: 8191 })
}

fn build(parent: &Chain, codes: &CodeSet, sent: &[Sent]) -> (BlockChanges, Vec<Sent>) {
    let (state, kept) = execute(with_history(parent.clone(), codes.clone()), sent);
    (state.changes().unwrap(), kept)
}

/// What a validator does with the bytes of a witness and of codes.
fn validate(parent: &Chain, changes: &BlockChanges, kept: &[Sent]) -> BlockChanges {
    let made = parent.witness_knowing(&changes.touched, &changes.read).unwrap();
    assert_eq!(made, parent.witness(&changes.touched).unwrap(), "what was read is what the state holds");
    let witness = made.encode();
    let codes = CodeSet::decode(&changes.codes.encode()).unwrap();
    let mut partial: PartialTree = Witness::decode(&witness).unwrap().verify(parent.root()).unwrap();
    let (state, executed) = execute(with_history(&partial, codes.clone()), kept);
    assert_eq!(executed.len(), kept.len(), "a kept transaction is valid for a validator too");
    let seen = state.changes().unwrap();
    partial.covers_exactly(seen.touched.iter().copied()).unwrap();
    assert_eq!(seen.codes, codes, "no code too many");
    assert_eq!(partial.update(&seen.writes).unwrap(), parent.child(&changes.writes).root());
    seen
}

fn basic(layer: &Chain, address: Address) -> Option<BasicData> {
    let value = layer.value(&AccountKeys::<Blake2b>::new(address).basic_data()).unwrap();
    value.map(|value| BasicData::decode(&value).unwrap())
}

fn slot(layer: &Chain, address: Address, slot: u64) -> Option<Value> {
    layer.value(&AccountKeys::<Blake2b>::new(address).slot(U256::from(slot))).unwrap()
}

fn from_alice(nonce: u64, action: Action) -> Sent {
    Sent { from: ALICE, nonce, action }
}

#[test]
fn transfers_calls_and_creations_give_both_sides_the_same() {
    let (parent, codes) = genesis();
    let sent = [
        from_alice(0, Action::Send(BOB, 5)),
        from_alice(1, Action::Send(NOBODY, 6)),
        from_alice(2, Action::Call(COUNTER)),
        from_alice(3, Action::Call(COUNTER)),
        from_alice(4, Action::Create(&DEPLOY, 9)),
        from_alice(5, Action::Call(ALICE.create(4))),
        from_alice(6, Action::Call(HASHES)),
    ];
    let (changes, kept) = build(&parent, &codes, &sent);
    assert_eq!(kept.len(), sent.len());
    assert_eq!(validate(&parent, &changes, &kept), changes);

    let child = parent.child(&changes.writes);
    let new = ALICE.create(4);
    assert_eq!(basic(&child, NOBODY).unwrap().balance, 6);
    assert_eq!(basic(&child, ALICE).unwrap().nonce, 7);
    assert_eq!(basic(&child, new), Some(BasicData { version: 0, code_size: 10, nonce: 1, balance: 9 }));
    assert_eq!(slot(&child, COUNTER, 0), Some(Value::with_last_byte(2)));
    assert_eq!([1, 300, 0].map(|n| slot(&child, new, n)), [5, 5, 1].map(|n| Some(Value::with_last_byte(n))));
    assert_eq!(slot(&child, HASHES, 0), Some(Value::with_last_byte(77)));
    let keys = AccountKeys::<Blake2b>::new(new);
    assert_eq!(child.value(&keys.code_hash()).unwrap(), Some(keccak256(COUNT)));
    assert_eq!(child.value(&keys.chunk(0)).unwrap(), Some(crate::chunkify(&COUNT)[0]));
    assert_eq!(child.value(&AccountKeys::<Blake2b>::new(NOBODY).code_hash()).unwrap(), Some(KECCAK256_EMPTY));
    // The new contract's code was read as well, but everyone who executes the block has it.
    assert_eq!(changes.created, [Bytes::copy_from_slice(&COUNT)].into_iter().collect());
    assert!(changes.codes.iter().all(|(_, code)| **code == COUNT[..] || **code == HASH_OF_7[..]));
}

#[test]
fn the_next_block_stands_on_the_layer() {
    let (mut layer, codes) = genesis();
    for block in 0..5_u64 {
        let sent =
            [from_alice(2 * block, Action::Call(COUNTER)), from_alice(2 * block + 1, Action::Send(BOB, 1))];
        let (changes, kept) = build(&layer, &codes, &sent);
        assert_eq!(kept.len(), 2);
        validate(&layer, &changes, &kept);
        layer = layer.child(&changes.writes);
    }
    assert_eq!(slot(&layer, COUNTER, 0), Some(Value::with_last_byte(5)));
    assert_eq!((layer.height(), basic(&layer, ALICE).unwrap().nonce), (5, 10));
}

#[test]
fn a_skipped_transaction_leaves_no_touched_key_behind() {
    // Story: revm's cache still knows what a skipped transaction read. If touching were recorded below such a cache, a
    // later transaction that reads the same would leave no record, and validators would miss the key.
    let (parent, codes) = genesis();
    let good = from_alice(0, Action::Send(BOB, 1));
    let far_off = Sent { from: NOBODY, nonce: 9, action: Action::Call(COUNTER) };
    let (alone, _) = build(&parent, &codes, &[good]);
    let (with_skipped, kept) = build(&parent, &codes, &[far_off, good, far_off]);
    assert_eq!((kept.len(), &with_skipped), (1, &alone));

    // NOBODY is read by the skipped one first, then by one that is kept.
    let to_nobody = from_alice(0, Action::Send(NOBODY, 1));
    let (changes, kept) = build(&parent, &codes, &[far_off, to_nobody]);
    assert!(changes.touched.contains(&AccountKeys::<Blake2b>::new(NOBODY).basic_data()));
    validate(&parent, &changes, &kept);
}

#[test]
fn a_code_that_only_a_skipped_transaction_read_counts_as_new_when_it_is_created() {
    let (parent, codes) = genesis();
    let mut state = BlockState::<_, _>::new(parent.clone(), codes.clone());
    let mark = state.checkpoint();
    state.code_by_hash_ref(keccak256(COUNT)).unwrap();
    state.rollback(mark);
    let sent = [from_alice(0, Action::Create(&DEPLOY, 0)), from_alice(1, Action::Call(ALICE.create(0)))];
    let (state, kept) = execute(state, &sent);
    let changes = state.changes().unwrap();
    assert_eq!(changes, build(&parent, &codes, &sent).0);
    assert!(changes.codes.is_empty());
    validate(&parent, &changes, &kept);
}

#[test]
fn a_contract_that_is_created_and_destroyed_at_once_was_never_there() {
    let (parent, codes) = genesis();
    let (changes, kept) = build(&parent, &codes, &[from_alice(0, Action::Create(&DESTROY, 8))]);
    validate(&parent, &changes, &kept);
    let child = parent.child(&changes.writes);
    assert_eq!(basic(&child, ALICE.create(0)), None);
    assert_eq!(basic(&child, BOB).unwrap().balance, u128::try_from(ether(100)).unwrap() + 8);

    // If its address had a balance before, its leaves are there, and stay: as an account that does not exist.
    let sent = [from_alice(0, Action::Send(ALICE.create(1), 3)), from_alice(1, Action::Create(&DESTROY, 8))];
    let funded = parent.child(&build(&parent, &codes, &sent[..1]).0.writes);
    let (changes, kept) = build(&funded, &codes, &sent[1..]);
    validate(&funded, &changes, &kept);
    let child = funded.child(&changes.writes);
    assert_eq!(basic(&child, ALICE.create(1)), Some(BasicData::default()));
    let state = BlockState::<_, _, Blake2b>::new(child, codes);
    assert_eq!(state.basic_ref(ALICE.create(1)), Ok(None));
}

#[test]
fn an_empty_account_that_is_touched_is_not_written() {
    let (parent, codes) = genesis();
    let (changes, kept) = build(&parent, &codes, &[from_alice(0, Action::Send(NOBODY, 0))]);
    let keys = AccountKeys::<Blake2b>::new(NOBODY);
    assert!(changes.touched.contains(&keys.basic_data()) && !changes.writes.contains_key(&keys.basic_data()));
    assert!(!changes.writes.contains_key(&keys.code_hash()));
    validate(&parent, &changes, &kept);
}

#[test]
fn a_witness_that_covers_less_is_an_error_in_the_middle_of_execution() {
    let (parent, codes) = genesis();
    let sent = [from_alice(0, Action::Call(COUNTER))];
    let (changes, _) = build(&parent, &codes, &sent);
    for missing in &changes.touched {
        let mut touched = changes.touched.clone();
        touched.remove(missing);
        let witness = parent.witness(&touched).unwrap();
        let partial: PartialTree = witness.verify(parent.root()).unwrap();
        let (state, kept) = execute(with_history(&partial, changes.codes.clone()), &sent);
        // Another key below the same stem may be missed first, or, where nothing is, the absence is proved anyway.
        if kept.is_empty() {
            assert!(partial.get(missing).is_err());
        } else {
            assert_eq!(state.changes().as_ref(), Ok(&changes));
            assert_eq!(partial.get(missing), Ok(None));
        }
    }
    // Without the code there is no execution either.
    let partial: PartialTree = parent.witness(&changes.touched).unwrap().verify(parent.root()).unwrap();
    assert!(execute(with_history(&partial, CodeSet::default()), &sent).1.is_empty());
    let state = BlockState::<_, _, Blake2b>::new(&partial, CodeSet::default());
    let hash = keccak256(COUNT);
    assert_eq!(state.code_by_hash_ref(hash), Err(EvmError::CodeMissing(hash)));
    let key = AccountKeys::<Blake2b>::new(address!("0000000000000000000000000000000000000055")).basic_data();
    let missed = state.basic_ref(address!("0000000000000000000000000000000000000055"));
    assert_eq!(missed, Err(EvmError::Values(NotCovered { key })));
}

#[test]
fn block_hashes_are_never_invented() {
    let (parent, codes) = genesis();
    let state = BlockState::<_, _, Blake2b>::new(parent.clone(), codes.clone());
    assert_eq!(state.block_hash_ref(7), Err(EvmError::BlockHash(7)));
    let state = with_history(parent, codes);
    assert_eq!(state.block_hash_ref(7), Ok(Value::with_last_byte(77)));
    assert_eq!(state.block_hash_ref(6), Err(EvmError::BlockHash(6)));
    let touched = state.changes().unwrap().touched;
    let keys = AccountKeys::<Blake2b>::new(HISTORY);
    assert_eq!(touched, BTreeSet::from([keys.slot(U256::from(7)), keys.slot(U256::from(6))]));
}

#[test]
fn a_balance_beyond_128_bits_is_refused_before_and_after_commit() {
    let (parent, codes) = genesis();
    let mut state = BlockState::<_, _, Blake2b>::new(parent, codes);
    let mut info = state.basic_ref(ALICE).unwrap().unwrap();
    info.balance = U256::from(1) << 128;
    let mut account = revm::state::Account::from(info.clone());
    account.mark_touch();
    let changes = revm::state::EvmState::from_iter([(ALICE, account)]);
    let error = crate::AccountError::Balance(info.balance);
    assert_eq!(state.check(&changes), Err(error));
    state.commit(changes);
    assert_eq!(state.changes(), Err(EvmError::Account(error)));
}

fn action() -> impl Strategy<Value = Action> {
    let address = prop_oneof![
        Just(ALICE),
        Just(BOB),
        Just(NOBODY),
        Just(COUNTER),
        Just(HASHES),
        Just(COINBASE),
        (0..4_u64).prop_map(|nonce| ALICE.create(nonce)),
        any::<u8>().prop_map(|byte| Address::left_padding_from(&[byte])),
    ];
    prop_oneof![
        (address.clone(), 0..3_u64).prop_map(|(to, wei)| Action::Send(to, wei)),
        address.prop_map(Action::Call),
        (prop_oneof![Just(&DEPLOY[..]), Just(&DESTROY[..])], 0..3_u64)
            .prop_map(|(code, wei)| Action::Create(code, wei)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_executed_a_validator_agrees(
        blocks in prop::collection::vec(prop::collection::vec((prop_oneof![Just(ALICE), Just(BOB)], action(), 0..5_u8), 1..8), 1..4),
    ) {
        let (mut layer, codes) = genesis();
        let mut codes = codes;
        let mut nonces = [0; 2];
        for block in blocks {
            let sent = block.into_iter().map(|(from, action, skip)| {
                let next = &mut nonces[usize::from(from == BOB)];
                let nonce = if skip == 0 { *next + 7 } else { *next += 1; *next - 1 };
                Sent { from, nonce, action }
            }).collect::<Vec<_>>();
            let (changes, kept) = build(&layer, &codes, &sent);
            prop_assert_eq!(&validate(&layer, &changes, &kept), &changes);
            layer = layer.child(&changes.writes);
            for (_, code) in changes.created.iter() {
                codes.insert(code.clone());
            }
        }
    }
}

#[test]
fn keys_of_a_transfer_are_two_for_each_account() {
    let (parent, codes) = genesis();
    let (changes, _) = build(&parent, &codes, &[from_alice(0, Action::Send(BOB, 1))]);
    let keys = [ALICE, BOB, COINBASE].map(AccountKeys::<Blake2b>::new);
    let expected = keys.iter().flat_map(|keys| [keys.basic_data(), keys.code_hash()]);
    assert_eq!(changes.touched, expected.collect::<BTreeSet<Key>>());
}

#[test]
fn a_transaction_that_is_looked_at_and_not_committed_changes_nothing() {
    let (parent, codes) = genesis();
    let mut evm = Context::mainnet().with_db(with_history(parent, codes)).build_mainnet();
    evm.ctx.cfg.tx_chain_id_check = false;
    let mark = evm.ctx.journaled_state.database.checkpoint();
    assert!(evm.transact(tx(from_alice(0, Action::Call(COUNTER)))).unwrap().result.is_success());
    evm.ctx.journaled_state.database.rollback(mark);
    assert_eq!(evm.ctx.journaled_state.database.changes(), Ok(BlockChanges::default()));
}
