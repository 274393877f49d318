//! The check of signatures together.

use crate::{
    Hints, Refused, Signature, Weights,
    bugs::{Bug, Rules},
    field::{Element, Limbs, limbs},
    point::{Affine, GENERATOR, right_side},
    scalar::Scalar,
    sum::Terms,
    weights::{Stream, Transcript},
};
use alloc::{vec, vec::Vec};

/// A signature that is well-formed, with its hint.
struct Signed {
    point: Affine,
    r: Scalar,
    s: Scalar,
    hash: Limbs,
    key: usize,
}

/// More signatures are refused, so that places of points fit into 32 bits many times over.
pub(crate) const SIGNATURES_MAX: usize = 1 << 20;

pub(crate) fn check(
    signatures: &[Signature],
    hints: &Hints,
    weights: Weights<'_>,
    rules: Rules,
) -> Result<(), Refused> {
    let counts = [signatures.len(), hints.signatures.len()];
    if counts[0] != counts[1] || counts[0] > SIGNATURES_MAX || hints.keys.len() > counts[0] {
        return Err(Refused::Count);
    }
    if signatures.is_empty() {
        return Ok(());
    }
    let mut transcript = Transcript::new(signatures.len(), hints.keys.len());
    let keys = keys(hints, &mut transcript, rules)?;
    let signed = signed(signatures, hints, &mut transcript, rules)?;
    let stream = Stream::new(weights, transcript.seed(), rules);
    let terms = terms(&signed, &keys, stream, rules);
    if terms.sum(rules).is_infinity() { Ok(()) } else { Err(Refused::Sum) }
}

/// The keys, each of which is a point of the curve and belongs to a signature.
fn keys(hints: &Hints, transcript: &mut Transcript, rules: Rules) -> Result<Vec<Affine>, Refused> {
    let mut used = vec![false; hints.keys.len()];
    for (index, hint) in hints.signatures.iter().enumerate() {
        *used.get_mut(hint.key as usize).ok_or(Refused::NoSuchKey { signature: index })? = true;
    }
    if let Some(key) = used.iter().position(|used| !used) {
        return Err(Refused::KeyUnused { key });
    }
    let mut keys = Vec::with_capacity(hints.keys.len());
    for (key, encoded) in hints.keys.iter().enumerate() {
        let (halves, _) = encoded.as_chunks::<32>();
        let [x, y] = [limbs(&halves[0]), limbs(&halves[1])];
        transcript.key(&x, &y, rules);
        let point = Option::zip(coordinate(x, rules), coordinate(y, rules)).map(|(x, y)| Affine { x, y });
        let point = point.filter(|point| point.is_on_curve() || rules.has(Bug::KeyOffCurve));
        keys.push(point.ok_or(Refused::KeyNoPoint { key })?);
    }
    Ok(keys)
}

#[inline(always)]
fn coordinate(limbs: Limbs, rules: Rules) -> Option<Element> {
    if rules.has(Bug::CoordinatesBeyondP) { Some(Element(limbs)) } else { Element::parse(limbs) }
}

/// The signatures, each of which has numbers in range and the point that its hint says.
fn signed(
    signatures: &[Signature],
    hints: &Hints,
    transcript: &mut Transcript,
    rules: Rules,
) -> Result<Vec<Signed>, Refused> {
    let mut all = Vec::with_capacity(signatures.len());
    for (index, (signature, hint)) in signatures.iter().zip(&hints.signatures).enumerate() {
        let (hash, y) = (limbs(&signature.hash), limbs(&hint.r_y));
        transcript.signature([&signature.r, &signature.s, &hash, &y], hint.key, signature.odd_y, rules);
        let out_of_range = Refused::OutOfRange { signature: index };
        let r = Scalar::parse(signature.r).ok_or(out_of_range)?;
        let s = Scalar::parse(signature.s).ok_or(out_of_range)?;
        if s.is_high() && !rules.has(Bug::HighS) {
            return Err(out_of_range);
        }
        let point = point(&r, y, signature.odd_y, rules).ok_or(Refused::NoPoint { signature: index })?;
        all.push(Signed { point, r, s, hash, key: hint.key as usize });
    }
    Ok(all)
}

/// R, with y from the hint.
#[inline(always)]
fn point(r: &Scalar, y: Limbs, odd: bool, rules: Rules) -> Option<Affine> {
    // n < p, so r is a coordinate. Points with x = r + n have recovery identifiers that transactions cannot have.
    let (x, y) = (Element(r.0), coordinate(y, rules)?);
    if (y.0[0] & 1 == 1) != odd && !rules.has(Bug::ParityIgnored) {
        return None;
    }
    if y.square().equals(&right_side(&x)) || rules.has(Bug::PointOffCurve) {
        return Some(Affine { x, y });
    }
    let higher = Affine { x: x.add(&Element(crate::scalar::N)), y };
    (rules.has(Bug::RPlusN) && higher.is_on_curve()).then_some(higher)
}

/// How many terms the sum has.
pub(crate) const fn terms_for(signatures: usize, keys: usize) -> usize {
    signatures + 2 * keys + 2
}

/// The terms of Σ aᵢ·Rᵢ − (Σ aᵢ·hashᵢ/sᵢ)·G − Σ (aᵢ·rᵢ/sᵢ)·Qᵢ, those of equal keys in one.
fn terms(signed: &[Signed], keys: &[Affine], mut stream: Stream, rules: Rules) -> Terms {
    let mut terms = Terms::with_capacity(terms_for(signed.len(), keys.len()));
    let mut generator = Scalar::ZERO;
    let mut factors = vec![Scalar::ZERO; keys.len()];
    for (signature, inverse) in signed.iter().zip(inverses(signed)) {
        let weight = stream.next();
        let weighted = inverse.mul_half(&weight);
        generator = generator.add(&weighted.mul(&Scalar::from_limbs(signature.hash)));
        let factor = &mut factors[signature.key];
        *factor = factor.add(&weighted.mul(&signature.r));
        terms.push(&signature.point, weight);
    }
    for (index, (key, factor)) in keys.iter().zip(&factors).enumerate() {
        let [first, second] = factor.negate().split();
        terms.push(key, first);
        if !(rules.has(Bug::TermLeftOut) && index + 1 == keys.len()) {
            terms.push(&key.endomorphism(), second);
        }
    }
    let [first, second] = generator.negate().split();
    terms.push(&GENERATOR, first);
    terms.push(&GENERATOR.endomorphism(), second);
    terms
}

/// 1 / s of each: one inversion, and three multiplications for each.
fn inverses(signed: &[Signed]) -> Vec<Scalar> {
    let mut product = Scalar::ONE;
    let mut inverses = Vec::with_capacity(signed.len());
    for signature in signed {
        inverses.push(product);
        product = product.mul(&signature.s);
    }
    let mut inverse = product.invert();
    for (place, signature) in inverses.iter_mut().zip(signed).rev() {
        *place = place.mul(&inverse);
        inverse = inverse.mul(&signature.s);
    }
    inverses
}
