//! Block production without a ticket contest (Safrole's fallback): keys by lot, entropy, and how validators change.

use crate::{
    Ed25519Key, Hash, Params,
    block::{EpochKeys, EpochMark},
    hash::blake2b,
    keys::{BandersnatchKey, BlsKey},
    state::{Entropy, Safrole, SlotSealers, ValidatorKeys, Validators},
};
use alloy_primitives::FixedBytes;
use std::collections::BTreeSet;

/// The keys that may seal the slots of an epoch when no contest decided it (F).
pub fn fallback_keys(params: &Params, entropy: Hash, validators: &Validators) -> Vec<BandersnatchKey> {
    let count = validators.keys.len().max(1);
    let draw = |slot: u32| {
        let hash = blake2b(&[entropy.as_slice(), &slot.to_le_bytes()]);
        let number = u32::from_le_bytes(hash[..4].try_into().expect("four bytes"));
        validators.keys.get(number as usize % count).map(|keys| keys.bandersnatch).unwrap_or_default()
    };
    (0..params.epoch_slots).map(draw).collect()
}

impl Entropy {
    /// η after a block whose VRF gave `output`, and before which an epoch may have begun.
    #[must_use]
    pub fn after(&self, output: Hash, new_epoch: bool) -> Self {
        let now = blake2b(&[self.now.as_slice(), output.as_slice()]);
        match new_epoch {
            true => {
                Self { now, epoch: self.now, assignment: self.epoch, previous_assignment: self.assignment }
            }
            false => Self { now, ..*self },
        }
    }
}

/// Who validates: before (λ), now (κ), after (γ_P), and who was named for the time after that (ι).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValidatorSets {
    /// λ.
    pub previous: Validators,
    /// κ.
    pub current: Validators,
    /// γ_P and the rest of γ.
    pub safrole: Safrole,
}

impl ValidatorSets {
    /// The sets when an epoch begins. `entropy` is η after the block; keys of offenders become zeros (Φ).
    ///
    /// The commitment to the next ring (γ_Z) is only used by tickets, and is left as it is.
    #[must_use]
    pub fn next(
        &self,
        params: &Params,
        designated: &Validators,
        offenders: &BTreeSet<Ed25519Key>,
        entropy: &Entropy,
    ) -> Self {
        let current = self.safrole.next_validators.clone();
        let sealers = SlotSealers::Keys(fallback_keys(params, entropy.assignment, &current));
        let next_validators =
            Validators { keys: designated.keys.iter().map(|k| judged(k, offenders)).collect() };
        let safrole = Safrole { next_validators, sealers, tickets: vec![], ..self.safrole.clone() };
        Self { previous: self.current.clone(), current, safrole }
    }
}

fn judged(keys: &ValidatorKeys, offenders: &BTreeSet<Ed25519Key>) -> ValidatorKeys {
    if !offenders.contains(&keys.ed25519) {
        return keys.clone();
    }
    ValidatorKeys {
        bandersnatch: BandersnatchKey::ZERO,
        ed25519: Ed25519Key::ZERO,
        bls: BlsKey::ZERO,
        metadata: FixedBytes::ZERO,
    }
}

/// The mark of the first block of an epoch: the entropy before it and the validators of the epoch after it.
pub fn epoch_mark(before: &Entropy, next: &Validators) -> EpochMark {
    let keys = |keys: &ValidatorKeys| EpochKeys { bandersnatch: keys.bandersnatch, ed25519: keys.ed25519 };
    EpochMark {
        entropy: before.now,
        tickets_entropy: before.epoch,
        validators: next.keys.iter().map(keys).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, Source};

    #[test]
    fn entropy_moves_on_with_the_epoch() {
        let [a, b, c, d] = [1, 2, 3, 4].map(Hash::repeat_byte);
        let entropy = Entropy { now: a, epoch: b, assignment: c, previous_assignment: d };
        let mixed = blake2b(&[a.as_slice(), Hash::ZERO.as_slice()]);
        let next = Entropy { now: mixed, epoch: a, assignment: b, previous_assignment: c };
        assert_eq!(entropy.after(Hash::ZERO, true), next);
        assert_eq!(entropy.after(Hash::ZERO, false), Entropy { now: mixed, ..entropy });
    }

    #[test]
    fn validators_move_up_and_offenders_fall_out() {
        let params = Params::TINY;
        let source = &mut Source::new(&params, 7);
        let [previous, current, next, designated] = [(); 4].map(|()| Validators::sample(source));
        let sealers = SlotSealers::Keys(vec![]);
        let safrole =
            Safrole { next_validators: next.clone(), ring_root: FixedBytes::ZERO, sealers, tickets: vec![] };
        let sets = ValidatorSets { previous, current: current.clone(), safrole };
        let entropy = Entropy::sample(source);
        let offenders = [designated.keys[2].ed25519].into();
        let after = sets.next(&params, &designated, &offenders, &entropy);
        assert_eq!((&after.previous, &after.current), (&current, &next));
        assert_eq!(after.safrole.next_validators.keys[2].ed25519, Ed25519Key::ZERO);
        assert_eq!(after.safrole.next_validators.keys[3], designated.keys[3]);
        let SlotSealers::Keys(keys) = after.safrole.sealers else { panic!("nobody contested") };
        assert_eq!(keys.len(), 12);
        assert!(keys.iter().all(|key| next.keys.iter().any(|known| known.bandersnatch == *key)));
    }
}
