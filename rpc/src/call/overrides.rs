//! Another state, another block: what a client pretends.

use super::{StateDb, precompiles::Precompiled};
use crate::{Error, hex::Hex};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    context::BlockEnv, context_interface::block::BlobExcessGasAndPrice, database::CacheDB, state::Bytecode,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Accounts as they shall be.
pub(crate) type StateOverrides = BTreeMap<Hex<Address>, AccountOverride>;

/// An account as it shall be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AccountOverride {
    balance: Option<Hex<U256>>,
    nonce: Option<Hex<u64>>,
    code: Option<Hex<Bytes>>,
    state: Option<BTreeMap<Hex<B256>, Hex<B256>>>,
    state_diff: Option<BTreeMap<Hex<B256>, Hex<B256>>>,
    move_precompile_to_address: Option<Hex<Address>>,
}

/// The block as it shall be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BlockOverrides {
    #[serde(alias = "blockNumber")]
    pub(crate) number: Option<Hex<U256>>,
    pub(crate) difficulty: Option<Hex<U256>>,
    pub(crate) time: Option<Hex<u64>>,
    pub(crate) gas_limit: Option<Hex<u64>>,
    #[serde(alias = "coinbase")]
    pub(crate) fee_recipient: Option<Hex<Address>>,
    #[serde(alias = "random")]
    pub(crate) prev_randao: Option<Hex<B256>>,
    #[serde(alias = "baseFee")]
    pub(crate) base_fee_per_gas: Option<Hex<u64>>,
    pub(crate) blob_base_fee: Option<Hex<u128>>,
    #[serde(alias = "parentBeaconBlockRoot")]
    pub(crate) beacon_root: Option<Hex<B256>>,
    pub(crate) withdrawals: Option<Vec<Withdrawal>>,
}

fn word(word: &Hex<B256>) -> U256 {
    word.0.into()
}

/// Moves precompiles; one whose address is overridden in any other way is gone. Of two that are moved to the same place the
/// later one is there.
fn move_precompiles(overrides: &StateOverrides, precompiled: &mut Precompiled) -> Result<(), Error> {
    let mut moved = Vec::new();
    for (Hex(from), account) in overrides {
        if let Some(Hex(to)) = account.move_precompile_to_address {
            let why = match () {
                () if !precompiled.is_at(from) => format!("account {from:#x} is not a precompile"),
                () if overrides.contains_key(&Hex(to)) => format!("account {to:#x} is already overridden"),
                () => String::new(),
            };
            if !why.is_empty() {
                return Err(Error::other(why));
            }
            moved.extend(precompiled.take(from).map(|usual| (to, usual)));
        } else {
            precompiled.take(from);
        }
    }
    moved.into_iter().for_each(|(to, usual)| precompiled.put(to, usual));
    Ok(())
}

/// Changes accounts in a cache over the state.
pub(crate) fn apply(
    overrides: &StateOverrides,
    db: &mut CacheDB<StateDb>,
    precompiled: &mut Precompiled,
) -> Result<(), Error> {
    move_precompiles(overrides, precompiled)?;
    for (Hex(address), account) in overrides {
        if account.state.is_some() && account.state_diff.is_some() {
            let why = format!("account {address} has both 'state' and 'stateDiff'");
            return Err(Error::other(why));
        }
        let loaded = db.load_account(*address).map_err(Error::internal)?;
        let mut info = loaded.info().unwrap_or_default();
        if let Some(Hex(balance)) = account.balance {
            info.balance = balance;
        }
        if let Some(Hex(nonce)) = account.nonce {
            info.nonce = nonce;
        }
        if let Some(Hex(code)) = &account.code {
            let code = Bytecode::new_raw_checked(code.clone());
            let code = code.map_err(|error| Error::params(format!("invalid code of {address}: {error}")))?;
            info.code_hash = code.hash_slow();
            info.code = Some(code);
        }
        db.insert_account_info(*address, info);
        if let Some(slots) = &account.state {
            let slots = slots.iter().map(|(slot, value)| (word(slot), word(value))).collect();
            db.replace_account_storage(*address, slots).map_err(Error::internal)?;
        }
        for (slot, value) in account.state_diff.iter().flatten() {
            db.insert_account_storage(*address, word(slot), word(value)).map_err(Error::internal)?;
        }
    }
    Ok(())
}

impl BlockOverrides {
    /// Refuses what a single call cannot see: only whole blocks that are simulated have it.
    pub(crate) fn check_for_call(&self) -> Result<(), Error> {
        let given = [("beaconRoot", self.beacon_root.is_some()), ("withdrawals", self.withdrawals.is_some())];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => {
                Err(Error::other(format!("block override \"{name}\" is not supported for this RPC method")))
            }
            None => Ok(()),
        }
    }

    /// Changes the block's surroundings.
    pub(crate) fn apply(&self, block: &mut BlockEnv) {
        let Self { number, difficulty, time, gas_limit, .. } = self;
        block.number = number.map_or(block.number, |hex| hex.0);
        block.difficulty = difficulty.map_or(block.difficulty, |hex| hex.0);
        block.timestamp = time.map_or(block.timestamp, |hex| U256::from(hex.0));
        block.gas_limit = gas_limit.map_or(block.gas_limit, |hex| hex.0);
        block.beneficiary = self.fee_recipient.map_or(block.beneficiary, |hex| hex.0);
        block.prevrandao = self.prev_randao.map_or(block.prevrandao, |hex| Some(hex.0));
        block.basefee = self.base_fee_per_gas.map_or(block.basefee, |hex| hex.0);
        if let Some(Hex(price)) = self.blob_base_fee {
            let price = BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: price };
            block.blob_excess_gas_and_price = Some(price);
        }
    }
}
