//! What a block leaves in JAM's data: itself and its receipts, so that anyone can rebuild the chain from there.
//!
//! `rlp(block) ++ rlp(receipts)`, the block as Ethereum's archives have it (header, transactions, no ommers, no
//! withdrawals), cut into segments; the last one is filled up with zeros. RLP says where it ends, so the zeros are no
//! ambiguity.

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

/// How many segments a block takes, given the lengths of its header and of the items in its two lists.
pub fn segments(header: usize, transactions: usize, receipts: usize) -> usize {
    let body = header + list_bytes(transactions) + 2;
    (list_bytes(body) + list_bytes(receipts)).div_ceil(SEGMENT_BYTES)
}

/// How many segments a block takes. `transactions` are encoded (EIP-2718).
pub fn count<T: AsRef<[u8]>>(header: &Header, transactions: &[T], receipts: &[ReceiptEnvelope]) -> usize {
    let transactions = transactions.iter().map(|tx| item_bytes(tx.as_ref())).sum();
    segments(header.length(), transactions, receipts.iter().map(receipt_bytes).sum())
}

/// The segments of a block. `transactions` and `receipts` are encoded (EIP-2718).
pub fn export<T: AsRef<[u8]>, R: AsRef<[u8]>>(
    header: &Header,
    transactions: &[T],
    receipts: &[R],
) -> Vec<Bytes> {
    let sum = |length: usize| alloy_rlp::Header { list: true, payload_length: length };
    let in_transactions = transactions.iter().map(|tx| item_bytes(tx.as_ref())).sum();
    let in_receipts = receipts.iter().map(|receipt| item_bytes(receipt.as_ref())).sum();
    let count = segments(header.length(), in_transactions, in_receipts);
    let mut out = Vec::with_capacity(count * SEGMENT_BYTES);
    sum(header.length() + list_bytes(in_transactions) + 2).encode(&mut out);
    header.encode(&mut out);
    sum(in_transactions).encode(&mut out);
    transactions.iter().for_each(|tx| put(tx.as_ref(), &mut out));
    out.extend_from_slice(&[EMPTY_LIST_CODE; 2]);
    sum(in_receipts).encode(&mut out);
    receipts.iter().for_each(|receipt| put(receipt.as_ref(), &mut out));
    out.resize(count * SEGMENT_BYTES, 0);
    let out = Bytes::from(out);
    (0..count).map(|i| out.slice(i * SEGMENT_BYTES..(i + 1) * SEGMENT_BYTES)).collect()
}

/// The root that a report gives for segments.
pub fn root(segments: &[Bytes]) -> SegmentRoot {
    SegmentTree::new(segments).root()
}

/// Reads a block and its receipts from its segments.
pub fn import<S: AsRef<[u8]>>(
    segments: &[S],
) -> Result<(Block<TxEnvelope>, Vec<ReceiptEnvelope>), alloy_rlp::Error> {
    let bytes = segments.iter().flat_map(AsRef::as_ref).copied().collect::<Vec<_>>();
    let rest = &mut &*bytes;
    let block = Block::decode(rest)?;
    let receipts = Vec::decode(rest)?;
    if rest.len() >= SEGMENT_BYTES || rest.iter().any(|byte| *byte != 0) {
        return Err(alloy_rlp::Error::UnexpectedLength);
    }
    Ok((block, receipts))
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
