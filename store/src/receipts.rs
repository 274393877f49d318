//! Receipts as bytes. Their logs can be looked at without copying any: a search reads many and keeps few.

use crate::values::whole;
use alloy_consensus::{Eip658Value, Receipt, ReceiptEnvelope, TxType};
use alloy_primitives::{Address, B256, Bytes};
use jam::{
    Params,
    codec::{Decode, DecodeError, Decoder, Encode, Malformed, put_natural},
};
use types::Transaction;

/// What a receipt without logs takes, about.
const RECEIPT_BYTES: usize = 40;

/// The receipts of a block, with what a log must say about its place.
pub(crate) fn encode(
    block: B256,
    timestamp: u64,
    transactions: &[Transaction],
    receipts: &[ReceiptEnvelope],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + receipts.len() * RECEIPT_BYTES);
    block.encode_to(&mut out);
    timestamp.encode_to(&mut out);
    put_natural(receipts.len() as u64, &mut out);
    for (tx, receipt) in transactions.iter().zip(receipts) {
        out.push(receipt.tx_type() as u8);
        receipt.is_success().encode_to(&mut out);
        put_natural(receipt.cumulative_gas_used(), &mut out);
        tx.hash().encode_to(&mut out);
        put_natural(receipt.logs().len() as u64, &mut out);
        for log in receipt.logs() {
            log.address.0.encode_to(&mut out);
            put_natural(log.topics().len() as u64, &mut out);
            log.topics().iter().for_each(|topic| topic.encode_to(&mut out));
            log.data.data.encode_to(&mut out);
        }
    }
    out
}

/// A log that was not copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawLog<'a> {
    pub(crate) address: &'a [u8; 20],
    pub(crate) topics: &'a [[u8; 32]],
    pub(crate) data: &'a [u8],
    pub(crate) index: u64,
    pub(crate) tx_index: u64,
    pub(crate) tx_hash: &'a [u8; 32],
}

impl RawLog<'_> {
    pub(crate) fn to_log(self) -> alloy_primitives::Log {
        let topics = self.topics.iter().map(B256::from).collect();
        let data = alloy_primitives::LogData::new_unchecked(topics, Bytes::copy_from_slice(self.data));
        alloy_primitives::Log { address: Address::new(*self.address), data }
    }
}

/// A receipt whose logs were handed out before.
pub(crate) struct RawReceipt<'a> {
    pub(crate) tx_hash: &'a [u8; 32],
    pub(crate) ty: u8,
    pub(crate) success: bool,
    pub(crate) cumulative_gas_used: u64,
}

/// Goes through the receipts of a block; gives the block's hash and timestamp.
pub(crate) fn walk<'a>(
    bytes: &'a [u8],
    mut log: impl FnMut(RawLog<'a>),
    mut receipt: impl FnMut(RawReceipt<'a>),
) -> Result<(B256, u64), DecodeError> {
    whole(bytes, |input| {
        let (hash, timestamp) = Decode::decode_from(input)?;
        let receipts = input.length(36, usize::MAX)?;
        let mut index = 0;
        for tx_index in 0..receipts as u64 {
            let (ty, success) = Decode::decode_from(input)?;
            let cumulative_gas_used = input.natural()?;
            let tx_hash = bytes_of(input)?;
            for _ in 0..input.length(22, usize::MAX)? {
                let address = bytes_of(input)?;
                let topics = input.length(32, 4)?;
                let topics = input.take(32 * topics)?.as_chunks::<32>().0;
                let len = input.length(1, usize::MAX)?;
                log(RawLog { address, topics, data: input.take(len)?, index, tx_index, tx_hash });
                index += 1;
            }
            receipt(RawReceipt { tx_hash, ty, success, cumulative_gas_used });
        }
        Ok((hash, timestamp))
    })
}

fn bytes_of<'a, const N: usize>(input: &mut Decoder<'a>) -> Result<&'a [u8; N], DecodeError> {
    Ok(input.take(N)?.first_chunk().expect("that many were taken"))
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<ReceiptEnvelope>, DecodeError> {
    let mut logs = Vec::new();
    let mut receipts = Vec::new();
    let pending = core::cell::RefCell::new(&mut logs);
    walk(
        bytes,
        |log| pending.borrow_mut().push(log.to_log()),
        |raw| {
            let logs = core::mem::take(&mut **pending.borrow_mut());
            let status = Eip658Value::Eip658(raw.success);
            receipts.push((raw.ty, Receipt { status, cumulative_gas_used: raw.cumulative_gas_used, logs }));
        },
    )?;
    let wrong = Decoder::new(bytes, &Params::TINY).error(Malformed::Inconsistent("an unknown receipt type"));
    let typed = receipts.into_iter().map(|(ty, receipt)| {
        let receipt = receipt.with_bloom();
        Ok(match TxType::try_from(ty).map_err(|_| wrong)? {
            TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
            TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
            TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
            TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
            TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
        })
    });
    typed.collect()
}
