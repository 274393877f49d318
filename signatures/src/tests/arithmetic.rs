//! Field, scalars and points against k256, above all at the edges.

use super::{Random, std, std::vec::Vec};
use crate::{
    field::{self, Element, Limbs, P},
    point::{Affine, GENERATOR, Jacobian, right_side},
    scalar::{Half, N, Scalar},
    sum::Terms,
};
use k256::{
    FieldElement, ProjectivePoint,
    elliptic_curve::{Field, sec1::ToEncodedPoint},
};

/// Values at edges of limbs, of p and of n, and random ones.
fn values() -> Vec<Limbs> {
    let edge =
        [0, 1, 2, 0x1_0000_03d0, 0x1_0000_03d1, 0x1_0000_03d2, u64::MAX - 1, u64::MAX, P[0], N[0], N[1]];
    let mut random = Random(1);
    let mut values = std::vec![P, N, [P[0] - 1, P[1], P[2], P[3]], [N[0] - 1, N[1], N[2], N[3]]];
    values.extend([[0; 4], [u64::MAX; 4]]);
    for _ in 0..60 {
        values.push(core::array::from_fn(|_| edge[random.below(edge.len())]));
        values.push(field::limbs(&random.bytes()));
    }
    values
}

fn field_of(limbs: &Limbs) -> FieldElement {
    FieldElement::from_bytes(&field::bytes(&Element(*limbs).canonical()).into()).unwrap()
}

#[track_caller]
fn same(element: Element, expected: FieldElement) {
    assert_eq!(field::bytes(&element.canonical()), <[u8; 32]>::from(expected.normalize().to_bytes()));
}

#[test]
fn the_field_is_that_of_another_implementation() {
    let values = values();
    for a in &values {
        let (x, fx) = (Element(*a), field_of(a));
        same(x.square(), fx.square());
        same(x.negate(), fx.negate(1));
        same(x.double(), fx.double());
        assert_eq!(x.is_zero(), bool::from(fx.normalize().is_zero()));
        if !x.is_zero() {
            same(x.invert(), fx.invert().unwrap());
        }
        assert_eq!(x.root().is_some(), bool::from(fx.sqrt().is_some()));
        for b in &values {
            let (y, fy) = (Element(*b), field_of(b));
            same(x.mul(&y), fx * fy);
            same(x.add(&y), fx + fy);
            same(x.sub(&y), fx + fy.negate(1));
            assert_eq!(x.equals(&y), fx.normalize() == fy.normalize());
        }
    }
}

#[test]
fn both_ways_to_multiply_and_add_are_the_same() {
    for a in values() {
        for b in values() {
            let [sum, a, b, carry] = [a[0], a[1], b[0], b[1]];
            assert_eq!(
                field::multiply_add_without_flags(sum, a, b, carry),
                field::multiply_add(sum, a, b, carry)
            );
        }
    }
    let max = u64::MAX;
    assert_eq!(field::multiply_add_without_flags(max, max, max, max), (max, max));
}

#[test]
fn coordinates_below_p_are_parsed_and_no_others() {
    assert!(Element::parse(P).is_none() && Element::parse([u64::MAX; 4]).is_none());
    for below in
        [[P[0] - 1, P[1], P[2], P[3]], [P[0], P[1], P[2] - 1, P[3]], [u64::MAX, u64::MAX, u64::MAX, 1]]
    {
        assert!(Element::parse(below).is_some());
    }
}

fn scalar_of(limbs: &Limbs) -> k256::Scalar {
    super::reduced(field::bytes(limbs))
}

fn half_of(half: Half) -> k256::Scalar {
    let size = k256::Scalar::from(half.size);
    if half.minus { -size } else { size }
}

#[test]
fn scalars_are_those_of_another_implementation() {
    let lambda = field::limbs(&[
        0x53, 0x63, 0xad, 0x4c, 0xc0, 0x5c, 0x30, 0xe0, 0xa5, 0x26, 0x1c, 0x02, 0x88, 0x12, 0x64, 0x5a, 0x12,
        0x2e, 0x22, 0xea, 0x20, 0x81, 0x66, 0x78, 0xdf, 0x02, 0x96, 0x7c, 0x1b, 0x23, 0xbd, 0x72,
    ]);
    let mut values = values();
    // Near multiples of λ, halves are at their shortest and longest.
    for factor in 1..40_u64 {
        let near = scalar_of(&lambda) * k256::Scalar::from(factor);
        values.push(super::limbs_of(&near));
        values.push(super::limbs_of(&(near * k256::Scalar::from(2_u64).invert().unwrap())));
    }
    let mut longest = 0;
    for a in &values {
        let (x, sx) = (Scalar::from_limbs(*a), scalar_of(a));
        assert_eq!(x.0, super::limbs_of(&sx));
        assert_eq!(x.negate().0, super::limbs_of(&-sx));
        assert_eq!(Scalar::parse(*a).is_some(), *a == x.0 && x != Scalar::ZERO);
        if x != Scalar::ZERO {
            assert_eq!(x.invert().0, super::limbs_of(&sx.invert().unwrap()));
        }
        for one in [x, x.negate()] {
            let [first, second] = one.split();
            assert_eq!(half_of(first) + half_of(second) * scalar_of(&lambda), scalar_of(&one.0));
            longest = longest.max(first.size).max(second.size);
        }
        for b in &values {
            let (y, sy) = (Scalar::from_limbs(*b), scalar_of(b));
            assert_eq!(x.mul(&y).0, super::limbs_of(&(sx * sy)));
            assert_eq!(x.add(&y).0, super::limbs_of(&(sx + sy)));
            let half = Half { minus: b[2] & 1 == 1, size: u128::from(b[1]) << 64 | u128::from(b[0]) };
            assert_eq!(x.mul_half(&half).0, super::limbs_of(&(sx * half_of(half))));
        }
    }
    assert!(longest < u128::MAX / 100 * 64, "halves are below 0.64 · 2¹²⁸");
}

/// The point by another implementation, as affine coordinates; none for infinity.
fn coordinates(point: &ProjectivePoint) -> Option<[u8; 64]> {
    let encoded = point.to_affine().to_encoded_point(false);
    encoded.x()?;
    encoded.as_bytes()[1..].try_into().ok()
}

fn ours(point: &Jacobian) -> Option<[u8; 64]> {
    if point.is_infinity() {
        return None;
    }
    let inverse = point.z.invert();
    let square = inverse.square();
    let [x, y] = [point.x.mul(&square), point.y.mul(&square).mul(&inverse)];
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&field::bytes(&x.canonical()));
    bytes[32..].copy_from_slice(&field::bytes(&y.canonical()));
    Some(bytes)
}

fn affine(multiple: &k256::Scalar) -> Affine {
    let [x, y] = super::halves(coordinates(&(ProjectivePoint::GENERATOR * multiple)).unwrap());
    Affine { x: Element(field::limbs(&x)), y: Element(field::limbs(&y)) }
}

#[test]
fn points_are_added_whatever_they_are() {
    let numbers = [1_u64, 2, 3, 5].map(k256::Scalar::from);
    let numbers = numbers.into_iter().flat_map(|number| [number, -number]).collect::<Vec<_>>();
    let generator = ProjectivePoint::GENERATOR;
    for a in &numbers {
        let p = affine(a);
        let single = Jacobian { x: p.x, y: p.y, z: Element::ONE };
        // The same point with another z.
        let z = Element([7, 8, 9, 10]);
        let p = Jacobian { x: p.x.mul(&z.square()), y: p.y.mul(&z.square()).mul(&z), z };
        assert_eq!(ours(&p.double()), coordinates(&(generator * a).double()));
        assert_eq!(ours(&Jacobian::INFINITY.add(&p)), ours(&p));
        assert_eq!(ours(&p.add(&Jacobian::INFINITY)), ours(&p));
        assert_eq!(ours(&p.add_affine(&Affine::INFINITY)), ours(&p));
        for b in &numbers {
            let expected = coordinates(&(generator * (a + b)));
            let q = affine(b);
            assert_eq!(ours(&p.add_affine(&q)), expected);
            assert_eq!(ours(&p.add(&Jacobian { x: q.x, y: q.y, z: Element::ONE })), expected);
            assert_eq!(ours(&single.add_affine(&q)), expected);
        }
    }
    assert!(Jacobian::INFINITY.double().is_infinity());
    assert!(GENERATOR.is_on_curve() && !Affine::INFINITY.is_on_curve());
    assert!(right_side(&Element::ZERO).root().is_none(), "no point has x = 0, which stands for infinity");
}

#[test]
fn the_table_has_odd_multiples_of_the_generator() {
    let added: [Affine; 16] = crate::recover::multiples(&GENERATOR);
    for (known, added) in crate::table::multiples().iter().zip(&added) {
        assert!(known.x.equals(&added.x) && known.y.equals(&added.y));
        assert!(Element::parse(known.x.0).is_some() && Element::parse(known.y.0).is_some());
    }
}

/// A sum of multiples of multiples of the generator.
#[track_caller]
fn check_sum(terms: &[(k256::Scalar, Half)]) {
    let mut sum = Terms::with_capacity(terms.len());
    terms.iter().for_each(|(point, number)| sum.push(&affine(point), *number));
    let expected = terms.iter().map(|(point, number)| point * &half_of(*number)).sum::<k256::Scalar>();
    let expected = coordinates(&(ProjectivePoint::GENERATOR * expected));
    assert_eq!(ours(&sum.sum(crate::bugs::Rules::default())), expected, "{} terms", terms.len());
}

#[test]
fn sums_are_right_also_of_equal_opposite_and_cancelling_points() {
    let mut random = Random(2);
    let half = |random: &mut Random| {
        let limbs = field::limbs(&random.bytes());
        let size = u128::from(limbs[0]) << 64 | u128::from(limbs[1]);
        Half { minus: limbs[2] & 1 == 1, size: size / 100 * 64 }
    };
    check_sum(&[]);
    for count in [1, 2, 3, 10, 33, 150, 700, 1_500] {
        // Points that repeat, and ones that do not.
        for points in [1, 3, count] {
            let points = (0..points).map(|_| random.scalar()).collect::<Vec<_>>();
            let mut terms =
                (0..count).map(|at| (points[at % points.len()], half(&mut random))).collect::<Vec<_>>();
            check_sum(&terms);
            terms.iter_mut().for_each(|(_, number)| number.size %= 5);
            check_sum(&terms);
            terms.iter_mut().for_each(|(_, number)| number.size = u128::MAX / 100 * 64);
            check_sum(&terms);
            let opposite = terms.iter().map(|(point, number)| (-*point, *number)).collect::<Vec<_>>();
            terms.extend(opposite);
            check_sum(&terms);
        }
    }
    let one = k256::Scalar::ONE;
    for shift in 0..128 {
        let size = (1_u128 << shift) % (u128::MAX / 100 * 64);
        check_sum(&[
            (one, Half { minus: false, size }),
            (one.double(), Half { minus: true, size: size / 2 }),
        ]);
    }
}
