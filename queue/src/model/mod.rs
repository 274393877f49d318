//! The queue on a real follower and a real service, in virtual time: the tests' world, which fuzzing walks through too.
//!
//! After every input the indexes are compared with the bundles, the journal with the queue, and the states with a full
//! recomputation. What is wrong panics.

#![allow(clippy::unwrap_used, reason = "what cannot go on has found a mistake")]

pub(crate) mod check;
mod resume;
mod walk;
pub(crate) mod world;

pub use check::indexes as check_indexes;
pub use resume::resume;
pub use walk::Walk;
pub use world::genesis;
