//! Signature and transactions of a block as bytes.
//!
//! Signature, senders and lengths stand first, under a checksum; the transactions after them are proved by the root in
//! the block's header. So one of many transactions is found without reading the others.

use crate::values;
use alloy_primitives::Address;
use jam::{
    Params, Signature,
    codec::{Decode, DecodeError, Decoder, Encode, Malformed},
};
use types::Transaction;

/// What a transaction has before all of them: its sender and its length.
const SENDER_BYTES: usize = 24;

/// What stands before the transactions.
struct Contents<'a> {
    signature: Signature,
    senders: Vec<(Address, u32)>,
    /// The transactions, one after the other.
    rest: &'a [u8],
}

pub(crate) fn encode(signature: &Signature, transactions: &[Transaction]) -> Vec<u8> {
    let mut contents = signature.encode();
    contents.reserve(transactions.len() * SENDER_BYTES + values::CHECKSUM_BYTES);
    for tx in transactions {
        tx.sender().0.encode_to(&mut contents);
        // No transaction has four billion bytes; one that had would not decode again.
        u32::try_from(tx.encoded().len()).unwrap_or(u32::MAX).encode_to(&mut contents);
    }
    let contents = values::sealed(contents);
    let mut out = (contents.len() as u64).encode();
    out.reserve(contents.len() + transactions.iter().map(|tx| tx.encoded().len()).sum::<usize>());
    out.extend_from_slice(&contents);
    transactions.iter().for_each(|tx| out.extend_from_slice(tx.encoded()));
    out
}

fn contents(bytes: &[u8]) -> Result<Contents<'_>, DecodeError> {
    let short =
        || Decoder::new(bytes, &Params::TINY).error(Malformed::Short { needed: 8, left: bytes.len() });
    let (len, rest) = bytes.split_first_chunk().ok_or_else(short)?;
    let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| short())?;
    let (contents, rest) = rest.split_at_checked(len).ok_or_else(short)?;
    values::whole(values::unsealed(contents)?, |input| {
        let signature = Signature::decode_from(input)?;
        let mut senders = Vec::with_capacity(input.left() / SENDER_BYTES);
        while input.left() > 0 {
            senders.push((values::take_address(input)?, u32::decode_from(input)?));
        }
        Ok(Contents { signature, senders, rest })
    })
}

pub(crate) fn decode(bytes: &[u8]) -> Result<(Signature, Vec<Transaction>), DecodeError> {
    let Contents { signature, senders, rest } = contents(bytes)?;
    let transactions = values::whole(rest, |input| {
        let one = |(sender, len): (Address, u32)| values::take_tx(input, len as usize, sender, vec![]);
        senders.into_iter().map(one).collect()
    })?;
    Ok((signature, transactions))
}

/// One transaction, without decoding the others.
pub(crate) fn decode_one(bytes: &[u8], index: u32) -> Result<Option<Transaction>, DecodeError> {
    let Contents { senders, rest, .. } = contents(bytes)?;
    let Some((before, [(sender, len), ..])) = senders.split_at_checked(index as usize) else {
        return Ok(None);
    };
    let input = &mut Decoder::new(rest, &Params::TINY);
    for (_, len) in before {
        input.take(*len as usize)?;
    }
    values::take_tx(input, *len as usize, *sender, vec![]).map(Some)
}
