//! A chain that other clients recorded, replayed through our execution.
//!
//! Fifty-four blocks with transactions of every type, under the rules of every fork from Homestead to Osaka. The service
//! has Osaka's rules alone; the older blocks are executed by the same code under theirs, because that is how the states
//! of the newer ones come about. What is around the transactions on Ethereum and not here (rewards, withdrawals, beacon
//! roots, requests) is done by the test.
//!
//! | blocks | claimed |
//! |---|---|
//! | all | gas, bloom, and in the end every account, code and slot |
//! | from Byzantium on | the receipts root; older receipts hold a root of the state as a Merkle-Patricia trie |
//! | of Osaka | the same through `bundler` and `refine`, without blob transactions |

use alloy_consensus::{
    Block, Header, ReceiptEnvelope, TxEnvelope, Typed2718, transaction::SignerRecoverable,
};
use alloy_eips::{
    eip4788::BEACON_ROOTS_ADDRESS, eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
};
use alloy_genesis::Genesis as File;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, Log, U256};
use alloy_rlp::Decodable;
use bundler::{Opening, Parent, Sealed};
use jam::Ed25519Secret;
use revm::{
    DatabaseCommit, DatabaseRef,
    primitives::hardfork::SpecId,
    state::{Account, AccountInfo, EvmState},
};
use service::{
    Config,
    execution::{Blobs, Executed, Execution, Rules},
    genesis::Genesis,
};
use state::{Blake2b, CodeSet, Key, Value, Values as _, Writes, account_writes};
use std::{collections::BTreeMap, path::Path};
use tests::blocks::{Chain, Values};
use types::Transaction;

type Layer = state::Layer<Values>;

fn config(chain_id: u64) -> Config {
    let builder = Ed25519Secret::trivial(99).public();
    Config { chain_id, gas_limit: 200_000_000, base_fee_floor_wei: 1, ..Config::new(7, B256::ZERO, builder) }
}

fn blocks(folder: &Path) -> Vec<Block<TxEnvelope>> {
    let bytes = std::fs::read(folder.join("chain.rlp")).unwrap();
    let rest = &mut &*bytes;
    let mut blocks = vec![];
    while !rest.is_empty() {
        blocks.push(Block::decode(rest).unwrap());
    }
    blocks
}

/// The fork of a block, as the recorded chain's genesis schedules them.
fn spec(block: &Block<TxEnvelope>) -> SpecId {
    match (block.header.number, block.header.timestamp) {
        (_, 480..) => SpecId::OSAKA,
        (_, 450..) => SpecId::PRAGUE,
        (_, 420..) => SpecId::CANCUN,
        (_, 390..) => SpecId::SHANGHAI,
        (36.., _) => SpecId::MERGE,
        (27.., _) => SpecId::LONDON,
        (24.., _) => SpecId::BERLIN,
        (18.., _) => SpecId::ISTANBUL,
        (12.., _) => SpecId::PETERSBURG,
        (9.., _) => SpecId::BYZANTIUM,
        (6.., _) => SpecId::SPURIOUS_DRAGON,
        (3.., _) => SpecId::TANGERINE,
        _ => SpecId::HOMESTEAD,
    }
}

fn rules(block: &Block<TxEnvelope>, chain_id: u64) -> Rules {
    let update_fraction = match block.header.timestamp {
        540.. => 11_684_671,
        510.. => 8_346_193,
        450.. => 5_007_716,
        _ => 3_338_477,
    };
    Rules { spec: spec(block), chain_id, blobs: Some(Blobs { per_transaction_max: 6, update_fraction }) }
}

type Run<'a> = Execution<Layer, &'a CodeSet>;

/// Executes the first `count` transactions of a recorded block.
fn start<'a>(
    block: &Block<TxEnvelope>,
    layer: &Layer,
    codes: &'a CodeSet,
    rules: Rules,
    count: usize,
) -> Run<'a> {
    let mut execution = Execution::new(layer.clone(), codes, &block.header, rules).unwrap();
    if let Some(root) = block.header.parent_beacon_block_root {
        execution.system_call(BEACON_ROOTS_ADDRESS, root.into()).unwrap();
    }
    for (index, tx) in block.body.transactions[..count].iter().enumerate() {
        let attempt = execution.attempt(tx, tx.recover_signer().unwrap());
        let attempt = attempt.unwrap_or_else(|why| panic!("{}.{index}: {why}", block.header.number));
        execution.keep(attempt);
    }
    execution
}

/// Executes a recorded block, with everything that Ethereum does around its transactions.
fn execute(block: &Block<TxEnvelope>, layer: &Layer, codes: &CodeSet, chain_id: u64) -> Executed {
    let rules = rules(block, chain_id);
    let mut execution = start(block, layer, codes, rules, block.body.transactions.len());
    if rules.spec.is_enabled_in(SpecId::PRAGUE) {
        for contract in [WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS] {
            execution.system_call(contract, Bytes::new()).unwrap();
        }
    }
    let paid = payments(block, rules.spec);
    let state = execution.state_mut();
    let changes = paid.into_iter().filter(|(_, wei)| !wei.is_zero()).map(|(address, wei)| {
        let info = state.basic_ref(address).unwrap().unwrap_or_default();
        let mut account = Account::from(AccountInfo { balance: info.balance + wei, ..info });
        account.mark_touch();
        (address, account)
    });
    let changes = changes.collect::<EvmState>();
    state.commit(changes);
    execution.finish().unwrap()
}

/// What a block pays besides fees: rewards until the merge, withdrawals since Shanghai.
fn payments(block: &Block<TxEnvelope>, spec: SpecId) -> BTreeMap<Address, U256> {
    let ether = U256::from(10).pow(U256::from(18));
    let mut paid = BTreeMap::<_, U256>::new();
    if !spec.is_enabled_in(SpecId::MERGE) {
        let reward = match spec {
            spec if spec.is_enabled_in(SpecId::PETERSBURG) => ether * U256::from(2),
            spec if spec.is_enabled_in(SpecId::BYZANTIUM) => ether * U256::from(3),
            _ => ether * U256::from(5),
        };
        for ommer in &block.body.ommers {
            let years = U256::from(8 + ommer.number - block.header.number);
            *paid.entry(ommer.beneficiary).or_default() += reward * years / U256::from(8);
        }
        let share = reward / U256::from(32) * U256::from(block.body.ommers.len());
        *paid.entry(block.header.beneficiary).or_default() += reward + share;
    }
    for withdrawal in block.body.withdrawals.iter().flatten() {
        *paid.entry(withdrawal.address).or_default() += U256::from(withdrawal.amount_wei());
    }
    paid
}

/// A block, the state before it, and what executing it gave.
struct Replayed {
    block: Block<TxEnvelope>,
    before: Layer,
    executed: Executed,
}

struct Replay {
    chain_id: u64,
    blocks: Vec<Replayed>,
    after: Layer,
    codes: CodeSet,
}

fn replay(folder: &Path) -> Replay {
    let file = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
    let chain_id = serde_json::from_str::<File>(&file).unwrap().config.chain_id;
    let genesis = Genesis::from_json(&file, &config(chain_id)).unwrap();
    let (mut layer, mut codes) = (genesis.layer(), genesis.codes);
    let mut replayed = vec![];
    for block in blocks(folder) {
        let executed = execute(&block, &layer, &codes, chain_id);
        codes.extend(&executed.changes.created);
        let after = layer.child(&executed.changes.writes);
        replayed.push(Replayed { block, before: std::mem::replace(&mut layer, after), executed });
    }
    Replay { chain_id, blocks: replayed, after: layer, codes }
}

#[test]
fn the_recorded_chain_comes_out_the_same() {
    let Some(folder) = tests::fixtures::folder("rpc-compat") else { return };
    let replay = replay(&folder);
    let transactions =
        replay.blocks.iter().map(|replayed| replayed.block.body.transactions.len()).sum::<usize>();
    assert_eq!((replay.blocks.len(), transactions), (54, 249));
    let mut roots = 0;
    for Replayed { block, executed, .. } in &replay.blocks {
        let header = &block.header;
        assert_eq!(executed.gas_used, header.gas_used, "gas of block {}", header.number);
        assert_eq!(executed.bloom, header.logs_bloom, "bloom of block {}", header.number);
        if spec(block).is_enabled_in(SpecId::BYZANTIUM) {
            assert_eq!(executed.receipts_root(), header.receipts_root, "receipts of block {}", header.number);
            roots += 1;
        }
    }
    assert_eq!(roots, 54 - 8, "all blocks but the first eight");
}

#[test]
fn the_recorded_chain_ends_in_the_recorded_state() {
    let Some(folder) = tests::fixtures::folder("rpc-compat") else { return };
    let replay = replay(&folder);
    let head = std::fs::read_to_string(folder.join("head-genesis.json")).unwrap();
    let head = serde_json::from_str::<File>(&head).unwrap();
    let mut expected = Writes::new();
    for (address, account) in &head.alloc {
        let slots = account.storage.iter().flatten().map(|(slot, value)| ((*slot).into(), (*value).into()));
        let code = account.code.clone().unwrap_or_default();
        let nonce = account.nonce.unwrap_or(0);
        expected.extend(account_writes::<Blake2b>(*address, nonce, account.balance, &code, slots).unwrap());
    }
    for (key, value) in &expected {
        assert_eq!(replay.after.value(key).unwrap(), Some(*value), "{key}");
    }
    // Whatever else was written is nothing: a slot that was cleared, an account that does not exist.
    let written = replay.blocks.iter().flat_map(|replayed| replayed.executed.changes.writes.keys());
    let nothing = |key: &Key| {
        let value = replay.after.value(key).unwrap().unwrap_or_default();
        value == Value::ZERO || value == KECCAK256_EMPTY
    };
    assert_eq!(written.filter(|key| !expected.contains_key(key) && !nothing(key)).count(), 0);
}

/// What a transaction did, apart from its place in the block: success, gas, logs.
fn effects(receipts: &[ReceiptEnvelope]) -> Vec<(bool, u64, Vec<Log>)> {
    let before = [0].into_iter().chain(receipts.iter().map(ReceiptEnvelope::cumulative_gas_used));
    let gas = receipts.iter().zip(before).map(|(receipt, before)| receipt.cumulative_gas_used() - before);
    receipts.iter().zip(gas).map(|(receipt, gas)| (receipt.status(), gas, receipt.logs().to_vec())).collect()
}

#[test]
fn blocks_of_our_fork_go_through_bundler_and_refine() {
    let Some(folder) = tests::fixtures::folder("rpc-compat") else { return };
    let replay = replay(&folder);
    let (mut whole, mut refined, mut blobs) = (0, 0, 0);
    for (index, Replayed { block, before, executed }) in replay.blocks.iter().enumerate() {
        if spec(block) != SpecId::OSAKA {
            continue;
        }
        // Blob transactions do not exist here: each run between two of them is a block of ours, on the state before it.
        let transactions = &block.body.transactions;
        let mut first = 0;
        for run in transactions.split(|tx| tx.is_eip4844()) {
            let range = first..first + run.len();
            first = range.end + 1;
            let prefix = start(block, before, &replay.codes, rules(block, replay.chain_id), range.start);
            let layer = match range.start {
                0 => before.clone(),
                _ => before.child(&prefix.finish().unwrap().changes.writes),
            };
            let mut parent = replay.blocks[index - 1].block.header.clone();
            parent.state_root = layer.root();
            let chain = Chain::at(Parent::new(parent, layer), replay.codes.clone(), config(replay.chain_id));
            let ours = ours(&chain, &block.header, run);
            assert_eq!(effects(&ours.receipts), effects(&executed.receipts)[range]);
            if run.len() == transactions.len() {
                let (ours, recorded) = (ours.block().header(), &block.header);
                assert_eq!(ours.gas_used, recorded.gas_used);
                assert_eq!(ours.receipts_root, recorded.receipts_root);
                assert_eq!(ours.transactions_root, recorded.transactions_root);
                assert_eq!(ours.logs_bloom, recorded.logs_bloom);
                whole += 1;
            }
            refined += run.len();
        }
        blobs += transactions.iter().filter(|tx| tx.is_eip4844()).count();
    }
    assert_eq!((whole, refined, blobs), (4, 22, 3), "blocks, transactions, and blob transactions left out");
}

/// Builds a block of these transactions under the conditions of a recorded one, and lets a validator refine it.
fn ours(chain: &Chain, recorded: &Header, transactions: &[TxEnvelope]) -> Sealed<Values> {
    let opening = Opening { now_secs: recorded.timestamp, beneficiary: recorded.beneficiary, build: 1 };
    let mut open = chain.bundler.open(chain.parent.clone(), chain.codes.clone(), opening).unwrap();
    assert_eq!(open.header().base_fee_per_gas, recorded.base_fee_per_gas);
    for tx in transactions {
        open.push(&Transaction::new(tx.clone().try_into_recovered().unwrap())).unwrap();
    }
    let sealed = open.seal(&chain.secret).unwrap();
    let output = chain.refine(&chain.package(&sealed).1.bytes()).unwrap();
    assert_eq!((output.claim.id(), output.claim.post_root), (sealed.block().id(), sealed.layer.root()));
    sealed
}
