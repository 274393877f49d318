//! The database that revm runs a block on.

use super::{
    error::EvmError,
    memory::{self, Code, Leaves, Memory},
};
use crate::{
    account::{AccountError, BasicData, CHUNK_BYTES},
    codes::Codes,
    hash::{Blake2b, Hasher},
    key::{AccountKeys, Key},
    values::Values,
};
use alloc::vec::Vec;
use alloy_primitives::{
    Address, B256, KECCAK256_EMPTY, U256,
    map::{AddressMap, Entry},
};
use core::cell::RefCell;
use revm::{
    Database, DatabaseCommit, DatabaseRef,
    state::{Account, AccountInfo, Bytecode, EvmState},
};

/// A state on which a block is being executed: what the transactions changed, over values and codes that do not change.
///
/// Whatever is asked through [`Database`] or [`DatabaseRef`] is recorded as touched.
#[derive(Clone, Debug)]
pub struct BlockState<V, C, H = Blake2b> {
    pub(super) values: V,
    codes: C,
    history: Option<History>,
    /// The trait [`DatabaseRef`] reads through a shared reference, and reading is recorded.
    pub(super) memory: RefCell<Memory<H>>,
}

/// The contract whose storage holds the hashes of earlier blocks (EIP-2935): that of block `n` in slot `n % window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Where the contract is.
    pub address: Address,
    /// How many hashes it keeps.
    pub window: u64,
}

/// A moment to which what is touched can be rolled back.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint(usize);

impl Checkpoint {
    /// Before anything was touched.
    pub const START: Self = Self(0);
}

/// What was touched in a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The keys, in the order in which they were.
    pub keys: Vec<Key>,
    /// How many accounts: two of the keys are of each, all others are slots.
    pub accounts: usize,
    /// The lengths of the codes.
    pub codes: Vec<usize>,
}

impl<V: Values, C: Codes, H: Hasher> BlockState<V, C, H> {
    /// The state before the first transaction. Block hashes are refused.
    pub fn new(values: V, codes: C) -> Self {
        Self { values, codes, history: None, memory: RefCell::new(Memory::new()) }
    }

    /// The same, with block hashes read from a contract's storage, where they are proved like any other slot.
    #[must_use]
    pub fn with_history(mut self, history: History) -> Self {
        self.history = Some(history);
        self
    }

    /// This moment. Take it before a transaction that may be skipped.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.memory.borrow().touches.len())
    }

    /// Forgets what was touched since. What a committed transaction touched stays.
    pub fn rollback(&mut self, to: Checkpoint) {
        self.memory.get_mut().rollback(to.0);
    }

    /// What was touched since, and not before. A builder that looks at it after each transaction knows how its witness
    /// grows.
    pub fn touched_since(&self, moment: Checkpoint) -> Touched {
        let memory = self.memory.borrow();
        let touches = memory.touches.get(moment.0..).unwrap_or_default();
        Touched {
            keys: memory.keys_of(touches).collect(),
            accounts: touches.iter().filter(|touch| matches!(touch, memory::Touch::Account(_))).count(),
            codes: memory.code_lengths_of(touches).collect(),
        }
    }

    /// The keys that a transaction writes at most if it is committed, in no order, and how many bytes of code it creates.
    pub fn written_by(&self, changes: &EvmState) -> (Vec<Key>, usize) {
        let memory = &mut *self.memory.borrow_mut();
        let (mut keys, mut code_bytes) = (Vec::new(), 0);
        for (address, account) in changes.iter().filter(|(_, account)| account.is_touched()) {
            let known = memory.account(*address);
            let (info, before) = (&account.info, account.original_info());
            if *info != before || account.is_created() || account.is_selfdestructed() {
                keys.push(known.keys.basic_data());
            }
            if info.code_hash != before.code_hash || before.is_empty() || account.is_selfdestructed() {
                keys.push(known.keys.code_hash());
            }
            keys.extend(account.changed_storage_slots().map(|(slot, _)| known.slot(*slot).key));
            if let Some(code) = info.code.as_ref().filter(|code| !code.is_empty())
                && info.code_hash != before.code_hash
            {
                let chunks = code.len().div_ceil(CHUNK_BYTES);
                keys.extend(known.keys.chunks(u32::try_from(chunks).unwrap_or(u32::MAX)));
                code_bytes += code.len();
            }
        }
        (keys, code_bytes)
    }

    /// The keys of slots that were changed so far: those that a system call changed, before there is a transaction.
    pub fn changed_keys(&self) -> Vec<Key> {
        let memory = self.memory.borrow();
        let slots = memory.accounts.values().flat_map(|account| account.slots.values());
        slots.filter(|slot| slot.changed).map(|slot| slot.key).collect()
    }

    /// Whether what a transaction did fits into the tree. To commit it if it does not makes the whole block fail, so a
    /// builder asks first.
    pub fn check(&self, changes: &EvmState) -> Result<(), AccountError> {
        let touched = changes.values().filter(|account| account.is_touched());
        touched.map(|account| &account.info).try_for_each(|info| {
            let code_size = info.code.as_ref().map_or(0, Bytecode::len);
            BasicData::new(code_size, info.nonce, info.balance).map(drop)
        })
    }

    /// Reads an account for the first time.
    fn load(&self, account: &mut memory::Account<H>) -> Result<(), EvmError<V::Error, C::Error>> {
        if account.before.is_none() {
            let before = self.leaves(&account.keys)?;
            if !account.changed {
                account.now = before.info()?;
            }
            account.before = Some(before);
        }
        Ok(())
    }

    pub(super) fn leaves(&self, keys: &AccountKeys<H>) -> Result<Leaves, EvmError<V::Error, C::Error>> {
        let value = |key| self.values.value(&key).map_err(EvmError::Values);
        Ok(Leaves { basic_data: value(keys.basic_data())?, code_hash: value(keys.code_hash())? })
    }

    fn account(&self, address: Address) -> Result<Option<AccountInfo>, EvmError<V::Error, C::Error>> {
        let memory = &mut *self.memory.borrow_mut();
        let account = memory.touch_account(address);
        self.load(account)?;
        Ok(account.now.clone())
    }

    fn slot(&self, address: Address, index: U256) -> Result<U256, EvmError<V::Error, C::Error>> {
        let memory = &mut *self.memory.borrow_mut();
        let slot = memory.touch_slot(address, index);
        if slot.before.is_none() {
            let leaf = self.values.value(&slot.key).map_err(EvmError::Values)?;
            slot.before = Some(leaf);
            if !slot.changed {
                slot.now = leaf.unwrap_or_default().into();
            }
        }
        Ok(slot.now)
    }

    fn code(&self, hash: B256) -> Result<Bytecode, EvmError<V::Error, C::Error>> {
        if hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        let memory = &mut *self.memory.borrow_mut();
        if let Entry::Vacant(vacant) = memory.codes.entry(hash) {
            let code = self.codes.code(&hash).map_err(EvmError::Codes)?.ok_or(EvmError::CodeMissing(hash))?;
            let bytecode = Bytecode::new_raw_checked(code).map_err(|_| EvmError::CodeInvalid(hash))?;
            vacant.insert(Code { bytecode, touched: false, created: false });
        }
        memory.touch_code(hash);
        Ok(memory.codes[&hash].bytecode.clone())
    }

    fn block_hash_of(&self, number: u64) -> Result<B256, EvmError<V::Error, C::Error>> {
        let history = self.history.ok_or(EvmError::BlockHash(number))?;
        let slot = number.checked_rem(history.window).ok_or(EvmError::BlockHash(number))?;
        let hash = B256::from(self.slot(history.address, U256::from(slot))?);
        if hash.is_zero() { Err(EvmError::BlockHash(number)) } else { Ok(hash) }
    }
}

impl<V: Values, C: Codes, H: Hasher> DatabaseRef for BlockState<V, C, H> {
    type Error = EvmError<V::Error, C::Error>;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Self::Error> {
        self.account(address)
    }

    fn code_by_hash_ref(&self, code_hash: B256) -> Result<Bytecode, Self::Error> {
        self.code(code_hash)
    }

    fn storage_ref(&self, address: Address, index: U256) -> Result<U256, Self::Error> {
        self.slot(address, index)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Self::Error> {
        self.block_hash_of(number)
    }
}

impl<V: Values, C: Codes, H: Hasher> Database for BlockState<V, C, H> {
    type Error = EvmError<V::Error, C::Error>;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Self::Error> {
        self.account(address)
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, Self::Error> {
        self.code(code_hash)
    }

    fn storage(&mut self, address: Address, index: U256) -> Result<U256, Self::Error> {
        self.slot(address, index)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Self::Error> {
        self.block_hash_of(number)
    }
}

impl<V: Values, C: Codes, H: Hasher> DatabaseCommit for BlockState<V, C, H> {
    fn commit(&mut self, changes: AddressMap<Account>) {
        let memory = self.memory.get_mut();
        for (address, account) in changes.into_iter().filter(|(_, account)| account.is_touched()) {
            memory.commit(address, account);
        }
        memory.committed = memory.touches.len();
    }
}
