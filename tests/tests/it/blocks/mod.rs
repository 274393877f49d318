//! Blocks that any validator can re-execute: what `bundler` builds, `service` must accept, and nothing else.

mod accumulate;
mod anan_as;
mod build;
mod limits;
mod random;
mod recorded;
mod refusals;
