//! Guaranteeing: is this package one that the chain can take, and what does it come to?
//!
//! ```text
//!   package ─ check ─▶ Duty        every rule of the chain that the next block will apply; cheap
//!   bundle  ─ evaluate ─▶ Evaluated: report, shards, exports     refine and erasure coding; takes its time
//!   Evaluated + signatures of the others ─▶ Guarantee
//! ```
//! A guarantor refuses what would not be reported, and what does not refine: a report of a failure would cost the core
//! a slot and help nobody.

mod check;
mod evaluate;
mod refusal;

pub use check::{Duty, check, signed_by};
pub use evaluate::{Evaluated, evaluate};
pub use refusal::PackageRefusal;
