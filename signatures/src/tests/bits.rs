//! No single change of what is checked is accepted.

use super::*;

/// Everything that a bit can be changed in.
#[derive(Clone)]
struct Bundle {
    signatures: Vec<Signature>,
    hints: Hints,
}

impl Bundle {
    /// How many bits a signature and its hint have.
    const BITS: usize = 3 * 256 + 1 + 32 + 256;

    fn flip(&mut self, at: usize, bit: usize) {
        let (signature, hint) = (&mut self.signatures[at], &mut self.hints.signatures[at]);
        match bit {
            0..256 => signature.r[bit / 64] ^= 1 << (bit % 64),
            256..512 => signature.s[bit / 64 - 4] ^= 1 << (bit % 64),
            512..768 => signature.hash[bit / 8 - 64] ^= 1 << (bit % 8),
            768 => signature.odd_y ^= true,
            769..801 => hint.key ^= 1 << (bit - 769),
            _ => hint.r_y[(bit - 801) / 8] ^= 1 << ((bit - 801) % 8),
        }
    }

    fn flip_key(&mut self, key: usize, bit: usize) {
        self.hints.keys[key][bit / 8] ^= 1 << (bit % 8);
    }

    fn verdict(&self) -> Result<(), Refused> {
        check(&self.signatures, &self.hints, Weights::Transcript, Rules::default())
    }
}

fn bundle(count: usize, keys: usize) -> Bundle {
    let (signatures, hints) = honest_bundle(count, keys, 20 + keys as u64);
    let bundle = Bundle { signatures, hints };
    assert_eq!(bundle.verdict(), Ok(()));
    bundle
}

#[test]
fn no_bit_of_two_signatures_can_be_changed() {
    for keys in [1, 2] {
        let right = bundle(2, keys);
        for at in 0..2 {
            for bit in 0..Bundle::BITS {
                let mut wrong = right.clone();
                wrong.flip(at, bit);
                assert!(wrong.verdict().is_err(), "bit {bit} of signature {at}, {keys} keys");
            }
        }
        for key in 0..keys {
            for bit in 0..512 {
                let mut wrong = right.clone();
                wrong.flip_key(key, bit);
                assert!(wrong.verdict().is_err(), "bit {bit} of key {key}");
            }
        }
    }
}

#[test]
fn signatures_hints_and_hashes_cannot_change_places() {
    let right = bundle(2, 2);
    let mut wrong = right.clone();
    wrong.signatures.swap(0, 1);
    assert_eq!(wrong.verdict(), Err(Refused::NoPoint { signature: 0 }));
    let mut wrong = right.clone();
    wrong.hints.signatures.swap(0, 1);
    assert_eq!(wrong.verdict(), Err(Refused::NoPoint { signature: 0 }));
    let mut wrong = right.clone();
    wrong.hints.keys.swap(0, 1);
    assert_eq!(wrong.verdict(), Err(Refused::Sum));
    let mut wrong = right.clone();
    let hashes = [wrong.signatures[0].hash, wrong.signatures[1].hash];
    [wrong.signatures[1].hash, wrong.signatures[0].hash] = hashes;
    assert_eq!(wrong.verdict(), Err(Refused::Sum));
    let mut wrong = right.clone();
    let s = [wrong.signatures[0].s, wrong.signatures[1].s];
    [wrong.signatures[1].s, wrong.signatures[0].s] = s;
    assert_eq!(wrong.verdict(), Err(Refused::Sum));
    // All together are another bundle, as valid as before.
    let mut other = right;
    other.signatures.swap(0, 1);
    other.hints.signatures.swap(0, 1);
    assert_eq!(other.verdict(), Ok(()));
}

#[test]
fn no_bit_of_a_thousand_signatures_can_be_changed() {
    let right = bundle(1_000, 900);
    let mut random = Random(1 << 40);
    for _ in 0..60 {
        let mut wrong = right.clone();
        let (at, bit) = (random.below(1_000), random.below(Bundle::BITS));
        wrong.flip(at, bit);
        assert!(wrong.verdict().is_err(), "bit {bit} of signature {at}");
        let mut wrong = right.clone();
        let (key, bit) = (random.below(900), random.below(512));
        wrong.flip_key(key, bit);
        assert!(wrong.verdict().is_err(), "bit {bit} of key {key}");
    }
}

#[test]
fn numbers_must_fit_together() {
    let right = bundle(3, 2);
    let mut wrong = right.clone();
    wrong.signatures.pop();
    assert_eq!(wrong.verdict(), Err(Refused::Count));
    let mut wrong = right.clone();
    wrong.hints.signatures.pop();
    assert_eq!(wrong.verdict(), Err(Refused::Count));
    let mut wrong = right.clone();
    wrong.hints.keys.push(right.hints.keys[0]);
    assert_eq!(wrong.verdict(), Err(Refused::KeyUnused { key: 2 }));
    let mut wrong = right.clone();
    wrong.hints.keys.pop();
    assert_eq!(wrong.verdict(), Err(Refused::NoSuchKey { signature: 1 }));
    let mut wrong = right;
    wrong.hints.keys.extend([[0; 64]; 2]);
    assert_eq!(wrong.verdict(), Err(Refused::Count));
}
