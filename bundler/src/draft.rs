//! What is kept of a sealed block: everything that the builder decided, and nothing that follows from it.
//!
//! A draft is what the journal holds. Witness, codes, receipts and bundle are made again from it, whenever a version is
//! needed, and the block's hash says whether they are the same.

use alloy_consensus::{Header, TxEnvelope, transaction::Recovered};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, Bytes};
use alloy_rlp::{Decodable, Encodable};
use jam::Signature;
use service::blobs::{self, Short};
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
    #[error("the headers do not decode: {0}")]
    Headers(#[from] alloy_rlp::Error),
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

    /// The bytes for the journal: headers and signature, senders, transactions.
    ///
    /// Senders are kept so that a restart does not have to recover them; the block's hash depends on them.
    pub fn encode(&self) -> Bytes {
        let transactions = self.block.transactions();
        let senders = transactions.iter().flat_map(|tx| tx.sender().0).collect::<Bytes>();
        let mut head = Vec::with_capacity(self.parent.length() + self.block.header().length() + 64);
        self.parent.encode(&mut head);
        self.block.header().encode(&mut head);
        head.extend_from_slice(self.signature.as_slice());
        let parts = [Bytes::from(head), senders];
        blobs::join(&parts.iter().chain(transactions.iter().map(Transaction::encoded)).collect::<Vec<_>>())
    }

    /// Reads what [`Draft::encode`] wrote.
    pub fn decode(bytes: &Bytes) -> Result<Self, DraftError> {
        let parts = blobs::split(bytes)?;
        let [head, senders, transactions @ ..] = &parts[..] else {
            return Err(Short { index: parts.len() }.into());
        };
        let head = &mut &head[..];
        let (parent, header) = (Header::decode(head)?, Header::decode(head)?);
        let signature = Signature::try_from(*head).map_err(|_| alloy_rlp::Error::UnexpectedLength)?;
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
        Ok(Self { parent, block: SealedBlock::new(header, transactions), signature })
    }
}
