//! A block that will never change again.

use crate::{Parent, draft::Draft, run::Piece, work::Work};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{Address, B256};
use jam::Signature;
use service::{
    execution::Executed,
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
    /// What it adds to a package.
    pub piece: Piece,
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
        work: Work,
        sign: impl FnOnce(B256) -> Signature,
    ) -> Self {
        let layer = parent.layer.child(&executed.changes.writes);
        let written = executed.changes.writes.keys().copied().collect::<Vec<_>>();
        let work = work.writing(&layer.tree().written(&written));
        let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        let roots = Roots {
            state: layer.root(),
            transactions: header::list_root(&encoded),
            receipts: header::list_root(&executed.encoded_receipts()),
        };
        let header = header::complete(header, &executed, roots);
        let block = SealedBlock::new(header, transactions);
        let signature = sign(block.id().hash);
        let draft = Draft { parent: parent.header.clone(), block, signature };
        let Executed { changes, receipts, .. } = executed;
        let receipts = Arc::<[ReceiptEnvelope]>::from(receipts);
        let accounts = changes.accounts.clone().into();
        let piece = Piece::new(draft.clone(), Arc::clone(&receipts), changes, work);
        Self {
            draft,
            receipts,
            layer,
            writes: Arc::clone(piece.writes()),
            created: piece.created().clone(),
            accounts,
            piece,
        }
    }

    /// The block.
    pub const fn block(&self) -> &SealedBlock {
        &self.draft.block
    }

    /// What the next block stands on.
    pub fn as_parent(&self) -> Parent<V> {
        let header = self.block().header().clone();
        Parent { hash: self.block().id().hash, header, layer: self.layer.clone() }
    }
}
