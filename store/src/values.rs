//! What the tables hold, as bytes. Strict in both directions, and without a length that is believed unseen.

use crate::options::ChainIdentity;
use alloy_consensus::{Header, TxEnvelope, transaction::Recovered};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, B256, Bytes};
use jam::{
    Ed25519Key, HeaderHash, Params,
    codec::{Decode, DecodeError, Decoder, Encode, Malformed, put_natural},
    hash::blake2b,
};
use queue::Record;
use state::{Key, Writes};
use types::{BlockId, Reason, Time, Transaction};

pub(crate) const CHECKSUM_BYTES: usize = 8;

/// Appends a checksum: for values that nothing else proves.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    seal(&mut bytes, 0);
    bytes
}

/// Appends a checksum of what stands from here on.
pub(crate) fn seal(bytes: &mut Vec<u8>, from: usize) {
    let sum = checksum(&bytes[from..]);
    bytes.extend_from_slice(&sum);
}

/// A checksum.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&blake2b(&[bytes])[..CHECKSUM_BYTES]);
    sum
}

/// The bytes before a checksum that is right.
pub(crate) fn unsealed(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let wrong = Decoder::new(bytes, &Params::TINY).error(Malformed::Inconsistent("the checksum is wrong"));
    let at = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(wrong)?;
    let (value, sum) = bytes.split_at(at);
    if checksum(value) == *sum { Ok(value) } else { Err(wrong) }
}

/// Reads all of some bytes; nothing here depends on the chain's parameters.
pub(crate) fn whole<'a, T>(
    bytes: &'a [u8],
    read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut input = Decoder::new(bytes, const { &Params::TINY });
    let value = read(&mut input)?;
    input.finish()?;
    Ok(value)
}

pub(crate) fn inconsistent(input: &Decoder<'_>, why: &'static str) -> DecodeError {
    input.error(Malformed::Inconsistent(why))
}

pub(crate) fn put_id(id: BlockId, out: &mut Vec<u8>) {
    (id.number, id.hash).encode_to(out);
}

pub(crate) fn take_id(input: &mut Decoder<'_>) -> Result<BlockId, DecodeError> {
    Ok(BlockId::new(Decode::decode_from(input)?, Decode::decode_from(input)?))
}

/// How far the file is. Written with every commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// Counts commits.
    pub(crate) step: u64,
    /// Counts accepted transactions.
    pub(crate) arrivals: u64,
    /// Counts ended transactions.
    pub(crate) ended: u64,
    /// Counts the queue's records.
    pub(crate) records: u64,
    /// Counts blocks that were opened.
    pub(crate) build: u64,
    /// The first block.
    pub(crate) genesis: u64,
    /// The last final block.
    pub(crate) finalized: BlockId,
    /// The last sealed block.
    pub(crate) newest: BlockId,
    /// The block whose state the table of values holds.
    pub(crate) folded: u64,
    /// The oldest block whose state can be read.
    pub(crate) oldest: u64,
    /// Counts how often folded blocks were taken back: with `folded` it says which values the table holds.
    pub(crate) rollbacks: u64,
    /// Counts transactions that became final although they were final before. There must never be one.
    pub(crate) repeated: u64,
}

/// Eight numbers, two blocks and a checksum.
const BYTES_WITHOUT_HISTORY: usize = 8 * 8 + 2 * (8 + 32) + CHECKSUM_BYTES;

impl Position {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let counts = [self.step, self.arrivals, self.ended, self.records, self.build, self.repeated];
        let numbers = counts.into_iter().chain([self.genesis, self.folded, self.oldest, self.rollbacks]);
        numbers.for_each(|number| number.encode_to(&mut out));
        put_id(self.finalized, &mut out);
        put_id(self.newest, &mut out);
        sealed(out)
    }

    /// Files of earlier formats have a shorter one, which is read so that they can be refused for what they are.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(bytes, bytes.len() != BYTES_WITHOUT_HISTORY)
    }

    fn read(bytes: &[u8], has_history: bool) -> Result<Self, DecodeError> {
        whole(unsealed(bytes)?, |input| {
            let mut next = || u64::decode_from(input);
            let (step, arrivals, ended, records) = (next()?, next()?, next()?, next()?);
            let (build, repeated, genesis, folded) = (next()?, next()?, next()?, next()?);
            let (oldest, rollbacks) = if has_history { (next()?, next()?) } else { (folded, 0) };
            let (finalized, newest) = (take_id(input)?, take_id(input)?);
            let kept = genesis <= oldest && oldest <= folded && folded <= newest.number;
            if !kept || oldest > finalized.number || finalized.number > newest.number {
                return Err(inconsistent(input, "oldest, final, folded and newest block are out of order"));
            }
            Ok(Self {
                step,
                arrivals,
                ended,
                records,
                build,
                genesis,
                finalized,
                newest,
                folded,
                oldest,
                rollbacks,
                repeated,
            })
        })
    }
}

impl ChainIdentity {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.genesis.encode_to(&mut out);
        self.service.encode_to(&mut out);
        self.builder.encode_to(&mut out);
        self.jam_genesis.encode_to(&mut out);
        out
    }

    pub(crate) fn take(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            genesis: B256::decode_from(input)?,
            service: u32::decode_from(input)?,
            builder: Ed25519Key::decode_from(input)?,
            jam_genesis: HeaderHash::decode_from(input)?,
        })
    }
}

/// An accepted transaction with what the pool must know of it after a restart.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    pub(crate) at: Time,
    pub(crate) attempts: u32,
    pub(crate) lone_failures: u32,
    pub(crate) returned: bool,
    pub(crate) tx: Transaction,
}

impl Accepted {
    /// One that has just come.
    pub(crate) fn first((tx, at): (&Transaction, Time)) -> Self {
        Self { at, attempts: 0, lone_failures: 0, returned: false, tx: tx.clone() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(96 + self.tx.encoded().len());
        self.encode_to(&mut out);
        out
    }

    pub(crate) fn encode_to(&self, out: &mut Vec<u8>) {
        let from = out.len();
        self.tx.hash().encode_to(out);
        self.at.as_millis().encode_to(out);
        (self.attempts, self.lone_failures).encode_to(out);
        self.returned.encode_to(out);
        self.tx.sender().0.encode_to(out);
        put_natural(self.tx.authorities().len() as u64, out);
        self.tx.authorities().iter().for_each(|authority| authority.0.encode_to(out));
        out.extend_from_slice(self.tx.encoded());
        seal(out, from);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        whole(unsealed(bytes)?, |input| {
            let start = input.clone();
            let (hash, at) = <(B256, u64)>::decode_from(input)?;
            let (attempts, lone_failures) = Decode::decode_from(input)?;
            let returned = Decode::decode_from(input)?;
            let sender = take_address(input)?;
            let len = input.length(20, usize::MAX)?;
            let authorities = (0..len).map(|_| take_address(input)).collect::<Result<Vec<_>, _>>()?;
            let rest = input.left();
            let tx = take_tx(input, rest, sender, authorities)?;
            if tx.hash() != hash {
                return Err(inconsistent(&start, "an accepted transaction has another hash"));
            }
            Ok(Self { at: Time::from_millis(at), attempts, lone_failures, returned, tx })
        })
    }

    /// The hash alone.
    pub(crate) fn hash(bytes: &[u8]) -> Option<B256> {
        bytes.first_chunk().map(|hash| B256::new(*hash))
    }
}

pub(crate) fn take_address(input: &mut Decoder<'_>) -> Result<Address, DecodeError> {
    Ok(Address(Decode::decode_from(input)?))
}

pub(crate) fn take_tx(
    input: &mut Decoder<'_>,
    len: usize,
    sender: Address,
    authorities: Vec<Address>,
) -> Result<Transaction, DecodeError> {
    let start = input.clone();
    let encoded = Bytes::copy_from_slice(input.take(len)?);
    let tx = TxEnvelope::decode_2718_exact(&encoded)
        .map_err(|_| inconsistent(&start, "a transaction does not decode"))?;
    Ok(Transaction::with_authorities(Recovered::new_unchecked(tx, sender), encoded, authorities))
}

/// What a block wrote, in the order of the keys.
pub(crate) fn encode_writes(writes: &Writes) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 * writes.len());
    for (key, value) in writes {
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(value.as_slice());
    }
    out
}

pub(crate) fn decode_writes(bytes: &[u8]) -> Result<Writes, DecodeError> {
    let (entries, rest) = bytes.as_chunks::<64>();
    let wrong = || Decoder::new(bytes, &Params::TINY).error(Malformed::Order);
    let entry = |entry: &[u8; 64]| -> Option<_> {
        Some((Key::new(*entry.first_chunk::<32>()?), B256::new(*entry.last_chunk::<32>()?)))
    };
    let entries = entries.iter().map(entry).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    if !rest.is_empty() || !entries.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(wrong());
    }
    Ok(entries.into_iter().collect())
}

/// The end of a transaction: its place in the order of ends, when, and why.
pub(crate) fn encode_ended(order: u64, at: Time, reason: &Reason) -> Vec<u8> {
    let mut out = (order, at.as_millis()).encode();
    out.extend_from_slice(&reason.to_bytes());
    sealed(out)
}

pub(crate) fn decode_ended(bytes: &[u8]) -> Result<(u64, Time, Reason), DecodeError> {
    whole(unsealed(bytes)?, |input| {
        let (order, at) = Decode::decode_from(input)?;
        let start = input.clone();
        let reason = Reason::from_bytes(input.take(input.left())?);
        let reason = reason.map_err(|_| inconsistent(&start, "no reason for the end of a transaction"))?;
        Ok((order, Time::from_millis(at), reason))
    })
}

/// A header that fills all of the bytes.
pub(crate) fn decode_header(bytes: &[u8]) -> Option<Header> {
    alloy_rlp::decode_exact(bytes).ok()
}

/// A record of the queue with a checksum behind it.
pub(crate) fn decode_record(bytes: &[u8]) -> Result<Record, DecodeError> {
    Record::from_bytes(unsealed(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEip1559};
    use alloy_primitives::Signature as TxSignature;
    use proptest::prelude::*;

    fn tx(nonce: u64, input: Vec<u8>, authorities: Vec<Address>) -> Transaction {
        let tx = TxEip1559 { nonce, input: input.into(), ..TxEip1559::default() };
        let tx = TxEnvelope::from(tx.into_signed(TxSignature::test_signature()));
        let plain = Transaction::new(Recovered::new_unchecked(tx, Address::repeat_byte(nonce as u8)));
        Transaction::with_authorities(plain.signed().clone(), plain.encoded().clone(), authorities)
    }

    proptest! {
        #[test]
        fn accepted_transactions_come_back(
            (at, nonce) in any::<(u64, u64)>(),
            (attempts, lone_failures, returned) in any::<(u32, u32, bool)>(),
            input in proptest::collection::vec(any::<u8>(), 0..300),
            authorities in proptest::collection::vec(any::<[u8; 20]>().prop_map(Address::from), 0..4),
        ) {
            let at = Time::from_millis(at);
            let tx = tx(nonce, input, authorities);
            let accepted = Accepted { at, attempts, lone_failures, returned, tx };
            let bytes = accepted.encode();
            prop_assert_eq!(Accepted::hash(&bytes), Some(accepted.tx.hash()));
            let again = Accepted::decode(&bytes).unwrap();
            prop_assert_eq!(again.tx.authorities(), accepted.tx.authorities());
            prop_assert_eq!(again.tx.sender(), accepted.tx.sender());
            prop_assert_eq!(again.encode(), bytes);
        }

        #[test]
        fn one_transaction_of_a_body_is_that_of_all(
            inputs in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..6),
        ) {
            let txs = (0..).zip(inputs).map(|(nonce, input)| tx(nonce, input, vec![])).collect::<Vec<_>>();
            let bytes = crate::body::encode(&jam::Signature::default(), &txs);
            prop_assert_eq!(&crate::body::decode(&bytes).unwrap().1, &txs);
            for (index, tx) in (0..).zip(&txs) {
                let one = crate::body::decode_one(&bytes, index).unwrap().unwrap();
                prop_assert_eq!((one.hash(), one.sender()), (tx.hash(), tx.sender()));
            }
            prop_assert_eq!(crate::body::decode_one(&bytes, txs.len() as u32), Ok(None));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            // With a checksum that is right, so that what is behind it is looked at too.
            let sealed = sealed(bytes.clone());
            for bytes in [&bytes, &sealed] {
                let _ = Position::decode(bytes);
                let _ = Accepted::decode(bytes);
                let _ = decode_ended(bytes);
                let _ = decode_record(bytes);
                let _ = decode_header(bytes);
                let _ = crate::body::decode(bytes);
                let _ = crate::receipts::decode(bytes);
                let _ = crate::checkpoint::decode(bytes, &Params::TINY);
                if let Ok(writes) = decode_writes(bytes) {
                    prop_assert_eq!(&encode_writes(&writes), bytes);
                }
            }
            prop_assert_eq!(unsealed(&sealed), Ok(&bytes[..]));
            let mut wrong = sealed;
            wrong[0] ^= 1;
            prop_assert!(unsealed(&wrong).is_err());
        }
    }
}
