//! Tests of the pool as a whole.

mod behaviour;
mod below;
mod errors;
mod model;
mod nonces;
mod world;
