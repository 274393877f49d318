//! Authorizers as PVM code.
//!
//! ```text
//!   is_authorized(core)   the package, its token and the configuration by host call ─▶ ends well: allowed; traps: not
//! ```
//! The null authorizer allows a package whose token is its configuration: the configuration is public, so any package may use
//! the core. With the feature `builder` the token is a signature of the package by the key in the configuration, so a core that is
//! paid for is of no use to others.
//!
//! **What is signed.** [`CONTEXT`] and the encoded package with zeros in the place of the signature. So the signature covers
//! everything that the package's hash covers: context, items, blobs. It is useless for another package, and the chain takes the
//! same package only once.

#![no_std]

#[cfg(target_env = "polkavm")]
mod host;

#[cfg(all(target_env = "polkavm", not(feature = "builder")))]
mod null;

#[cfg(all(target_env = "polkavm", feature = "builder"))]
mod builder;

/// What a signature of a package begins with, so that it is one of nothing else.
pub const CONTEXT: &[u8; 14] = b"pectin_package";
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;
