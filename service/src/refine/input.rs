//! What refine sees of a package, wherever it runs.

use super::{Phase, RefineError};
use crate::Config;
use alloy_primitives::Bytes;
use jam::Hash;

/// What a work item is to the service.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// How many work items the package has.
    pub items: usize,
    /// What this one says of itself.
    pub item: Item,
    /// The slot of the package's lookup anchor.
    pub lookup_anchor_slot: u32,
    /// What the item tells the service.
    pub payload: &'a [u8],
    /// The blobs that come with it.
    pub extrinsics: &'a [Bytes],
    /// Is told when a part of the work is done.
    pub done: fn(Phase),
}

/// What a work item says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// The service.
    pub service: u32,
    /// The service's code.
    pub code_hash: Hash,
    /// Gas to refine it.
    pub refine_gas: u64,
    /// Segments it exports.
    pub export_count: u16,
    /// Segments it imports.
    pub imports: u16,
    /// Blobs that come with it.
    pub extrinsics: u16,
}

impl Item {
    /// The bytes in which a host tells a service of an item.
    pub const BYTES: usize = 4 + 32 + 8 + 8 + 2 + 2 + 2 + 4;

    /// Reads what a host tells of an item (the Gray Paper's S): service, code, gas to refine and to accumulate, exports, imports,
    /// blobs, length of the payload.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |at: usize, len: usize| {
            bytes[at..at + len].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        Self {
            service: number(0, 4) as u32,
            code_hash: Hash::from_slice(&bytes[4..36]),
            refine_gas: number(36, 8),
            export_count: number(52, 2) as u16,
            imports: number(54, 2) as u16,
            extrinsics: number(56, 2) as u16,
        }
    }
}

impl Input<'_> {
    /// That this is the package's only item, that it is for us, and that it brings so many blobs and nothing else.
    pub(crate) fn check(&self, config: &Config, extrinsics_expected: usize) -> Result<(), RefineError> {
        let Item { service, code_hash, imports, extrinsics, .. } = self.item;
        if self.items != 1 {
            return Err(RefineError::Items(self.items));
        }
        if service != config.service {
            return Err(RefineError::Service(service));
        }
        if code_hash != config.code_hash {
            return Err(RefineError::Code);
        }
        let (extrinsics, imports) = (usize::from(extrinsics), usize::from(imports));
        if extrinsics != extrinsics_expected || imports > 0 {
            return Err(RefineError::Inputs { extrinsics, imports });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_read_as_a_host_tells_it() {
        let bytes = [
            &7_u32.to_le_bytes()[..],
            &[9; 32],
            &1_000_000_007_u64.to_le_bytes(),
            &5_u64.to_le_bytes(),
            &3_u16.to_le_bytes(),
            &2_u16.to_le_bytes(),
            &258_u16.to_le_bytes(),
            &77_u32.to_le_bytes(),
        ];
        let item = Item::decode(&bytes.concat().try_into().unwrap());
        let expected = Item {
            service: 7,
            code_hash: Hash::repeat_byte(9),
            refine_gas: 1_000_000_007,
            export_count: 3,
            imports: 2,
            extrinsics: 258,
        };
        assert_eq!(item, expected);
    }
}
