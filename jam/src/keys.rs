//! Keys and signatures of validators, and the names that certificates carry.

use crate::hash::{Hash, blake2b, named_bytes32};
use alloc::{string::String, vec::Vec};
use alloy_primitives::{FixedBytes, hex};
use core::fmt;
use ed25519_zebra::{SigningKey, VerificationKey};

/// An Ed25519 signature.
pub type Signature = FixedBytes<64>;
/// A Bandersnatch public key.
pub type BandersnatchKey = FixedBytes<32>;
/// A Bandersnatch VRF signature.
pub type VrfSignature = FixedBytes<96>;
/// A Bandersnatch ring VRF signature.
pub type RingSignature = FixedBytes<784>;
/// A BLS public key.
pub type BlsKey = FixedBytes<144>;

named_bytes32! {
    /// An Ed25519 public key; also who a peer is.
    Ed25519Key
}

/// What a signature is made for: the words before the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Guaranteeing a report, by its hash.
    Guarantee,
    /// Assuring availability, by the hash of anchor and bits.
    Available,
    /// Judging a report right.
    Valid,
    /// Judging a report wrong.
    Invalid,
}

impl Purpose {
    /// The words before the message.
    pub const fn context(self) -> &'static [u8] {
        match self {
            Self::Guarantee => b"jam_guarantee",
            Self::Available => b"jam_available",
            Self::Valid => b"jam_valid",
            Self::Invalid => b"jam_invalid",
        }
    }

    fn message(self, subject: Hash) -> Vec<u8> {
        [self.context(), subject.as_slice()].concat()
    }
}

/// A public key made ready to verify many signatures. Verifies by ZIP 215, so that all nodes agree.
#[derive(Clone, Copy, Debug)]
pub enum Verifier {
    /// An ordinary key.
    Ed25519(VerificationKey),
    /// A key of a simulation.
    #[cfg(any(test, feature = "sample"))]
    Simulated(Ed25519Key),
}

impl Verifier {
    /// Makes a key ready; `None` if the bytes are no key, or one that [stands for nobody](Ed25519Key::is_weak).
    pub fn new(key: Ed25519Key) -> Option<Self> {
        if key.is_weak() {
            return None;
        }
        #[cfg(any(test, feature = "sample"))]
        if crate::sample::is_simulated(&key) {
            return Some(Self::Simulated(key));
        }
        VerificationKey::try_from(key.0.0).ok().map(Self::Ed25519)
    }

    /// Whether `signature` is this key's, for this purpose, on `subject`.
    pub fn verifies(&self, purpose: Purpose, subject: Hash, signature: &Signature) -> bool {
        match self {
            Self::Ed25519(key) => key.verify(&signature.0.into(), &purpose.message(subject)).is_ok(),
            #[cfg(any(test, feature = "sample"))]
            Self::Simulated(key) => *signature == crate::sample::simulated_signature(key, purpose, subject),
        }
    }
}

/// The encodings of the points of small order, without the sign bit: the well-known seven.
const SMALL_ORDER: [[u8; 32]; 7] = [
    [0; 32],
    hex!("0100000000000000000000000000000000000000000000000000000000000000"),
    hex!("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    hex!("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    hex!("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    hex!("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    hex!("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
];

impl Ed25519Key {
    /// Whether everybody can sign for this key. ZIP 215 lets one made-up signature pass for every message under a
    /// point of small order, and all zeros, which the chain puts in the place of an offender's key, is such a point.
    pub fn is_weak(&self) -> bool {
        let mut unsigned = self.0.0;
        unsigned[31] &= 0x7f;
        SMALL_ORDER.contains(&unsigned)
    }

    /// Whether `signature` is this key's, for this purpose, on `subject`.
    pub fn verifies(&self, purpose: Purpose, subject: Hash, signature: &Signature) -> bool {
        Verifier::new(*self).is_some_and(|key| key.verifies(purpose, subject, signature))
    }

    /// The name of this key in certificates: `e` and the key's bits from the lowest on, five to a character.
    pub fn certificate_name(&self) -> String {
        let mut name = String::with_capacity(NAME_LEN);
        name.push('e');
        for bit in (0..256).step_by(5) {
            let low = u16::from(self[bit / 8]);
            let high = self.get(bit / 8 + 1).map_or(0, |byte| u16::from(*byte));
            let digit = ((high << 8 | low) >> (bit % 8)) & 0x1f;
            name.push(char::from(ALPHABET[usize::from(digit)]));
        }
        name
    }

    /// The key that a certificate's name stands for.
    pub fn from_certificate_name(name: &str) -> Result<Self, NameError> {
        let name = name.as_bytes();
        if name.len() != NAME_LEN {
            return Err(NameError::Length(name.len()));
        }
        if name[0] != b'e' {
            return Err(NameError::Prefix);
        }
        let (mut key, mut bits, mut held, mut next) = ([0; 32], 0_u16, 0, 0);
        for character in &name[1..] {
            let digit = ALPHABET.iter().position(|c| c == character).ok_or(NameError::Character)?;
            bits |= (digit as u16) << held;
            held += 5;
            if held >= 8 {
                key[next] = bits as u8;
                (next, bits, held) = (next + 1, bits >> 8, held - 8);
            }
        }
        if bits != 0 { Err(NameError::Surplus) } else { Ok(Self(key.into())) }
    }
}

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const NAME_LEN: usize = 53;

/// Why a text is not the name of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// It has another length.
    #[error("a certificate name has {NAME_LEN} characters, this has {0}")]
    Length(usize),
    /// It starts with another letter.
    #[error("a certificate name starts with e")]
    Prefix,
    /// It has a character that stands for nothing.
    #[error("a certificate name has only the characters a-z and 2-7")]
    Character,
    /// It has more bits than a key.
    #[error("the last character says more than a key has bits")]
    Surplus,
}

/// An Ed25519 secret key. Never printed.
#[derive(Clone)]
pub struct Ed25519Secret(SigningKey);

impl fmt::Debug for Ed25519Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ed25519Secret(of {})", self.public())
    }
}

impl Ed25519Secret {
    /// From the 32 bytes of the key itself.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(SigningKey::from(bytes))
    }

    /// From a validator's seed, as JIP-5 derives it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self::from_bytes(blake2b(&[b"jam_val_key_ed25519", seed]).0)
    }

    /// The key of dev validator `index`, which everybody knows.
    pub fn trivial(index: u32) -> Self {
        Self::from_seed(&trivial_seed(index))
    }

    /// The 32 bytes of the key itself, for whoever writes certificates.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The public key.
    pub fn public(&self) -> Ed25519Key {
        Ed25519Key(<[u8; 32]>::from(self.0.verification_key()).into())
    }

    /// Signs bytes of a protocol above this one. They must begin with words of their own, so that this is no signature of anything else.
    pub fn sign_bytes(&self, message: &[u8]) -> Signature {
        FixedBytes(self.0.sign(message).into())
    }

    /// Signs `subject` for a purpose.
    pub fn sign(&self, purpose: Purpose, subject: Hash) -> Signature {
        FixedBytes(self.0.sign(&purpose.message(subject)).into())
    }
}

/// The seed of dev validator `index`: its number, eight times.
pub fn trivial_seed(index: u32) -> [u8; 32] {
    let mut seed = [0; 32];
    seed.chunks_exact_mut(4).for_each(|chunk| chunk.copy_from_slice(&index.to_le_bytes()));
    seed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_signature_holds_for_its_purpose_and_subject_only() {
        let secret = Ed25519Secret::trivial(0);
        let subject = Hash::repeat_byte(7);
        let signature = secret.sign(Purpose::Guarantee, subject);
        let key = secret.public();
        assert!(key.verifies(Purpose::Guarantee, subject, &signature));
        assert!(!key.verifies(Purpose::Available, subject, &signature));
        assert!(!key.verifies(Purpose::Guarantee, Hash::ZERO, &signature));
        assert!(!Ed25519Secret::trivial(1).public().verifies(Purpose::Guarantee, subject, &signature));
        assert!(!Ed25519Key([0xff; 32].into()).verifies(Purpose::Guarantee, subject, &signature));
    }

    #[test]
    fn a_key_that_everybody_can_sign_for_signs_nothing() {
        // R is the neutral point and s is zero: under a key of small order this passes for any message.
        let mut forged = [0; 64];
        forged[0] = 1;
        let mut tried = 0;
        for (mut bytes, sign) in SMALL_ORDER.into_iter().flat_map(|key| [(key, 0), (key, 0x80)]) {
            bytes[31] |= sign;
            let Ok(bare) = VerificationKey::try_from(bytes) else { continue };
            bare.verify(&forged.into(), &Purpose::Guarantee.message(Hash::ZERO)).unwrap();
            assert!(!Ed25519Key(bytes.into()).verifies(Purpose::Guarantee, Hash::ZERO, &forged.into()));
            tried += 1;
        }
        assert_eq!(tried, 14);
        assert!(!Ed25519Secret::trivial(0).public().is_weak());
    }

    #[test]
    fn the_first_dev_validator_has_the_published_key() {
        // JIP-5 publishes the keys of the trivial seeds.
        let key = Ed25519Secret::trivial(0).public();
        assert_eq!(key.to_string(), "0x4418fb8c85bb3985394a8c2756d3643457ce614546202a2f50b093d762499ace");
        assert!(format!("{:?}", Ed25519Secret::trivial(0)).starts_with("Ed25519Secret(of 0x4418"));
    }

    #[test]
    fn names_that_stand_for_no_key_are_refused() {
        let name = Ed25519Secret::trivial(0).public().certificate_name();
        assert_eq!(Ed25519Key::from_certificate_name(&name[..52]), Err(NameError::Length(52)));
        assert_eq!(Ed25519Key::from_certificate_name(&name.replacen('e', "f", 1)), Err(NameError::Prefix));
        assert_eq!(
            Ed25519Key::from_certificate_name(&format!("{}1", &name[..52])),
            Err(NameError::Character)
        );
        assert_eq!(Ed25519Key::from_certificate_name(&format!("{}7", &name[..52])), Err(NameError::Surplus));
    }

    proptest! {
        #[test]
        fn names_come_back(key: [u8; 32]) {
            let name = Ed25519Key(key.into()).certificate_name();
            prop_assert_eq!(name.len(), 53);
            prop_assert_eq!(Ed25519Key::from_certificate_name(&name), Ok(Ed25519Key(key.into())));
        }

        #[test]
        fn no_text_panics(name in "e?[a-z2-7é]{0,53}") {
            let _ = Ed25519Key::from_certificate_name(&name);
        }
    }
}
