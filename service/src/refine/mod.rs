//! A work-package bundle, refined: is this a valid run of blocks, and what does it claim?
//!
//! A pure function of the bundle and the service's [`Config`]; every guarantor gets the same answer. It does what is
//! cheap first:
//!
//! ```text
//!   package: sizes, one item, ours -> payload: signature -> headers: a chain from the parent to the signed block
//!     -> transactions: all signatures together, with the builder's hints -> witness against the parent's root
//!     -> block by block: execute each transaction on what the witness proves and the blocks before wrote (a key that it lacks
//!        is an error, never zero) -> every root -> the sealed header -> exports
//!     -> witness and codes were exactly what the run needed
//! ```
//!
//! There is one witness for the whole run: what the state before it held of all keys that any of its blocks touches. A code
//! that a block of the run created does not travel.
//!
//! Work is bounded by what the package declares: bytes before anything is read, gas after every transaction. Nothing in
//! a bundle can make it panic.
//!
//! The core takes an [`Input`], which is what a work item is to a service on any JAM node. Natively it is taken out of a bundle
//! ([`refine`], [`refine_bundle`]); in the virtual machine it comes from host calls.

mod error;
mod input;
#[cfg(feature = "std")]
mod native;
mod phase;
mod signers;

pub use error::RefineError;
pub use input::{Input, Item};
#[cfg(feature = "std")]
pub use native::{Known, answer, refine, refine_bundle, refine_known};
pub use phase::Phase;
pub use signers::signature_of;

use crate::{
    Config,
    accumulate::Claim,
    blobs,
    execution::{Executed, Execution, Rules},
    exports::{self, Exports},
    header::{self, Choice, Roots},
    payload::{Payload, decode_headers},
    signature,
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use alloy_consensus::{Header, TxEnvelope, transaction::Recovered};
use alloy_primitives::{B256, Bytes};
use core::{borrow::Borrow, convert::Infallible};
use jam::SegmentRoot;
use state::{CodeSet, Codes, Key, PartialTree, Witness, evm::BlockEffects};

/// Extrinsic 0 is the witness.
pub const WITNESS: usize = 0;
/// Extrinsic 1 is the codes.
pub const CODES: usize = 1;
/// Extrinsic 2 is all transactions: a list of them for each block.
pub const TRANSACTIONS: usize = 2;
/// Extrinsic 3 is the headers.
pub const HEADERS: usize = 3;
/// Extrinsic 4 is the hints for the signatures of all transactions.
pub const HINTS: usize = 4;
/// How many extrinsics a run has.
pub const EXTRINSICS: usize = 5;

/// What a good bundle gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The output for accumulate, encoded as [`Claim::encode`] does.
    pub claim: Claim,
    /// The segments, of which the root goes into the report.
    pub exports: Vec<Bytes>,
}

impl Output {
    /// The root of the segments.
    pub fn exports_root(&self) -> SegmentRoot {
        exports::root(&self.exports)
    }
}

/// Refines what a work item brings: the blocks of a run.
pub fn refine_input(input: &Input<'_>, config: &Config) -> Result<Output, RefineError> {
    let done = input.done;
    let checked = Checked::new(input, config)?;
    done(Phase::Package);
    let transactions = checked.transactions()?;
    done(Phase::Signatures);
    let mut work = checked.witnessed()?;
    done(Phase::Witness);
    let mut transactions = transactions.iter();
    let mut exports = Exports::default();
    for index in 0..work.blocks.len() {
        let executed = work.execute(index, config, &mut transactions)?;
        done(Phase::Execution);
        let state = work.write(&executed)?;
        done(Phase::StateRoot);
        let receipts = executed.encoded_receipts();
        let transactions = &work.blocks[index].transactions;
        let roots = Roots {
            state,
            transactions: header::list_root(transactions),
            receipts: header::list_root(&receipts),
        };
        let header = work.complete(index, &executed, roots)?;
        exports.push(&header, transactions, &receipts);
        done(Phase::Lists);
    }
    let claim = work.claim()?;
    let exports = exports.into_segments();
    work.check_exports(exports.len())?;
    Ok(Output { claim, exports })
}

/// One block of a run, as it came.
struct Block {
    sealed: Header,
    hash: B256,
    /// The header that it begins with.
    header: Header,
    transactions: Vec<Bytes>,
}

/// The codes that a block of a run can read: those that travelled, and those that blocks before it created.
#[derive(Clone, Copy)]
struct RunCodes<'a> {
    given: &'a CodeSet,
    created: &'a CodeSet,
}

impl Codes for RunCodes<'_> {
    type Error = Infallible;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Infallible> {
        Ok(self.given.get(hash).or_else(|| self.created.get(hash)).cloned())
    }
}

/// A run in which everything is in order that can be seen without the state and without the signatures of transactions.
struct Checked<'a> {
    item: Item,
    payload: Payload,
    blocks: Vec<Block>,
    witness: &'a Bytes,
    codes: &'a Bytes,
    hints: &'a Bytes,
}

impl<'a> Checked<'a> {
    fn new(input: &Input<'a>, config: &Config) -> Result<Self, RefineError> {
        input.check(config, EXTRINSICS)?;
        let [witness, codes, transactions, headers, hints] = input.extrinsics else {
            return Err(RefineError::Inputs { extrinsics: input.extrinsics.len(), imports: 0 });
        };
        let payload = Payload::decode(input.payload)?;
        if !signature::verifies(&config.builder, payload.last, &payload.signature) {
            return Err(RefineError::Signature);
        }
        let headers = decode_headers(headers, payload.blocks)?;
        let latest = config.latest_timestamp(input.lookup_anchor_slot);
        let mut blocks = chain(&payload, headers, config, latest)?;
        let lists = blobs::split(transactions)?;
        if lists.len() != blocks.len() {
            return Err(RefineError::TransactionLists { found: lists.len(), blocks: blocks.len() });
        }
        for (block, list) in blocks.iter_mut().zip(&lists) {
            block.transactions = blobs::split(list)?;
        }
        Ok(Self { item: input.item, payload, blocks, witness, codes, hints })
    }

    /// The transactions of all blocks, with their senders.
    fn transactions(&self) -> Result<Vec<Recovered<TxEnvelope>>, RefineError> {
        let all = self.blocks.iter().flat_map(|block| {
            let number = block.sealed.number;
            block.transactions.iter().enumerate().map(move |(index, bytes)| (number, index, bytes))
        });
        signers::recover(all, self.hints)
    }

    /// The run with the state that its witness proves.
    fn witnessed(self) -> Result<Work, RefineError> {
        let Self { item, payload, blocks, witness, codes, .. } = self;
        let partial = Witness::decode(witness)?.verify(payload.parent.state_root)?;
        let codes = CodeSet::decode(codes)?;
        Ok(Work {
            item,
            payload,
            blocks,
            partial,
            codes,
            needed: CodeSet::default(),
            created: CodeSet::default(),
            touched: Vec::new(),
            gas_used: 0,
        })
    }
}

/// A run that can be executed, and how far it was.
struct Work {
    item: Item,
    payload: Payload,
    blocks: Vec<Block>,
    partial: PartialTree,
    codes: CodeSet,
    /// The codes that were needed and that no block before had created,
    needed: CodeSet,
    /// and those that were created.
    created: CodeSet,
    /// The keys that were read or written so far, some more than once.
    touched: Vec<Key>,
    gas_used: u64,
}

impl Work {
    /// Executes a block on what the blocks before it left.
    /// `remaining` has its transactions first, and then those of the blocks after it.
    fn execute<T: Borrow<Recovered<TxEnvelope>>>(
        &self,
        index: usize,
        config: &Config,
        remaining: &mut impl Iterator<Item = T>,
    ) -> Result<Executed<BlockEffects>, RefineError> {
        let Block { header, transactions, .. } = &self.blocks[index];
        let (block, declared) = (header.number, self.item.refine_gas);
        let broken = |why: String| RefineError::Execution { block, why };
        let codes = RunCodes { given: &self.codes, created: &self.created };
        let execution = Execution::new(&self.partial, codes, header, Rules::of(config));
        let execution = execution.map_err(|error| broken(error.to_string()))?;
        let mut execution = execution.expecting(transactions.len());
        for (index, tx) in remaining.take(transactions.len()).enumerate() {
            let bad = |why: String| RefineError::Transaction { block, index, why };
            let tx = tx.borrow();
            let attempt = execution.attempt(tx, tx.signer()).map_err(|error| bad(error.to_string()))?;
            execution.keep(attempt);
            if self.gas_used.saturating_add(execution.gas_used()) > declared {
                return Err(RefineError::OutOfGas { block, index, declared });
            }
        }
        execution.finish_checked().map_err(|error| broken(error.to_string()))
    }

    /// Writes what a block changed, and gives the root of the state after it.
    fn write(&mut self, executed: &Executed<BlockEffects>) -> Result<B256, RefineError> {
        let changes = &executed.changes;
        let root = self.partial.update(&changes.writes).map_err(state::witness::CoverageError::from)?;
        self.touched.extend(&changes.read);
        self.touched.extend(changes.writes.keys());
        self.needed.extend_without(&changes.codes, &self.created);
        self.created.extend(&changes.created);
        self.gas_used = self.gas_used.saturating_add(executed.gas_used);
        Ok(root)
    }

    /// The whole header of a block, which must be the sealed one.
    fn complete(
        &self,
        index: usize,
        executed: &Executed<BlockEffects>,
        roots: Roots,
    ) -> Result<Header, RefineError> {
        let Block { header, sealed, .. } = &self.blocks[index];
        let header = header::complete(header.clone(), executed, roots);
        match header::first_difference(&header, sealed) {
            Some(field) => Err(RefineError::Header { block: header.number, field }),
            None => Ok(header),
        }
    }

    /// Checks that witness and codes were exactly what the run needed, and gives what it claims.
    fn claim(&mut self) -> Result<Claim, RefineError> {
        self.partial.covers_exactly(core::mem::take(&mut self.touched))?;
        if self.needed != self.codes {
            return Err(RefineError::CodesExcess { given: self.codes.len(), needed: self.needed.len() });
        }
        let (Some(first), Some(last)) = (self.blocks.first(), self.blocks.last()) else {
            return Err(RefineError::Empty);
        };
        let hashes = self.blocks.iter().map(|block| block.hash).collect::<Vec<_>>();
        Ok(Claim {
            parent: first.sealed.parent_hash,
            first: first.sealed.number,
            last: types::BlockId::new(last.sealed.number, last.hash),
            pre_root: self.payload.parent.state_root,
            post_root: last.sealed.state_root,
            gas_used: self.gas_used,
            blocks_root: Claim::root_of(&hashes),
        })
    }

    fn check_exports(&self, found: usize) -> Result<(), RefineError> {
        let declared = usize::from(self.item.export_count);
        if declared == found { Ok(()) } else { Err(RefineError::Exports { declared, found }) }
    }
}

/// Checks all that can be known of the headers without executing: that they are a chain from the parent to the signed block,
/// each with the fields that follow from the one before, and none dated later than `latest`.
fn chain(
    payload: &Payload,
    headers: Vec<Header>,
    config: &Config,
    latest: u64,
) -> Result<Vec<Block>, RefineError> {
    if headers.is_empty() {
        return Err(RefineError::Empty);
    }
    let (mut parent, mut parent_hash) = (payload.parent.clone(), payload.parent.hash_slow());
    let mut blocks = Vec::with_capacity(headers.len());
    for sealed in headers {
        let hash = sealed.hash_slow();
        let header = start(&sealed, &parent, parent_hash, config)?;
        if sealed.timestamp > latest {
            return Err(RefineError::Late { block: sealed.number, found: sealed.timestamp, latest });
        }
        (parent, parent_hash) = (sealed.clone(), hash);
        blocks.push(Block { sealed, hash, header, transactions: vec![] });
    }
    if parent_hash == payload.last { Ok(blocks) } else { Err(RefineError::Last) }
}

/// The header that a block begins with, if it can follow its parent.
fn start(
    sealed: &Header,
    parent: &Header,
    parent_hash: B256,
    config: &Config,
) -> Result<Header, RefineError> {
    if parent_hash != sealed.parent_hash {
        return Err(RefineError::Parent(sealed.number));
    }
    let header = header::next(parent, parent_hash, &Choice::of(sealed), config)?;
    let same = [
        ("number", header.number == sealed.number),
        ("gas limit", header.gas_limit == sealed.gas_limit),
        ("base fee", header.base_fee_per_gas == sealed.base_fee_per_gas),
    ];
    match same.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(RefineError::Header { block: header.number, field }),
        None => Ok(header),
    }
}
