//! Tests of the pool as a whole.

mod behaviour;
mod errors;
mod model;
mod world;
