//! A state as Ethereum commits to it: a Merkle-Patricia trie, made anew each time it is asked for.

use alloy_genesis::Genesis as File;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, TrieAccount, proof::ProofRetainer};
use revm::state::EvmState;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Plain {
    nonce: u64,
    balance: U256,
    code_hash: B256,
    slots: BTreeMap<B256, U256>,
}

impl Default for Plain {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: KECCAK256_EMPTY, slots: BTreeMap::new() }
    }
}

impl Plain {
    fn leaves(&self) -> BTreeMap<B256, Vec<u8>> {
        self.slots.iter().map(|(slot, value)| (keccak256(slot), alloy_rlp::encode(value))).collect()
    }

    fn encoded(&self) -> Vec<u8> {
        let storage_root = root(&self.leaves());
        let Self { nonce, balance, code_hash, .. } = *self;
        alloy_rlp::encode(TrieAccount { nonce, balance, storage_root, code_hash })
    }
}

/// A state.
#[derive(Clone, Debug, Default)]
pub struct Trie(BTreeMap<Address, Plain>);

impl Trie {
    pub(super) fn new(file: &File) -> Self {
        let mut trie = Self::default();
        for (address, account) in &file.alloc {
            let code = account.code.as_ref().filter(|code| !code.is_empty());
            let slots = account.storage.iter().flatten();
            let plain = Plain {
                nonce: account.nonce.unwrap_or(0),
                balance: account.balance,
                code_hash: code.map_or(KECCAK256_EMPTY, keccak256),
                slots: slots.map(|(slot, value)| (*slot, (*value).into())).collect(),
            };
            trie.0.insert(*address, plain);
        }
        trie
    }

    /// Applies what a transaction changed; `deletes_empty` since Spurious Dragon.
    pub(super) fn apply(&mut self, changes: &EvmState, deletes_empty: bool) {
        for (address, account) in changes.iter().filter(|(_, account)| account.is_touched()) {
            if account.is_selfdestructed() || (deletes_empty && account.info.is_empty()) {
                self.0.remove(address);
                continue;
            }
            let plain = self.0.entry(*address).or_default();
            if account.is_created() {
                plain.slots.clear();
            }
            (plain.nonce, plain.balance) = (account.info.nonce, account.info.balance);
            plain.code_hash = account.info.code_hash;
            for (slot, value) in &account.storage {
                set(plain, *slot, value.present_value);
            }
        }
    }

    pub(super) fn pay(&mut self, address: Address, wei: U256) {
        self.0.entry(address).or_default().balance += wei;
    }

    pub(super) fn set(&mut self, address: Address, slot: U256, value: U256) {
        if let Some(plain) = self.0.get_mut(&address) {
            set(plain, slot, value);
        }
    }

    fn leaves(&self) -> BTreeMap<B256, Vec<u8>> {
        self.0.iter().map(|(address, plain)| (keccak256(address), plain.encoded())).collect()
    }

    /// The root.
    pub fn root(&self) -> B256 {
        root(&self.leaves())
    }

    /// The root if these accounts were like this.
    pub fn root_with(&self, accounts: &[rpc::Pretended]) -> B256 {
        let mut trie = self.clone();
        for rpc::Pretended { address, info, cleared, slots } in accounts {
            if info.is_empty() {
                trie.0.remove(address);
                continue;
            }
            let plain = trie.0.entry(*address).or_default();
            (plain.nonce, plain.balance, plain.code_hash) = (info.nonce, info.balance, info.code_hash);
            if *cleared {
                plain.slots.clear();
            }
            slots.iter().for_each(|(slot, value)| set(plain, *slot, *value));
        }
        trie.root()
    }

    /// Proves an account and slots of it: the nodes on the way to the account, the root of its storage, and for each
    /// slot the nodes on the way to it.
    pub fn proof(&self, address: Address, slots: &[U256]) -> (Vec<Bytes>, B256, Vec<Vec<Bytes>>) {
        let account = prove(&self.leaves(), keccak256(address));
        let leaves = self.0.get(&address).map(Plain::leaves).unwrap_or_default();
        let slots = slots.iter().map(|slot| prove(&leaves, keccak256(B256::from(*slot)))).collect();
        (account, root(&leaves), slots)
    }
}

fn set(plain: &mut Plain, slot: U256, value: U256) {
    match value {
        U256::ZERO => plain.slots.remove(&B256::from(slot)),
        value => plain.slots.insert(slot.into(), value),
    };
}

fn root(leaves: &BTreeMap<B256, Vec<u8>>) -> B256 {
    if leaves.is_empty() {
        return EMPTY_ROOT_HASH;
    }
    let mut builder = HashBuilder::default();
    leaves.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
    builder.root()
}

/// The nodes from the root to a key, as far as they go; none in an empty trie.
fn prove(leaves: &BTreeMap<B256, Vec<u8>>, key: B256) -> Vec<Bytes> {
    if leaves.is_empty() {
        return vec![];
    }
    let target = Nibbles::unpack(key);
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(vec![target]));
    leaves.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
    builder.root();
    let nodes = builder.take_proof_nodes();
    nodes.matching_nodes_sorted(&target).into_iter().map(|(_, node)| node).collect()
}
