//! Ethereum's costly precompiles in few instructions.
//!
//! In the PVM, where the service's program runs, each instruction costs one gas, and what an EVM operation costs in it bounds what a
//! package can hold. The libraries that revm has without C spend 200 to 600 PVM gas for each EVM gas on signatures of P-256 and on
//! the curves BN254 and BLS12-381. Here are the same functions for less: the arithmetic of the fields is ours (`field`), as are inverses
//! (those of `signatures`), multiples of points and checks of subgroups; constants, towers and pairings are those of arkworks, over our
//! arithmetic (`backend`).
//!
//! Natively the service runs C libraries instead, and **results must be equal on every input**: tests and a fuzz target compare.
//!
//! The crate is `no_std` and has no `unsafe`. Everything is public data, so how long it takes depends on it: **never use any of this with
//! secrets.**

#![no_std]

extern crate alloc;

mod backend;
pub mod bls12_381;
pub mod bn254;
mod field;
mod multiply;
pub mod p256;
#[cfg(test)]
mod tests;
mod window;
