//! Empty blocks: why a chain without transactions goes on for a while, one block per slot.
//!
//! - Clients wait for confirmations: `empty_blocks` follow the last transaction.
//! - The base fee falls only with blocks. After a burst it would stand where the burst left it, so empty blocks follow
//!   until it is at its floor, [`FEE_BLOCKS_MAX`] at most; and, without that limit, while the pool holds a transaction
//!   that a lower base fee would let in.
//!
//! Nothing that a client reads makes a block.

use crate::{Blocks, Driver};

/// Empty blocks that follow the last transaction at most only to lower the base fee. Each takes an eighth off: 64 bring it
/// down to a five-thousandth.
const FEE_BLOCKS_MAX: u32 = 64;

impl<B: Blocks> Driver<B> {
    /// Whether an empty block has a purpose.
    pub(crate) fn wants_empty_block(&self) -> bool {
        if self.empty_blocks < self.settings.empty_blocks {
            return true;
        }
        let floor = self.blocks.base_fee_floor_wei();
        self.blocks.head().base_fee_wei > floor
            && (self.empty_blocks < FEE_BLOCKS_MAX || self.pool.waits_for_base_fee(floor))
    }

    /// Counts the empty blocks at the end of the chain, after a restart. A chain that has been idle for longer than it is
    /// remembered has nothing to make up for.
    pub(crate) fn count_empty_blocks(&mut self) {
        let blocks = self.blocks.transaction_counts();
        let empty = blocks.iter().take_while(|transactions| **transactions == 0).count();
        let is_idle = empty == blocks.len();
        self.empty_blocks = if is_idle { u32::MAX } else { u32::try_from(empty).unwrap_or(u32::MAX) };
    }
}
