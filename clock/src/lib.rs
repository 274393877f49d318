//! The time that a node, its validators and the sender act on.
//!
//! A machine has two clocks. The *wall clock* knows what time it is, but it is set by hand, by NTP and by hypervisors,
//! and any reading may be hours off. The *monotonic clock* counts milliseconds, also while the machine is suspended, and
//! is never set, but it does not know what time it is. [`Clock`] combines them:
//!
//! ```text
//!   wall clock ──────┐  differs by ≤ 1 s: followed slowly      ┌──▶ Time
//!   monotonic clock ─┼─▶ Clock ────────────────────────────────┤
//!   announcements ───┘  differs by more: a jump, distrusted    └──▶ Standing, for health and log
//! ```
//!
//! - Time advances with the monotonic clock. A wall clock that differs by at most [`JUMP_MS`] is followed at a tenth of
//!   the speed of time, so time never runs back for it.
//! - A wall clock that differs by more has jumped. It is not followed until the jump is confirmed ([`Trust`]): a builder
//!   waits until blocks that more than a third of the validators announce agree with it; a validator of a development
//!   network, which has no better source, adopts a jump forward once it has lasted ten minutes.
//! - Validators also overrule a wall clock that was wrong from the start. That is the only case in which time can run
//!   back: what was handed out before was wrong, and standing still for an hour would stop the builder for an hour.
//! - When the wall clock comes back by itself, nothing has happened.
//!
//! [`Clock`] is pure: readings go in, time comes out. [`SystemClock`] reads the machine's clocks for it and logs one
//! sentence whenever the [`Standing`] changes.

mod discipline;
mod evidence;
mod system;

pub use discipline::{Change, Clock, JUMP_MS, Reading, Standing, Trust};
pub use system::SystemClock;
