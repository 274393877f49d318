//! What validators do, for whoever watches.

use crate::{chain::BlockRefusal, guarantor::PackageRefusal};
use jam::{HeaderHash, PackageHash};

/// Something that a validator did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The validator.
    pub validator: u16,
    /// What it did.
    pub deed: Deed,
}

/// What a validator did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    /// It made a block.
    Authored {
        /// The slot.
        slot: u32,
        /// The block.
        block: HeaderHash,
        /// The packages reported in it.
        reported: Vec<PackageHash>,
        /// Assurances in it.
        assurances: usize,
    },
    /// It has another best block.
    Best {
        /// The slot.
        slot: u32,
        /// The block.
        block: HeaderHash,
    },
    /// It knows that a block is final.
    Finalized {
        /// The slot.
        slot: u32,
        /// The block.
        block: HeaderHash,
    },
    /// It did not take a package.
    Refused {
        /// The package.
        package: PackageHash,
        /// Why.
        why: PackageRefusal,
    },
    /// It collected enough signatures for a report.
    Guaranteed {
        /// The package.
        package: PackageHash,
        /// The core.
        core: u16,
        /// How many.
        signatures: usize,
    },
    /// It said that it holds its shards.
    Assured {
        /// The parent of the block that it is for.
        anchor: HeaderHash,
        /// The cores.
        cores: Vec<u16>,
    },
    /// It did not believe a block.
    Disbelieved {
        /// The block.
        block: HeaderHash,
        /// Why.
        why: BlockRefusal,
    },
    /// It could not write to disk, and goes on without.
    Disk(String),
}
