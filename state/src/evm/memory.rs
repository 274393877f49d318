//! What a block read and changed so far, and which of it counts as touched.

use crate::{
    account::{AccountError, BasicData},
    hash::{Hasher, Value},
    key::{AccountKeys, Key},
};
use alloc::vec::Vec;
use alloy_primitives::{
    Address, B256, KECCAK256_EMPTY, U256,
    map::{AddressMap, B256Map, U256Map},
};
use revm::state::{AccountInfo, Bytecode};

/// Everything that was read stays, touched or not: it is true for the whole block.
#[derive(Clone, Debug)]
pub(super) struct Memory<H> {
    pub(super) accounts: AddressMap<Account<H>>,
    pub(super) codes: B256Map<Code>,
    /// What is touched, in the order in which it was.
    pub(super) touches: Vec<Touch>,
    /// Touches before this one belong to transactions that are part of the block.
    pub(super) committed: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Account<H> {
    pub(super) keys: AccountKeys<H>,
    pub(super) touched: bool,
    pub(super) changed: bool,
    pub(super) before: Option<Leaves>,
    /// Not there, or empty, which is the same since EIP-161.
    pub(super) now: Option<AccountInfo>,
    pub(super) slots: U256Map<Slot>,
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) key: Key,
    pub(super) touched: bool,
    pub(super) changed: bool,
    /// The leaf, if it was read. Slots of a new contract are written unread.
    pub(super) before: Option<Option<Value>>,
    pub(super) now: U256,
}

/// The leaves of an account before the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaves {
    pub(super) basic_data: Option<Value>,
    pub(super) code_hash: Option<Value>,
}

#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) bytecode: Bytecode,
    pub(super) touched: bool,
    /// It came from a transaction of this block, so nobody has to bring it.
    pub(super) created: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Touch {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

impl Leaves {
    pub(super) fn decode(&self) -> Result<(BasicData, B256), AccountError> {
        let basic = self.basic_data.as_ref().map_or(Ok(BasicData::default()), BasicData::decode)?;
        let code_hash = self.code_hash.filter(|hash| !hash.is_zero()).unwrap_or(KECCAK256_EMPTY);
        Ok((basic, code_hash))
    }

    pub(super) fn info(&self) -> Result<Option<AccountInfo>, AccountError> {
        let (basic, code_hash) = self.decode()?;
        let info = AccountInfo {
            balance: U256::from(basic.balance),
            nonce: basic.nonce,
            code_hash,
            code: None,
            ..Default::default()
        };
        Ok((!info.is_empty()).then_some(info))
    }
}

impl<H: Hasher> Memory<H> {
    pub(super) fn new() -> Self {
        Self { accounts: Default::default(), codes: Default::default(), touches: Vec::new(), committed: 0 }
    }

    /// The account, which may not be read yet.
    pub(super) fn account(&mut self, address: Address) -> &mut Account<H> {
        account(&mut self.accounts, address)
    }

    /// The account, touched.
    pub(super) fn touch_account(&mut self, address: Address) -> &mut Account<H> {
        let account = account(&mut self.accounts, address);
        if !core::mem::replace(&mut account.touched, true) {
            self.touches.push(Touch::Account(address));
        }
        account
    }

    /// The slot, touched.
    pub(super) fn touch_slot(&mut self, address: Address, index: U256) -> &mut Slot {
        let slot = account(&mut self.accounts, address).slot(index);
        if !core::mem::replace(&mut slot.touched, true) {
            self.touches.push(Touch::Slot(address, index));
        }
        slot
    }

    pub(super) fn touch_code(&mut self, hash: B256) {
        let Some(code) = self.codes.get_mut(&hash).filter(|code| !code.created) else { return };
        if !core::mem::replace(&mut code.touched, true) {
            self.touches.push(Touch::Code(hash));
        }
    }

    /// Forgets the touches from `mark` on, but none of a transaction that was committed.
    pub(super) fn rollback(&mut self, mark: usize) {
        let mark = mark.max(self.committed).min(self.touches.len());
        for touch in self.touches.split_off(mark) {
            match touch {
                Touch::Account(address) => self.account(address).touched = false,
                Touch::Slot(address, slot) => self.account(address).slot(slot).touched = false,
                Touch::Code(hash) => {
                    if let Some(code) = self.codes.get_mut(&hash) {
                        code.touched = false;
                    }
                }
            }
        }
    }
}

fn account<H: Hasher>(accounts: &mut AddressMap<Account<H>>, address: Address) -> &mut Account<H> {
    accounts.entry(address).or_insert_with(|| Account {
        keys: AccountKeys::new(address),
        touched: false,
        changed: false,
        before: None,
        now: None,
        slots: Default::default(),
    })
}

impl<H: Hasher> Account<H> {
    /// The slot, which may not be read yet.
    pub(super) fn slot(&mut self, slot: U256) -> &mut Slot {
        self.slots.entry(slot).or_insert_with(|| Slot {
            key: self.keys.slot(slot),
            touched: false,
            changed: false,
            before: None,
            now: U256::ZERO,
        })
    }

    /// A contract that was created, or destroyed right after, has no storage.
    pub(super) fn clear_storage(&mut self) {
        for slot in self.slots.values_mut().filter(|slot| !slot.now.is_zero()) {
            slot.now = U256::ZERO;
            slot.changed = true;
        }
    }
}
