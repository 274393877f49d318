//! The weights of the equations, and the transcript that they are drawn from.
//!
//! The maker of hints knows how weights are made, so everything that the sum uses must be fixed before a weight is known
//! (Fiat and Shamir's method): r, s, the hash, the parity, R's y and the key of each signature, their order and their number.
//! A builder can still try hints until weights please it, so they have 128 bits. Weights from local randomness cannot be
//! tried, so 64 bits suffice.

use crate::{
    bugs::{Bug, Rules},
    field::{Limbs, limbs},
    scalar::Half,
};
use blake2b::Hasher;

/// Where the weights come from.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// From a hash of all that is checked: every machine has the same weights. 128 bits each.
    Transcript,
    /// From these bytes, which must be fresh for each check, from the machine's own randomness, and unknown to those who made
    /// signatures and hints. 64 bits each. The verdict is the same as with a transcript but for a probability of 2⁻⁶⁴.
    Local(&'a [u8; 32]),
}

/// Distinguishes this transcript from every other use of the hash.
const DOMAIN: &[u8; 32] = b"pectin: signatures together, 001";

/// Takes in what is checked.
pub(crate) struct Transcript(Hasher);

impl Transcript {
    pub(crate) fn new(signatures: usize, keys: usize) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(&limbs(DOMAIN));
        hasher.update(&[signatures as u64, keys as u64]);
        Self(hasher)
    }

    #[inline(always)]
    pub(crate) fn key(&mut self, x: &Limbs, y: &Limbs, rules: Rules) {
        if !rules.has(Bug::KeysUnbound) {
            self.0.update(x);
            self.0.update(y);
        }
    }

    #[inline(always)]
    pub(crate) fn signature(&mut self, numbers: [&Limbs; 4], key: u32, odd: bool, rules: Rules) {
        let [r, s, hash, y] = numbers;
        self.0.update(r);
        if !rules.has(Bug::SUnbound) {
            self.0.update(s);
        }
        if !rules.has(Bug::HashesUnbound) {
            self.0.update(hash);
        }
        self.0.update(y);
        self.0.update(&[u64::from(key) << 1 | u64::from(odd)]);
    }

    /// The hash of everything.
    pub(crate) fn seed(self) -> Limbs {
        self.0.finish()
    }
}

/// A sequence of weights.
pub(crate) struct Stream {
    seed: Limbs,
    short: bool,
    rules: Rules,
    drawn: u64,
    block: [u64; 8],
}

impl Stream {
    pub(crate) fn new(weights: Weights<'_>, seed: Limbs, rules: Rules) -> Self {
        let (seed, short) = match weights {
            Weights::Transcript => (seed, rules.has(Bug::ShortWeights)),
            Weights::Local(random) => (limbs(random), true),
        };
        Self { seed, short, rules, drawn: 0, block: [0; 8] }
    }

    /// The next weight: each of 2¹²⁸ (or 2⁶⁴) numbers with a sign, zero among them, is as likely as the others.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Half {
        let per_block = if self.short { 8 } else { 4 };
        let at = (self.drawn % per_block) as usize;
        if at == 0 && !(self.rules.has(Bug::EqualWeights) && self.drawn > 0) {
            let [a, b, c, d] = self.seed;
            self.block = blake2b::expand(&[a, b, c, d, self.drawn / per_block]);
        }
        let at = if self.rules.has(Bug::EqualWeights) { 0 } else { at };
        self.drawn += 1;
        if self.short {
            let weight = self.block[at] as i64;
            return Half { minus: weight < 0, size: weight.unsigned_abs().into() };
        }
        let weight = (u128::from(self.block[2 * at + 1]) << 64 | u128::from(self.block[2 * at])) as i128;
        Half { minus: weight < 0, size: weight.unsigned_abs() }
    }
}
