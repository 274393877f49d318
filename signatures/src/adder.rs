//! Additions of points, thousands at a time.
//!
//! To add two points takes a division. Divisions are expensive, but many cost as much as one and three multiplications each:
//! multiply all divisors, invert the product, and go back through the products (Montgomery's trick). So an addition
//! costs six multiplications, where coordinates without divisions would need eleven.
//!
//! Points that are equal, opposite or infinite are handled where they are met: a signer can arrange for them.

use crate::{
    bugs::{Bug, Rules},
    field::Element,
    point::Affine,
};
use alloc::vec::Vec;

/// Additions for which there is one inversion, which costs as much as about 45 of them.
const TOGETHER: usize = 4096;

/// Where a point stands.
pub(crate) type Place = u32;

/// In place of a list's sum if the list is empty.
pub(crate) const NONE: Place = Place::MAX;

/// An addition whose inverse is not there yet.
struct Waiting {
    divisor: Element,
    /// The product of the divisors before this one.
    before: Element,
    first: Place,
    second: Place,
    to: Place,
    doubles: bool,
}

/// Lists of points, by their places: list `i` begins at `starts[i]` and ends where the next one begins.
pub(crate) struct Lists {
    pub(crate) items: Vec<Place>,
    pub(crate) starts: Vec<u32>,
}

/// Points and what is to be added.
pub(crate) struct Adder {
    points: Vec<Affine>,
    waiting: Vec<Waiting>,
    product: Element,
    rules: Rules,
}

impl Adder {
    pub(crate) fn new(points: Vec<Affine>, rules: Rules) -> Self {
        Self { rules, points, waiting: Vec::with_capacity(TOGETHER), product: Element::ONE }
    }

    pub(crate) fn point(&self, place: Place) -> &Affine {
        &self.points[place as usize]
    }

    /// The sums of lists, as new points; [`NONE`] for an empty list. A list of one point is that point.
    ///
    /// Neighbours are added, which leaves half as many points in each list, and so on. The first round makes new points;
    /// after that what is overwritten is a sum that stood in this list alone.
    pub(crate) fn sums(&mut self, mut lists: Lists) -> Vec<Place> {
        let ends = lists.starts.iter().skip(1).copied();
        let mut counts = lists.starts.iter().zip(ends).map(|(start, end)| end - start).collect::<Vec<_>>();
        let mut fresh = self.points.len() as Place;
        let pairs = counts.iter().map(|count| *count as usize / 2).sum::<usize>();
        self.points.resize(self.points.len() + pairs, Affine::INFINITY);
        self.round(&mut lists, &mut counts, |_| {
            fresh += 1;
            fresh - 1
        });
        while counts.iter().any(|count| *count > 1) {
            self.round(&mut lists, &mut counts, |first| first);
        }
        let first =
            |(start, count): (&u32, u32)| if count == 0 { NONE } else { lists.items[*start as usize] };
        lists.starts.iter().zip(counts).map(first).collect()
    }

    /// Adds neighbours in each list. A point without a neighbour stays as it is.
    fn round(&mut self, lists: &mut Lists, counts: &mut [u32], mut place: impl FnMut(Place) -> Place) {
        for (start, count) in lists.starts.iter().zip(counts) {
            if *count < 2 {
                continue;
            }
            let items = &mut lists.items[*start as usize..][..*count as usize];
            let pairs = items.len() / 2;
            for pair in 0..pairs {
                let (first, second) = (items[2 * pair], items[2 * pair + 1]);
                let to = place(first);
                self.add(first, second, to);
                items[pair] = to;
            }
            if items.len() % 2 == 1 {
                items[pairs] = items[items.len() - 1];
            }
            *count = count.div_ceil(2);
        }
        self.finish();
    }

    /// Adds two points when there are enough of them. Until [`finish`](Self::finish) nothing may read the place of a sum.
    #[inline(always)]
    fn add(&mut self, first: Place, second: Place, to: Place) {
        let (p, q) = (&self.points[first as usize], &self.points[second as usize]);
        let run = q.x.sub(&p.x);
        let ordinary = !(p.is_infinity() || q.is_infinity() || run.is_zero());
        if ordinary {
            self.wait(run, [first, second, to], false);
        } else {
            self.add_special(first, second, to);
        }
    }

    #[inline(always)]
    fn wait(&mut self, divisor: Element, [first, second, to]: [Place; 3], doubles: bool) {
        let before = self.product;
        self.product = before.mul(&divisor);
        self.waiting.push(Waiting { divisor, before, first, second, to, doubles });
        if self.waiting.len() == TOGETHER {
            self.finish();
        }
    }

    /// Adds where one is infinite, or both have the same x.
    #[cold]
    #[inline(never)]
    fn add_special(&mut self, first: Place, second: Place, to: Place) {
        let (p, q) = (*self.point(first), *self.point(second));
        let sum = match (p.is_infinity(), q.is_infinity()) {
            (true, _) => q,
            (_, true) => p,
            // Twice the same point: the slope is that of the tangent. No point has y = 0.
            _ if p.y.equals(&q.y) && !self.rules.has(Bug::DoublingForgotten) => {
                return self.wait(p.y.double(), [first, second, to], true);
            }
            _ => Affine::INFINITY,
        };
        self.points[to as usize] = sum;
    }

    /// Does what waits.
    #[inline(never)]
    fn finish(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let mut inverse = self.product.invert();
        for add in self.waiting.iter().rev() {
            let (p, q) = (&self.points[add.first as usize], &self.points[add.second as usize]);
            let divided = inverse.mul(&add.before);
            inverse = inverse.mul(&add.divisor);
            let rise = if add.doubles { tangent(p) } else { q.y.sub(&p.y) };
            let slope = rise.mul(&divided);
            let x = slope.square().sub(&p.x).sub(&q.x);
            let y = slope.mul(&p.x.sub(&x)).sub(&p.y);
            self.points[add.to as usize] = Affine { x, y };
        }
        self.waiting.clear();
        self.product = Element::ONE;
    }
}

/// 3x², the rise of the tangent for a run of 2y.
#[cold]
fn tangent(p: &Affine) -> Element {
    let square = p.x.square();
    square.double().add(&square)
}
