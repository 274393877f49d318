//! Sealed blocks as the queue knows them: by name and size, never by what is in them.

use core::ops::{Add, Sub};
use types::{BlockId, Time};

/// How much something takes of what a package has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Bytes of the bundle: witness, codes, transactions, headers.
    pub bytes: u64,
    /// Gas of the transactions.
    pub gas: u64,
    /// Bytes of what is exported.
    pub export_bytes: u64,
    /// Gas of JAM's virtual machine to refine it, as it is estimated.
    pub refine_gas: u64,
}

impl Size {
    /// Nothing is larger.
    pub const MAX: Self =
        Self { bytes: u64::MAX, gas: u64::MAX, export_bytes: u64::MAX, refine_gas: u64::MAX };

    /// Whether no part of it is more than that of another one.
    pub const fn fits(&self, max: &Self) -> bool {
        self.bytes <= max.bytes
            && self.gas <= max.gas
            && self.export_bytes <= max.export_bytes
            && self.refine_gas <= max.refine_gas
    }

    /// How much of `max` it is, in thousandths: the largest of its parts.
    pub fn thousandths_of(&self, max: &Self) -> u64 {
        let part = |part: u64, max: u64| {
            let thousandths = u128::from(part) * 1000 / u128::from(max.max(1));
            u64::try_from(thousandths).unwrap_or(u64::MAX)
        };
        part(self.bytes, max.bytes)
            .max(part(self.gas, max.gas))
            .max(part(self.export_bytes, max.export_bytes))
            .max(part(self.refine_gas, max.refine_gas))
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            gas: self.gas.saturating_add(other.gas),
            export_bytes: self.export_bytes.saturating_add(other.export_bytes),
            refine_gas: self.refine_gas.saturating_add(other.refine_gas),
        }
    }
}

impl Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            gas: self.gas.saturating_sub(other.gas),
            export_bytes: self.export_bytes.saturating_sub(other.export_bytes),
            refine_gas: self.refine_gas.saturating_sub(other.refine_gas),
        }
    }
}

/// A sealed block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedBlock {
    /// Number and hash.
    pub id: BlockId,
    /// How many transactions it holds.
    pub transactions: u32,
    /// Whether it must be a run of its own: an empty block that shows that the network works, or one of suspects.
    pub is_alone: bool,
    /// What it takes if it is packed alone.
    pub size: Size,
    /// When it was sealed.
    pub sealed_at: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_decides() {
        let max = Size { bytes: 100, gas: 1000, export_bytes: 10, refine_gas: 1000 };
        let size = Size { bytes: 50, gas: 900, export_bytes: 1, refine_gas: 100 };
        assert_eq!((size.thousandths_of(&max), size.fits(&max)), (900, true));
        assert!(!(size + size).fits(&max));
        assert_eq!(size + size - size, size);
        assert_eq!(Size::default() - size, Size::default());
        assert_eq!(size.thousandths_of(&Size::default()), 900_000);
        assert!(Size::MAX.fits(&Size::MAX) && (Size::MAX + size).fits(&Size::MAX));
    }
}
