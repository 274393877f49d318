//! A state as revm reads it.

use crate::{State, StateError};
use alloy_primitives::{Address, B256, U256};
use revm::{
    DatabaseRef,
    state::{AccountInfo, Bytecode},
};
use std::sync::Arc;

/// A state as revm reads it.
#[derive(Clone)]
pub(crate) struct StateDb(pub(crate) Arc<dyn State>);

impl DatabaseRef for StateDb {
    type Error = StateError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        self.0.account(address)
    }

    fn code_by_hash_ref(&self, code_hash: B256) -> Result<Bytecode, StateError> {
        let code = self.0.code(code_hash)?;
        Bytecode::new_raw_checked(code).map_err(|error| StateError(error.to_string()))
    }

    fn storage_ref(&self, address: Address, index: U256) -> Result<U256, StateError> {
        self.0.slot(address, index)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StateError> {
        self.0.block_hash(number)
    }
}
