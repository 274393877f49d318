//! What a client wants to be executed.

use crate::{Error, hex::Hex};
use alloy_consensus::crypto::secp256k1::recover_signer;
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip4844::DATA_GAS_PER_BLOB,
    eip7702::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use revm::{context::TxEnv, context_interface::either::Either};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    from: Option<Hex<Address>>,
    to: Option<Hex<Address>>,
    gas: Option<Hex<u64>>,
    gas_price: Option<Hex<u128>>,
    max_fee_per_gas: Option<Hex<u128>>,
    max_priority_fee_per_gas: Option<Hex<u128>>,
    max_fee_per_blob_gas: Option<Hex<u128>>,
    value: Option<Hex<U256>>,
    nonce: Option<Hex<u64>>,
    data: Option<Hex<Bytes>>,
    input: Option<Hex<Bytes>>,
    access_list: Option<Vec<RawAccess>>,
    chain_id: Option<Hex<U256>>,
    authorization_list: Option<Vec<SignedAuthorization>>,
    blob_versioned_hashes: Option<Vec<Hex<B256>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAccess {
    address: Hex<Address>,
    #[serde(default)]
    storage_keys: Option<Vec<Hex<B256>>>,
}

/// What a client wants to be executed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Raw")]
pub(crate) struct Request {
    pub(crate) from: Option<Address>,
    pub(crate) to: Option<Address>,
    pub(crate) gas: Option<u64>,
    pub(crate) gas_price: Option<u128>,
    pub(crate) max_fee: Option<u128>,
    pub(crate) max_tip: Option<u128>,
    pub(crate) max_blob_fee: Option<u128>,
    pub(crate) value: U256,
    pub(crate) nonce: Option<u64>,
    pub(crate) input: Bytes,
    /// Whether `data` says something else. A call takes the input; what is to be signed must not be a guess.
    pub(crate) contradicts: bool,
    pub(crate) access_list: Option<AccessList>,
    pub(crate) chain_id: Option<U256>,
    pub(crate) authorizations: Option<Vec<SignedAuthorization>>,
    pub(crate) blob_hashes: Option<Vec<B256>>,
}

impl From<Raw> for Request {
    fn from(raw: Raw) -> Self {
        let contradicts = matches!((&raw.input, &raw.data), (Some(input), Some(data)) if input.0 != data.0);
        let input = raw.input.or(raw.data).map_or_else(Bytes::new, |hex| hex.0);
        let access_list = raw.access_list.map(|list| AccessList(list.into_iter().map(access).collect()));
        let hashes = raw.blob_versioned_hashes;
        Self {
            from: raw.from.map(|hex| hex.0),
            to: raw.to.map(|hex| hex.0),
            gas: raw.gas.map(|hex| hex.0),
            gas_price: raw.gas_price.map(|hex| hex.0),
            max_fee: raw.max_fee_per_gas.map(|hex| hex.0),
            max_tip: raw.max_priority_fee_per_gas.map(|hex| hex.0),
            max_blob_fee: raw.max_fee_per_blob_gas.map(|hex| hex.0),
            value: raw.value.map_or(U256::ZERO, |hex| hex.0),
            nonce: raw.nonce.map(|hex| hex.0),
            input,
            contradicts,
            access_list,
            chain_id: raw.chain_id.map(|hex| hex.0),
            authorizations: raw.authorization_list,
            blob_hashes: hashes.map(|hashes| hashes.into_iter().map(|hex| hex.0).collect()),
        }
    }
}

fn access(raw: RawAccess) -> AccessListItem {
    let keys = raw.storage_keys.unwrap_or_default();
    AccessListItem { address: raw.address.0, storage_keys: keys.into_iter().map(|hex| hex.0).collect() }
}

impl Request {
    /// Refuses what contradicts itself or the chain.
    pub(crate) fn check(&self, chain_id: u64) -> Result<(), Error> {
        if self.gas_price.is_some() && (self.max_fee.is_some() || self.max_tip.is_some()) {
            let why = "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified";
            return Err(Error::other(why));
        }
        if let Some(have) = self.chain_id.filter(|have| *have != U256::from(chain_id)) {
            let why = format!("chainId does not match node's (have={have}, want={chain_id})");
            return Err(Error::other(why));
        }
        if self.blob_hashes.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::other("need at least 1 blob for a blob transaction"));
        }
        if self.to.is_none() && (self.blob_hashes.is_some() || self.authorizations.is_some()) {
            let why = "a transaction with blobs or authorizations cannot create a contract";
            return Err(Error::other(why));
        }
        Ok(())
    }

    /// Refuses what says two things about what is to be signed.
    pub(crate) fn check_input(&self) -> Result<(), Error> {
        let why = "both \"data\" and \"input\" are set and not equal. Please use \"input\" to pass transaction call data";
        if self.contradicts { Err(Error::other(why)) } else { Ok(()) }
    }

    /// As blocks before London understand it: there is one price.
    pub(crate) fn before_london(&mut self) {
        (self.max_fee, self.max_tip) = (None, None);
        self.gas_price = self.gas_price.or(Some(0));
    }

    /// What it would give the block's beneficiary for gas at most.
    pub(crate) fn tip_cap(&self) -> u128 {
        self.gas_price.or(self.max_tip).unwrap_or(0)
    }

    /// What its blobs cost at most.
    pub(crate) fn blob_cost(&self) -> U256 {
        let blobs = self.blob_hashes.as_ref().map_or(0, Vec::len) as u64;
        let gas = U256::from(blobs.saturating_mul(DATA_GAS_PER_BLOB));
        gas.saturating_mul(U256::from(self.max_blob_fee.unwrap_or(0)))
    }

    /// What it would pay for gas at most.
    pub(crate) fn fee_cap(&self) -> u128 {
        self.gas_price.or(self.max_fee).unwrap_or(0)
    }

    /// Whether it says what it would pay for gas.
    pub(crate) fn is_priced(&self) -> bool {
        self.fee_cap() > 0
    }

    /// The type of the transaction that these fields make. One that names a price is as old as that.
    pub(crate) fn transaction_type(&self) -> u8 {
        if self.gas_price.is_some() { 0 } else { self.ty() }
    }

    /// The type by whose rules it is executed.
    pub(crate) fn ty(&self) -> u8 {
        match self {
            Self { authorizations: Some(_), .. } => 4,
            Self { blob_hashes: Some(_), .. } => 3,
            Self { max_fee: Some(_), .. } | Self { max_tip: Some(_), .. } => 2,
            Self { access_list: Some(_), .. } => 1,
            _ => 0,
        }
    }

    /// As revm wants it.
    pub(crate) fn environment(&self, gas_limit: u64, nonce: u64, chain_id: u64) -> TxEnv {
        let ty = self.ty();
        TxEnv {
            tx_type: ty,
            caller: self.from.unwrap_or_default(),
            gas_limit,
            gas_price: self.fee_cap(),
            kind: self.to.map_or(TxKind::Create, TxKind::Call),
            value: self.value,
            data: self.input.clone(),
            // revm refuses the greatest one even if it is not to look at nonces.
            nonce: self.nonce.unwrap_or(nonce).min(u64::MAX - 1),
            chain_id: Some(chain_id),
            access_list: self.access_list.clone().unwrap_or_default(),
            gas_priority_fee: (ty >= 2).then(|| self.max_tip.unwrap_or(0)),
            blob_hashes: self.blob_hashes.clone().unwrap_or_default(),
            max_fee_per_blob_gas: self.max_blob_fee.unwrap_or(0),
            authorization_list: self.authorizations.iter().flatten().map(authorization).collect(),
        }
    }
}

/// Who delegates; a signature that is none is no error but delegates nothing.
fn authorization(signed: &SignedAuthorization) -> Either<SignedAuthorization, RecoveredAuthorization> {
    let recovered = signed
        .signature()
        .ok()
        .and_then(|signature| recover_signer(&signature, signed.signature_hash()).ok());
    let authority = recovered.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
    Either::Right(RecoveredAuthorization::new_unchecked(signed.inner().clone(), authority))
}
