//! A checkpoint as bytes, for whoever keeps it. It is nobody's format but ours.

use super::{Fate, Start};
use crate::{
    Ed25519Key, Hash, HeaderHash,
    codec::{As, Decode, DecodeError, Decoder, Encode, Malformed, PerValidator},
    rules::{
        epoch::{Epoch, ValidatorSet},
        history::{History, Remembered},
    },
};
use std::sync::Arc;

impl Encode for Fate {
    fn encode_to(&self, out: &mut Vec<u8>) {
        match *self {
            Self::NotSeen => out.push(0),
            Self::Reported { core, block } => {
                out.push(1);
                (core, block).encode_to(out);
            }
            Self::Available { block } => put_fate(2, block, out),
            Self::Accumulated { block } => put_fate(3, block, out),
            Self::TimedOut { block } => put_fate(4, block, out),
            Self::Dropped { block } => put_fate(5, block, out),
            Self::Reorged => out.push(6),
        }
    }
}

fn put_fate(tag: u8, block: HeaderHash, out: &mut Vec<u8>) {
    out.push(tag);
    block.encode_to(out);
}

impl Decode for Fate {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        Ok(match input.byte()? {
            0 => Self::NotSeen,
            1 => Self::Reported { core: Decode::decode_from(input)?, block: Decode::decode_from(input)? },
            2 => Self::Available { block: Decode::decode_from(input)? },
            3 => Self::Accumulated { block: Decode::decode_from(input)? },
            4 => Self::TimedOut { block: Decode::decode_from(input)? },
            5 => Self::Dropped { block: Decode::decode_from(input)? },
            6 => Self::Reorged,
            tag => return Err(start.error(Malformed::Tag { tag })),
        })
    }
}

impl Encode for Epoch {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.number.encode_to(out);
        for set in [&self.current, &self.previous, &self.next] {
            <PerValidator as As<Vec<Ed25519Key>>>::put(&set.keys().to_vec(), out);
        }
        [self.next_entropy, self.entropy, self.previous_entropy].iter().for_each(|hash| hash.encode_to(out));
    }
}

impl Decode for Epoch {
    const MIN_BYTES: usize = 4 + 3 * 32;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let set = |input: &mut Decoder<'_>| -> Result<Arc<ValidatorSet>, DecodeError> {
            Ok(ValidatorSet::new(PerValidator::take(input)?))
        };
        Ok(Self {
            number: Decode::decode_from(input)?,
            current: set(input)?,
            previous: set(input)?,
            next: set(input)?,
            next_entropy: Decode::decode_from(input)?,
            entropy: Decode::decode_from(input)?,
            previous_entropy: Decode::decode_from(input)?,
        })
    }
}

impl Encode for Remembered {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.hash.encode_to(out);
        self.state_root.encode_to(out);
        self.beefy_root.encode_to(out);
        self.reported.encode_to(out);
    }
}

impl Decode for Remembered {
    const MIN_BYTES: usize = 35;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            hash: Decode::decode_from(input)?,
            state_root: Option::<Hash>::decode_from(input)?,
            beefy_root: Option::<Hash>::decode_from(input)?,
            reported: Arc::new(Decode::decode_from(input)?),
        })
    }
}

impl Encode for Start {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.hash.encode_to(out);
        self.slot.encode_to(out);
        self.height.encode_to(out);
        self.epoch.encode_to(out);
        self.disputes.encode_to(out);
        self.pending.encode_to(out);
        self.recent.blocks().cloned().collect::<Vec<_>>().encode_to(out);
        self.ready.encode_to(out);
        self.fates.encode_to(out);
    }
}

impl Decode for Start {
    const MIN_BYTES: usize = 44 + Epoch::MIN_BYTES;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            hash: Decode::decode_from(input)?,
            slot: Decode::decode_from(input)?,
            height: Decode::decode_from(input)?,
            epoch: Decode::decode_from(input)?,
            disputes: Decode::decode_from(input)?,
            pending: Decode::decode_from(input)?,
            recent: History::from(Vec::<Remembered>::decode_from(input)?),
            ready: Decode::decode_from(input)?,
            fates: Decode::decode_from(input)?,
        })
    }
}
