//! Points of the curve, as many at a time as there are lanes, and what a signature's point becomes.
//!
//! Points are Jacobian: `(x, y, z)` stands for `(x / z², y / z³)`. The formulas have exceptions, such as adding a point to
//! itself; whoever picks the numbers can reach them. In each of them z becomes zero, and then stays zero through all
//! that follows. So nothing is asked on the way: a lane that ends with zero has no answer here, and is looked at by
//! others.

use crate::{
    field::{Lanes, Words},
    scalar::{Digit, Factors, HALF_DIGITS, HALF_WIDTH, WHOLE_DIGITS},
    table::{Entry, GENERATOR},
};
use pulp::NullaryFnOnce;

/// A cube root of one: see [`scalar`](crate::scalar).
const BETA: [u64; 4] =
    [0xc139_6c28_7195_01ee, 0x9cf0_4975_12f5_8995, 0x6e64_479e_ac34_34e9, 0x7ae9_6a2b_657c_0710];

/// Odd multiples of a signature's point, one for each digit: 1, 3, …, 15.
const MULTIPLES: usize = 1 << (HALF_WIDTH - 1);

#[derive(Clone, Copy)]
struct Affine<F> {
    x: F,
    y: F,
}

#[derive(Clone, Copy)]
struct Jacobian<F> {
    x: F,
    y: F,
    z: F,
}

/// What a lane each of signatures is recovered from.
pub(crate) struct Task<'a, const N: usize> {
    /// x of each signature's point.
    pub(crate) x: Words<N>,
    /// The lanes in which y is odd.
    pub(crate) odd: u8,
    pub(crate) factors: [&'a Factors; N],
}

/// The points of the signers, before they are divided by their z.
#[derive(Clone, Copy)]
pub(crate) struct Found<F, const N: usize> {
    point: Jacobian<F>,
    /// y of each signature's point.
    pub(crate) r_y: Words<N>,
    /// The lanes that have an answer.
    pub(crate) valid: u8,
}

/// Points in lanes.
trait Points<const N: usize>: Lanes<N> {
    #[inline(always)]
    fn double(self, p: &Jacobian<Self::Field>) -> Jacobian<Self::Field> {
        let slope = self.thrice(&self.square(&p.x));
        let y2 = self.square(&p.y);
        let xy2 = self.mul(&p.x, &y2);
        let x = self.combine::<1, 8>(&self.square(&slope), &xy2);
        let rest = self.combine::<4, 1>(&xy2, &x);
        let y = self.combine::<1, 8>(&self.mul(&slope, &rest), &self.square(&y2));
        let z = self.twice(&self.mul(&p.y, &p.z));
        Jacobian { x, y, z }
    }

    /// The sum, and what z was multiplied by.
    #[inline(always)]
    fn add_affine(
        self,
        p: &Jacobian<Self::Field>,
        q: &Affine<Self::Field>,
    ) -> (Jacobian<Self::Field>, Self::Field) {
        let z2 = self.square(&p.z);
        let run = self.sub(&self.mul(&q.x, &z2), &p.x);
        let rise = self.sub(&self.mul(&q.y, &self.mul(&p.z, &z2)), &p.y);
        (self.chord(&p.x, &p.y, &run, &rise, &p.z), run)
    }

    #[inline(always)]
    fn add_jacobian(self, p: &Jacobian<Self::Field>, q: &Jacobian<Self::Field>) -> Jacobian<Self::Field> {
        let (p_z2, q_z2) = (self.square(&p.z), self.square(&q.z));
        let (p_x, q_x) = (self.mul(&p.x, &q_z2), self.mul(&q.x, &p_z2));
        let p_y = self.mul(&p.y, &self.mul(&q.z, &q_z2));
        let q_y = self.mul(&q.y, &self.mul(&p.z, &p_z2));
        let (run, rise) = (self.sub(&q_x, &p_x), self.sub(&q_y, &p_y));
        self.chord(&p_x, &p_y, &run, &rise, &self.mul(&p.z, &q.z))
    }

    /// The third point on a line, mirrored.
    #[inline(always)]
    fn chord(
        self,
        x: &Self::Field,
        y: &Self::Field,
        run: &Self::Field,
        rise: &Self::Field,
        z: &Self::Field,
    ) -> Jacobian<Self::Field> {
        let run2 = self.square(run);
        let run3 = self.mul(run, &run2);
        let middle = self.mul(x, &run2);
        let sum_x = self.sub_sub_twice(&self.square(rise), &run3, &middle);
        let rest = self.mul(rise, &self.sub(&middle, &sum_x));
        let sum_y = self.sub(&rest, &self.mul(y, &run3));
        Jacobian { x: sum_x, y: sum_y, z: self.mul(z, run) }
    }

    /// The points with these x, and the lanes that have one.
    #[inline(always)]
    fn lift(self, x: &Self::Field, odd: u8) -> (Affine<Self::Field>, u8) {
        let y2 = self.add_small(&self.mul(x, &self.square(x)), 7);
        let y = self.canonical(&self.root(&y2));
        let valid = self.same(&self.square(&y), &y2);
        let wrong = self.odds(&y) ^ odd;
        (Affine { x: *x, y: self.negate_in(wrong, &y) }, valid)
    }

    /// Odd multiples of a point, all with the same z, which is left out of them and given.
    ///
    /// Twice the point has a z, and on the curve that is stretched by it is affine; there it is added again and again. Each
    /// sum's z is the one before times a factor, so going back through the factors gives all of them the last one's.
    #[inline(always)]
    fn odd_multiples(self, p: &Affine<Self::Field>) -> ([Affine<Self::Field>; MULTIPLES], Self::Field) {
        let one = self.same_in_all([1, 0, 0, 0]);
        let twice = self.double(&Jacobian { x: p.x, y: p.y, z: one });
        let stretched = self.stretch(p, &twice.z);
        let step = Affine { x: twice.x, y: twice.y };
        let mut multiples = [stretched; MULTIPLES];
        let mut factors = [one; MULTIPLES];
        let mut sum = Jacobian { x: stretched.x, y: stretched.y, z: one };
        for at in 1..MULTIPLES {
            (sum, factors[at]) = self.add_affine(&sum, &step);
            multiples[at] = Affine { x: sum.x, y: sum.y };
        }
        let mut factor = factors[MULTIPLES - 1];
        for at in (0..MULTIPLES - 1).rev() {
            multiples[at] = self.stretch(&multiples[at], &factor);
            factor = self.mul(&factor, &factors[at]);
        }
        (multiples, self.mul(&sum.z, &twice.z))
    }

    #[inline(always)]
    fn stretch(self, p: &Affine<Self::Field>, by: &Self::Field) -> Affine<Self::Field> {
        let by2 = self.square(by);
        Affine { x: self.mul(&p.x, &by2), y: self.mul(&p.y, &self.mul(by, &by2)) }
    }

    /// Each lane's own multiple.
    #[inline(always)]
    fn pick(self, all: &[Affine<Self::Field>; MULTIPLES], chosen: &Chosen) -> Affine<Self::Field> {
        let [low, middle, high] = chosen.bits;
        let mut pairs = [all[0]; MULTIPLES / 2];
        for at in 0..MULTIPLES / 2 {
            pairs[at] = self.either(low, &all[2 * at], &all[2 * at + 1]);
        }
        let fours = [self.either(middle, &pairs[0], &pairs[1]), self.either(middle, &pairs[2], &pairs[3])];
        let picked = self.either(high, &fours[0], &fours[1]);
        Affine { x: picked.x, y: self.negate_in(chosen.minus, &picked.y) }
    }

    #[inline(always)]
    fn either(self, lanes: u8, a: &Affine<Self::Field>, b: &Affine<Self::Field>) -> Affine<Self::Field> {
        Affine { x: self.select(lanes, &a.x, &b.x), y: self.select(lanes, &a.y, &b.y) }
    }

    /// The generator's multiples for a digit.
    #[inline(always)]
    fn generated(self, at: usize, factors: &[&Factors; N]) -> Affine<Self::Field> {
        let row = &GENERATOR[at];
        let mut words = [[0; N]; 8];
        let mut minus = 0;
        for (lane, factors) in factors.iter().enumerate() {
            let digit = factors.base[at];
            let Entry(entry) = &row[usize::from(digit.index) % row.len()];
            for word in 0..8 {
                words[word][lane] = entry[word];
            }
            minus |= u8::from(digit.minus) << lane;
        }
        let [x0, x1, x2, x3, y0, y1, y2, y3] = words;
        let y = self.of_words([y0, y1, y2, y3]);
        Affine { x: self.of_words([x0, x1, x2, x3]), y: self.negate_in(minus, &y) }
    }

    /// The points of the signers.
    #[inline(always)]
    fn recovered(self, task: &Task<'_, N>) -> Found<Self::Field, N> {
        let (point, valid) = self.lift(&self.of_words(task.x), task.odd);
        let r_y = self.to_words(&self.canonical(&point.y));
        let (multiples, z) = self.odd_multiples(&point);
        let beta = self.same_in_all(BETA);
        let mut turned = multiples;
        for multiple in &mut turned {
            multiple.x = self.mul(&multiple.x, &beta);
        }
        let one = self.same_in_all([1, 0, 0, 0]);
        let last = HALF_DIGITS - 1;
        let start = self.pick(&multiples, &Chosen::new(&task.factors, |factors| factors.first[last]));
        let mut sum = Jacobian { x: start.x, y: start.y, z: one };
        let next = self.pick(&turned, &Chosen::new(&task.factors, |factors| factors.second[last]));
        (sum, _) = self.add_affine(&sum, &next);
        for at in (0..last).rev() {
            for _ in 0..HALF_WIDTH {
                sum = self.double(&sum);
            }
            let next = self.pick(&multiples, &Chosen::new(&task.factors, |factors| factors.first[at]));
            (sum, _) = self.add_affine(&sum, &next);
            let next = self.pick(&turned, &Chosen::new(&task.factors, |factors| factors.second[at]));
            (sum, _) = self.add_affine(&sum, &next);
        }
        sum.z = self.mul(&sum.z, &z);
        let start = self.generated(0, &task.factors);
        let mut base = Jacobian { x: start.x, y: start.y, z: one };
        for at in 1..WHOLE_DIGITS {
            (base, _) = self.add_affine(&base, &self.generated(at, &task.factors));
        }
        let mut point = self.add_jacobian(&sum, &base);
        let nothing = self.zeros(&self.canonical(&point.z));
        point.z = self.select(nothing, &point.z, &one);
        Found { point, r_y, valid: valid & !nothing }
    }

    /// The words of x and y of all points, the lowest first, at the price of one inverse.
    #[inline(always)]
    fn divided(self, found: &[Found<Self::Field, N>]) -> Vec<[Words<N>; 2]> {
        let mut product = self.same_in_all([1, 0, 0, 0]);
        let mut before = Vec::with_capacity(found.len());
        for Found { point, .. } in found {
            before.push(product);
            product = self.mul(&product, &point.z);
        }
        let mut inverse = self.inverse(&product);
        let mut words = vec![[[[0; N]; 4]; 2]; found.len()];
        for at in (0..found.len()).rev() {
            let point = &found[at].point;
            let z = self.mul(&before[at], &inverse);
            inverse = self.mul(&inverse, &point.z);
            let Affine { x, y } = self.stretch(&Affine { x: point.x, y: point.y }, &z);
            words[at] = [self.to_words(&self.canonical(&x)), self.to_words(&self.canonical(&y))];
        }
        words
    }
}

impl<L: Lanes<N>, const N: usize> Points<N> for L {}

/// To find the points of signers.
pub(crate) struct Recover<'a, L, const N: usize>(pub(crate) L, pub(crate) &'a Task<'a, N>);

impl<L: Lanes<N>, const N: usize> NullaryFnOnce for Recover<'_, L, N> {
    type Output = Found<L::Field, N>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.0.recovered(self.1)
    }
}

/// To divide points by their z.
pub(crate) struct Divide<'a, L: Lanes<N>, const N: usize>(pub(crate) L, pub(crate) &'a [Found<L::Field, N>]);

impl<L: Lanes<N>, const N: usize> NullaryFnOnce for Divide<'_, L, N> {
    type Output = Vec<[Words<N>; 2]>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.0.divided(self.1)
    }
}

/// What each lane takes from a table: the bits of its index, each for all lanes, and the lanes that take it away.
struct Chosen {
    bits: [u8; 3],
    minus: u8,
}

impl Chosen {
    #[inline(always)]
    fn new<const N: usize>(factors: &[&Factors; N], digit: impl Fn(&Factors) -> Digit) -> Self {
        let mut chosen = Self { bits: [0; 3], minus: 0 };
        for (lane, factors) in factors.iter().enumerate() {
            let digit = digit(factors);
            for at in 0..3 {
                chosen.bits[at] |= (digit.index >> at & 1) << lane;
            }
            chosen.minus |= u8::from(digit.minus) << lane;
        }
        chosen
    }
}
