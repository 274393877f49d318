//! How much gas a transaction needs: the least that it succeeds with, or a little more.

use super::{Request, Simulator, error, outcome};
use crate::{Error, config::Limits};
use alloy_primitives::{KECCAK256_EMPTY, U256};
use bundler::Counter;
use revm::{context::result::ExecutionResult, primitives::hardfork::SpecId};

/// What a plain transfer needs.
const TRANSFER_GAS: u64 = 21_000;
/// What a call with value hands on for free.
const STIPEND_GAS: u64 = 2_300;
/// The greatest gas limit of a transaction since Osaka (EIP-7825).
const TX_GAS_MAX: u64 = 1 << 24;
/// The search ends when it can be wrong by no more than this part.
const ERROR_PER_MILLE: u64 = 15;

/// The least gas with which a request succeeds, or at most 1.5 % more.
pub(crate) fn estimate(simulator: &mut Simulator, request: &Request, limits: &Limits) -> Result<u64, Error> {
    let mut high = highest(simulator, request, limits.call_gas_max)?;
    if is_transfer(simulator, request)?
        && high >= TRANSFER_GAS
        && succeeds(simulator, request, TRANSFER_GAS)?.is_some()
    {
        return Ok(TRANSFER_GAS);
    }
    let (first, counter) = simulator.run_watched(request, high, Counter::default())?;
    let first = first.result;
    if let ExecutionResult::Halt { reason, .. } = &first {
        return Err(match reason {
            revm::context::result::HaltReason::OutOfGas(_) => {
                Error::other(format!("gas required exceeds allowance ({high})"))
            }
            other => Error::other(error::halted(other)),
        });
    }
    outcome(&first)?;
    // What it executes is most of what it takes, if it takes too much.
    let (needed, max) = (counter.work().gas(), limits.refine_gas_max);
    if needed > max {
        return Err(Error::other(format!(
            "no package can carry it: JAM validators need {needed} gas to refine it, and a package has {max}"
        )));
    }
    let used = first.tx_gas_used();
    // It cannot succeed with less than it used in the end, and nearly always does with what it had used at its peak.
    let mut low = used.saturating_sub(1);
    let peak = first.gas().total_gas_spent().max(used);
    let likely = (peak + STIPEND_GAS).saturating_mul(64) / 63;
    if likely < high {
        match succeeds(simulator, request, likely)? {
            Some(_) => high = likely,
            None => low = likely,
        }
    }
    while low + 1 < high {
        if (high - low) * 1000 < high * ERROR_PER_MILLE {
            break;
        }
        // Most need little more than they use, so the search leans towards the low end.
        let middle = (low + (high - low) / 2).min(low.saturating_mul(2)).max(low + 1);
        match succeeds(simulator, request, middle)? {
            Some(_) => high = middle,
            None => low = middle,
        }
    }
    Ok(high)
}

/// The gas it used, if it succeeds with so much; too little is no error.
fn succeeds(simulator: &mut Simulator, request: &Request, gas: u64) -> Result<Option<u64>, Error> {
    match simulator.run(request, gas) {
        Ok(done) => Ok(done.result.is_success().then(|| done.result.tx_gas_used())),
        Err(error) if error.code == crate::error::DEFAULT && is_too_little(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_too_little(error: &Error) -> bool {
    error.message.starts_with("intrinsic gas too low")
        || error.message.starts_with("insufficient gas for floor")
}

fn is_transfer(simulator: &Simulator, request: &Request) -> Result<bool, Error> {
    let Some(to) = request.to.filter(|_| request.input.is_empty()) else { return Ok(false) };
    Ok(simulator.account(to)?.code_hash == KECCAK256_EMPTY)
}

/// The most gas that can be asked for: by the client, the block, the node, the fork and the sender's balance.
fn highest(simulator: &Simulator, request: &Request, gas_max: u64) -> Result<u64, Error> {
    let wanted = request.gas.filter(|gas| *gas >= TRANSFER_GAS);
    let mut high = wanted.unwrap_or(simulator.block.gas_limit).min(gas_max);
    if simulator.spec().is_enabled_in(SpecId::OSAKA) {
        high = high.min(TX_GAS_MAX);
    }
    if request.is_priced() {
        let balance = simulator.account(request.from.unwrap_or_default())?.balance;
        let left = balance.checked_sub(request.value);
        let left = left.ok_or_else(|| Error::other("insufficient funds for transfer"))?;
        let affordable = u64::try_from(left / U256::from(request.fee_cap())).unwrap_or(u64::MAX);
        high = high.min(affordable);
    }
    Ok(high)
}
