//! A work-package bundle, refined: is this a valid block, and what does it claim?
//!
//! A pure function of the bundle and the service's [`Config`]; every guarantor gets the same answer. It does what is
//! cheap first:
//!
//! ```text
//!   package: sizes, one item, ours -> payload: signature, parent, header fields -> witness against the parent's root
//!     -> execute each transaction on what the witness proves (a key that it lacks is an error, never zero)
//!     -> witness and codes were exactly what was needed -> every root -> the sealed header -> exports
//! ```
//!
//! Work is bounded by what the package declares: bytes before anything is read, gas after every transaction. Nothing in
//! a bundle can make it panic.

mod error;

pub use error::RefineError;

use crate::{
    Config,
    accumulate::Claim,
    blobs,
    execution::{Executed, Execution, Rules},
    exports,
    header::{self, Choice, Roots},
    payload::Payload,
    signature,
};
use alloy_consensus::{
    Header, ReceiptEnvelope, TxEnvelope,
    transaction::{Recovered, SignerRecoverable},
};
use alloy_eips::Decodable2718;
use alloy_primitives::{B256, Bytes};
use core::borrow::Borrow;
use jam::{Bundle, Params, SegmentRoot, WorkItem};
use state::{CodeSet, Codes, PartialTree, Values, Witness};
use std::collections::BTreeMap;
use types::Transaction;

/// Extrinsic 0 is the witness.
pub const WITNESS: usize = 0;
/// Extrinsic 1 is the codes.
pub const CODES: usize = 1;
/// Extrinsic 2 is all transactions.
pub const TRANSACTIONS: usize = 2;
/// How many extrinsics a block has.
pub const EXTRINSICS: usize = 3;

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

/// Refines an encoded bundle.
pub fn refine(bundle: &Bytes, config: &Config, params: &Params) -> Result<Output, RefineError> {
    let bundle = Bundle::decode(bundle, params).map_err(jam::BundleError::from)?;
    refine_bundle(&bundle, config, params)
}

/// Refines a bundle.
pub fn refine_bundle(bundle: &Bundle, config: &Config, params: &Params) -> Result<Output, RefineError> {
    let mut work = Work::new(bundle, config, params)?;
    let executed =
        execute(work.execution(config)?, work.item.refine_gas, work.transactions.iter().map(recover))?;
    let state = work.settle(&executed)?;
    let receipts = executed.encoded_receipts();
    let roots = Roots {
        state,
        transactions: header::list_root(&work.transactions),
        receipts: header::list_root(&receipts),
    };
    let header = work.complete(&executed, roots)?;
    let exports = exports::export(&header, &work.transactions, &receipts);
    work.check_exports(exports.len())?;
    Ok(Output { claim: claim(&work.payload), exports })
}

/// What whoever made a block knows of it. Recovery of the senders and the tries of transactions and receipts are most of
/// what refining costs, and they are functions of bytes: the same bytes have the same senders and roots.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its transactions, with their senders.
    pub transactions: &'a [Transaction],
    /// Its receipts.
    pub receipts: &'a [ReceiptEnvelope],
    /// A header with the roots of these transactions and receipts.
    pub header: &'a Header,
}

/// Refines a bundle of a block that was made here.
///
/// Everything is checked as by [`refine_bundle`], but what has the bytes of something that is [known](Known) is not worked
/// out again, and what the block exports is only counted.
pub fn refine_known(
    bundle: &Bundle,
    config: &Config,
    params: &Params,
    known: Known<'_>,
) -> Result<Claim, RefineError> {
    let mut work = Work::new(bundle, config, params)?;
    if !known.transactions.iter().map(Transaction::encoded).eq(&work.transactions) {
        return refine_bundle(bundle, config, params).map(|output| output.claim);
    }
    let transactions = known.transactions.iter().map(|tx| Ok(tx.signed()));
    let executed = execute(work.execution(config)?, work.item.refine_gas, transactions)?;
    let state = work.settle(&executed)?;
    let receipts = match known.receipts == executed.receipts {
        true => known.header.receipts_root,
        false => header::list_root(&executed.encoded_receipts()),
    };
    let roots = Roots { state, transactions: known.header.transactions_root, receipts };
    let header = work.complete(&executed, roots)?;
    work.check_exports(exports::count(&header, &work.transactions, &executed.receipts))?;
    Ok(claim(&work.payload))
}

/// A bundle in which everything is in order that can be seen without executing.
struct Work<'a> {
    item: &'a WorkItem,
    payload: Payload,
    /// The header that the block begins with.
    header: Header,
    partial: PartialTree,
    codes: CodeSet,
    transactions: Vec<Bytes>,
}

impl<'a> Work<'a> {
    fn new(bundle: &'a Bundle, config: &Config, params: &Params) -> Result<Self, RefineError> {
        bundle.package.check(params)?;
        bundle.check(&BTreeMap::new())?;
        let item = work_item(bundle, config)?;
        let payload = Payload::decode(&item.payload)?;
        let header = start(&payload, config)?;
        let witness = Witness::decode(&bundle.extrinsics[WITNESS])?;
        let partial = witness.verify(payload.parent.state_root)?;
        let codes = CodeSet::decode(&bundle.extrinsics[CODES])?;
        let transactions = blobs::split(&bundle.extrinsics[TRANSACTIONS])?;
        Ok(Self { item, payload, header, partial, codes, transactions })
    }

    fn execution(&self, config: &Config) -> Result<Execution<&PartialTree, &CodeSet>, RefineError> {
        let execution = Execution::new(&self.partial, &self.codes, &self.header, Rules::of(config));
        let execution = execution.map_err(|error| RefineError::Execution(error.to_string()))?;
        Ok(execution.expecting(self.transactions.len()))
    }

    /// Checks that witness and codes were exactly what was needed, and gives the root of the state afterwards.
    fn settle(&mut self, executed: &Executed) -> Result<B256, RefineError> {
        self.partial.covers_exactly(&executed.changes.touched)?;
        if executed.changes.codes != self.codes {
            let needed = executed.changes.codes.len();
            return Err(RefineError::CodesExcess { given: self.codes.len(), needed });
        }
        let root = self.partial.update(&executed.changes.writes);
        Ok(root.map_err(state::witness::CoverageError::from)?)
    }

    /// The whole header, which must be the sealed one.
    fn complete(&self, executed: &Executed, roots: Roots) -> Result<Header, RefineError> {
        let header = header::complete(self.header.clone(), executed, roots);
        match header::first_difference(&header, &self.payload.header) {
            Some(field) => Err(RefineError::Header(field)),
            None => Ok(header),
        }
    }

    fn check_exports(&self, found: usize) -> Result<(), RefineError> {
        let declared = usize::from(self.item.export_count);
        if declared == found { Ok(()) } else { Err(RefineError::Exports { declared, found }) }
    }
}

/// The one work item, if it is ours.
fn work_item<'a>(bundle: &'a Bundle, config: &Config) -> Result<&'a WorkItem, RefineError> {
    let [item] = &bundle.package.items[..] else {
        return Err(RefineError::Items(bundle.package.items.len()));
    };
    if item.service != config.service {
        return Err(RefineError::Service(item.service));
    }
    if item.code_hash != config.code_hash {
        return Err(RefineError::Code);
    }
    let (extrinsics, imports) = (item.extrinsics.len(), item.imports.len());
    if extrinsics != EXTRINSICS || imports > 0 {
        return Err(RefineError::Inputs { extrinsics, imports });
    }
    Ok(item)
}

/// Checks all that can be known without executing, and gives the header that the block begins with.
fn start(payload: &Payload, config: &Config) -> Result<Header, RefineError> {
    let sealed = &payload.header;
    if !signature::verifies(&config.builder, sealed.hash_slow(), &payload.signature) {
        return Err(RefineError::Signature);
    }
    let parent_hash = payload.parent.hash_slow();
    if parent_hash != sealed.parent_hash {
        return Err(RefineError::Parent);
    }
    let header = header::next(&payload.parent, parent_hash, &Choice::of(sealed), config)?;
    let same = [
        ("number", header.number == sealed.number),
        ("gas limit", header.gas_limit == sealed.gas_limit),
        ("base fee", header.base_fee_per_gas == sealed.base_fee_per_gas),
    ];
    match same.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(RefineError::Header(field)),
        None => Ok(header),
    }
}

fn execute<V: Values, C: Codes, T: Borrow<Recovered<TxEnvelope>>>(
    mut execution: Execution<V, C>,
    declared: u64,
    transactions: impl Iterator<Item = Result<T, String>>,
) -> Result<Executed, RefineError> {
    for (index, tx) in transactions.enumerate() {
        let bad = |why: String| RefineError::Transaction { index, why };
        let tx = tx.map_err(bad)?;
        let tx = tx.borrow();
        let attempt = execution.attempt(tx, tx.signer()).map_err(|error| bad(error.to_string()))?;
        execution.keep(attempt);
        if execution.gas_used() > declared {
            return Err(RefineError::OutOfGas { index, declared });
        }
    }
    execution.finish().map_err(|error| RefineError::Execution(error.to_string()))
}

/// Decodes a transaction, and recovers who signed it.
fn recover(bytes: &Bytes) -> Result<Recovered<TxEnvelope>, String> {
    let tx = TxEnvelope::decode_2718_exact(bytes).map_err(|error| error.to_string())?;
    let sender = tx.recover_signer().map_err(|_| "nobody signed it".to_owned())?;
    Ok(Recovered::new_unchecked(tx, sender))
}

fn claim(payload: &Payload) -> Claim {
    let header = &payload.header;
    Claim {
        parent: header.parent_hash,
        number: header.number,
        block: header.hash_slow(),
        pre_root: payload.parent.state_root,
        post_root: header.state_root,
        gas_used: header.gas_used,
    }
}
