//! Why an execution has no result, in the words of go-ethereum.

use crate::{Error, error};
use alloy_primitives::{Address, Bytes, U256};
use revm::context::result::{ExecutionResult, HaltReason, InvalidTransaction};

/// `Error(string)`.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// It took too long.
pub(crate) fn timeout() -> Error {
    Error::new(error::TIMEOUT, "execution aborted (timeout)")
}

/// Why a transaction cannot even be tried.
pub(crate) fn invalid(
    why: &InvalidTransaction,
    sender: Address,
    gas: u64,
    cap: U256,
    base_fee: u64,
) -> Error {
    let sender = sender.to_checksum(None);
    let text = match why {
        InvalidTransaction::LackOfFundForMaxFee { fee, balance } => {
            format!("insufficient funds for gas * price + value: address {sender} have {balance} want {fee}")
        }
        InvalidTransaction::GasPriceLessThanBasefee => format!(
            "max fee per gas less than block base fee: address {sender}, maxFeePerGas: {cap}, baseFee: {base_fee}"
        ),
        InvalidTransaction::PriorityFeeGreaterThanMaxFee => {
            "max priority fee per gas higher than max fee per gas".to_owned()
        }
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, .. } => {
            format!("intrinsic gas too low: have {gas}, want {initial_gas}")
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, .. } => {
            format!("insufficient gas for floor data gas cost: have {gas}, want {gas_floor}")
        }
        InvalidTransaction::CreateInitCodeSizeLimit => "max initcode size exceeded".to_owned(),
        InvalidTransaction::NonceTooHigh { tx, state } => {
            format!("nonce too high: address {sender}, tx: {tx} state: {state}")
        }
        InvalidTransaction::NonceTooLow { tx, state } => {
            format!("nonce too low: address {sender}, tx: {tx} state: {state}")
        }
        InvalidTransaction::NonceOverflowInTransaction => {
            format!("nonce has max value: address {sender}, nonce: {}", u64::MAX)
        }
        other => other.to_string(),
    };
    Error::other(text)
}

/// The result of an execution, or why it has none.
pub(crate) fn outcome(result: &ExecutionResult) -> Result<Bytes, Error> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.data().clone()),
        ExecutionResult::Revert { output, .. } => Err(reverted(output)),
        ExecutionResult::Halt { reason, .. } => Err(Error::other(halted(reason))),
    }
}

/// A revert with its reason, as far as it can be read.
pub(crate) fn reverted(output: &Bytes) -> Error {
    let text = match reason(output) {
        Some(reason) => format!("execution reverted: {reason}"),
        None => "execution reverted".to_owned(),
    };
    Error::new(error::REVERTED, text).with_data(output)
}

fn reason(output: &[u8]) -> Option<String> {
    let (selector, rest) = output.split_first_chunk::<4>()?;
    match *selector {
        ERROR => {
            let word = |at: usize| {
                let word = rest.get(at..at.checked_add(32)?)?;
                usize::try_from(U256::from_be_slice(word)).ok()
            };
            let at = word(0)?;
            let start = at.checked_add(32)?;
            let text = rest.get(start..start.checked_add(word(at)?)?)?;
            Some(String::from_utf8_lossy(text).into_owned())
        }
        PANIC => {
            let code = U256::from_be_slice(rest.get(..32)?);
            Some(panic_words(code).map_or_else(|| format!("unknown panic code: {code:#x}"), str::to_owned))
        }
        _ => None,
    }
}

fn panic_words(code: U256) -> Option<&'static str> {
    Some(match u64::try_from(code).ok()? {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return None,
    })
}

/// Why an execution stopped.
pub(crate) fn halted(reason: &HaltReason) -> String {
    match reason {
        HaltReason::OutOfGas(_) => "out of gas".to_owned(),
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => "invalid opcode".to_owned(),
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".to_owned(),
        HaltReason::InvalidJump => "invalid jump destination".to_owned(),
        HaltReason::StackUnderflow => "stack underflow".to_owned(),
        HaltReason::StackOverflow => "stack limit reached".to_owned(),
        HaltReason::OutOfOffset => "return data out of bounds".to_owned(),
        HaltReason::CreateCollision => "contract address collision".to_owned(),
        HaltReason::NonceOverflow => "nonce uint64 overflow".to_owned(),
        HaltReason::CreateContractSizeLimit => "max code size exceeded".to_owned(),
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef".to_owned(),
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded".to_owned(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection".to_owned()
        }
        HaltReason::OutOfFunds => "insufficient balance for transfer".to_owned(),
        HaltReason::CallTooDeep => "max call depth exceeded".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_as_far_as_they_can_be() {
        let encoded = |text: &str| {
            let mut bytes = ERROR.to_vec();
            bytes.extend(U256::from(32).to_be_bytes::<32>());
            bytes.extend(U256::from(text.len()).to_be_bytes::<32>());
            bytes.extend(text.as_bytes());
            bytes
        };
        assert_eq!(reason(&encoded("user error")).as_deref(), Some("user error"));
        let whole = encoded("abc");
        for length in 0..whole.len() {
            assert_eq!(reason(&whole[..length]), None, "{length}");
        }
        let mut far = ERROR.to_vec();
        far.extend([0xff; 64]);
        assert_eq!(reason(&far), None);
        let mut panic = PANIC.to_vec();
        panic.extend(U256::from(0x11).to_be_bytes::<32>());
        assert_eq!(reason(&panic).as_deref(), Some("arithmetic underflow or overflow"));
        assert_eq!(reverted(&Bytes::new()).message, "execution reverted");
    }
}
