//! Which accounts and slots a transaction touches besides those that are warm anyway.

use super::{Request, Simulator, error};
use crate::Error;
use alloy_eips::eip2930::AccessList;
use revm::context::result::ExecutionResult;
use revm_inspectors::access_list::AccessListInspector;

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
        let watch = AccessListInspector::new(list.clone());
        let (done, watch) = simulator.run_watched(&request, gas, watch)?;
        let touched = watch.into_access_list();
        if touched == list || round == ROUNDS_MAX {
            let gas_used = done.result.tx_gas_used();
            return Ok(Accessed { list: touched, gas_used, error: failure(&done.result) });
        }
        list = touched;
    }
    Err(error::timeout())
}

/// Why it failed. That something was said about it does not belong here.
fn failure(result: &ExecutionResult) -> Option<String> {
    match result {
        ExecutionResult::Success { .. } => None,
        ExecutionResult::Revert { .. } => Some("execution reverted".to_owned()),
        ExecutionResult::Halt { reason, .. } => Some(error::halted(reason)),
    }
}
