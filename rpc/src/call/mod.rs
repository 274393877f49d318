//! Executing without a block: calls, estimates, access lists.
//!
//! ```text
//!   At ── state, header ──┐
//!   state overrides ──────┼─▶ Simulator ──run(Request, gas)──▶ Outcome      any number of times, nothing is kept
//!   block overrides ──────┘
//! ```
//!
//! A simulated transaction need not be signed, funded for its gas or in order; it has the gas that a client may ask for,
//! and the time.

mod access;
mod database;
mod deadline;
mod error;
mod estimate;
mod guard;
mod overrides;
mod precompiles;
mod request;
mod simulate;
mod simulated;
mod simulator;
mod system;
mod trace;
mod transfers;
mod unsigned;

pub(crate) use access::access_list;
pub(crate) use database::StateDb;
pub(crate) use error::{outcome, timeout};
pub(crate) use estimate::estimate;
pub(crate) use overrides::{BlockOverrides, StateOverrides};
pub(crate) use request::Request;
pub(crate) use simulate::{Simulation, SimulationRequest};
pub(crate) use simulated::Simulated;
pub(crate) use simulator::Simulator;
pub(crate) use trace::{Traced, Tracer};
pub(crate) use unsigned::Missing;
