//! Refine: the input from host calls, the answer to the host.

use crate::{
    arguments,
    host::{self, Fetch},
};
use alloc::vec::Vec;
use alloy_primitives::Bytes;
use jam::{Hash, Params, codec::Decoder};
use service::{
    Config,
    answer::{Answer, answer},
    code::HEAD_BYTES,
    refine::{EXTRINSICS, Input, Item, RefineError},
};

/// Where the slot of the lookup anchor stands in a refine context: after four hashes.
const LOOKUP_SLOT_AT: usize = 4 * 32;

/// Refines the work item that the arguments name.
pub(crate) fn refine(arguments: &[u8]) -> Vec<u8> {
    let answer = match refined(arguments) {
        Some(answer) => answer,
        // The chain runs this code, so it has it, and it tells of the item: only a host that is none gets here.
        None => Answer::Refused(RefineError::Code),
    };
    if let Answer::Run(output) = &answer {
        output.exports.iter().for_each(|segment| host::export(segment));
    }
    answer.encode()
}

fn refined(arguments: &[u8]) -> Option<Answer> {
    let arguments = arguments::refine(arguments).ok()?;
    let item = item(arguments.item)?;
    let mut head = [0; HEAD_BYTES];
    let len = host::historical_preimage(&item.code_hash, &mut head)?;
    let config = Config::from_metadata(arguments.service, item.code_hash, head.get(..len.min(HEAD_BYTES))?)?;
    let extrinsics = extrinsics(&item)?;
    let input = Input {
        items: items()?,
        item,
        lookup_anchor_slot: lookup_slot()?,
        payload: arguments.payload,
        extrinsics: &extrinsics,
        done: |phase| host::log(phase.name()),
    };
    let mut new = [0; HEAD_BYTES];
    let new = &mut new;
    Some(answer(&input, &config, move |hash: &Hash| {
        let new: &mut [u8] = new;
        let len = host::historical_preimage(hash, new)?;
        new.get(..len.min(HEAD_BYTES))
    }))
}

/// The blobs; none if they are not as many as a run has, since then they are not looked at.
fn extrinsics(item: &Item) -> Option<Vec<Bytes>> {
    let count = if usize::from(item.extrinsics) == EXTRINSICS { EXTRINSICS as u64 } else { 0 };
    (0..count).map(|index| Fetch::Extrinsic(index).all().map(Bytes::from)).collect()
}

fn item(index: u64) -> Option<Item> {
    let mut bytes = [0; Item::BYTES];
    (Fetch::Item(index).into(&mut bytes)? == Item::BYTES).then(|| Item::decode(&bytes))
}

/// How many items the package has: the length before the list.
fn items() -> Option<usize> {
    let mut bytes = [0; 9];
    let len = Fetch::Items.into(&mut bytes)?.min(bytes.len());
    let items = Decoder::new(&bytes[..len], &Params::TINY).natural().ok()?;
    usize::try_from(items).ok()
}

fn lookup_slot() -> Option<u32> {
    let mut bytes = [0; LOOKUP_SLOT_AT + 4];
    Fetch::Context.into(&mut bytes)?;
    Some(u32::from_le_bytes(*bytes.last_chunk()?))
}
