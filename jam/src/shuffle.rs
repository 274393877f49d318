//! The Gray Paper's shuffle, and which validators guarantee which core.

use crate::{
    Params,
    hash::{Hash, blake2b},
};

/// The values in an order that the entropy decides (Fisher–Yates).
pub fn shuffled<T: Copy>(mut values: Vec<T>, entropy: Hash) -> Vec<T> {
    let mut result = Vec::with_capacity(values.len());
    let mut numbers = Numbers { entropy, block: Hash::ZERO };
    for turn in 0..values.len() {
        let at = numbers.get(turn) as usize % values.len();
        result.push(values.swap_remove(at));
    }
    result
}

/// The numbers that entropy stretches to: eight from each hash.
struct Numbers {
    entropy: Hash,
    block: Hash,
}

impl Numbers {
    fn get(&mut self, turn: usize) -> u32 {
        if turn.is_multiple_of(8) {
            self.block = blake2b(&[self.entropy.as_slice(), &(turn as u32 / 8).to_le_bytes()]);
        }
        let at = turn % 8 * 4;
        u32::from_le_bytes(self.block[at..at + 4].try_into().expect("four bytes"))
    }
}

/// The core of each validator at a slot, by the entropy of that slot's epoch (P).
pub fn core_assignment(params: &Params, entropy: Hash, slot: u32) -> Vec<u16> {
    let (cores, validators) = (u32::from(params.cores), u32::from(params.validators));
    let even = (0..validators).map(|i| (cores * i / validators) as u16).collect();
    let rotation = slot % params.epoch_slots / u32::from(params.rotation_slots);
    let turn = (rotation % cores) as u16;
    shuffled(even, entropy).into_iter().map(|core| (core + turn) % params.cores).collect()
}

/// Whose keys and which entropy a rotation goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Era {
    /// The current validators (κ) and η₂.
    Current,
    /// The previous epoch's validators (λ) and η₃.
    Previous,
    /// The next epoch's validators (γ_P) and η₁.
    Next,
}

/// A rotation's cores, and whose validators they are of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The core of each validator.
    pub cores: Vec<u16>,
    /// Which set of validators.
    pub era: Era,
}

impl Assignment {
    /// The guarantors of `core`.
    pub fn guarantors(&self, core: u16) -> impl Iterator<Item = u16> {
        (0..).zip(&self.cores).filter(move |(_, assigned)| **assigned == core).map(|(validator, _)| validator)
    }
}

/// The rotation that `slot` is in (M).
pub fn current_assignment(params: &Params, entropy: &[Hash; 4], slot: u32) -> Assignment {
    Assignment { cores: core_assignment(params, entropy[2], slot), era: Era::Current }
}

/// The rotation before that of `slot`, whose reports may still come (M*).
pub fn previous_assignment(params: &Params, entropy: &[Hash; 4], slot: u32) -> Assignment {
    let before = slot.saturating_sub(u32::from(params.rotation_slots));
    let (era, entropy) = if params.epoch_of(before) == params.epoch_of(slot) {
        (Era::Current, entropy[2])
    } else {
        (Era::Previous, entropy[3])
    };
    Assignment { cores: core_assignment(params, entropy, before), era }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_published_example() {
        // From davxy/jam-test-vectors (CC0), shuffle.
        assert_eq!(shuffled((0..8).collect::<Vec<u32>>(), Hash::repeat_byte(0xff)), [1, 2, 6, 0, 7, 4, 3, 5]);
    }

    #[test]
    fn the_previous_rotation_may_lie_in_the_previous_epoch() {
        let entropy = [1, 2, 3, 4].map(Hash::repeat_byte);
        let params = Params::TINY;
        assert_eq!(previous_assignment(&params, &entropy, 17).era, Era::Current);
        let across = previous_assignment(&params, &entropy, 13);
        assert_eq!(across.era, Era::Previous);
        assert_eq!(across.cores, core_assignment(&params, entropy[3], 9));
    }

    proptest! {
        #[test]
        fn every_core_has_three_guarantors_at_every_slot(entropy: [u8; 32], slot: u32) {
            for params in [Params::TINY, Params::FULL] {
                let assignment = current_assignment(&params, &[entropy.into(); 4], slot);
                for core in 0..params.cores {
                    prop_assert_eq!(assignment.guarantors(core).count(), 3);
                }
            }
        }
    }
}
