//! The chain as one validator has it: the state after each block, the rules that lead from one to the next, the tree of
//! blocks, and making a block.
//!
//! ```text
//!   State ─ apply(block) ─▶ State'       every check; a refusal changes nothing      apply, seal, accumulate
//!   Tree: blocks, best, finalized        which state counts                          tree, finality
//!   Author: State + what waits ─▶ Block  the same rules, the other way around        author
//! ```
//! All of it is pure: what time it is comes in as a slot.

mod accumulate;
mod apply;
mod author;
mod finality;
mod seal;
mod state;
#[cfg(test)]
mod tests;
mod tree;

pub use apply::{BlockRefusal, Rules};
pub use author::{Authored, Ingredients};
pub use state::{Entries, State};
pub use tree::{Imported, Node, Tree, TreeLimits};
