//! What operators are shown of blocks, runs and cores: how large blocks came out, what runs take to refine, and what the cores were used
//! for.

use crate::Run;
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

/// How large a block came out, as a bundle of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Bytes of the witness.
    pub witness_bytes: usize,
    /// Bytes of the codes that it needs.
    pub codes_bytes: usize,
    /// Bytes of its transactions.
    pub transactions_bytes: usize,
    /// Bytes of all that, of the headers and of the payload: what the limit is for.
    pub bundle_bytes: usize,
    /// Segments that it exports.
    pub export_segments: usize,
    /// Gas that it used.
    pub gas: u64,
    /// Gas of JAM's virtual machine that refining it takes at most, as it was estimated.
    pub refine_gas: u64,
    /// Its transactions.
    pub transactions: usize,
}

/// Runs of which it is remembered what they take.
const REFINE_GAS_KEPT: usize = 128;

/// The gas of JAM's virtual machine that it takes to refine a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefineGas {
    /// As it was estimated, which is a bound.
    pub estimate: u64,
    /// As the program used it, if it was run.
    pub exact: Option<u64>,
}

/// What runs take that were packed lately, by the number of the first block. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RefineGases(Arc<BTreeMap<u64, (Run, RefineGas)>>);

impl RefineGases {
    /// Remembers what a run takes; runs that share a block with it are not sent any more.
    pub fn insert(&mut self, run: Run, gas: RefineGas) {
        let all = Arc::make_mut(&mut self.0);
        all.retain(|_, (other, _)| {
            other.last.number < run.first.number || run.last.number < other.first.number
        });
        all.insert(run.first.number, (run, gas));
        while all.len() > REFINE_GAS_KEPT {
            all.pop_first();
        }
    }

    /// What a run takes, if it was packed lately.
    pub fn of(&self, run: Run) -> Option<RefineGas> {
        self.0.get(&run.first.number).filter(|(known, _)| *known == run).map(|(_, gas)| *gas)
    }

    /// What the run that was packed last takes, of those with the highest numbers.
    pub fn newest(&self) -> Option<RefineGas> {
        self.0.last_key_value().map(|(_, (_, gas))| *gas)
    }
}

/// What a core was used for after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreUse {
    /// There was no report.
    Free,
    /// A version of a bundle of ours.
    Ours {
        /// The number of its first block.
        bundle: u64,
        /// The version.
        version: u32,
    },
    /// A report of another builder or service.
    Other,
}

/// The cores after the block of one slot. A slot without a block has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotCores {
    /// The slot.
    pub slot: u32,
    /// What each core was used for.
    pub cores: Vec<CoreUse>,
}
