//! Sums of points times numbers, by buckets.
//!
//! ```text
//!   numbers ─digits─▶ for each window: point p with digit ±d goes to bucket d, as ±p
//!           ─adder──▶ sum of each bucket  ─rows, columns─▶ Σ d · bucket d  ─doublings─▶ Σ 2^offset · window
//! ```
//!
//! (Pippenger's method.) A number of 128 bits is cut into windows. Digits are signed, which halves the buckets. All
//! windows are summed together, so that the [`Adder`] always has thousands of additions for one inversion.

use crate::{
    adder::{Adder, Lists, NONE, Place},
    bugs::Rules,
    point::{Affine, Jacobian},
    scalar::Half,
};
use alloc::{vec, vec::Vec};

/// Bits of the numbers.
const BITS: u32 = 128;

/// Points, and what each is multiplied by.
pub(crate) struct Terms {
    /// Each point and its negative.
    points: Vec<Affine>,
    /// Below 0.7 · 2¹²⁸.
    numbers: Vec<u128>,
}

impl Terms {
    pub(crate) fn with_capacity(terms: usize) -> Self {
        Self { points: Vec::with_capacity(2 * terms), numbers: Vec::with_capacity(terms) }
    }

    /// Another term: this point times this number, or the negative of it.
    #[inline(always)]
    pub(crate) fn push(&mut self, point: &Affine, number: Half) {
        let negative = point.negate();
        let [first, second] = if number.minus { [negative, *point] } else { [*point, negative] };
        self.points.push(first);
        self.points.push(second);
        self.numbers.push(number.size);
    }

    /// The sum of all terms.
    pub(crate) fn sum(self, rules: Rules) -> Jacobian {
        if self.numbers.is_empty() {
            return Jacobian::INFINITY;
        }
        let windows = windows(self.numbers.len(), &self.numbers);
        let lists = buckets(&windows, &self.numbers);
        let mut adder = Adder::new(self.points, rules);
        let buckets = adder.sums(lists);
        let lines = adder.sums(lines(&windows, &buckets));
        let mut lines = lines.as_slice();
        let mut sums = Vec::with_capacity(windows.len());
        for window in &windows {
            let (rows, rest) = lines.split_at(window.rows);
            let (columns, rest) = rest.split_at(window.columns);
            lines = rest;
            let high = (0..window.column_bits()).fold(weighted(&adder, rows), |sum, _| sum.double());
            sums.push(high.add(&weighted(&adder, columns)));
        }
        windows.iter().zip(sums).rev().fold(Jacobian::INFINITY, |sum, (window, own)| {
            (0..window.bits).fold(sum, |sum, _| sum.double()).add(&own)
        })
    }
}

/// Some bits of each number. Bucket `d` stands in row `d / columns` and column `d % columns`.
struct Window {
    /// Its lowest bit.
    offset: u32,
    bits: u32,
    /// What digits are lowered by, so that they have signs.
    half: u64,
    rows: usize,
    columns: usize,
}

impl Window {
    fn buckets(&self) -> usize {
        self.rows * self.columns
    }

    fn column_bits(&self) -> u32 {
        self.columns.ilog2()
    }
}

/// How many windows: those with the fewest additions. A window more means one for each term, but the first point of a bucket is
/// not added. Each bucket is added to its row and to its column; a row or column costs as much as four additions.
fn count(terms: usize) -> u32 {
    (7..=32).min_by_key(|windows| cost(terms, *windows)).unwrap_or(16)
}

/// The additions with the best number of windows.
pub(crate) fn additions(terms: usize) -> usize {
    cost(terms, count(terms))
}

fn cost(terms: usize, windows: u32) -> usize {
    let buckets = |bits: u32| 1_usize << (bits - 1);
    let (bits, wider) = (BITS / windows, (BITS % windows) as usize);
    let buckets = (windows as usize - wider) * buckets(bits) + wider * buckets(bits + 1);
    let lines = (windows as usize) << bits.div_ceil(2);
    let first = buckets.min(windows as usize * terms / 2);
    windows as usize * terms - first + 2 * buckets.min(windows as usize * terms) + 4 * lines
}

fn windows(terms: usize, numbers: &[u128]) -> Vec<Window> {
    let count = count(terms);
    let largest = numbers.iter().max().copied().unwrap_or_default();
    let mut offset = 0;
    let mut windows = Vec::with_capacity(count as usize);
    for at in 0..count {
        let bits = BITS / count + u32::from(at < BITS % count);
        let last = at + 1 == count;
        let half = if last { 0 } else { 1 << (bits - 1) };
        // The last window has no sign, and its digits end where the largest number ends, or one above.
        let digit_max = if last { (largest >> offset) as usize + 1 } else { half as usize };
        let columns = 1 << (usize::BITS - digit_max.leading_zeros()).div_ceil(2);
        let rows = digit_max / columns + 1;
        windows.push(Window { offset, bits, half, rows, columns });
        offset += bits;
    }
    windows
}

/// Which points go to which bucket of which window.
///
/// A number plus the halves of all windows has digits that are larger by their half, and none carries into the next.
fn buckets(windows: &[Window], numbers: &[u128]) -> Lists {
    let halves = windows.iter().map(|window| u128::from(window.half) << window.offset).sum::<u128>();
    let raised = numbers.iter().map(|number| number + halves).collect::<Vec<_>>();
    let total = windows.iter().map(Window::buckets).sum::<usize>();
    // First the length of each list, two places further on; then their starts, one place further on, which filling the lists
    // moves to where the next one starts.
    let mut starts = vec![0_u32; total + 2];
    let mut digits = Vec::with_capacity(windows.len() * numbers.len());
    let mut first = 0;
    for window in windows {
        let lengths = &mut starts[first + 2..][..window.buckets()];
        count_digits(window, &raised, &mut digits, lengths);
        first += window.buckets();
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut items = vec![0; sum as usize];
    let mut first = 0;
    for (window, digits) in windows.iter().zip(digits.chunks_exact(numbers.len())) {
        let places = &mut starts[first + 1..][..window.buckets()];
        fill(digits, places, &mut items);
        first += window.buckets();
    }
    starts.pop();
    Lists { items, starts }
}

/// The digits of a window, each as twice its size and a bit for its sign, and how many there are of each size.
#[inline(never)]
fn count_digits(window: &Window, raised: &[u128], digits: &mut Vec<u32>, lengths: &mut [u32]) {
    let (offset, mask) = (window.offset, (1_u64 << window.bits) - 1);
    let half = window.half as i64;
    let mut take = |bits: u64| {
        let digit = (bits & mask) as i64 - half;
        let size = digit.unsigned_abs() as usize;
        digits.push((size as u32) << 1 | u32::from(digit < 0));
        if size > 0 {
            lengths[size] += 1;
        }
    };
    match offset {
        0 => raised.iter().for_each(|number| take(*number as u64)),
        1..64 => raised
            .iter()
            .for_each(|number| take(*number as u64 >> offset | ((*number >> 64) as u64) << (64 - offset))),
        _ => raised.iter().for_each(|number| take((*number >> 64) as u64 >> (offset - 64))),
    }
}

#[inline(never)]
fn fill(digits: &[u32], places: &mut [u32], items: &mut [Place]) {
    for (term, digit) in digits.iter().enumerate() {
        if *digit > 1 {
            let place = &mut places[(*digit >> 1) as usize];
            items[*place as usize] = (term as Place * 2) | (*digit & 1);
            *place += 1;
        }
    }
}

/// The rows and columns of each window's buckets, without the row and the column whose weight is zero: those are empty
/// lists.
fn lines(windows: &[Window], buckets: &[Place]) -> Lists {
    let lines = windows.iter().map(|window| window.rows + window.columns).sum::<usize>();
    let mut lists =
        Lists { items: Vec::with_capacity(2 * buckets.len()), starts: Vec::with_capacity(lines + 1) };
    lists.starts.push(0);
    let mut rest = buckets;
    for window in windows {
        let (own, others) = rest.split_at(window.buckets());
        rest = others;
        for row in 0..window.rows {
            let row = &own[row * window.columns..][..if row == 0 { 0 } else { window.columns }];
            lists.push(row.iter());
        }
        for column in 0..window.columns {
            let bucket = own.iter().skip(column).step_by(window.columns);
            lists.push(bucket.take(if column == 0 { 0 } else { window.rows }));
        }
    }
    lists
}

impl Lists {
    fn push<'a>(&mut self, places: impl Iterator<Item = &'a Place>) {
        self.items.extend(places.filter(|place| **place != NONE));
        self.starts.push(self.items.len() as u32);
    }
}

/// 0 · first + 1 · second + 2 · third + …
fn weighted(adder: &Adder, places: &[Place]) -> Jacobian {
    let (mut run, mut sum) = (Jacobian::INFINITY, Jacobian::INFINITY);
    for place in places.iter().skip(1).rev() {
        if *place != NONE {
            run = run.add_affine(adder.point(*place));
        }
        sum = sum.add(&run);
    }
    sum
}
