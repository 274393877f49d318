//! A transaction as wallets hand it over.

use alloy_primitives::{Address, B256, Bytes, U64, U128, U256};
use rpc::Error;
use sender_model::{Fees, Intent, Quote};
use serde::Deserialize;

/// The fields that wallets know. Others are refused: a wallet that asks for something else is better told.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Wanted {
    pub from: Address,
    #[serde(default)]
    to: Option<Address>,
    #[serde(default, alias = "gasLimit")]
    pub gas: Option<U64>,
    #[serde(default)]
    gas_price: Option<U128>,
    #[serde(default)]
    max_fee_per_gas: Option<U128>,
    #[serde(default)]
    max_priority_fee_per_gas: Option<U128>,
    #[serde(default)]
    value: Option<U256>,
    #[serde(default)]
    data: Option<Bytes>,
    #[serde(default)]
    input: Option<Bytes>,
    #[serde(default)]
    pub nonce: Option<U64>,
    #[serde(default)]
    access_list: Option<Vec<Access>>,
    #[serde(default)]
    chain_id: Option<U64>,
    #[serde(default, rename = "type")]
    kind: Option<U64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Access {
    address: Address,
    #[serde(default)]
    storage_keys: Vec<B256>,
}

impl Wanted {
    /// What is wanted, if it makes sense on this chain.
    pub(super) fn intent(&self, chain_id: u64, quote: &Quote) -> Result<Intent, Error> {
        if let Some(given) = self.chain_id.map(|given| given.to::<u64>()).filter(|given| *given != chain_id) {
            return Err(Error::params(format!(
                "the transaction is for another chain: it names {given}, this one is {chain_id}"
            )));
        }
        if self.kind.is_some_and(|kind| kind.to::<u64>() > 2) {
            return Err(Error::other("transaction type not supported"));
        }
        let data = match (&self.data, &self.input) {
            (Some(data), Some(input)) if data != input => {
                let both = r#"both "data" and "input" are set and not equal. Please use "input" to pass transaction call data"#;
                return Err(Error::params(both));
            }
            (data, input) => input.clone().or_else(|| data.clone()).unwrap_or_default(),
        };
        if self.to.is_none() && data.is_empty() {
            return Err(Error::other("contract creation without any data provided"));
        }
        let access = self.access_list.clone().unwrap_or_default();
        Ok(Intent {
            to: self.to,
            value: self.value.unwrap_or_default(),
            data,
            gas: self.gas.map(|gas| gas.to()),
            fees: self.fees(quote)?,
            fee_cap: None,
            access_list: access.into_iter().map(|item| (item.address, item.storage_keys)).collect(),
            legacy: self.gas_price.is_some() || self.kind.is_some_and(|kind| kind.to::<u64>() < 2),
        })
    }

    /// The fees, if the wallet names some; what it does not name is the market's.
    fn fees(&self, quote: &Quote) -> Result<Option<Fees>, Error> {
        let (max_fee, tip) =
            (self.max_fee_per_gas.map(|fee| fee.to()), self.max_priority_fee_per_gas.map(|fee| fee.to()));
        if let Some(price) = self.gas_price {
            if max_fee.is_some() || tip.is_some() {
                let both = "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified";
                return Err(Error::params(both));
            }
            let price = price.to();
            return Ok(Some(Fees { max_fee_per_gas: price, max_priority_fee_per_gas: price }));
        }
        let market = Fees::from_quote(quote, u128::MAX);
        let fees = match (max_fee, tip) {
            (None, None) => return Ok(None),
            (Some(max_fee), Some(tip)) => Fees { max_fee_per_gas: max_fee, max_priority_fee_per_gas: tip },
            (Some(max_fee), None) => {
                let tip: u128 = market.max_priority_fee_per_gas.min(max_fee);
                Fees { max_fee_per_gas: max_fee, max_priority_fee_per_gas: tip }
            }
            (None, Some(tip)) => {
                let max_fee = quote.base_fee_per_gas.saturating_mul(2).saturating_add(tip);
                Fees { max_fee_per_gas: max_fee, max_priority_fee_per_gas: tip }
            }
        };
        if fees.max_fee_per_gas < fees.max_priority_fee_per_gas {
            return Err(Error::other("max priority fee per gas higher than max fee per gas"));
        }
        Ok(Some(fees))
    }
}
