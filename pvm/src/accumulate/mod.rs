//! Accumulation: what services make of the results of work (section 12, appendix B.4).
//!
//! ```text
//!   Block: reports in their order, partial state ─ rounds (Δ+) ─▶ as many reports as the gas is enough for, and what they changed
//!     round (Δ*)   every service with work, transfers or free gas, each on the same state; their changes are merged
//!     service (Δ1) its transfers and work items in one run of its code
//!     context      what the run changed: `x`, and `y` of the last checkpoint, which counts if the run ends badly
//! ```

mod context;
mod general;
mod operand;
mod preimages;
mod privileged;
mod rounds;
mod services;

pub use operand::Transfer;
pub use rounds::{Accumulated, Block};

use crate::accounts::Accounts;
use jam::state::{AuthQueues, Privileges, Validators};
use std::sync::Arc;

/// The parts of the state that accumulation can change.
#[derive(Clone, Debug)]
pub struct PartialState<'a> {
    /// δ.
    pub accounts: Accounts<'a>,
    /// ι.
    pub designated: Arc<Validators>,
    /// φ.
    pub queues: Arc<AuthQueues>,
    /// χ.
    pub privileges: Arc<Privileges>,
}
