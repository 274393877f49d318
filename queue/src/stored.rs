//! Records as bytes, for whoever keeps them. It is nobody's format but ours, so a version stands before each.
//!
//! Decoding is strict: one encoding of each record, nothing after it, and no declared length is believed before it is
//! compared with the bytes that are left.

use crate::{
    Record, Version,
    sealed::{QueuedBlock, Size},
};
use jam::{
    PackageHash, Params, RefineContext,
    codec::{Decode, DecodeError, Decoder, Encode, Malformed},
};
use types::{BlockId, ReleasedBy, Time};

/// The version of the format.
const FORMAT: u8 = 3;

impl Record {
    /// The bytes for the journal.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        self.put(&mut out);
        out
    }

    /// Reads what [`Record::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        // Nothing in a record depends on the chain's parameters.
        let mut input = Decoder::new(bytes, &Params::TINY);
        let start = input.clone();
        match input.byte()? {
            FORMAT => {}
            tag => return Err(start.error(Malformed::Tag { tag })),
        }
        let record = Self::take(&mut input)?;
        input.finish()?;
        Ok(record)
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Enqueued { block, parent } => {
                out.push(0);
                put_block(block, out);
                put_id(parent, out);
            }
            Self::Formed { first, last } => {
                out.push(10);
                (*first, *last).encode_to(out);
            }
            Self::Dissolved { first, second, last } => {
                out.push(11);
                (*first, *second).encode_to(out);
                last.encode_to(out);
            }
            Self::Submitted { block, version } => {
                out.push(1);
                block.encode_to(out);
                put_version(version, out);
            }
            Self::Taken { block, version } => {
                out.push(2);
                (*block, *version).encode_to(out);
            }
            Self::Requeued { block, counted, again } => {
                out.push(3);
                block.encode_to(out);
                (*counted, *again).encode_to(out);
            }
            Self::Abandoned { from, by: ReleasedBy::Chain } => put_number(4, *from, out),
            Self::Abandoned { from, by: ReleasedBy::Operator } => put_number(9, *from, out),
            Self::Retried => out.push(5),
            Self::Revived => out.push(6),
            Self::Released { from } => put_number(7, *from, out),
            Self::Finalized { through } => {
                out.push(8);
                put_id(through, out);
            }
        }
    }

    fn take(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        Ok(match input.byte()? {
            0 => Self::Enqueued { block: take_block(input)?, parent: take_id(input)? },
            10 => Self::Formed { first: Decode::decode_from(input)?, last: Decode::decode_from(input)? },
            11 => Self::Dissolved {
                first: Decode::decode_from(input)?,
                second: Decode::decode_from(input)?,
                last: Decode::decode_from(input)?,
            },
            1 => Self::Submitted { block: Decode::decode_from(input)?, version: take_version(input)? },
            2 => Self::Taken { block: Decode::decode_from(input)?, version: Decode::decode_from(input)? },
            3 => Self::Requeued {
                block: Decode::decode_from(input)?,
                counted: Decode::decode_from(input)?,
                again: Decode::decode_from(input)?,
            },
            4 => Self::Abandoned { from: Decode::decode_from(input)?, by: ReleasedBy::Chain },
            5 => Self::Retried,
            6 => Self::Revived,
            7 => Self::Released { from: Decode::decode_from(input)? },
            8 => Self::Finalized { through: take_id(input)? },
            9 => Self::Abandoned { from: Decode::decode_from(input)?, by: ReleasedBy::Operator },
            tag => return Err(start.error(Malformed::Tag { tag })),
        })
    }
}

fn put_number(tag: u8, number: u64, out: &mut Vec<u8>) {
    out.push(tag);
    number.encode_to(out);
}

fn put_block(block: &QueuedBlock, out: &mut Vec<u8>) {
    put_id(&block.id, out);
    block.transactions.encode_to(out);
    block.is_alone.encode_to(out);
    (block.size.bytes, block.size.gas).encode_to(out);
    (block.size.export_bytes, block.size.refine_gas).encode_to(out);
    block.sealed_at.as_millis().encode_to(out);
}

fn take_block(input: &mut Decoder<'_>) -> Result<QueuedBlock, DecodeError> {
    Ok(QueuedBlock {
        id: take_id(input)?,
        transactions: Decode::decode_from(input)?,
        is_alone: Decode::decode_from(input)?,
        size: Size {
            bytes: Decode::decode_from(input)?,
            gas: Decode::decode_from(input)?,
            export_bytes: Decode::decode_from(input)?,
            refine_gas: Decode::decode_from(input)?,
        },
        sealed_at: take_time(input)?,
    })
}

fn put_id(block: &BlockId, out: &mut Vec<u8>) {
    (block.number, block.hash).encode_to(out);
}

fn take_id(input: &mut Decoder<'_>) -> Result<BlockId, DecodeError> {
    Ok(BlockId::new(Decode::decode_from(input)?, Decode::decode_from(input)?))
}

fn take_time(input: &mut Decoder<'_>) -> Result<Time, DecodeError> {
    Ok(Time::from_millis(Decode::decode_from(input)?))
}

fn put_version(version: &Version, out: &mut Vec<u8>) {
    version.number.encode_to(out);
    version.package.encode_to(out);
    version.context.encode_to(out);
    version.code_hash.encode_to(out);
    version.anchor_height.encode_to(out);
    version.core.encode_to(out);
    version.sent_at.as_millis().encode_to(out);
    version.sends.encode_to(out);
    (version.taken, version.counted).encode_to(out);
}

fn take_version(input: &mut Decoder<'_>) -> Result<Version, DecodeError> {
    Ok(Version {
        number: Decode::decode_from(input)?,
        package: PackageHash::decode_from(input)?,
        context: RefineContext::decode_from(input)?,
        code_hash: Decode::decode_from(input)?,
        anchor_height: Decode::decode_from(input)?,
        core: Decode::decode_from(input)?,
        sent_at: take_time(input)?,
        sends: Decode::decode_from(input)?,
        taken: Decode::decode_from(input)?,
        counted: Decode::decode_from(input)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::sample::{Sample, Source};
    use proptest::prelude::*;

    fn id(source: &mut Source<'_>) -> BlockId {
        BlockId::new(source.bits(), Sample::sample(source))
    }

    fn version(source: &mut Source<'_>) -> Version {
        Version {
            number: u32::sample(source),
            package: PackageHash(Sample::sample(source)),
            context: RefineContext::sample(source),
            code_hash: Sample::sample(source),
            anchor_height: source.bits(),
            core: u16::sample(source),
            sent_at: Time::from_millis(source.bits()),
            sends: u32::sample(source),
            taken: source.below(2) == 0,
            counted: source.below(2) == 0,
        }
    }

    fn record(source: &mut Source<'_>, kind: u8) -> Record {
        match kind {
            0 => Record::Enqueued {
                block: QueuedBlock {
                    id: id(source),
                    transactions: u32::sample(source),
                    is_alone: source.below(2) == 0,
                    size: Size {
                        bytes: source.bits(),
                        gas: source.bits(),
                        export_bytes: source.bits(),
                        refine_gas: source.bits(),
                    },
                    sealed_at: Time::from_millis(source.bits()),
                },
                parent: id(source),
            },
            10 => Record::Formed { first: source.bits(), last: source.bits() },
            11 => Record::Dissolved { first: source.bits(), second: source.bits(), last: source.bits() },
            1 => Record::Submitted { block: source.bits(), version: version(source) },
            2 => Record::Taken { block: source.bits(), version: u32::sample(source) },
            3 => Record::Requeued {
                block: source.bits(),
                counted: source.below(2) == 0,
                again: source.below(2) == 0,
            },
            4 => Record::Abandoned { from: source.bits(), by: ReleasedBy::Chain },
            5 => Record::Retried,
            6 => Record::Revived,
            7 => Record::Released { from: source.bits() },
            9 => Record::Abandoned { from: source.bits(), by: ReleasedBy::Operator },
            _ => Record::Finalized { through: id(source) },
        }
    }

    proptest! {
        #[test]
        fn records_come_back_and_have_one_encoding(seed: u64, kind in 0..12_u8) {
            let record = record(&mut Source::new(&Params::TINY, seed), kind);
            let bytes = record.to_bytes();
            prop_assert_eq!(Record::from_bytes(&bytes), Ok(record));
            prop_assert!(Record::from_bytes(&bytes[..bytes.len() - 1]).is_err());
            prop_assert!(Record::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
            let mut newer = bytes;
            newer[0] += 1;
            prop_assert!(Record::from_bytes(&newer).is_err());
        }

        #[test]
        fn whatever_is_read_is_written_the_same(
            kind in 0..12_u8,
            mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            bytes.splice(..0, [FORMAT, kind]);
            if let Ok(record) = Record::from_bytes(&bytes) {
                prop_assert_eq!(record.to_bytes(), bytes);
            }
        }
    }
}
