//! Odd multiples of the generator, made once.

use crate::scalar::{WHOLE_DIGITS, WHOLE_WIDTH};
use k256::{
    AffinePoint, ProjectivePoint,
    elliptic_curve::{BatchNormalize, sec1::ToEncodedPoint},
};
use std::sync::LazyLock;

/// How many multiples belong to a digit.
pub(crate) const MULTIPLES: usize = 1 << (WHOLE_WIDTH - 1);

/// A point that is not the neutral one: the words of x and of y, the lowest first. As large as a line of the cache.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Entry(pub(crate) [u64; 8]);

/// For each digit of a whole number, the odd multiples of the generator that it may stand for. A quarter of a megabyte.
pub(crate) static GENERATOR: LazyLock<Box<[[Entry; MULTIPLES]; WHOLE_DIGITS]>> = LazyLock::new(|| {
    let mut table = Box::new([[Entry::default(); MULTIPLES]; WHOLE_DIGITS]);
    let mut unit = ProjectivePoint::GENERATOR;
    for row in table.iter_mut() {
        let twice = unit.double();
        let odd = std::iter::successors(Some(unit), |multiple| Some(*multiple + twice));
        let odd = odd.take(MULTIPLES).collect::<Vec<_>>();
        for (entry, point) in row.iter_mut().zip(ProjectivePoint::batch_normalize(&odd[..])) {
            *entry = Entry::of(&point);
        }
        for _ in 0..WHOLE_WIDTH {
            unit = unit.double();
        }
    }
    table
});

impl Entry {
    fn of(point: &AffinePoint) -> Self {
        let point = point.to_encoded_point(false);
        // The neutral point has no coordinates; no multiple here is it.
        let coordinate = |bytes: Option<&k256::FieldBytes>| {
            let bytes = bytes.copied().unwrap_or_default();
            let (words, _) = bytes.as_chunks::<8>();
            [words[3], words[2], words[1], words[0]].map(u64::from_be_bytes)
        };
        let (x, y) = (coordinate(point.x()), coordinate(point.y()));
        Self([x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]])
    }
}
