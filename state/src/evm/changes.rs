//! From what revm did to what is written into the tree. The one way there is, for builder and validator.
//!
//! Nothing is ever deleted from the tree. A slot set to zero holds zero from then on; an account that is gone (EIP-161,
//! or destroyed in the transaction that created it) has zero basic data and the hash of no code. What never was there
//! and is not there now is not written.

use super::{
    block_state::BlockState,
    error::EvmError,
    memory::{Account, Code, Leaves, Memory, Touch},
};
use crate::{
    Writes,
    account::{AccountError, BasicData, code_writes},
    codes::{CodeSet, Codes},
    hash::{Hasher, Value},
    key::Key,
    values::Values,
};
use alloc::{collections::BTreeSet, vec::Vec};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::state;

/// What a block did to the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockChanges {
    /// The values to write.
    pub writes: Writes,
    /// The keys that were read or are written: what the witness covers.
    pub touched: BTreeSet<Key>,
    /// What those that were read held before, in the order of the keys.
    pub read: Vec<(Key, Option<Value>)>,
    /// The codes that were executed or read and existed before: what travels beside the witness.
    pub codes: CodeSet,
    /// The codes that accounts have since this block.
    pub created: CodeSet,
    /// Whose nonce, balance, code or storage may have changed, in order.
    pub accounts: Vec<Address>,
}

/// What a validator needs to know of [`BlockChanges`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockEffects {
    /// The values to write.
    pub writes: Writes,
    /// The keys that were read, in any order. Those that are written are in `writes`.
    pub read: Vec<Key>,
    /// The codes that were executed or read and existed before.
    pub codes: CodeSet,
    /// The codes that accounts have since this block.
    pub created: CodeSet,
}

impl<V: Values, C: Codes, H: Hasher> BlockState<V, C, H> {
    /// What the committed transactions did so far.
    pub fn changes(&self) -> Result<BlockChanges, EvmError<V::Error, C::Error>> {
        let memory = &mut *self.memory.borrow_mut();
        let (writes, created) = self.written(memory)?;
        let mut touched = memory.known_of(&memory.touches).collect::<Vec<_>>();
        touched.sort_unstable_by_key(|(key, _)| *key);
        let keys = touched.iter().map(|(key, _)| *key).chain(writes.keys().copied()).collect();
        let read = touched.into_iter().filter_map(|(key, before)| Some((key, before?))).collect();
        let accounts = memory.accounts.iter().filter(|(_, account)| account.changed);
        let mut accounts = accounts.map(|(address, _)| *address).collect::<Vec<_>>();
        accounts.sort_unstable();
        let codes = memory.touched_codes().collect();
        Ok(BlockChanges { writes, touched: keys, read, codes, created, accounts })
    }

    /// The same, without what only a builder needs.
    pub fn effects(&self) -> Result<BlockEffects, EvmError<V::Error, C::Error>> {
        let memory = &mut *self.memory.borrow_mut();
        let (writes, created) = self.written(memory)?;
        let read = memory.keys_of(&memory.touches).collect();
        Ok(BlockEffects { writes, read, codes: memory.touched_codes().collect(), created })
    }

    /// The values to write, and the new codes.
    fn written(&self, memory: &mut Memory<H>) -> Result<(Writes, CodeSet), EvmError<V::Error, C::Error>> {
        let (mut writes, mut created) = (Vec::new(), CodeSet::default());
        for account in memory.accounts.values_mut() {
            self.slots(account, &mut writes)?;
        }
        for account in memory.accounts.values().filter(|account| account.changed) {
            let before = account.before.map_or_else(|| self.leaves(&account.keys), Ok)?;
            memory.account_changes(account, before, &mut writes, &mut created)?;
        }
        // To sort once is quicker than to keep order all the time.
        Ok((writes.into_iter().collect(), created))
    }

    fn slots(
        &self,
        account: &mut Account<H>,
        writes: &mut Vec<(Key, Value)>,
    ) -> Result<(), EvmError<V::Error, C::Error>> {
        for slot in account.slots.values_mut().filter(|slot| slot.changed) {
            let before = match slot.before {
                Some(before) => before,
                None => *slot.before.insert(self.values.value(&slot.key).map_err(EvmError::Values)?),
            };
            let now = Value::from(slot.now);
            if before.unwrap_or_default() != now {
                writes.push((slot.key, now));
            }
        }
        Ok(())
    }
}

impl<H: Hasher> Memory<H> {
    /// Takes over what a transaction did to an account.
    pub(super) fn commit(&mut self, address: Address, account: state::Account) {
        let entry = self.touch_account(address);
        entry.changed = true;
        if account.is_selfdestructed() {
            entry.now = None;
            entry.clear_storage();
            return;
        }
        if account.is_created() {
            entry.clear_storage();
        }
        entry.now = (!account.info.is_empty()).then(|| account.info.clone());
        if let Some(bytecode) = account.info.code.filter(|code| !code.is_empty()) {
            self.create_code(account.info.code_hash, bytecode);
        }
        for (index, value) in account.storage.into_iter().filter(|(_, slot)| slot.is_changed()) {
            self.write_slot(address, index, value.present_value());
        }
    }

    /// Notes a code that came with a change. It is new unless the block read it before; that a skipped transaction did
    /// must not make a difference.
    fn create_code(&mut self, hash: B256, bytecode: state::Bytecode) {
        let code = self.codes.entry(hash).or_insert(Code { bytecode, touched: false, created: true });
        code.created |= !code.touched;
    }

    fn write_slot(&mut self, address: Address, index: U256, value: U256) {
        let slot = self.touch_slot(address, index);
        slot.now = value;
        slot.changed = true;
    }

    fn account_changes(
        &self,
        account: &Account<H>,
        before: Leaves,
        writes: &mut Vec<(Key, Value)>,
        created: &mut CodeSet,
    ) -> Result<(), AccountError> {
        if account.now.is_none() && before.basic_data.is_none() {
            return Ok(());
        }
        let (basic_before, code_hash_before) = before.decode()?;
        let now = account.now.clone().unwrap_or_default();
        let mut code_size = basic_before.code_size as usize;
        if now.code_hash != code_hash_before {
            let code = self.codes.get(&now.code_hash).map(|code| code.bytecode.original_bytes());
            let code = code.unwrap_or_default();
            code_size = code.len();
            writes.extend(code_writes(&account.keys, &code));
            if code_size > 0 {
                created.insert(code);
            }
        }
        let basic = BasicData::new(code_size, now.nonce, now.balance)?.encode();
        if before.basic_data != Some(basic) {
            writes.push((account.keys.basic_data(), basic));
        }
        if before.code_hash != Some(now.code_hash) {
            writes.push((account.keys.code_hash(), now.code_hash));
        }
        Ok(())
    }

    pub(super) fn keys_of(&self, touches: &[Touch]) -> impl Iterator<Item = Key> {
        self.known_of(touches).map(|(key, _)| key)
    }

    /// The keys, and what those that were read held before.
    fn known_of(&self, touches: &[Touch]) -> impl Iterator<Item = (Key, Option<Option<Value>>)> {
        touches
            .iter()
            .flat_map(|touch| match touch {
                Touch::Account(address) => {
                    let Account { keys, before, .. } = &self.accounts[address];
                    let basic_data = before.map(|leaves| leaves.basic_data);
                    let code_hash = before.map(|leaves| leaves.code_hash);
                    [Some((keys.basic_data(), basic_data)), Some((keys.code_hash(), code_hash))]
                }
                Touch::Slot(address, slot) => {
                    let slot = &self.accounts[address].slots[slot];
                    [Some((slot.key, slot.before)), None]
                }
                Touch::Code(_) => [None, None],
            })
            .flatten()
    }

    pub(super) fn code_lengths_of(&self, touches: &[Touch]) -> impl Iterator<Item = usize> {
        touches.iter().filter_map(|touch| match touch {
            Touch::Code(hash) => self.codes.get(hash).map(|code| code.bytecode.original_bytes().len()),
            _ => None,
        })
    }

    fn touched_codes(&self) -> impl Iterator<Item = Bytes> {
        self.codes.values().filter(|code| code.touched).map(|code| code.bytecode.original_bytes())
    }
}
