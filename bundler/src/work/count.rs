//! What a transaction adds to the work of its block, besides what it executes.

use super::{Feature, Work, counter::KECCAK_BYTES};
use alloy_consensus::{Transaction as _, TxType};
use alloy_eips::Encodable2718;
use service::execution::Attempt;
use state::evm::Touched;
use types::Transaction;

/// What was seen of a transaction that is going to be part of the block.
pub(crate) struct Transacted<'a> {
    pub(crate) tx: &'a Transaction,
    pub(crate) attempt: &'a Attempt,
    /// What the block had not touched before.
    pub(crate) touched: &'a Touched,
    /// Bytes of codes that it created.
    pub(crate) created_bytes: usize,
}

/// Adds a transaction to what was counted while it was executed.
pub(crate) fn transacted(work: &mut Work, transacted: &Transacted<'_>) {
    let Transacted { tx, attempt, touched, created_bytes } = transacted;
    work.add(Feature::Signatures, 1);
    let kind = match tx.signed().tx_type() {
        TxType::Legacy => Feature::Legacy,
        TxType::Eip2930 => Feature::Eip2930,
        TxType::Eip1559 | TxType::Eip4844 => Feature::Eip1559,
        TxType::Eip7702 => Feature::Eip7702,
    };
    work.add(kind, 1);
    work.add(Feature::TransactionBytes, tx.encoded().len());
    work.add(Feature::TransactionBlocks, tx.encoded().len() / KECCAK_BYTES + 1);
    if let Some(list) = tx.access_list() {
        work.add(Feature::AccessAddresses, list.len());
        work.add(Feature::AccessSlots, list.storage_keys_count());
    }
    work.add(Feature::Authorizations, tx.authorization_list().map_or(0, <[_]>::len));
    for account in attempt.changes.values() {
        work.add(Feature::Accounts, 1);
        work.add(Feature::TouchedAccounts, usize::from(account.is_touched()));
        work.add(Feature::Slots, account.storage.len());
        work.add(Feature::ChangedSlots, account.changed_storage_slots().count());
    }
    work.add(Feature::NewAccounts, touched.accounts);
    work.add(Feature::NewSlots, touched.keys.len() - 2 * touched.accounts);
    work.add(Feature::Codes, touched.codes.len());
    work.add(Feature::CodeBytes, touched.codes.iter().sum());
    work.add(Feature::CreatedBytes, *created_bytes);
    let bytes = attempt.receipt.encode_2718_len();
    work.add(Feature::ReceiptBytes, bytes);
    work.add(Feature::ReceiptBlocks, bytes / KECCAK_BYTES + 1);
    for log in attempt.receipt.logs() {
        work.add(Feature::Logs, 1);
        work.add(Feature::Topics, log.topics().len());
    }
}
