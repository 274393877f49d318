//! The clock itself: readings in, time out.

use crate::evidence::Evidence;
use core::fmt;
use types::{Duration, Time};

/// A wall clock that differs by more than this has jumped. NTP steps by less than half a second unless it starts.
pub const JUMP_MS: u64 = 1000;

/// Smaller differences are followed at this fraction of the speed of time.
const SLEW_PART: u64 = 10;

/// Validators contradict a time that differs from theirs by more than this, or by two slots if that is longer:
/// announcements arrive late on a busy machine.
const CONTRADICTION_MS: u64 = 30_000;

/// One look at the machine's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Milliseconds of a clock that is never set and counts while the machine is suspended.
    pub monotonic_ms: u64,
    /// What the wall clock shows, in milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

impl Reading {
    /// How far the wall clock is ahead of the monotonic clock.
    fn offset_ms(self) -> i64 {
        signed(self.wall_ms).saturating_sub(signed(self.monotonic_ms))
    }
}

/// What confirms a jump of the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// A jump forward that lasted this long. A jump back is never adopted: slots that have passed do not come again.
    Lasting(Duration),
    /// Blocks announced by more than a third of the validators.
    Validators {
        /// How many there are.
        count: u16,
        /// How long a slot lasts.
        slot: Duration,
    },
}

/// Which clock time follows at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// The wall clock.
    #[default]
    Wall,
    /// The monotonic clock: the wall clock jumped, and nothing has confirmed that yet.
    Holding {
        /// How far the wall clock is ahead of time; negative if it is behind.
        wall_ahead_ms: i64,
    },
    /// The validators: more than a third of them contradict the wall clock.
    Validators {
        /// How far the wall clock is ahead of time; negative if it is behind.
        wall_ahead_ms: i64,
    },
}

impl fmt::Display for Standing {
    /// One sentence for the operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wall => f.write_str("time follows the machine's clock"),
            Self::Holding { wall_ahead_ms } => write!(
                f,
                "the machine's clock jumped to {}; it is not trusted until validators confirm the jump or it comes back, \
                 and time goes on by the monotonic clock: check NTP",
                Difference(*wall_ahead_ms)
            ),
            Self::Validators { wall_ahead_ms } => write!(
                f,
                "the machine's clock is {}, and blocks of more than a third of the validators contradict it; time \
                 follows the validators: set the clock right (NTP)",
                Difference(*wall_ahead_ms)
            ),
        }
    }
}

/// "3600 s ahead".
struct Difference(i64);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.unsigned_abs() / 1000;
        write!(f, "{seconds} s {}", if self.0 < 0 { "behind" } else { "ahead" })
    }
}

/// What changed, for the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The wall clock is not followed any more.
    Distrusted(Standing),
    /// The wall clock came back to within a second of time.
    Returned,
    /// A jump was confirmed, and time has moved by so much.
    Adopted {
        /// How far time moved; negative if it ran back.
        moved_ms: i64,
    },
}

/// A jump of the wall clock.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// When it was seen, by the monotonic clock.
    since_ms: u64,
    /// How far the wall clock has been ahead of the monotonic clock since then.
    wall_offset_ms: i64,
}

/// Time out of readings; see the [crate](crate).
#[derive(Clone, Debug)]
pub struct Clock {
    trust: Trust,
    /// How far time is ahead of the monotonic clock.
    offset_ms: i64,
    monotonic_ms: u64,
    /// Monotonic time that no slewing was done for yet.
    unslewed_ms: u64,
    latest_ms: u64,
    jump: Option<Jump>,
    evidence: Evidence,
    standing: Standing,
    is_confirmed: bool,
    change: Option<Change>,
}

impl Clock {
    /// A clock that begins with what the wall clock shows: there is nothing to compare it with yet.
    pub fn new(trust: Trust, reading: Reading) -> Self {
        Self {
            trust,
            offset_ms: reading.offset_ms(),
            monotonic_ms: reading.monotonic_ms,
            unslewed_ms: 0,
            latest_ms: reading.wall_ms,
            jump: None,
            evidence: Evidence::default(),
            standing: Standing::Wall,
            is_confirmed: matches!(trust, Trust::Lasting(_)),
            change: None,
        }
    }

    /// The time at a reading. It does not run back, unless validators have shown that it was wrong.
    pub fn time(&mut self, reading: Reading) -> Time {
        self.unslewed_ms += reading.monotonic_ms.saturating_sub(self.monotonic_ms);
        self.monotonic_ms = self.monotonic_ms.max(reading.monotonic_ms);
        let ahead_ms = reading.offset_ms().saturating_sub(self.offset_ms);
        if ahead_ms.unsigned_abs() <= JUMP_MS {
            self.slew(ahead_ms);
            self.follow_wall();
        } else {
            self.distrust(reading, ahead_ms);
        }
        self.latest_ms = self.latest_ms.max(self.shown_ms());
        Time::from_millis(self.latest_ms)
    }

    /// Takes an announcement by a validator: a block whose slot began at `slot_start` arrived at this reading.
    pub fn announced(&mut self, validator: [u8; 32], slot_start: Time, reading: Reading) {
        let Trust::Validators { count, slot } = self.trust else { return };
        self.time(reading);
        let slot_ms = u64::try_from(slot.as_millis()).unwrap_or(u64::MAX);
        let offset_ms = signed(slot_start.as_millis()).saturating_sub(signed(reading.monotonic_ms));
        self.evidence.note(validator, slot_start, offset_ms, slot_ms);
        if let Some(agreed_ms) = self.evidence.agreed_ms(count, slot_ms) {
            self.decide(agreed_ms, slot_ms, reading);
        }
    }

    /// Which clock time follows.
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether time can be relied on for what cannot be undone, such as expiry: the wall clock is followed, and where
    /// validators are asked they have not contradicted it since the start.
    pub const fn is_confirmed(&self) -> bool {
        self.is_confirmed && !matches!(self.standing, Standing::Holding { .. })
    }

    /// What changed since the last call.
    pub const fn take_change(&mut self) -> Option<Change> {
        self.change.take()
    }

    /// Follows a small difference, slowly enough that time does not run back.
    fn slew(&mut self, ahead_ms: i64) {
        let room = signed(self.unslewed_ms / SLEW_PART);
        if room > 0 {
            self.unslewed_ms %= SLEW_PART;
            self.offset_ms += ahead_ms.clamp(-room, room);
        }
    }

    fn follow_wall(&mut self) {
        if self.standing != Standing::Wall {
            self.standing = Standing::Wall;
            self.change = Some(Change::Returned);
        }
        self.jump = None;
    }

    fn distrust(&mut self, reading: Reading, wall_ahead_ms: i64) {
        let wall_offset_ms = reading.offset_ms();
        let is_same = |jump: &Jump| jump.wall_offset_ms.abs_diff(wall_offset_ms) <= JUMP_MS;
        match self.jump.filter(is_same) {
            Some(jump) => {
                let lasted_ms = u128::from(self.monotonic_ms.saturating_sub(jump.since_ms));
                if matches!(self.trust, Trust::Lasting(least) if lasted_ms >= least.as_millis() && wall_ahead_ms > 0)
                {
                    self.adopt(wall_offset_ms);
                }
            }
            None => {
                self.jump = Some(Jump { since_ms: self.monotonic_ms, wall_offset_ms });
                self.evidence.clear();
                self.stand(Standing::Holding { wall_ahead_ms });
            }
        }
    }

    /// Validators agree on the time; what follows from that.
    fn decide(&mut self, agreed_ms: i64, slot_ms: u64, reading: Reading) {
        let wall_offset_ms = reading.offset_ms();
        let contradiction_ms = CONTRADICTION_MS.max(slot_ms.saturating_mul(2));
        let [wall_off, held_off] = [wall_offset_ms, self.offset_ms].map(|offset| offset.abs_diff(agreed_ms));
        self.is_confirmed = true;
        if self.jump.is_some() && wall_off < held_off && wall_off <= contradiction_ms {
            self.adopt(wall_offset_ms);
            return;
        }
        if held_off > contradiction_ms {
            self.move_to(agreed_ms);
            self.jump = Some(Jump { since_ms: self.monotonic_ms, wall_offset_ms });
        }
        let wall_ahead_ms = wall_offset_ms.saturating_sub(self.offset_ms);
        if wall_ahead_ms.unsigned_abs() > JUMP_MS {
            self.stand(Standing::Validators { wall_ahead_ms });
        }
    }

    fn stand(&mut self, standing: Standing) {
        if core::mem::discriminant(&self.standing) != core::mem::discriminant(&standing)
            || matches!(standing, Standing::Holding { .. })
        {
            self.change = Some(Change::Distrusted(standing));
        }
        self.standing = standing;
    }

    /// Follows the wall clock from where it is now.
    fn adopt(&mut self, wall_offset_ms: i64) {
        let moved_ms = self.move_to(wall_offset_ms);
        self.jump = None;
        self.standing = Standing::Wall;
        self.change = Some(Change::Adopted { moved_ms });
    }

    /// Moves time; says by how much.
    fn move_to(&mut self, offset_ms: i64) -> i64 {
        let moved_ms = offset_ms.saturating_sub(self.offset_ms);
        self.offset_ms = offset_ms;
        // A move back of less than a second is stood still for.
        if moved_ms < -signed(JUMP_MS) {
            self.latest_ms = self.shown_ms();
        }
        moved_ms
    }

    fn shown_ms(&self) -> u64 {
        self.monotonic_ms.saturating_add_signed(self.offset_ms)
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
