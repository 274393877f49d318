//! A run of blocks in one bundle: one witness of the state before it, and what each block adds.
//!
//! ```text
//!   Parent (state before the run)     Piece, Piece, ..  (what each block touched, read, wrote; its transactions)
//!            |                              |
//!            +---- keys of all pieces ------+--> witness | codes | transactions | headers | hints
//!                                                   | refine, as validators will
//!                                                   v
//!                                                Refined
//! ```
//!
//! The witness covers every key that any block touches. Its values are those before the run, so what a block reads after another
//! one wrote it does not count, and codes that a block of the run created stay at home.

use crate::{
    Bundler, Parent,
    draft::Draft,
    hints,
    package::{NOWHERE, Refined},
    work::{Witnessed, Work},
};
use alloy_consensus::ReceiptEnvelope;
use alloy_primitives::Bytes;
use jam::{WorkItem, hash::blake2b, package::ExtrinsicSpec};
use service::{
    accumulate::Claim,
    blobs, exports,
    payload::{Payload, encode_headers},
    refine::{HINTS, Known, RefineError, refine_known},
};
use state::{CodeSet, Key, Value, Values, Witness, Writes, evm::BlockChanges};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::{BlockId, Run, Transaction};

/// Gas to accumulate one run: to compare a hash and to write two entries. Two reports fit into the smallest chain's
/// block many times over.
pub(crate) const ACCUMULATE_GAS: u64 = 1_000_000;
/// A key that was touched, with what it held: in memory.
const KEY_BYTES: usize = 2 * size_of::<Key>() + size_of::<Option<Value>>();

/// What a sealed block adds to a package. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Piece(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    draft: Draft,
    receipts: Arc<[ReceiptEnvelope]>,
    writes: Arc<Writes>,
    touched: BTreeSet<Key>,
    read: Vec<(Key, Option<Value>)>,
    codes: CodeSet,
    created: CodeSet,
    transactions: Bytes,
    hint_bytes: usize,
    export_bytes: usize,
    /// What a validator does, but for what a run does once.
    work: Work,
}

impl Piece {
    pub(crate) fn new(
        draft: Draft,
        receipts: Arc<[ReceiptEnvelope]>,
        changes: BlockChanges,
        work: Work,
    ) -> Self {
        let BlockChanges { writes, touched, read, codes, created, .. } = changes;
        let encoded = draft.block.transactions().iter().map(Transaction::encoded).collect::<Vec<_>>();
        let export_bytes = exports::bytes_of(draft.block.header(), &encoded, &receipts);
        let transactions = blobs::join(&encoded);
        let hint_bytes = hints::bytes(draft.block.transactions().iter());
        let writes = Arc::new(writes);
        Self(Arc::new(Inner {
            draft,
            receipts,
            writes,
            touched,
            read,
            codes,
            created,
            transactions,
            hint_bytes,
            export_bytes,
            work,
        }))
    }

    /// The block.
    pub fn id(&self) -> BlockId {
        self.0.draft.id()
    }

    /// Bytes that it takes in the exports of its run.
    pub fn export_bytes(&self) -> usize {
        self.0.export_bytes
    }

    /// A bound of the memory that it takes beside the block itself.
    pub fn memory_bytes(&self) -> usize {
        self.0.touched.len() * KEY_BYTES + self.0.transactions.len()
    }

    pub(crate) fn writes(&self) -> &Arc<Writes> {
        &self.0.writes
    }

    pub(crate) fn created(&self) -> &CodeSet {
        &self.0.created
    }

    fn known(&self) -> Known<'_> {
        let Inner { draft, receipts, .. } = &*self.0;
        Known { transactions: draft.block.transactions(), receipts, header: draft.block.header() }
    }
}

/// Why blocks cannot be packed into one bundle.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackError {
    /// There is no block, or the blocks are not consecutive, or do not stand on this parent.
    #[error("the blocks are not a run on block {0}")]
    NoRun(BlockId),
    /// The state cannot be read.
    #[error("the state cannot be read: {0}")]
    State(String),
    /// A transaction has a signature without a signer.
    #[error("a transaction is not signed")]
    Unsigned,
    /// Validators would refuse it.
    #[error("validators would refuse it: {0}")]
    Refine(#[from] RefineError),
}

/// A run that was packed.
#[derive(Clone, Debug)]
pub struct PackedRun {
    /// What all its versions have in common.
    pub refined: Refined,
    /// Whether more blocks were given than one package holds.
    pub is_full: bool,
}

fn transactions_of(pieces: &[Piece]) -> impl Iterator<Item = &Transaction> + Clone {
    pieces.iter().flat_map(|piece| piece.0.draft.block.transactions())
}

fn hints_of(pieces: &[Piece]) -> Result<Bytes, PackError> {
    hints::encoded(transactions_of(pieces)).ok_or(PackError::Unsigned)
}

/// What a validator does with a run of these blocks.
fn work_of(pieces: &[Piece], witness: &Witnessed) -> Work {
    let mut work = Work::default();
    pieces.iter().for_each(|piece| work += &piece.0.work);
    work.of_run(hints::senders(transactions_of(pieces)), witness)
}

/// What the blocks of a run need together.
#[derive(Default)]
struct Needs {
    touched: BTreeSet<Key>,
    /// What keys held before the run, as far as a block has read it.
    known: BTreeMap<Key, Option<Value>>,
    written: BTreeSet<Key>,
    codes: CodeSet,
    created: CodeSet,
}

impl Needs {
    fn of(pieces: &[Piece]) -> Self {
        let mut needs = Self::default();
        for piece in pieces {
            needs.add(&piece.0);
        }
        needs
    }

    fn add(&mut self, piece: &Inner) {
        // What an earlier block of the run wrote is not what the key held before the run.
        for (key, value) in piece.read.iter().filter(|(key, _)| !self.written.contains(key)) {
            self.known.entry(*key).or_insert(*value);
        }
        self.touched.extend(&piece.touched);
        self.written.extend(piece.writes.keys());
        self.codes.extend_without(&piece.codes, &self.created);
        self.created.extend(&piece.created);
    }
}

impl Bundler {
    /// Packs as many of these blocks as one package holds, at least one, and refines the run as validators will. Whatever they
    /// would refuse goes no further.
    pub fn pack<V: Values + Clone>(
        &self,
        parent: &Parent<V>,
        pieces: &[Piece],
    ) -> Result<PackedRun, PackError> {
        let mut count = self.fit_without_witness(pieces).max(1).min(pieces.len());
        let refined = loop {
            let refined = self.unrefined(parent, &pieces[..count], hints_of(&pieces[..count])?)?;
            let (bytes, bytes_max) = (refined.bundle_bytes(), self.limits.bundle_bytes_max);
            let (gas, gas_max) = (refined.work.gas(), self.limits.refine_gas_max);
            if bytes <= bytes_max && gas <= gas_max || count <= 1 {
                break refined;
            }
            // In proportion, and a little less, since keys that blocks share count once however few blocks there are.
            let share = |max: u128, needed: u128| (count as u128 * max / needed.max(1)) as usize;
            let share = share(bytes_max as u128, bytes as u128).min(share(gas_max.into(), gas.into()));
            count = share.saturating_sub(share / 64).clamp(1, count - 1);
        };
        let refined = self.refine_run(refined, &pieces[..count])?;
        Ok(PackedRun { refined, is_full: count < pieces.len() })
    }

    /// Packs exactly these blocks: a run that was recorded is never another one.
    pub fn pack_exactly<V: Values + Clone>(
        &self,
        parent: &Parent<V>,
        pieces: &[Piece],
    ) -> Result<Refined, PackError> {
        let refined = self.unrefined(parent, pieces, hints_of(pieces)?)?;
        Ok(self.refine_run(refined, pieces)?)
    }

    /// Refines a block by itself, with zeros in the place of its hints.
    pub(crate) fn check_alone<V: Values + Clone>(
        &self,
        parent: &Parent<V>,
        piece: &Piece,
    ) -> Result<Refined, PackError> {
        let pieces = core::slice::from_ref(piece);
        let placeholder = vec![0; piece.0.hint_bytes];
        let refined = self.unrefined(parent, pieces, placeholder.into())?;
        Ok(self.refine_run(refined, pieces)?)
    }

    fn refine_run(&self, refined: Refined, pieces: &[Piece]) -> Result<Refined, RefineError> {
        let bundle = self.bundle(&refined, NOWHERE);
        let known = pieces.iter().map(Piece::known).collect::<Vec<_>>();
        let claim = refine_known(&bundle, &self.config, &self.params, &known, &refined.extrinsics[HINTS])?;
        Ok(Refined { claim, ..refined })
    }

    /// How many of the blocks fit into a package by everything that simply adds up.
    fn fit_without_witness(&self, pieces: &[Piece]) -> usize {
        let (mut bytes, mut gas, mut export_bytes) = (0, 0_u64, 0);
        let fits = |piece: &&Piece| {
            let header = piece.0.draft.block.header();
            bytes += piece.0.transactions.len() + piece.0.hint_bytes;
            gas = gas.saturating_add(header.gas_used);
            export_bytes += piece.0.export_bytes;
            bytes <= self.limits.bundle_bytes_max
                && gas <= self.limits.run_gas_max
                && exports::segments(export_bytes) <= self.limits.export_segments_max
        };
        pieces.iter().take_while(fits).count()
    }

    /// The bundle of a run, before anyone has looked whether it is good.
    fn unrefined<V: Values + Clone>(
        &self,
        parent: &Parent<V>,
        pieces: &[Piece],
        hints: Bytes,
    ) -> Result<Refined, PackError> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return Err(PackError::NoRun(parent.id()));
        };
        if first.0.draft.block.header().parent_hash != parent.hash {
            return Err(PackError::NoRun(parent.id()));
        }
        let run = Run { first: first.id(), last: last.id() };
        let needs = self.needs(pieces);
        let known = needs.known.into_iter().collect::<Vec<_>>();
        let witness = parent.layer.witness_knowing(&needs.touched, &known);
        let witness = witness.map_err(|error| PackError::State(error.to_string()))?;
        let work = work_of(pieces, &self.witnessed(&witness));
        let witness = witness.encode();
        let lists = pieces.iter().map(|piece| &piece.0.transactions).collect::<Vec<_>>();
        let headers = encode_headers(pieces.iter().map(|piece| piece.0.draft.block.header()));
        let extrinsics =
            vec![witness.into(), needs.codes.encode().into(), blobs::join(&lists), headers, hints];
        let payload = Payload {
            parent: parent.header.clone(),
            blocks: u32::try_from(pieces.len()).unwrap_or(u32::MAX),
            last: run.last.hash,
            signature: self.signature_of(pieces),
        };
        let item = self.item(&payload, &extrinsics, pieces);
        Ok(Refined { claim: Claim::default(), run, item, extrinsics, work })
    }

    #[cfg(not(feature = "bugs"))]
    fn needs(&self, pieces: &[Piece]) -> Needs {
        Needs::of(pieces)
    }

    #[cfg(feature = "bugs")]
    fn needs(&self, pieces: &[Piece]) -> Needs {
        match self.mistake {
            Some(crate::Mistake::WitnessOfLastBlock) => Needs::of(&pieces[pieces.len() - 1..]),
            _ => Needs::of(pieces),
        }
    }

    /// How much a witness proves, for the estimate.
    fn witnessed(&self, witness: &Witness) -> Witnessed {
        #[cfg(feature = "bugs")]
        if self.mistake == Some(crate::Mistake::EstimateForgetsWitness) {
            return Witnessed::default();
        }
        witness.counts().into()
    }

    /// The signature of the last block, which covers all.
    fn signature_of(&self, pieces: &[Piece]) -> jam::Signature {
        let signing = pieces.last();
        #[cfg(feature = "bugs")]
        let signing = match self.mistake {
            Some(crate::Mistake::SignatureOfFirstBlock) => pieces.first(),
            _ => signing,
        };
        signing.map_or_else(jam::Signature::default, |piece| match &self.signer {
            Some(secret) => service::signature::sign(secret, piece.id().hash),
            None => piece.0.draft.signature,
        })
    }

    fn item(&self, payload: &Payload, extrinsics: &[Bytes], pieces: &[Piece]) -> WorkItem {
        let specs = extrinsics.iter().map(|blob| ExtrinsicSpec {
            hash: blake2b(&[blob]),
            len: u32::try_from(blob.len()).unwrap_or(u32::MAX),
        });
        let segments = exports::segments(pieces.iter().map(Piece::export_bytes).sum());
        WorkItem {
            service: self.config.service,
            code_hash: self.config.code_hash,
            refine_gas: self.refine_gas(),
            accumulate_gas: ACCUMULATE_GAS,
            export_count: u16::try_from(segments).unwrap_or(u16::MAX),
            payload: payload.encode(),
            imports: vec![],
            extrinsics: specs.collect(),
        }
    }
}
