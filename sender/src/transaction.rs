//! From a draft to signed bytes, and from signed bytes back to what they want.

use crate::signer::{Signer, SignerError};
use alloy_consensus::{
    SignableTransaction, Transaction as _, TxEip1559, TxEip2930, TxEnvelope, TxLegacy,
    transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip2930::{AccessList, AccessListItem},
};
use alloy_primitives::{B256, Bytes, TxKind};
use sender_model::{AccountId, Draft, FeeCap, Fees, Intent, Nonce, RawRequest, RequestId, Signed};

/// Has a draft signed.
pub(crate) async fn sign(signer: &dyn Signer, chain_id: u64, draft: &Draft) -> Result<Signed, SignerError> {
    sign_with(signer, chain_id, &draft.intent, draft.nonce, draft.gas, draft.fees).await
}

/// Has a transaction signed of which everything is known.
pub(crate) async fn sign_with(
    signer: &dyn Signer,
    chain_id: u64,
    intent: &Intent,
    nonce: Nonce,
    gas_limit: u64,
    fees: Fees,
) -> Result<Signed, SignerError> {
    let to = intent.to.map_or(TxKind::Create, TxKind::Call);
    let (value, input) = (intent.value, intent.data.clone());
    if !intent.legacy {
        let tx = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
            to,
            value,
            access_list: access_list(intent),
            input,
        };
        return finish(signer, tx).await;
    }
    let gas_price = fees.max_fee_per_gas;
    if intent.access_list.is_empty() {
        let chain_id = Some(chain_id);
        return finish(signer, TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input }).await;
    }
    let access_list = access_list(intent);
    finish(signer, TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input }).await
}

async fn finish<T>(signer: &dyn Signer, tx: T) -> Result<Signed, SignerError>
where
    T: SignableTransaction<alloy_primitives::Signature> + Send,
    TxEnvelope: From<alloy_consensus::Signed<T>>,
{
    let preimage = tx.encoded_for_signing();
    let signature = signer.sign(&preimage).await?;
    let envelope = TxEnvelope::from(tx.into_signed(signature));
    // A remote signer is another program: what it signed with is looked at, not believed.
    if envelope.recover_signer().ok() != Some(signer.address()) {
        return Err(SignerError::Refused("the signature is another account's".into()));
    }
    Ok(Signed { hash: *envelope.tx_hash(), bytes: envelope.encoded_2718().into() })
}

fn access_list(intent: &Intent) -> AccessList {
    let items = intent.access_list.iter().cloned();
    AccessList(items.map(|(address, storage_keys)| AccessListItem { address, storage_keys }).collect())
}

/// A transaction that somebody else has signed, taken apart.
pub(crate) struct Raw {
    pub account: AccountId,
    pub nonce: Nonce,
    pub hash: B256,
    envelope: TxEnvelope,
    bytes: Bytes,
}

impl Raw {
    /// Decodes it and recovers who signed it.
    pub(crate) fn decode(bytes: Bytes) -> Result<Self, String> {
        let envelope = TxEnvelope::decode_2718_exact(&bytes)
            .map_err(|why| format!("the transaction cannot be decoded: {why}"))?;
        if envelope.is_eip4844() || envelope.is_eip7702() {
            return Err("transactions with blobs or authorizations cannot be submitted here".into());
        }
        let chain_id = envelope.chain_id().ok_or("the transaction names no chain")?;
        let address =
            envelope.recover_signer().map_err(|_| "the transaction's signature is not valid".to_owned())?;
        let (nonce, hash) = (envelope.nonce(), *envelope.tx_hash());
        Ok(Self { account: AccountId { chain_id, address }, nonce, hash, envelope, bytes })
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// As the model takes it.
    pub(crate) fn into_request(self, id: RequestId, body: B256, token: String) -> RawRequest {
        let tx = &self.envelope;
        let max_fee_per_gas = tx.max_fee_per_gas();
        let priority = tx.max_priority_fee_per_gas().unwrap_or(max_fee_per_gas);
        let fees = Fees { max_fee_per_gas, max_priority_fee_per_gas: priority };
        let access = tx.access_list().cloned().unwrap_or_default();
        let intent = Intent {
            to: tx.to(),
            value: tx.value(),
            data: tx.input().clone(),
            gas: Some(tx.gas_limit()),
            fees: Some(fees),
            fee_cap: Some(FeeCap(max_fee_per_gas)),
            access_list: access.0.into_iter().map(|item| (item.address, item.storage_keys)).collect(),
            legacy: tx.max_priority_fee_per_gas().is_none(),
        };
        let (gas, hash, nonce) = (tx.gas_limit(), self.hash, self.nonce);
        RawRequest { id, body, token, nonce, intent, gas, fees, hash, bytes: self.bytes }
    }
}
