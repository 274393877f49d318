//! What the crate promises, tried on random and hostile inputs.

#[cfg(feature = "revm")]
mod evm;
mod forgery;
mod hostile;
mod layers;
mod random;
mod reference;
mod witness;
