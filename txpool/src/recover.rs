//! From bytes to a transaction whose sender is known: the one expensive step, and it needs no lock.
//!
//! The checks come in go-ethereum's order, those that cost nothing before the signature, so that rubbish is refused
//! before anything is allocated or computed for it.

use crate::{Error, gas};
use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_eips::{
    eip2718::{Decodable2718, Eip2718Error},
    eip7702::SignedAuthorization,
};
use alloy_primitives::{Address, B256, Bytes, Signature, U256, uint};
use types::{Signer, Transaction};

/// What recovery must know; see [`Config::rules`](crate::Config::rules).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The chain that transactions must be signed for.
    pub chain_id: u64,
    /// How long one may be, encoded.
    pub tx_bytes_max: usize,
    /// How much gas a block may use.
    pub block_gas_limit: u64,
    /// Whether transactions without a chain id (before EIP-155) are accepted.
    pub allow_unprotected: bool,
}

/// The order of the curve's group: `r` and `s` lie below it.
const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

/// The type bytes that are accepted; legacy transactions have none.
const TYPES: [u8; 3] = [1, 2, 4];

/// Decodes a transaction and recovers who signed it.
///
/// The bytes are kept, not copied. Whatever is recovered can be given to [`Pool::insert`](crate::Pool::insert), which
/// makes the checks that need the pool or the state.
pub fn recover(bytes: Bytes, rules: &Rules) -> Result<Transaction, Error> {
    let checked = Checked::new(bytes, rules)?;
    let (signature, hash) = checked.signed();
    checked.signed_by(ecrecover::key(&signature, hash))
}

/// Decodes transactions and recovers who signed them: what [`recover`] says of each, for less than each by itself.
pub fn recover_all(all: impl IntoIterator<Item = Bytes>, rules: &Rules) -> Vec<Result<Transaction, Error>> {
    let checked = all.into_iter().map(|bytes| Checked::new(bytes, rules)).collect::<Vec<_>>();
    let signed = checked.iter().flatten().map(Checked::signed).collect::<Vec<_>>();
    let mut signers = ecrecover::keys(&signed).into_iter();
    checked.into_iter().map(|checked| checked?.signed_by(signers.next().flatten())).collect()
}

/// A transaction of which everything is checked that costs little.
struct Checked {
    tx: TxEnvelope,
    bytes: Bytes,
}

impl Checked {
    fn new(bytes: Bytes, rules: &Rules) -> Result<Self, Error> {
        check_bytes(&bytes, rules)?;
        let tx = TxEnvelope::decode_2718_exact(&bytes).map_err(|error| undecodable(&bytes, error))?;
        if tx.chain_id().is_none() && !rules.allow_unprotected {
            return Err(Error::Unprotected);
        }
        check_fields(&tx, rules)?;
        check_signature(&tx, rules.chain_id)?;
        Ok(Self { tx, bytes })
    }

    /// The signature, and what was signed.
    fn signed(&self) -> (Signature, B256) {
        (*self.tx.signature(), self.tx.signature_hash())
    }

    fn signed_by(self, signer: Option<Signer>) -> Result<Transaction, Error> {
        let Self { tx, bytes } = self;
        let signer = signer.ok_or(Error::SignatureRecovery)?;
        // With more authorizations than it has gas for it is not going to be accepted, whoever signed them.
        let list = tx.authorization_list().unwrap_or_default();
        let paid = gas::AUTHORIZATION.saturating_mul(list.len() as u64) <= tx.gas_limit();
        let authorities = if paid { authorities(list) } else { vec![] };
        Ok(Transaction::signed_by(tx, signer, bytes, authorities))
    }
}

/// Type and size, which the bytes show without being decoded.
fn check_bytes(bytes: &Bytes, rules: &Rules) -> Result<(), Error> {
    match bytes.first() {
        None => return Err(Error::TooShort),
        Some(0..=0x7f) if bytes.len() == 1 => return Err(Error::TooShort),
        Some(kind @ 0..=0x7f) if !TYPES.contains(kind) => return Err(Error::TypeNotSupported),
        _ => {}
    }
    if bytes.len() > rules.tx_bytes_max {
        return Err(Error::Oversized { size: bytes.len(), limit: rules.tx_bytes_max });
    }
    Ok(())
}

/// The checks that need nothing but the decoded fields.
pub(crate) fn check_fields(tx: &TxEnvelope, rules: &Rules) -> Result<(), Error> {
    let (gas, data) = (tx.gas_limit(), tx.input());
    if tx.is_create() && data.len() > gas::INITCODE_BYTES_MAX {
        return Err(Error::InitCode { size: data.len(), limit: gas::INITCODE_BYTES_MAX });
    }
    if gas > gas::TX_GAS_MAX {
        return Err(Error::GasCap { cap: gas::TX_GAS_MAX, gas });
    }
    if gas > rules.block_gas_limit {
        return Err(Error::BlockGasLimit);
    }
    if tx.max_priority_fee_per_gas().is_some_and(|tip| tip > tx.max_fee_per_gas()) {
        return Err(Error::TipAboveFeeCap);
    }
    Ok(())
}

/// Whether it was signed for this chain, with values that a signature may have.
fn check_signature(tx: &TxEnvelope, want: u64) -> Result<(), Error> {
    if let Some(have) = tx.chain_id().filter(|have| *have != want) {
        return Err(Error::ChainId { have, want });
    }
    let (r, s) = (tx.signature().r(), tx.signature().s());
    let high = s > alloy_consensus::crypto::SECP256K1N_HALF;
    if r.is_zero() || s.is_zero() || r >= ORDER || high {
        return Err(Error::SignatureValues);
    }
    Ok(())
}

/// Who signed the authorizations, each once. An authorization without a valid signature is allowed and has no effect.
fn authorities(list: &[SignedAuthorization]) -> Vec<Address> {
    let signed = list.iter().filter_map(|authorization| {
        let signature = authorization.signature().ok()?;
        (signature.s() <= alloy_consensus::crypto::SECP256K1N_HALF)
            .then(|| (signature, authorization.inner().signature_hash()))
    });
    let mut authorities = Vec::new();
    for authority in ecrecover::signers(&signed.collect::<Vec<_>>()).into_iter().flatten() {
        if !authorities.contains(&authority) {
            authorities.push(authority);
        }
    }
    authorities
}

/// Says what is wrong with bytes that do not decode.
fn undecodable(bytes: &[u8], error: Eip2718Error) -> Error {
    match error {
        _ if matches!(bytes, [0x80..=0xbf, ..]) => {
            Error::Undecodable("expected input list for types.LegacyTx".to_owned())
        }
        Eip2718Error::UnexpectedType(_) => Error::TypeNotSupported,
        _ if has_trailing_bytes(bytes) => Error::TrailingBytes,
        _ if creates_with_set_code(bytes) => Error::SetCodeCreation,
        error => Error::Undecodable(error.to_string()),
    }
}

/// Whether a complete transaction stands before other bytes.
fn has_trailing_bytes(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    TxEnvelope::decode_2718(&mut rest).is_ok() && !rest.is_empty()
}

/// Whether this is an EIP-7702 transaction whose recipient, the sixth field, is empty.
fn creates_with_set_code(bytes: &[u8]) -> bool {
    let Some((4, mut body)) = bytes.split_first().map(|(kind, body)| (*kind, body)) else { return false };
    let Ok(mut fields) = alloy_rlp::Header::decode_bytes(&mut body, true) else { return false };
    for _ in 0..5 {
        if alloy_rlp::Header::decode_bytes(&mut fields, false).is_err() {
            return false;
        }
    }
    fields.first() == Some(&alloy_rlp::EMPTY_STRING_CODE)
}
