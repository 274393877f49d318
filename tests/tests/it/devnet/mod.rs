//! A running network of validators over QUIC, and a builder with the real bundler and queue.

mod code;
mod end_to_end;
mod faults;
mod idle;
mod processes;
mod refusals;
mod restart;

/// How long a slot lasts where the time does not matter: short, but long enough for a busy machine.
const SLOT_MS: u64 = 500;
