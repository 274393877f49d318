//! Planted bugs, each of which is found; most by an attack that then forges a signer.

use super::*;
use crate::{
    bugs::Bug,
    scalar::Half,
    weights::{Stream, Transcript},
};
use k256::elliptic_curve::{point::AffineCoordinates, scalar::IsHigh};

/// What holds without a bug.
type Promise = (&'static str, fn(Rules) -> bool);

const PROMISES: &[Promise] = &[
    ("a key chosen after the weights forges nothing", |rules| !forged(Free::Key, rules)),
    ("an s chosen after the weights forges nothing", |rules| !forged(Free::S, rules)),
    ("a hash chosen after the weights forges nothing", |rules| !forged(Free::Hash, rules)),
    ("errors do not cancel", |rules| !cancelled(rules)),
    ("weights that can be ground are long", |rules| long(rules)),
    ("a point off the curve is refused by name", |rules| {
        let (signatures, mut hints) = honest_bundle(2, 2, 60);
        hints.signatures[1].r_y[7] ^= 1;
        said(&signatures, &hints, rules) == Err(Refused::NoPoint { signature: 1 })
    }),
    ("a key off the curve is refused by name", |rules| {
        let (signatures, mut hints) = honest_bundle(2, 2, 60);
        hints.keys[1][7] ^= 1;
        said(&signatures, &hints, rules) == Err(Refused::KeyNoPoint { key: 1 })
    }),
    ("a point's y is below p", |rules| {
        let (signature, hints) = edge::beyond_p(false);
        said(&[signature], &hints, rules) == Err(Refused::NoPoint { signature: 0 })
    }),
    ("a key's y is below p", |rules| {
        let (signature, hints) = edge::beyond_p(true);
        said(&[signature], &hints, rules).is_err()
    }),
    ("the parity is that of y", |rules| {
        let (mut signatures, hints) = honest_bundle(2, 2, 60);
        signatures[0].odd_y ^= true;
        said(&signatures, &hints, rules).is_err()
    }),
    ("a high s is refused", |rules| {
        let (mut signatures, mut hints) = honest_bundle(2, 2, 60);
        signatures[1].s = crate::scalar::Scalar(signatures[1].s).negate().0;
        signatures[1].odd_y ^= true;
        hints.signatures[1].r_y = y_of(&signatures[1]).unwrap();
        said(&signatures, &hints, rules).is_err()
    }),
    ("r + n is refused", |rules| {
        let (signature, hints) = edge::beyond_n();
        said(&[signature], &hints, rules).is_err()
    }),
    ("honest signatures are accepted", |rules| {
        let (signatures, hints) = honest_bundle(9, 5, 60);
        said(&signatures, &hints, rules).is_ok()
    }),
    ("the same signature many times is accepted", |rules| {
        let signatures = [honest([1; 32], [2; 32]); 70];
        said(&signatures, &hints_of(&signatures), rules).is_ok()
    }),
];

fn said(signatures: &[Signature], hints: &Hints, rules: Rules) -> Result<(), Refused> {
    check(signatures, hints, Weights::Transcript, rules)
}

/// The weights that the transcript of these gives.
fn weights(signatures: &[Signature], hints: &Hints, rules: Rules) -> Vec<Half> {
    let mut transcript = Transcript::new(signatures.len(), hints.keys.len());
    for key in &hints.keys {
        let [x, y] = halves(*key);
        transcript.key(&field::limbs(&x), &field::limbs(&y), rules);
    }
    for (one, hint) in signatures.iter().zip(&hints.signatures) {
        let numbers = [&one.r, &one.s, &field::limbs(&one.hash), &field::limbs(&hint.r_y)];
        transcript.signature(numbers, hint.key, one.odd_y, rules);
    }
    let mut stream = Stream::new(Weights::Transcript, transcript.seed(), rules);
    signatures.iter().map(|_| stream.next()).collect()
}

fn scalar_of(half: Half) -> Scalar {
    let size = Scalar::from(half.size);
    if half.minus { -size } else { size }
}

/// What is left open until the weights are known.
#[derive(Clone, Copy, PartialEq)]
enum Free {
    Key,
    S,
    Hash,
}

/// A signature of another owner's key for a hash that they never signed, but for an error that is a known multiple of G.
struct Forgery {
    signature: Signature,
    hint: ([u8; 64], [u8; 32]),
    /// R − hash/s·G − r/s·Q = error · G.
    error: Scalar,
}

fn forgery(victim: &ProjectivePoint, random: &mut Random) -> Forgery {
    loop {
        let (alpha, beta) = (random.scalar(), random.scalar());
        let point = ProjectivePoint::GENERATOR * alpha + *victim * beta;
        let r = reduced(point.to_affine().x().into());
        let s = r * beta.invert().unwrap();
        if bool::from(s.is_high()) {
            continue;
        }
        let hash = random.bytes();
        let y = halves(key_of(&point))[1];
        let signature = Signature { r: limbs_of(&r), s: limbs_of(&s), odd_y: y[31] & 1 == 1, hash };
        let error = alpha - reduced(hash) * s.invert().unwrap();
        return Forgery { signature, hint: (key_of(victim), y), error };
    }
}

/// The attacker's own second signature: nonce, key and numbers are known.
struct Own {
    nonce: Scalar,
    key: Scalar,
    s: Scalar,
    hash: Scalar,
}

impl Own {
    fn r(&self) -> Scalar {
        reduced((ProjectivePoint::GENERATOR * self.nonce).to_affine().x().into())
    }

    fn signature(&self) -> Signature {
        let point = ProjectivePoint::GENERATOR * self.nonce;
        let odd_y = bool::from(point.to_affine().y_is_odd());
        let hash = self.hash.to_repr().into();
        Signature { r: limbs_of(&self.r()), s: limbs_of(&self.s), odd_y, hash }
    }

    fn hint(&self) -> ([u8; 64], [u8; 32]) {
        let [key, nonce] = [self.key, self.nonce].map(|of| key_of(&(ProjectivePoint::GENERATOR * of)));
        (key, halves(nonce)[1])
    }

    /// Makes the error of this signature such.
    fn solve(&mut self, free: Free, error: Scalar) {
        // nonce − hash / s − r / s · key = error
        let rest = self.nonce - error;
        match free {
            Free::Hash => self.hash = rest * self.s - self.r() * self.key,
            Free::Key => self.key = (rest * self.s - self.hash) * self.r().invert().unwrap(),
            Free::S => self.s = (self.hash + self.r() * self.key) * rest.invert().unwrap(),
        }
    }
}

/// Whether a forged signature is accepted that an own one makes up for, of which something is chosen once the weights are known.
fn forged(free: Free, rules: Rules) -> bool {
    let mut random = Random(70 << 32);
    let victim = ProjectivePoint::GENERATOR * random.scalar();
    // Half of all s come out high; then with another nonce.
    (0..12).any(|_| {
        let forgery = forgery(&victim, &mut random);
        let [nonce, key, s, hash] = core::array::from_fn(|_| random.scalar());
        let mut own = Own { nonce, key, s: if bool::from(s.is_high()) { -s } else { s }, hash };
        let bundle = |own: &Own| {
            let hints = Hints::collect([forgery.hint, own.hint()]);
            ([forgery.signature, own.signature()], hints)
        };
        let (signatures, hints) = bundle(&own);
        let weights = weights(&signatures, &hints, rules);
        let [a, b] = [scalar_of(weights[0]), scalar_of(weights[1])];
        own.solve(free, -(a * forgery.error) * b.invert().unwrap());
        let (signatures, hints) = bundle(&own);
        said(&signatures, &hints, rules).is_ok()
    })
}

/// Whether two errors that are opposite are accepted.
fn cancelled(rules: Rules) -> bool {
    let mut random = Random(71 << 32);
    let victim = ProjectivePoint::GENERATOR * random.scalar();
    let forgery = forgery(&victim, &mut random);
    let [nonce, key] = core::array::from_fn(|_| random.scalar());
    let mut own = Own { nonce, key, s: Scalar::from(5_u64), hash: Scalar::ONE };
    own.solve(Free::Hash, -forgery.error);
    let hints = Hints::collect([forgery.hint, own.hint()]);
    said(&[forgery.signature, own.signature()], &hints, rules).is_ok()
}

/// Whether weights of the transcript have 128 bits: of 400, half have the highest, and all bits of it are random.
fn long(rules: Rules) -> bool {
    let mut stream = Stream::new(Weights::Transcript, [1, 2, 3, 4], rules);
    let weights = (0..400).map(|_| stream.next()).collect::<Vec<_>>();
    (0..127).all(|bit| {
        let set = weights.iter().filter(|weight| weight.size >> bit & 1 == 1).count();
        (120..280).contains(&set)
    })
}

const BUGS: [Bug; 13] = [
    Bug::KeysUnbound,
    Bug::SUnbound,
    Bug::HashesUnbound,
    Bug::EqualWeights,
    Bug::ShortWeights,
    Bug::PointOffCurve,
    Bug::KeyOffCurve,
    Bug::CoordinatesBeyondP,
    Bug::ParityIgnored,
    Bug::HighS,
    Bug::RPlusN,
    Bug::TermLeftOut,
    Bug::DoublingForgotten,
];

fn broken(rules: Rules) -> Vec<&'static str> {
    PROMISES.iter().filter(|(_, holds)| !holds(rules)).map(|(name, _)| *name).collect()
}

#[test]
fn without_a_bug_all_promises_hold() {
    assert_eq!(broken(Rules::default()), Vec::<&str>::new());
}

#[test]
fn each_planted_bug_breaks_a_promise() {
    for bug in BUGS {
        let broken = broken(Rules { bug: Some(bug) });
        std::println!("{bug:?}: {broken:?}");
        assert!(!broken.is_empty(), "{bug:?} is not found");
    }
}

#[test]
fn local_weights_are_short_and_transcripts_depend_on_everything() {
    let mut stream = Stream::new(Weights::Local(&[3; 32]), [0; 4], Rules::default());
    let weights = (0..40).map(|_| stream.next().size).collect::<Vec<_>>();
    assert!(
        weights.iter().all(|weight| *weight <= 1 << 63) && weights.iter().any(|weight| *weight >> 60 != 0)
    );
    let (signatures, hints) = honest_bundle(2, 2, 61);
    let first =
        |signatures: &[Signature], hints: &Hints| self::weights(signatures, hints, Rules::default())[0];
    let right = first(&signatures, &hints);
    let mut others = vec![];
    for at in 0..2 {
        let mut changed = [0; 5].map(|_: u8| (signatures.clone(), hints.clone()));
        changed[0].0[at].r[0] ^= 1;
        changed[1].0[at].s[3] ^= 1;
        changed[2].0[at].hash[0] ^= 1;
        changed[3].0[at].odd_y ^= true;
        changed[4].1.signatures[at].r_y[0] ^= 1;
        others.extend(changed.iter().map(|(signatures, hints)| first(signatures, hints)));
        let mut changed = hints.clone();
        changed.signatures[at].key ^= 1;
        others.push(first(&signatures, &changed));
        for byte in [0, 63] {
            let mut changed = hints.clone();
            changed.keys[at][byte] ^= 1;
            others.push(first(&signatures, &changed));
        }
    }
    let mut fewer = hints;
    fewer.keys.pop();
    others.push(first(&signatures, &fewer));
    assert!(others.iter().all(|other| *other != right));
}
