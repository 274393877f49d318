//! The Gray Paper's rules that decide what becomes of a work package, as pure functions over the state they need.
//!
//! ```text
//!  block ─ epoch ─ disputes ─▶ ρ† ─ assurances (E_A) ─▶ ρ‡, available reports ─ reports (E_G) ─▶ ρ'
//!                                                             │
//!                                 accumulation (ω, ξ) ◀───────┘         history (β) remembers it all
//! ```
//! Validators apply them to the whole state; [`crate::follow`] applies them to the part that it knows. Availability is
//! counted within one block and before its guarantees, so a core whose report becomes available can take the next
//! report in that very block.

pub mod accumulation;
pub mod assurances;
pub mod authorizers;
pub mod disputes;
pub mod epoch;
pub mod history;
pub mod reports;
pub mod safrole;
pub mod statistics;
