//! What is kept of a sealed block: everything that the builder decided, and nothing that follows from it.
//!
//! A draft is what the journal holds. Witness, codes, receipts and bundle are made again from it, whenever a version is
//! needed, and the block's hash says whether they are the same.

use alloy_consensus::{Header, TxEnvelope, transaction::Recovered};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, Bytes};
use jam::Signature;
use service::{
    blobs::{self, Short},
    payload::{Payload, PayloadError},
};
use types::{BlockId, SealedBlock, Transaction};

/// A sealed block with the header it stands on and the builder's signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    /// The parent's header.
    pub parent: Header,
    /// The block.
    pub block: SealedBlock,
    /// The builder's signature of its hash.
    pub signature: Signature,
}

/// Why bytes are no draft.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DraftError {
    /// They are cut off.
    #[error(transparent)]
    Short(#[from] Short),
    /// The headers or the signature do not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// There is not one sender for each transaction.
    #[error("the senders are not one for each of {0} transactions")]
    Senders(usize),
    /// A transaction does not decode.
    #[error("transaction {0} does not decode")]
    Transaction(usize),
}

impl Draft {
    /// Number and hash of the block.
    pub const fn id(&self) -> BlockId {
        self.block.id()
    }

    /// What the work item says.
    pub fn payload(&self) -> Payload {
        let header = self.block.header().clone();
        Payload { parent: self.parent.clone(), header, signature: self.signature }
    }

    /// The bytes for the journal: payload, senders, transactions.
    ///
    /// Senders are kept so that a restart does not have to recover them; the block's hash depends on them.
    pub fn encode(&self) -> Bytes {
        let transactions = self.block.transactions();
        let senders = transactions.iter().flat_map(|tx| tx.sender().0).collect::<Bytes>();
        let parts = [self.payload().encode(), senders];
        blobs::join(&parts.iter().chain(transactions.iter().map(Transaction::encoded)).collect::<Vec<_>>())
    }

    /// Reads what [`Draft::encode`] wrote.
    pub fn decode(bytes: &Bytes) -> Result<Self, DraftError> {
        let parts = blobs::split(bytes)?;
        let [payload, senders, transactions @ ..] = &parts[..] else {
            return Err(Short { index: parts.len() }.into());
        };
        let payload = Payload::decode(payload)?;
        let (addresses, rest) = senders.as_chunks::<20>();
        if addresses.len() != transactions.len() || !rest.is_empty() {
            return Err(DraftError::Senders(transactions.len()));
        }
        let transactions = transactions.iter().zip(addresses).enumerate();
        let transactions = transactions
            .map(|(index, (bytes, sender))| {
                let tx = TxEnvelope::decode_2718_exact(bytes).map_err(|_| DraftError::Transaction(index))?;
                let signed = Recovered::new_unchecked(tx, Address::new(*sender));
                Ok(Transaction::from_parts(signed, bytes.clone()))
            })
            .collect::<Result<Vec<_>, DraftError>>()?;
        let block = SealedBlock::new(payload.header, transactions);
        Ok(Self { parent: payload.parent, block, signature: payload.signature })
    }
}
