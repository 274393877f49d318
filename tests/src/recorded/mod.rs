//! A chain that other clients recorded, executed by our code.
//!
//! Fifty-four blocks with transactions of every type, under the rules of every fork from Homestead to Osaka. The service
//! has Osaka's rules alone; the older blocks are executed by the same code under theirs, because that is how the states
//! of the newer ones come about. What is around the transactions on Ethereum and not here (rewards, withdrawals, beacon
//! roots, requests, Merkle-Patricia roots) is done here.

mod trie;

pub use trie::Trie;

use alloy_consensus::{
    Block, EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Eip658Value, Header, ReceiptEnvelope, TxEnvelope,
    transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2935::{HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS},
    eip4788::BEACON_ROOTS_ADDRESS,
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
};
use alloy_genesis::Genesis as File;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable;
use harness::blocks::Values;
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
use state::{AccountKeys, Blake2b, CodeSet, Values as _};
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// The state after a recorded block.
pub type Layer = state::Layer<Values>;

/// The configuration under which the chain is executed.
pub fn config(chain_id: u64) -> Config {
    let builder = Ed25519Secret::trivial(99).public();
    Config {
        chain_id,
        gas_limit: 200_000_000,
        gas_target: 100_000_000,
        base_fee_floor_wei: 1,
        ..Config::new(7, B256::ZERO, builder)
    }
}

/// The recorded blocks.
fn blocks(folder: &Path) -> Vec<Block<TxEnvelope>> {
    let bytes = std::fs::read(folder.join("chain.rlp")).expect("the folder has the chain");
    let rest = &mut &*bytes;
    let mut blocks = vec![];
    while !rest.is_empty() {
        blocks.push(Block::decode(rest).expect("the folder has the chain"));
    }
    blocks
}

/// The fork of a block, as the recorded chain's genesis schedules them.
pub fn spec(block: &Block<TxEnvelope>) -> SpecId {
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

/// The rules of a block.
pub fn rules(block: &Block<TxEnvelope>, chain_id: u64) -> Rules {
    let update_fraction = match block.header.timestamp {
        540.. => 11_684_671,
        510.. => 8_346_193,
        450.. => 5_007_716,
        _ => 3_338_477,
    };
    Rules { spec: spec(block), chain_id, blobs: Some(Blobs { per_transaction_max: 6, update_fraction }) }
}

/// A recorded block that is being executed.
pub type Run<'a> = Execution<Layer, &'a CodeSet>;

/// Executes the first `count` transactions of a recorded block.
///
/// # Panics
///
/// If one of them is refused.
pub fn start<'a>(
    block: &Block<TxEnvelope>,
    layer: &Layer,
    codes: &'a CodeSet,
    rules: Rules,
    count: usize,
) -> Run<'a> {
    start_and_see(block, layer, codes, rules, count, |_| {})
}

/// The same; `see` is shown what each transaction changes.
fn start_and_see<'a>(
    block: &Block<TxEnvelope>,
    layer: &Layer,
    codes: &'a CodeSet,
    rules: Rules,
    count: usize,
    mut see: impl FnMut(&EvmState),
) -> Run<'a> {
    let mut execution =
        Execution::new(layer.clone(), codes, &block.header, rules).expect("the state is in memory");
    if let Some(root) = block.header.parent_beacon_block_root {
        execution.system_call(BEACON_ROOTS_ADDRESS, root.into()).expect("the state is in memory");
    }
    for (index, tx) in block.body.transactions[..count].iter().enumerate() {
        let attempt = execution.attempt(tx, tx.recover_signer().expect("it was recorded with a signature"));
        let attempt = attempt.unwrap_or_else(|why| panic!("{}.{index}: {why}", block.header.number));
        see(&attempt.changes);
        execution.keep(attempt);
    }
    execution
}

/// Executes a recorded block, with everything that Ethereum does around its transactions.
fn execute(
    block: &Block<TxEnvelope>,
    layer: &Layer,
    codes: &CodeSet,
    chain_id: u64,
    trie: &mut Trie,
) -> (Executed, Vec<ReceiptEnvelope>) {
    let rules = rules(block, chain_id);
    let deletes_empty = rules.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
    let with_roots = !rules.spec.is_enabled_in(SpecId::BYZANTIUM);
    let mut roots = vec![];
    let see = |changes: &EvmState| {
        trie.apply(changes, deletes_empty);
        if with_roots {
            roots.push(trie.root());
        }
    };
    let mut execution = start_and_see(block, layer, codes, rules, block.body.transactions.len(), see);
    if rules.spec.is_enabled_in(SpecId::PRAGUE) {
        for contract in [WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS] {
            execution.system_call(contract, Bytes::new()).expect("the state is in memory");
        }
    }
    let paid = payments(block, rules.spec);
    let state = execution.state_mut();
    let changes = paid.into_iter().filter(|(_, wei)| !wei.is_zero()).map(|(address, wei)| {
        trie.pay(address, wei);
        let info = state.basic_ref(address).expect("the state is in memory").unwrap_or_default();
        let mut account = Account::from(AccountInfo { balance: info.balance + wei, ..info });
        account.mark_touch();
        (address, account)
    });
    let changes = changes.collect::<EvmState>();
    state.commit(changes);
    let executed = execution.finish().expect("the state is in memory");
    let mut receipts = executed.receipts.clone();
    for (receipt, root) in receipts.iter_mut().zip(roots) {
        let receipt = receipt.as_receipt_with_bloom_mut().expect("every type has one");
        receipt.receipt.status = Eip658Value::PostState(root);
    }
    (executed, receipts)
}

/// The slots that system calls may write in a block.
fn system_slots(header: &Header) -> Vec<(Address, U256)> {
    const BEACON_ROOTS: u64 = 8191;
    let time = header.timestamp % BEACON_ROOTS;
    let parent = header.number.saturating_sub(1) % HISTORY_SERVE_WINDOW as u64;
    let mut slots = vec![
        (BEACON_ROOTS_ADDRESS, U256::from(time)),
        (BEACON_ROOTS_ADDRESS, U256::from(time + BEACON_ROOTS)),
        (HISTORY_STORAGE_ADDRESS, U256::from(parent)),
    ];
    for contract in [WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS] {
        slots.extend((0..4).map(|slot| (contract, U256::from(slot))));
    }
    slots
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

/// A recorded block, and what executing it gave.
pub struct Replayed {
    /// The block.
    pub block: Block<TxEnvelope>,
    /// The state before it.
    pub before: Layer,
    /// The state after it.
    pub after: Layer,
    /// What executing it gave.
    pub executed: Executed,
    /// Its receipts; before Byzantium with the root of the state instead of a status.
    pub receipts: Vec<ReceiptEnvelope>,
    /// The state after it as a Merkle-Patricia trie.
    pub trie: Arc<Trie>,
}

/// The whole chain.
pub struct Replay {
    /// Its genesis file.
    pub file: File,
    /// The chain id.
    pub chain_id: u64,
    /// The first header.
    pub genesis: Header,
    /// The state of the genesis.
    pub first: Layer,
    /// The same as a Merkle-Patricia trie.
    pub first_trie: Arc<Trie>,
    /// The blocks after the genesis.
    pub blocks: Vec<Replayed>,
    /// The state in the end.
    pub after: Layer,
    /// All codes.
    pub codes: CodeSet,
}

/// Executes the chain in `folder`.
///
/// # Panics
///
/// If it is not there, or cannot be executed.
pub fn replay(folder: &Path) -> Replay {
    let text = std::fs::read_to_string(folder.join("genesis.json")).expect("the folder has a genesis");
    let file = serde_json::from_str::<File>(&text).expect("it is a genesis");
    let chain_id = file.config.chain_id;
    let genesis = Genesis::from_json(&text, &config(chain_id)).expect("it is a genesis");
    let first = genesis.layer();
    let (mut layer, mut codes) = (first.clone(), genesis.codes);
    let mut trie = Trie::new(&file);
    let (first_trie, genesis) = (Arc::new(trie.clone()), genesis_header(&file, trie.root()));
    let mut replayed = vec![];
    for block in blocks(folder) {
        let (executed, receipts) = execute(&block, &layer, &codes, chain_id, &mut trie);
        codes.extend(&executed.changes.created);
        let after = layer.child(&executed.changes.writes);
        for (address, slot) in system_slots(&block.header) {
            let key = AccountKeys::<Blake2b>::new(address).slot(slot);
            let value = after.value(&key).expect("the state is in memory").unwrap_or_default();
            trie.set(address, slot, value.into());
        }
        let before = std::mem::replace(&mut layer, after.clone());
        replayed.push(Replayed { block, before, after, executed, receipts, trie: Arc::new(trie.clone()) });
    }
    Replay { file, chain_id, genesis, first, first_trie, blocks: replayed, after: layer, codes }
}

/// The first header, of a chain that begins before every fork that adds a field.
fn genesis_header(file: &File, state_root: B256) -> Header {
    Header {
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: file.coinbase,
        state_root,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        difficulty: file.difficulty,
        gas_limit: file.gas_limit,
        timestamp: file.timestamp,
        extra_data: file.extra_data.clone(),
        mix_hash: file.mix_hash,
        nonce: file.nonce.into(),
        ..Header::default()
    }
}
