//! What a run of blocks leaves in JAM's data: its blocks and their receipts, so that anyone can rebuild the chain from there.
//!
//! `rlp(block) ++ rlp(receipts)` for each block in order, the block as Ethereum's archives have it (header, transactions, no
//! ommers, no withdrawals), all of it cut into segments; the last one is filled up with zeros. RLP says where a block ends, and
//! none begins with a zero, so the zeros are no ambiguity.

use alloc::vec::Vec;
use alloy_consensus::{Block, Header, ReceiptEnvelope, TxEnvelope, Typed2718};
use alloy_eips::Encodable2718;
use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, EMPTY_LIST_CODE, Encodable};
use jam::{SegmentRoot, merkle::SegmentTree, params::SEGMENT_BYTES};

/// The lowest first byte of an RLP list, and so of a transaction or a receipt without a type.
const LIST: u8 = 0xc0;

/// How many bytes a list of encoded transactions or receipts takes, given the lengths of the items in it.
pub fn list_bytes(payload_length: usize) -> usize {
    alloy_rlp::Header { list: true, payload_length }.length_with_payload()
}

/// How many bytes one encoded (EIP-2718) transaction or receipt takes in a list.
pub fn item_bytes(item: &[u8]) -> usize {
    if is_list(item) { item.len() } else { item.length() }
}

/// How many bytes a receipt takes in a list.
pub fn receipt_bytes(receipt: &ReceiptEnvelope) -> usize {
    let length = receipt.encode_2718_len();
    // What is inside the string that a receipt with a type is; never a single byte.
    if receipt.is_legacy() { length } else { length + alloy_rlp::length_of_length(length) }
}

/// How many bytes a block takes in the exports of its run, given the lengths of its header and of the items in its two lists.
pub fn block_bytes(header: usize, transactions: usize, receipts: usize) -> usize {
    let body = header + list_bytes(transactions) + 2;
    list_bytes(body) + list_bytes(receipts)
}

/// How many bytes a block takes in the exports of its run. `transactions` are encoded (EIP-2718).
pub fn bytes_of<T: AsRef<[u8]>>(header: &Header, transactions: &[T], receipts: &[ReceiptEnvelope]) -> usize {
    let transactions = transactions.iter().map(|tx| item_bytes(tx.as_ref())).sum();
    block_bytes(header.length(), transactions, receipts.iter().map(receipt_bytes).sum())
}

/// How many segments so many bytes take.
pub const fn segments(bytes: usize) -> usize {
    bytes.div_ceil(SEGMENT_BYTES)
}

/// What a run exports, block by block.
#[derive(Clone, Debug, Default)]
pub struct Exports(Vec<u8>);

impl Exports {
    /// Adds a block. `transactions` and `receipts` are encoded (EIP-2718).
    pub fn push<T: AsRef<[u8]>, R: AsRef<[u8]>>(
        &mut self,
        header: &Header,
        transactions: &[T],
        receipts: &[R],
    ) {
        let list = |length: usize| alloy_rlp::Header { list: true, payload_length: length };
        let in_transactions = transactions.iter().map(|tx| item_bytes(tx.as_ref())).sum();
        let in_receipts = receipts.iter().map(|receipt| item_bytes(receipt.as_ref())).sum();
        let out = &mut self.0;
        out.reserve(block_bytes(header.length(), in_transactions, in_receipts));
        list(header.length() + list_bytes(in_transactions) + 2).encode(out);
        header.encode(out);
        list(in_transactions).encode(out);
        transactions.iter().for_each(|tx| put(tx.as_ref(), out));
        out.extend_from_slice(&[EMPTY_LIST_CODE; 2]);
        list(in_receipts).encode(out);
        receipts.iter().for_each(|receipt| put(receipt.as_ref(), out));
    }

    /// The segments.
    pub fn into_segments(self) -> Vec<Bytes> {
        let mut out = self.0;
        let count = segments(out.len());
        out.resize(count * SEGMENT_BYTES, 0);
        let out = Bytes::from(out);
        (0..count).map(|i| out.slice(i * SEGMENT_BYTES..(i + 1) * SEGMENT_BYTES)).collect()
    }
}

/// The root that a report gives for segments.
pub fn root(segments: &[Bytes]) -> SegmentRoot {
    SegmentTree::new(segments).root()
}

/// A block with its receipts.
pub type Exported = (Block<TxEnvelope>, Vec<ReceiptEnvelope>);

/// Reads the blocks of a run with their receipts from its segments.
pub fn import<S: AsRef<[u8]>>(segments: &[S]) -> Result<Vec<Exported>, alloy_rlp::Error> {
    let bytes = segments.iter().flat_map(AsRef::as_ref).copied().collect::<Vec<_>>();
    let (rest, mut blocks) = (&mut &*bytes, Vec::new());
    while rest.first().is_some_and(|first| *first != 0) {
        blocks.push((Block::decode(rest)?, Vec::decode(rest)?));
    }
    if rest.len() >= SEGMENT_BYTES || rest.iter().any(|byte| *byte != 0) {
        return Err(alloy_rlp::Error::UnexpectedLength);
    }
    Ok(blocks)
}

fn is_list(item: &[u8]) -> bool {
    item.first().is_some_and(|first| *first >= LIST)
}

fn put(item: &[u8], out: &mut Vec<u8>) {
    if is_list(item) {
        out.extend_from_slice(item);
    } else {
        item.encode(out);
    }
}
