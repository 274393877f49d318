//! Who may author a slot, and the two VRF signatures that show it.

use super::BlockRefusal;
use crate::{keys::Keys, vrf};
use jam::{
    Hash, Header, Params,
    block::UnsealedHeader,
    codec::Encode,
    keys::{BandersnatchKey, VrfSignature},
    rules::safrole::ValidatorSets,
    state::{Entropy, SlotSealers},
};

const FALLBACK: &[u8] = b"jam_fallback_seal";
const ENTROPY: &[u8] = b"jam_entropy";

/// The key that may seal a slot of the epoch that these sets are of. A slot that a ticket won cannot be sealed here:
/// these validators hold no contest.
pub(super) fn sealer(params: &Params, sets: &ValidatorSets, slot: u32) -> Option<BandersnatchKey> {
    match &sets.safrole.sealers {
        SlotSealers::Keys(keys) => keys.get((slot % params.epoch_slots) as usize).copied(),
        SlotSealers::Tickets(_) => None,
    }
}

/// Checks author, seal and entropy source; gives what the source adds to the entropy. `previous_assignment` is η₃ after
/// the block.
pub(super) fn check(
    params: &Params,
    sets: &ValidatorSets,
    previous_assignment: Hash,
    header: &Header,
) -> Result<Hash, BlockRefusal> {
    let author = sets.current.keys.get(usize::from(header.author)).ok_or(BlockRefusal::Author)?;
    if sealer(params, sets, header.slot) != Some(author.bandersnatch) {
        return Err(BlockRefusal::Author);
    }
    let key = &author.bandersnatch;
    let sealed = header.unsealed.encode();
    let context = [FALLBACK, previous_assignment.as_slice()];
    let output = vrf::verify(key, &context, &sealed, &header.seal).ok_or(BlockRefusal::Seal)?;
    let context = [ENTROPY, output.as_slice()];
    vrf::verify(key, &context, &[], &header.entropy_source).ok_or(BlockRefusal::EntropySource)
}

/// The entropy source of a block that this validator seals, and what it adds to the entropy.
pub(super) fn entropy_source(keys: &Keys, after: &Entropy) -> Option<(VrfSignature, Hash)> {
    let seal = keys.bandersnatch.output(&[FALLBACK, after.previous_assignment.as_slice()])?;
    let context = [ENTROPY, seal.as_slice()];
    Some((keys.bandersnatch.sign(&context, &[])?, keys.bandersnatch.output(&context)?))
}

/// Seals a header.
pub(super) fn seal(keys: &Keys, after: &Entropy, unsealed: UnsealedHeader) -> Option<Header> {
    let context = [FALLBACK, after.previous_assignment.as_slice()];
    let seal = keys.bandersnatch.sign(&context, &unsealed.encode())?;
    Some(Header { unsealed, seal })
}
