//! Refinement of bundles, outside of any virtual machine: how the builder checks its own, and an oracle for the program.

use super::{Checked, Input, Item, Output, RefineError, refine_input};
use crate::{
    Config,
    accumulate::Claim,
    answer::{self, Answer},
    exports,
    header::{self, Roots},
};
use alloc::collections::BTreeMap;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::Bytes;
use jam::{Bundle, Hash, Params, WorkItem};
use types::Transaction;

/// Refines an encoded bundle.
pub fn refine(bundle: &Bytes, config: &Config, params: &Params) -> Result<Output, RefineError> {
    let bundle = Bundle::decode(bundle, params).map_err(jam::BundleError::from)?;
    refine_bundle(&bundle, config, params)
}

/// Refines a bundle.
pub fn refine_bundle(bundle: &Bundle, config: &Config, params: &Params) -> Result<Output, RefineError> {
    refine_input(&input(bundle, params)?, config)
}

/// What the service answers to a bundle, to the byte what its program answers in the virtual machine. `preimage` says what the
/// service's preimage of a hash is at the lookup anchor.
pub fn answer<'a>(
    bundle: &Bundle,
    config: &Config,
    params: &Params,
    preimage: impl FnOnce(&Hash) -> Option<&'a [u8]>,
) -> Answer {
    match input(bundle, params) {
        Ok(input) => answer::answer(&input, config, preimage),
        Err(why) => Answer::Refused(why),
    }
}

/// What the bundle is to the service, if it is as its package and the chain want it: what a JAM node checks before it runs any
/// service's code.
fn input<'a>(bundle: &'a Bundle, params: &Params) -> Result<Input<'a>, RefineError> {
    bundle.package.check(params)?;
    bundle.check(&BTreeMap::new())?;
    let [item, ..] = &bundle.package.items[..] else { return Err(RefineError::Items(0)) };
    Ok(Input {
        items: bundle.package.items.len(),
        item: item.into(),
        lookup_anchor_slot: bundle.package.context.lookup_anchor_slot,
        payload: &item.payload,
        extrinsics: &bundle.extrinsics[..item.extrinsics.len()],
        done: |_| {},
    })
}

impl From<&WorkItem> for Item {
    fn from(item: &WorkItem) -> Self {
        // The codec takes at most 2¹⁵ imports and 128 blobs.
        let count = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        Self {
            service: item.service,
            code_hash: item.code_hash,
            refine_gas: item.refine_gas,
            export_count: item.export_count,
            imports: count(item.imports.len()),
            extrinsics: count(item.extrinsics.len()),
        }
    }
}

/// What the builder of a block knows of it. The check of the signatures and the tries of transactions and receipts are most of what
/// refining costs, and they are functions of bytes: the same bytes have the same senders and roots.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its transactions, with their senders.
    pub transactions: &'a [Transaction],
    /// Its receipts.
    pub receipts: &'a [ReceiptEnvelope],
    /// A header with the roots of these transactions and receipts.
    pub header: &'a Header,
}

/// Refines a bundle of blocks that were built here, of which this is known, with the hints for their signatures.
///
/// Everything is checked as by [`refine_bundle`], but what has the bytes of something that is [known](Known) is not worked
/// out again, and what the run exports is only counted.
pub fn refine_known(
    bundle: &Bundle,
    config: &Config,
    params: &Params,
    known: &[Known<'_>],
    hints: &Bytes,
) -> Result<Claim, RefineError> {
    let input = input(bundle, params)?;
    let checked = Checked::new(&input, config)?;
    if !checked.is_known(known) || checked.hints != hints {
        return refine_input(&input, config).map(|output| output.claim);
    }
    let mut work = checked.witnessed()?;
    let mut export_bytes = 0;
    let mut transactions = known.iter().flat_map(|known| known.transactions).map(Transaction::signed);
    for (index, known) in known.iter().enumerate() {
        let executed = work.execute(index, config, &mut transactions)?;
        let state = work.write(&executed)?;
        let receipts = match known.receipts == executed.receipts {
            true => known.header.receipts_root,
            false => header::list_root(&executed.encoded_receipts()),
        };
        let roots = Roots { state, transactions: known.header.transactions_root, receipts };
        let header = work.complete(index, &executed, roots)?;
        export_bytes += exports::bytes_of(&header, &work.blocks[index].transactions, &executed.receipts);
    }
    let claim = work.claim()?;
    work.check_exports(exports::segments(export_bytes))?;
    Ok(claim)
}

impl Checked<'_> {
    /// Whether the blocks are those that are known.
    fn is_known(&self, known: &[Known<'_>]) -> bool {
        let same = |block: &super::Block, known: &Known<'_>| {
            known.transactions.iter().map(Transaction::encoded).eq(&block.transactions)
        };
        known.len() == self.blocks.len()
            && self.blocks.iter().zip(known).all(|(block, known)| same(block, known))
    }
}
