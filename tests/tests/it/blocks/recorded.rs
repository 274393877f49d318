//! A chain that other clients recorded, replayed through our execution: what comes out is what they recorded.
//!
//! | blocks | claimed |
//! |---|---|
//! | all | gas, bloom, and in the end every account, code and slot |
//! | all | the root of the state as a Merkle-Patricia trie, and the receipts root |
//! | of Osaka | the same through `bundler` and `refine`, without blob transactions |

use alloy_consensus::{
    Header, ReceiptEnvelope, TxEnvelope, Typed2718, proofs::ordered_trie_root_encoded,
    transaction::SignerRecoverable,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_genesis::Genesis as File;
use alloy_primitives::{KECCAK256_EMPTY, Log};
use bundler::{Opening, Parent, Sealed};
use harness::blocks::{MemoryChain, Values};
use revm::primitives::hardfork::SpecId;
use state::{Blake2b, Key, Value, Values as _, Writes, account_writes};
use tests::recorded::{Replayed, config, replay, rules, spec, start};
use types::Transaction;

#[test]
fn the_recorded_chain_comes_out_the_same() {
    let Some(folder) = harness::fixtures::folder("rpc-compat") else { return };
    let replay = replay(&folder);
    let transactions =
        replay.blocks.iter().map(|replayed| replayed.block.body.transactions.len()).sum::<usize>();
    assert_eq!((replay.blocks.len(), transactions), (54, 249));
    assert_eq!(replay.genesis.hash_slow(), replay.blocks[0].block.header.parent_hash);
    for Replayed { block, executed, receipts, trie, .. } in &replay.blocks {
        let header = &block.header;
        assert_eq!(executed.gas_used, header.gas_used, "gas of block {}", header.number);
        assert_eq!(executed.bloom, header.logs_bloom, "bloom of block {}", header.number);
        assert_eq!(trie.root(), header.state_root, "state of block {}", header.number);
        let encoded = receipts.iter().map(Encodable2718::encoded_2718).collect::<Vec<_>>();
        let root = ordered_trie_root_encoded(&encoded);
        assert_eq!(root, header.receipts_root, "receipts of block {}", header.number);
    }
}

#[test]
fn the_recorded_chain_ends_in_the_recorded_state() {
    let Some(folder) = harness::fixtures::folder("rpc-compat") else { return };
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
    let Some(folder) = harness::fixtures::folder("rpc-compat") else { return };
    let replay = replay(&folder);
    let (mut whole, mut refined, mut blobs) = (0, 0, 0);
    for (index, Replayed { block, before, executed, .. }) in replay.blocks.iter().enumerate() {
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
            let chain =
                MemoryChain::at(Parent::new(parent, layer), replay.codes.clone(), config(replay.chain_id));
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
fn ours(chain: &MemoryChain, recorded: &Header, transactions: &[TxEnvelope]) -> Sealed<Values> {
    let opening = Opening { now_secs: recorded.timestamp, beneficiary: recorded.beneficiary, build: 1 };
    let mut open = chain.bundler.open(chain.parent.clone(), chain.codes.clone(), opening).unwrap();
    assert_eq!(open.header().base_fee_per_gas, recorded.base_fee_per_gas);
    for tx in transactions {
        open.push(&Transaction::new(tx.clone().try_into_recovered().unwrap())).unwrap();
    }
    let sealed = open.seal(&chain.secret).unwrap();
    let output = chain.refine(&chain.package(&sealed).1.bytes()).unwrap();
    assert_eq!((output.claim.last, output.claim.post_root), (sealed.block().id(), sealed.layer.root()));
    sealed
}
