//! Finding blocks, transactions and states: in the snapshot first, then in the archive.

use crate::{
    Archive, Backend, Error, PendingBlock, RecentBlock, Snapshot, State,
    archive::{ArchiveError, Foreign, TxLocation},
    error,
    evm_chain_spec::EvmChainSpec,
    hex::{FromHex, Hex},
};
use alloy_consensus::{Block, BlockBody, Header, ReceiptEnvelope, TxEnvelope};
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_primitives::B256;
use alloy_rlp::Encodable;
use serde::{Deserialize, Deserializer, de};
use std::sync::Arc;
use types::{BlockId, ReceiptedBlock, Transaction};

/// Which block is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum At {
    #[default]
    Latest,
    Pending,
    Earliest,
    Safe,
    Finalized,
    Number(u64),
    Hash(B256),
}

impl FromHex for At {
    fn from_hex(text: &str) -> Result<Self, String> {
        Ok(match text {
            "latest" => Self::Latest,
            "pending" => Self::Pending,
            "earliest" => Self::Earliest,
            "safe" => Self::Safe,
            "finalized" => Self::Finalized,
            number => match u64::from_hex(number)? {
                number if number > i64::MAX as u64 => return Err("block number larger than int64".to_owned()),
                number => Self::Number(number),
            },
        })
    }
}

/// A block by tag, number or hash, or as EIP-1898 writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AtAny(pub(crate) At);

impl<'de> Deserialize<'de> for AtAny {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Object {
            block_number: Option<Hex<At>>,
            block_hash: Option<Hex<B256>>,
            #[serde(default)]
            #[allow(dead_code, reason = "blocks that are not canonical are not kept")]
            require_canonical: Option<bool>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Object(Object),
        }
        let at = match Form::deserialize(deserializer)? {
            Form::Text(text) if text.len() == 66 => B256::from_hex(&text).map(At::Hash),
            Form::Text(text) => At::from_hex(&text),
            Form::Object(Object { block_number: Some(Hex(at)), block_hash: None, .. }) => Ok(at),
            Form::Object(Object { block_number: None, block_hash: Some(Hex(hash)), .. }) => {
                Ok(At::Hash(hash))
            }
            Form::Object(Object { block_number: Some(_), .. }) => {
                Err("cannot specify both BlockHash and BlockNumber, choose one or the other".to_owned())
            }
            Form::Object(_) => Err("neither blockNumber nor blockHash is given".to_owned()),
        };
        at.map(Self).map_err(de::Error::custom)
    }
}

/// A block that was found.
#[derive(Clone)]
pub(crate) enum Found {
    Sealed { block: ReceiptedBlock, foreign: Option<Arc<Foreign>> },
    Pending(Arc<PendingBlock>),
}

impl Found {
    pub(crate) fn header(&self) -> &Header {
        match self {
            Self::Sealed { block, .. } => block.block.header(),
            Self::Pending(pending) => &pending.header,
        }
    }

    pub(crate) const fn hash(&self) -> Option<B256> {
        match self {
            Self::Sealed { block, .. } => Some(block.block.id().hash),
            Self::Pending(_) => None,
        }
    }

    pub(crate) fn transactions(&self) -> &[Transaction] {
        match self {
            Self::Sealed { block, .. } => block.block.transactions(),
            Self::Pending(pending) => &pending.transactions,
        }
    }

    pub(crate) fn receipts(&self) -> &[ReceiptEnvelope] {
        match self {
            Self::Sealed { block, .. } => &block.receipts,
            Self::Pending(pending) => &pending.receipts,
        }
    }

    fn foreign(&self) -> Option<&Foreign> {
        match self {
            Self::Sealed { foreign, .. } => foreign.as_deref(),
            Self::Pending(_) => None,
        }
    }

    pub(crate) fn ommers(&self) -> &[Header] {
        self.foreign().map_or(&[], |foreign| &foreign.ommers)
    }

    /// Our own blocks have an empty list of them.
    pub(crate) fn withdrawals(&self) -> Option<&[Withdrawal]> {
        match self.foreign() {
            Some(foreign) => foreign.withdrawals.as_deref(),
            None => self.header().withdrawals_root.map(|_| &[][..]),
        }
    }

    /// How long the block is, encoded.
    pub(crate) fn bytes(&self) -> usize {
        let list = |payload: usize| payload + alloy_rlp::length_of_length(payload);
        // Legacy transactions stand in a block as the lists that they are, the others as strings.
        let transaction = |tx: &Transaction| match tx.encoded() {
            bytes if bytes.first() >= Some(&alloy_rlp::EMPTY_LIST_CODE) => bytes.len(),
            bytes => list(bytes.len()),
        };
        let ommers = self.ommers().iter().map(Encodable::length).sum();
        let withdrawals = self.withdrawals().map(|all| list(all.iter().map(Encodable::length).sum()));
        let transactions = self.transactions().iter().map(transaction).sum();
        list(self.header().length() + list(transactions) + list(ommers) + withdrawals.unwrap_or(0))
    }

    /// The block as it is encoded.
    pub(crate) fn raw(&self) -> Block<TxEnvelope> {
        let transactions = self.transactions().iter().map(|tx| (**tx).clone()).collect();
        let withdrawals = self.withdrawals().map(|all| Withdrawals::new(all.to_vec()));
        Block {
            header: self.header().clone(),
            body: BlockBody { transactions, ommers: self.ommers().to_vec(), withdrawals },
        }
    }
}

/// One moment, from which a call is answered.
pub(crate) struct Reading<'a> {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) archive: &'a dyn Archive,
    pub(crate) chain: &'a EvmChainSpec,
    pub(crate) backend: &'a dyn Backend,
}

impl Reading<'_> {
    pub(crate) fn latest(&self) -> BlockId {
        self.snapshot.latest().id()
    }

    /// The number that is meant; `None` for the open block, and for a hash that is unknown.
    pub(crate) fn number(&self, at: At) -> Result<Option<u64>, Error> {
        Ok(match at {
            At::Latest => Some(self.latest().number),
            At::Pending => None,
            At::Earliest => Some(self.chain.genesis.number),
            At::Safe => Some(self.snapshot.tags.safe.number),
            At::Finalized => Some(self.snapshot.tags.finalized.number),
            At::Number(number) => Some(number),
            At::Hash(hash) => match self.snapshot.by_hash(&hash) {
                Some(block) => Some(block.id().number),
                None => self.archive.number(&hash).map_err(Error::internal)?,
            },
        })
    }

    /// A block; `None` if there is none.
    pub(crate) fn block(&self, at: At) -> Result<Option<Found>, Error> {
        if at == At::Pending {
            return self.pending().map(|pending| Some(Found::Pending(pending)));
        }
        match self.number(at)? {
            Some(number) => self.sealed(number),
            None => Ok(None),
        }
    }

    /// A block that is in memory.
    pub(crate) fn recent(&self, at: At) -> Result<Option<Found>, Error> {
        let block = match at {
            At::Pending => return self.pending().map(|pending| Some(Found::Pending(pending))),
            At::Hash(hash) => self.snapshot.by_hash(&hash),
            at => self.number(at)?.and_then(|number| self.snapshot.by_number(number)),
        };
        block.map(|block| self.found(block)).transpose()
    }

    /// A block that must be there.
    pub(crate) fn existing(&self, at: At) -> Result<Found, Error> {
        self.block(at)?.ok_or_else(|| missing(at))
    }

    fn sealed(&self, number: u64) -> Result<Option<Found>, Error> {
        if number > self.latest().number {
            return Ok(None);
        }
        let block = match self.snapshot.by_number(number) {
            Some(block) => Some(block.block.clone()),
            None => self.archive.block(number).map_err(Error::internal)?,
        };
        let foreign = self.archive.foreign(number).map_err(Error::internal)?;
        Ok(block.map(|block| Found::Sealed { block, foreign }))
    }

    /// The open block, or the one that would be opened now.
    pub(crate) fn pending(&self) -> Result<Arc<PendingBlock>, Error> {
        match &self.snapshot.pending {
            Some(pending) => Ok(pending.clone()),
            None => self.next(),
        }
    }

    /// An empty block on the newest one, opened now.
    pub(crate) fn next(&self) -> Result<Arc<PendingBlock>, Error> {
        let latest = self.snapshot.latest();
        let parent = latest.header();
        let header = Header {
            parent_hash: latest.id().hash,
            number: parent.number.saturating_add(1),
            // An idle chain has no blocks, so the newest one's time may be hours back.
            timestamp: parent.timestamp.max(self.backend.now().as_secs()),
            beneficiary: self.chain.beneficiary,
            base_fee_per_gas: Some(self.chain.next_base_fee(parent)),
            gas_used: 0,
            logs_bloom: Default::default(),
            transactions_root: alloy_consensus::EMPTY_ROOT_HASH,
            receipts_root: alloy_consensus::EMPTY_ROOT_HASH,
            mix_hash: service::header::prevrandao(latest.id().hash),
            extra_data: Default::default(),
            ..parent.clone()
        };
        let state = latest.state.clone();
        Ok(Arc::new(PendingBlock { header, transactions: [].into(), receipts: [].into(), state }))
    }

    /// A header and the state after its block.
    pub(crate) fn state(&self, at: At) -> Result<(Header, Arc<dyn State>), Error> {
        if at == At::Pending {
            let pending = self.pending()?;
            return Ok((pending.header.clone(), pending.state.clone()));
        }
        let Some(number) = self.number(at)? else { return Err(missing(at)) };
        match self.snapshot.by_number(number) {
            Some(block) => Ok((block.header().clone(), block.state.clone())),
            None if number > self.latest().number => Err(missing(at)),
            None => match self.archive.state(number) {
                Ok(Some(state)) => Ok(state),
                Ok(None) => {
                    let oldest = self.snapshot.blocks()[0].id().number;
                    let why = format!(
                        "the state of block {number} is not kept; the oldest is that of block {oldest}"
                    );
                    Err(Error::new(error::DEFAULT, why))
                }
                Err(ArchiveError::Gone(why)) => Err(Error::new(error::DEFAULT, why)),
                Err(why) => Err(Error::internal(why)),
            },
        }
    }

    /// The state after a block that can be proved: its tree must be in memory.
    pub(crate) fn provable(&self, at: At) -> Result<Arc<dyn State>, Error> {
        let number =
            if at == At::Pending { None } else { Some(self.number(at)?.ok_or_else(|| missing(at))?) };
        let oldest = self.snapshot.blocks()[0].id().number;
        match number {
            Some(number) if number < oldest => {
                let why = format!(
                    "no proof for block {number}: the oldest block with a tree is {oldest}, and the values that are \
                     kept of older ones do not make a tree (--proof-window keeps more)"
                );
                Err(Error::new(error::DEFAULT, why))
            }
            _ => self.state(at).map(|(_, state)| state),
        }
    }

    /// Where a transaction stands in a sealed block.
    pub(crate) fn transaction(&self, hash: &B256) -> Result<Option<(Found, usize)>, Error> {
        if let Some(recent) = self.recent_transaction(hash)? {
            return Ok(Some(recent));
        }
        match self.archive.location(hash).map_err(Error::internal)? {
            Some(location) => self.at_location(location),
            None => Ok(None),
        }
    }

    /// Where a transaction stands in a block that is in memory.
    pub(crate) fn recent_transaction(&self, hash: &B256) -> Result<Option<(Found, usize)>, Error> {
        let location = self.snapshot.transaction(hash);
        location.map(|(block, index)| Ok((self.found(block)?, index))).transpose()
    }

    /// What the archive has at a location.
    pub(crate) fn at_location(&self, location: TxLocation) -> Result<Option<(Found, usize)>, Error> {
        let found = self.sealed(location.number)?;
        Ok(found
            .filter(|found| location.index < found.transactions().len())
            .map(|found| (found, location.index)))
    }

    fn found(&self, block: &RecentBlock) -> Result<Found, Error> {
        let foreign = self.archive.foreign(block.id().number).map_err(Error::internal)?;
        Ok(Found::Sealed { block: block.block.clone(), foreign })
    }
}

/// There is no such block.
fn missing(at: At) -> Error {
    match at {
        At::Hash(_) => Error::other("header for hash not found"),
        _ => Error::other("header not found"),
    }
}
