//! Which accounts and slots a transaction touches besides those that are warm anyway.

use super::{Request, Simulator, error, outcome};
use crate::Error;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256};
use revm::{
    context::result::{ExecutionResult, ResultAndState},
    precompile::{PrecompileSpecId, Precompiles},
};
use std::collections::{BTreeMap, BTreeSet};

/// With another list a transaction may go another way; after so many it is not followed any further.
const ROUNDS_MAX: usize = 8;

/// An access list, the gas that the transaction uses with it, and why it failed if it did.
pub(crate) struct Accessed {
    pub(crate) list: AccessList,
    pub(crate) gas_used: u64,
    pub(crate) error: Option<String>,
}

/// The list of what is touched if that list is given.
pub(crate) fn access_list(simulator: &mut Simulator, request: &Request, gas: u64) -> Result<Accessed, Error> {
    let mut request = request.clone();
    let mut list = request.access_list.clone().unwrap_or_default();
    for round in 0.. {
        request.access_list = Some(list.clone());
        let done = simulator.run(&request, gas)?;
        let touched = touched(simulator, &request, &done);
        if touched == list || round == ROUNDS_MAX {
            let gas_used = done.result.tx_gas_used();
            return Ok(Accessed { list: touched, gas_used, error: failure(&done.result) });
        }
        list = touched;
    }
    Err(error::timeout())
}

fn failure(result: &ExecutionResult) -> Option<String> {
    outcome(result).err().map(|error| error.message.into_owned())
}

/// What was touched, without what costs nothing: sender, recipient, precompiles, the block's beneficiary, and contracts
/// that did not exist before.
fn touched(simulator: &Simulator, request: &Request, done: &ResultAndState) -> AccessList {
    let precompiles = Precompiles::new(PrecompileSpecId::from_spec_id(simulator.spec()));
    let from = request.from.unwrap_or_default();
    let to = request.to.unwrap_or_else(|| from.create(request.nonce.unwrap_or_default()));
    let warm = |address: &Address| {
        *address == from
            || *address == to
            || *address == simulator.block.beneficiary
            || precompiles.contains(address)
    };
    let mut touched = BTreeMap::<Address, BTreeSet<B256>>::new();
    for (address, account) in &done.state {
        let slots = account.storage.keys().map(|slot| B256::from(*slot)).collect::<BTreeSet<_>>();
        if account.is_created() || (slots.is_empty() && warm(address)) {
            continue;
        }
        touched.insert(*address, slots);
    }
    let items = touched
        .into_iter()
        .map(|(address, slots)| AccessListItem { address, storage_keys: slots.into_iter().collect() });
    AccessList(items.collect())
}
