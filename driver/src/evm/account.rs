//! An account in a state, as the pool wants it.

use crate::Broken;
use alloy_primitives::{Address, U256};
use core::fmt::Display;
use state::{AccountKeys, BasicData, Blake2b, Codes, Layer, Values};
use txpool::{Account, Code};

/// How long the code of a delegated account is (EIP-7702), and how it begins.
const DELEGATION_BYTES: u32 = 23;
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

pub(super) fn read<V: Values>(
    layer: &Layer<V>,
    codes: &impl Codes,
    address: Address,
) -> Result<Account, Broken> {
    let broken = |why: &dyn Display| Broken::State(why.to_string());
    let keys = AccountKeys::<Blake2b>::new(address);
    let Some(value) = layer.value(&keys.basic_data()).map_err(|why| broken(&why))? else {
        return Ok(Account::default());
    };
    let basic = BasicData::decode(&value).map_err(|why| broken(&why))?;
    let code = match basic.code_size {
        0 => Code::None,
        DELEGATION_BYTES => {
            let hash = layer.value(&keys.code_hash()).map_err(|why| broken(&why))?.unwrap_or_default();
            let code = codes.code(&hash).map_err(|why| broken(&why))?;
            let delegates = code.is_some_and(|code| code.starts_with(&DELEGATION));
            if delegates { Code::Delegated } else { Code::Contract }
        }
        _ => Code::Contract,
    };
    Ok(Account { nonce: basic.nonce, balance: U256::from(basic.balance), code })
}
