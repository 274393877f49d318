//! What the chain hands to accumulate: results of work items, and transfers.

use jam::{
    Params,
    codec::{Bytes, Decode, DecodeError, Decoder},
};

/// Of an item no more bytes than these are looked at: all that stands before our output, the largest of our outputs that means
/// anything, and room.
pub const ITEM_BYTES_MAX: usize = 512;

const WORK: u8 = 0;
const TRANSFER: u8 = 1;
/// Hashes of package, exports, authorizer and payload.
const HASHES_BYTES: usize = 4 * 32;

/// One thing that is accumulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// What refine answered.
    Output(Bytes),
    /// So many coins from another service.
    Coins(u64),
    /// An error in the place of an output, an output that is longer than any of ours, or something unknown.
    Other,
}

impl Item {
    /// Reads an item as the chain encodes it, or its first [`ITEM_BYTES_MAX`] bytes.
    pub fn decode(bytes: &[u8]) -> Self {
        let item = match bytes.split_first() {
            Some((&WORK, rest)) => output(&mut Decoder::new(rest, &Params::TINY)),
            Some((&TRANSFER, rest)) => coins(&mut Decoder::new(rest, &Params::TINY)),
            _ => Ok(Self::Other),
        };
        item.unwrap_or(Self::Other)
    }
}

fn output(input: &mut Decoder<'_>) -> Result<Item, DecodeError> {
    input.take(HASHES_BYTES)?;
    let _accumulate_gas = input.natural()?;
    match u8::decode_from(input)? {
        0 => Bytes::decode_from(input).map(Item::Output),
        _ => Ok(Item::Other),
    }
}

fn coins(input: &mut Decoder<'_>) -> Result<Item, DecodeError> {
    let (_source, _destination) = <(u32, u32)>::decode_from(input)?;
    u64::decode_from(input).map(Item::Coins)
}
