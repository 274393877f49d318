//! The state after a block, as reads and calls see it.

use alloy_eips::eip2935::{HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::state::{AccountInfo, Bytecode};
use state::{
    AccountKeys, BasicData, Blake2b, Codes, Key, Layer, Value, Values, Writes, account_writes,
    evm::BlockChanges,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A state has no answer. A client is told that the node has a fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the state cannot be read: {0}")]
pub struct StateError(pub String);

impl revm::database_interface::DBErrorMarker for StateError {}

/// The state after a block. It never changes.
pub trait State: Send + Sync {
    /// An account; its code need not be there.
    fn account(&self, address: Address) -> Result<Option<AccountInfo>, StateError>;

    /// A slot; zero where nothing was written.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError>;

    /// A code by its hash. The hash comes from an account.
    fn code(&self, hash: B256) -> Result<Bytes, StateError>;

    /// The hash of an earlier block; zero if it is unknown.
    fn block_hash(&self, number: u64) -> Result<B256, StateError>;

    /// Proves an account and some of its slots against the state's root.
    fn proof(&self, address: Address, slots: &[U256]) -> Result<Proof, StateError>;

    /// The root that the state would have if these accounts were like this; zero if the state has no tree.
    fn root_with(&self, accounts: &[Pretended]) -> Result<B256, StateError>;
}

/// An account of a simulated block. It need not differ from what it was.
#[derive(Clone, Debug)]
pub struct Pretended {
    /// Whose it is.
    pub address: Address,
    /// What it is; empty if it does not exist. Its code is there if it is new.
    pub info: AccountInfo,
    /// Whether all slots but the given ones are empty.
    pub cleared: bool,
    /// Slots.
    pub slots: Vec<(U256, U256)>,
}

/// A proof, in the form that `eth_getProof` shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// Proves the account.
    pub account: Vec<Bytes>,
    /// The root of the account's storage, where it has one of its own.
    pub storage_hash: B256,
    /// Proves each slot, in the order in which they were asked for.
    pub slots: Vec<Vec<Bytes>>,
}

/// The state of one of our own blocks: a layer, and codes by their hashes.
#[derive(Clone, Debug)]
pub struct LayerState<V, C> {
    layer: Layer<V>,
    codes: C,
}

impl<V, C> LayerState<V, C> {
    /// The state in this layer. `codes` must know every code that its accounts have.
    pub const fn new(layer: Layer<V>, codes: C) -> Self {
        Self { layer, codes }
    }
}

/// The state of a block whose tree is not in memory: values alone, which are all that reads, calls and traces need.
#[derive(Clone, Debug)]
pub struct ValuesState<V, C> {
    values: V,
    codes: C,
}

impl<V, C> ValuesState<V, C> {
    /// The state with these values. `codes` must know every code that its accounts have.
    pub const fn new(values: V, codes: C) -> Self {
        Self { values, codes }
    }
}

/// The state of the open block: what its transactions wrote, over its parent's layer. The tree is not updated for it.
#[derive(Clone, Debug)]
pub struct OpenState<V, C> {
    values: Written<V>,
    codes: C,
}

/// Values that were written, over a layer.
#[derive(Clone, Debug)]
struct Written<V> {
    layer: Layer<V>,
    changes: Arc<BlockChanges>,
}

impl<V: Values> Values for Written<V> {
    type Error = V::Error;

    fn value(&self, key: &Key) -> Result<Option<Value>, V::Error> {
        self.changes.writes.get(key).map_or_else(|| self.layer.value(key), |value| Ok(Some(*value)))
    }
}

impl<V, C> OpenState<V, C> {
    /// The state after `changes` to the parent's `layer`. `codes` must know the codes that accounts had before.
    pub fn new(layer: Layer<V>, codes: C, changes: impl Into<Arc<BlockChanges>>) -> Self {
        Self { values: Written { layer, changes: changes.into() }, codes }
    }
}

fn unreadable(why: impl std::fmt::Display) -> StateError {
    StateError(why.to_string())
}

/// Reads an account from values that are laid out as the tree's.
pub(crate) fn read_account(
    values: &impl Values,
    address: Address,
) -> Result<Option<AccountInfo>, StateError> {
    let keys = AccountKeys::<Blake2b>::new(address);
    let Some(basic) = values.value(&keys.basic_data()).map_err(unreadable)? else { return Ok(None) };
    let basic = BasicData::decode(&basic).map_err(unreadable)?;
    let code_hash = values.value(&keys.code_hash()).map_err(unreadable)?.unwrap_or(KECCAK256_EMPTY);
    if basic.is_empty() && code_hash == KECCAK256_EMPTY {
        return Ok(None);
    }
    let code = (code_hash == KECCAK256_EMPTY).then(Bytecode::default);
    Ok(Some(AccountInfo {
        balance: U256::from(basic.balance),
        nonce: basic.nonce,
        code_hash,
        code,
        ..AccountInfo::default()
    }))
}

/// Reads a slot from values that are laid out as the tree's.
pub(crate) fn read_slot(values: &impl Values, address: Address, slot: U256) -> Result<U256, StateError> {
    let key = AccountKeys::<Blake2b>::new(address).slot(slot);
    Ok(values.value(&key).map_err(unreadable)?.unwrap_or_default().into())
}

/// Reads the hash of an earlier block from the history contract (EIP-2935).
pub(crate) fn read_block_hash(values: &impl Values, number: u64) -> Result<B256, StateError> {
    let slot = U256::from(number % HISTORY_SERVE_WINDOW as u64);
    read_slot(values, HISTORY_STORAGE_ADDRESS, slot).map(B256::from)
}

impl<V, C> State for LayerState<V, C>
where
    V: Values + Clone + Send + Sync,
    C: Codes + Send + Sync,
{
    fn account(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        read_account(&self.layer, address)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        read_slot(&self.layer, address, slot)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        read_code(&self.codes, hash)
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        read_block_hash(&self.layer, number)
    }

    fn proof(&self, address: Address, slots: &[U256]) -> Result<Proof, StateError> {
        prove(&self.layer, address, slots)
    }

    fn root_with(&self, accounts: &[Pretended]) -> Result<B256, StateError> {
        Ok(self.layer.tree().update(&pretended_writes(&self.layer, accounts)?).root())
    }
}

impl<V, C> State for ValuesState<V, C>
where
    V: Values + Send + Sync,
    C: Codes + Send + Sync,
{
    fn account(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        read_account(&self.values, address)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        read_slot(&self.values, address, slot)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        read_code(&self.codes, hash)
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        read_block_hash(&self.values, number)
    }

    fn proof(&self, _address: Address, _slots: &[U256]) -> Result<Proof, StateError> {
        Err(unreadable("values alone do not make a tree"))
    }

    /// Without a tree there is no root: zero.
    fn root_with(&self, _accounts: &[Pretended]) -> Result<B256, StateError> {
        Ok(B256::ZERO)
    }
}

impl<V, C> State for OpenState<V, C>
where
    V: Values + Clone + Send + Sync,
    C: Codes + Send + Sync,
{
    fn account(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        read_account(&self.values, address)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        read_slot(&self.values, address, slot)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        match self.values.changes.created.code(&hash) {
            Ok(Some(code)) => Ok(code),
            _ => read_code(&self.codes, hash),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        read_block_hash(&self.values, number)
    }

    fn proof(&self, address: Address, slots: &[U256]) -> Result<Proof, StateError> {
        prove(&self.values.layer.child(&self.values.changes.writes), address, slots)
    }

    fn root_with(&self, accounts: &[Pretended]) -> Result<B256, StateError> {
        let tree = self.values.layer.tree().update(&self.values.changes.writes);
        Ok(tree.update(&pretended_writes(&self.values, accounts)?).root())
    }
}

/// What would be written for these accounts to be as they are pretended. Storage is never cleared in the tree: what is
/// pretended to be is no state that a block could leave. Nor has the tree room for balances that cannot be; in it they are
/// as large as one can be.
fn pretended_writes(values: &impl Values, accounts: &[Pretended]) -> Result<Writes, StateError> {
    let mut writes = Writes::new();
    for Pretended { address, info, slots, .. } in accounts {
        let keys = AccountKeys::<Blake2b>::new(*address);
        let balance = info.balance.min(U256::from(u128::MAX));
        let before = read_account(values, *address)?.unwrap_or_default();
        let same = (before.nonce, before.balance, before.code_hash) == (info.nonce, balance, info.code_hash);
        if before.code_hash != info.code_hash {
            let code = info.code.as_ref().map(Bytecode::original_bytes).unwrap_or_default();
            let leaves = account_writes::<Blake2b>(*address, info.nonce, balance, &code, []);
            writes.extend(leaves.map_err(unreadable)?);
        } else if !same {
            let basic = values.value(&keys.basic_data()).map_err(unreadable)?;
            let size = basic.map(|basic| BasicData::decode(&basic)).transpose().map_err(unreadable)?;
            let size = size.map_or(0, |basic| basic.code_size as usize);
            let basic = BasicData::new(size, info.nonce, balance).map_err(unreadable)?;
            writes.insert(keys.basic_data(), basic.encode());
            writes.insert(keys.code_hash(), info.code_hash);
        }
        for (slot, value) in slots {
            if read_slot(values, *address, *slot)? != *value {
                writes.insert(keys.slot(*slot), (*value).into());
            }
        }
    }
    Ok(writes)
}

fn read_code(codes: &impl Codes, hash: B256) -> Result<Bytes, StateError> {
    if hash == KECCAK256_EMPTY {
        return Ok(Bytes::new());
    }
    let code = codes.code(&hash).map_err(unreadable)?;
    code.ok_or_else(|| unreadable(format_args!("no code has the hash {hash}")))
}

/// The witness of an account, and of each slot, in the place of a list of trie nodes.
fn prove<V>(layer: &Layer<V>, address: Address, slots: &[U256]) -> Result<Proof, StateError>
where
    V: Values + Clone,
{
    let keys = AccountKeys::<Blake2b>::new(address);
    let witness = |keys: &BTreeSet<Key>| {
        let witness = layer.witness(keys).map_err(unreadable)?;
        Ok(vec![Bytes::from(witness.encode())])
    };
    Ok(Proof {
        account: witness(&[keys.basic_data(), keys.code_hash()].into())?,
        storage_hash: layer.root(),
        slots: slots.iter().map(|slot| witness(&[keys.slot(*slot)].into())).collect::<Result<_, _>>()?,
    })
}
