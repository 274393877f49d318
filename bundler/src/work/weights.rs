//! What each count costs, in sixteenths of gas. Made by `gas --calibrate`; do not edit.

use super::FEATURES;

/// The code hash of the program that was measured.
pub const PROGRAM: &str = "";

pub(super) static WEIGHTS: [u64; FEATURES] = [0; FEATURES];
