//! Who validates, and by which entropy guarantors are assigned, as epochs pass.

use crate::{
    Ed25519Key, Hash, Header, Params, Purpose, Signature,
    keys::Verifier,
    shuffle::{Assignment, Era, core_assignment},
    state::{Entropy, Safrole, Validators},
};
use std::sync::{Arc, OnceLock};

/// A set of validators' Ed25519 keys, each prepared for verification when it is first needed.
#[derive(Debug)]
pub struct ValidatorSet {
    keys: Vec<Ed25519Key>,
    verifiers: Vec<OnceLock<Option<Verifier>>>,
    /// Whoever has a voice: each key once, without those that everybody can sign for.
    voters: Vec<Ed25519Key>,
}

impl PartialEq for ValidatorSet {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys
    }
}

impl Eq for ValidatorSet {}

impl ValidatorSet {
    /// From the keys in the validators' order.
    pub fn new(keys: Vec<Ed25519Key>) -> Arc<Self> {
        let verifiers = keys.iter().map(|_| OnceLock::new()).collect();
        let mut voters = keys.iter().copied().filter(|key| !key.is_weak()).collect::<Vec<_>>();
        voters.sort();
        voters.dedup();
        Arc::new(Self { keys, verifiers, voters })
    }

    /// The keys in order.
    pub fn keys(&self) -> &[Ed25519Key] {
        &self.keys
    }

    /// Whoever has a voice: each key once, ascending, without those that stand for nobody.
    pub fn voters(&self) -> &[Ed25519Key] {
        &self.voters
    }

    /// Whether a key has a voice.
    pub fn has_voter(&self, key: &Ed25519Key) -> bool {
        self.voters.binary_search(key).is_ok()
    }

    /// Whether a signature is validator `index`'s.
    pub fn verifies(&self, index: u16, purpose: Purpose, subject: Hash, signature: &Signature) -> bool {
        let index = usize::from(index);
        let (Some(key), Some(verifier)) = (self.keys.get(index), self.verifiers.get(index)) else {
            return false;
        };
        verifier
            .get_or_init(|| Verifier::new(*key))
            .as_ref()
            .is_some_and(|verifier| verifier.verifies(purpose, subject, signature))
    }
}

impl From<&Validators> for Arc<ValidatorSet> {
    fn from(validators: &Validators) -> Self {
        ValidatorSet::new(validators.keys.iter().map(|keys| keys.ed25519).collect())
    }
}

/// What stays the same for a whole epoch.
///
/// It follows from the headers alone: the first block of an epoch carries a mark with the entropy that the epoch
/// begins with and with the validators of the epoch after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// Its number.
    pub number: u32,
    /// Its validators (κ).
    pub current: Arc<ValidatorSet>,
    /// Those of the epoch before (λ).
    pub previous: Arc<ValidatorSet>,
    /// Those of the epoch after (γ_P).
    pub next: Arc<ValidatorSet>,
    /// η₁, which will assign those of the epoch after.
    pub next_entropy: Hash,
    /// η₂, which assigns this epoch's guarantors.
    pub entropy: Hash,
    /// η₃, which assigned those of the epoch before.
    pub previous_entropy: Hash,
}

/// Why a header's epoch mark is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EpochRefusal {
    /// The first block of an epoch must say who validates next.
    #[error("the first block of an epoch has no epoch mark")]
    MarkMissing,
    /// No other block may.
    #[error("an epoch mark in the middle of an epoch")]
    MarkUnexpected,
    /// What assigns the epoch's guarantors is known since the epoch before began.
    #[error("an epoch mark with another entropy than the epoch before announced")]
    MarkEntropy,
}

impl Epoch {
    /// The epoch that a state is in.
    pub fn of_state(
        params: &Params,
        slot: u32,
        validators: &Validators,
        previous: &Validators,
        safrole: &Safrole,
        entropy: &Entropy,
    ) -> Self {
        Self {
            number: params.epoch_of(slot),
            current: validators.into(),
            previous: previous.into(),
            next: (&safrole.next_validators).into(),
            next_entropy: entropy.epoch,
            entropy: entropy.assignment,
            previous_entropy: entropy.previous_assignment,
        }
    }

    /// The epoch of the block after this epoch's, or the same one.
    pub fn after(&self, params: &Params, header: &Header) -> Result<Option<Self>, EpochRefusal> {
        let number = params.epoch_of(header.slot);
        match (&header.epoch_mark, number > self.number) {
            (None, false) => Ok(None),
            (Some(_), false) => Err(EpochRefusal::MarkUnexpected),
            (None, true) => Err(EpochRefusal::MarkMissing),
            (Some(mark), true) if mark.tickets_entropy != self.next_entropy => Err(EpochRefusal::MarkEntropy),
            (Some(mark), true) => Ok(Some(Self {
                number,
                current: Arc::clone(&self.next),
                previous: Arc::clone(&self.current),
                next: ValidatorSet::new(mark.validators.iter().map(|keys| keys.ed25519).collect()),
                next_entropy: mark.entropy,
                entropy: mark.tickets_entropy,
                previous_entropy: self.entropy,
            })),
        }
    }

    /// The cores that the validators guarantee at a slot of this epoch.
    pub fn assignment(&self, params: &Params, slot: u32) -> Assignment {
        Assignment { cores: core_assignment(params, self.entropy, slot), era: Era::Current }
    }

    /// The cores that the next validators will guarantee at a slot of the epoch after.
    pub fn next_assignment(&self, params: &Params, slot: u32) -> Assignment {
        Assignment { cores: core_assignment(params, self.next_entropy, slot), era: Era::Next }
    }

    /// The cores that they guaranteed a rotation earlier, maybe in the epoch before.
    pub fn previous_assignment(&self, params: &Params, slot: u32) -> Assignment {
        let entropy = [Hash::ZERO, Hash::ZERO, self.entropy, self.previous_entropy];
        crate::shuffle::previous_assignment(params, &entropy, slot)
    }

    /// The validators that an assignment speaks of.
    pub fn validators(&self, era: Era) -> &Arc<ValidatorSet> {
        match era {
            Era::Current => &self.current,
            Era::Previous => &self.previous,
            Era::Next => &self.next,
        }
    }
}
