//! Execution: revm on a state, with a record of everything that it touched.
//!
//! Builder and validator run the same code, [`BlockState`]. They differ in where the values come from, a
//! [`Layer`](crate::Layer) or a [`PartialTree`](crate::PartialTree), and in nothing else; so they touch the same keys
//! and write the same values.
//!
//! ```text
//!   mark = db.checkpoint()
//!   evm.transact_commit(tx)    kept: what it touched stays touched
//!   db.rollback(mark)          skipped: it touched nothing
//!   ..
//!   db.changes()               writes, touched keys, codes
//! ```
//!
//! What counts as touched, and is what a witness covers:
//!
//! | asked for | keys |
//! |---|---|
//! | an account | its basic data and its code hash |
//! | a slot, read or changed | the slot |
//! | a code | none; the code itself travels beside the witness |
//! | a new code | its chunks |
//!
//! A `BlockState` is the database of a whole block: revm must ask it afresh in each transaction (`transact`,
//! `transact_commit`), not through a cache that outlives one. Such a cache would answer a kept transaction with what a
//! skipped one asked for, and the witness would lack it.

mod block_state;
mod changes;
mod error;
mod memory;

pub use block_state::{BlockState, Checkpoint, History, Touched};
pub use changes::{BlockChanges, BlockEffects};
pub use error::EvmError;
