//! A block that will never change again.

use crate::{Parent, draft::Draft};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_eips::Encodable2718;
use alloy_primitives::{Address, B256, Bytes};
use jam::Signature;
use service::{
    blobs,
    execution::Executed,
    exports,
    header::{self, Roots},
};
use state::{CodeSet, Layer, Values, Writes};
use std::sync::Arc;
use types::{SealedBlock, Transaction};

/// A sealed block with everything that executing it gave.
#[derive(Clone, Debug)]
pub struct Sealed<V> {
    /// What is to be kept.
    pub draft: Draft,
    /// One per transaction, with the logs.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// The state after it.
    pub layer: Layer<V>,
    /// What it wrote.
    pub writes: Arc<Writes>,
    /// The codes that accounts have since it.
    pub created: CodeSet,
    /// Whose nonce, balance, code or storage may have changed, each once.
    pub accounts: Arc<[Address]>,
    /// Witness, codes and transactions, as they travel.
    pub extrinsics: [Bytes; service::refine::EXTRINSICS],
    /// Segments that it exports.
    pub export_segments: usize,
}

/// The state cannot be read, or is damaged; nothing is wrong with the block.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the block cannot be sealed: {0}")]
pub struct SealError(pub String);

impl<V: Values + Clone> Sealed<V> {
    pub(crate) fn new(
        parent: &Parent<V>,
        header: Header,
        transactions: Vec<Transaction>,
        executed: Executed,
        sign: impl FnOnce(B256) -> Signature,
    ) -> Result<Self, SealError> {
        let changes = &executed.changes;
        let witness = parent.layer.witness_knowing(&changes.touched, &changes.read);
        let witness = witness.map_err(|error| SealError(error.to_string()))?.encode();
        let layer = parent.layer.child(&changes.writes);
        let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        let roots = Roots {
            state: layer.root(),
            transactions: header::list_root(&encoded),
            receipts: header::list_root(&executed.encoded_receipts()),
        };
        let header = header::complete(header, &executed, roots);
        let export_segments = exports::count(&header, &encoded, &executed.receipts);
        let extrinsics = [witness.into(), changes.codes.encode().into(), blobs::join(&encoded)];
        let block = SealedBlock::new(header, transactions);
        let signature = sign(block.id().hash);
        Ok(Self {
            draft: Draft { parent: parent.header.clone(), block, signature },
            receipts: executed.receipts.into(),
            layer,
            writes: Arc::new(executed.changes.writes),
            created: executed.changes.created,
            accounts: executed.changes.accounts.into(),
            extrinsics,
            export_segments,
        })
    }

    /// The block.
    pub const fn block(&self) -> &SealedBlock {
        &self.draft.block
    }

    /// What it leaves in JAM's data, as every guarantor will.
    pub fn exports(&self) -> Vec<Bytes> {
        let transactions = self.block().transactions().iter().map(Transaction::encoded).collect::<Vec<_>>();
        let receipts = self.receipts.iter().map(Encodable2718::encoded_2718).collect::<Vec<_>>();
        exports::export(self.block().header(), &transactions, &receipts)
    }

    /// What the next block stands on.
    pub fn as_parent(&self) -> Parent<V> {
        let header = self.block().header().clone();
        Parent { hash: self.block().id().hash, header, layer: self.layer.clone() }
    }
}
