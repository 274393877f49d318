//! Why a bundle is slow, whether that is safe, and what happens next: one sentence, for the operator who asks.

use crate::{
    Bundle, State, Unbundled,
    outlook::{Ahead, Hold, Outlook},
};
use types::{Duration, ReleasedBy, Time};

/// A chain without a block for so many slots is why everything is slow.
const SILENT_SLOTS: u32 = 3;
/// A guarantee comes with the next block or the one after.
const GUARANTEE_SLOTS: u32 = 2;
/// From the report on, availability takes a block or two.
const AVAILABILITY_SLOTS: u32 = 4;
/// A bundle that waits goes out in the next window or the one after.
const WAIT_SLOTS: u32 = 2;
/// Finality is a few blocks behind in good times.
const FINALITY_BLOCKS: u64 = 6;

/// What is certain of whatever was given up.
const GIVEN_UP: &str = "nothing of it is lost, and nothing of it is executed twice";

/// Why a bundle takes longer than usual, whether that is safe, and what happens next. `None` if it takes no longer than
/// usual. `since` is when it came into its state, if that is known.
pub fn why_slow(bundle: &Bundle, outlook: &Outlook, since: Option<Time>, now: Time) -> Option<String> {
    let ahead = outlook.bundles.get(&bundle.number()).copied().unwrap_or_default();
    let asked = Asked { bundle, outlook, ahead, since, now };
    match bundle.state {
        State::Finalized | State::Released => return None,
        State::Abandoned => return Some(asked.abandoned()),
        _ => {}
    }
    if let Some(silence) = silence(outlook, now) {
        return Some(silence);
    }
    match bundle.state {
        State::Finalized | State::Released | State::Abandoned => None,
        State::Queued { version } => asked.queued(version),
        State::Submitted { version, core, sent_at, .. } => asked.submitted(version, core, sent_at),
        State::Guaranteed { version, core } => asked.guaranteed(version, core),
        State::Accumulated => asked.accumulated(),
    }
}

/// Why blocks that are in no bundle yet wait longer than usual, as [`why_slow`].
pub fn why_unbundled(unbundled: &Unbundled, outlook: &Outlook, now: Time) -> Option<String> {
    let first = unbundled.run.first.number;
    match outlook.abandoned_from {
        Some(from) if from < first => return Some(stands_on(from)),
        Some(from) if from == first => {
            return Some(format!(
                "It was given up before it was sent; {GIVEN_UP}; its transactions go back to the pool."
            ));
        }
        _ => {}
    }
    let hold = outlook.unbundled.unwrap_or(Hold::Window);
    let slots = outlook.clock.slot_duration().saturating_mul(WAIT_SLOTS);
    let is_slow = hold == Hold::Halted || now.since(unbundled.since) > slots;
    is_slow.then(|| silence(outlook, now).unwrap_or_else(|| held(hold, outlook)))
}

/// A bundle and everything that is known about it.
struct Asked<'a> {
    bundle: &'a Bundle,
    outlook: &'a Outlook,
    ahead: Ahead,
    since: Option<Time>,
    now: Time,
}

impl Asked<'_> {
    fn slots(&self, slots: u32) -> Duration {
        self.outlook.clock.slot_duration().saturating_mul(slots)
    }

    fn is_older_than(&self, since: Time, slots: u32) -> bool {
        self.now.since(since) > self.slots(slots)
    }

    fn queued(&self, version: u32) -> Option<String> {
        let was_sent = !self.bundle.versions.is_empty();
        let hold = self.ahead.hold.unwrap_or(Hold::Window);
        let is_slow = was_sent
            || hold == Hold::Halted
            || self.is_older_than(self.since.unwrap_or(self.bundle.sealed_at()), WAIT_SLOTS);
        if !is_slow {
            return None;
        }
        Some(match hold {
            Hold::Window if was_sent => self.sent_before(version),
            _ => held(hold, self.outlook),
        })
    }

    /// It failed before, and only the window is between it and its next try.
    fn sent_before(&self, version: u32) -> String {
        let last = self.bundle.versions.last().map_or(0, |last| last.number);
        let next = match version == last {
            true => format!("the same bytes of version {version} go out in the next window"),
            false => format!("version {version} goes out on a fresh anchor in the next window"),
        };
        let left = self.outlook.retries_max.saturating_sub(self.bundle.counted());
        format!(
            "Version {last} was not guaranteed; that is safe, since all versions have the same blocks and they can only be \
             applied once; {next}, and {left} more failures would end it."
        )
    }

    fn submitted(&self, version: u32, core: u16, sent_at: Time) -> Option<String> {
        let was_sent_before = self.bundle.versions.iter().map(|version| version.sends).sum::<u32>() > 1;
        if !self.is_older_than(sent_at, GUARANTEE_SLOTS) && !was_sent_before {
            return None;
        }
        let taken = self.bundle.versions.last().is_some_and(|last| last.taken);
        let ago = seconds(self.now.since(sent_at));
        let why = match (self.ahead.gives_up_at, taken) {
            (None, _) => format!(
                "Another report keeps core {core} busy, so the time-out of version {version} stands still"
            ),
            (_, true) => format!(
                "A guarantor of core {core} took version {version} {ago} ago, and no block has it yet"
            ),
            (_, false) => format!(
                "Version {version} was sent to core {core} {ago} ago, and no guarantor has taken it yet"
            ),
        };
        Some(format!(
            "{why}; that is safe, since a late guarantee of any version counts and the block can only be applied once; \
             {}.",
            self.after_timeout()
        ))
    }

    /// What happens when the guarantee does not come.
    fn after_timeout(&self) -> String {
        let life = self.ahead.anchor_life.unwrap_or(0);
        let again = match life >= self.outlook.anchor_margin {
            true => format!(
                "the same bytes are sent again, or a new version if their anchor is too old by then ({life} blocks left)"
            ),
            false => "a new version is made on a fresh anchor".to_owned(),
        };
        match self.ahead.gives_up_at {
            Some(at) if at > self.now => format!("in {} {again}", seconds(at.since(self.now))),
            Some(_) => format!("now {again}"),
            None => format!(
                "once the core is free it has {} more, then {again}",
                seconds(self.outlook.guarantee_timeout)
            ),
        }
    }

    fn guaranteed(&self, version: u32, core: Option<u16>) -> Option<String> {
        let since = self.since.or(self.bundle.versions.last().map(|last| last.sent_at))?;
        if !self.is_older_than(since, AVAILABILITY_SLOTS) {
            return None;
        }
        Some(match core {
            Some(core) => format!(
                "Version {version} is reported on core {core}, and too few validators say that they hold its data; that \
                 is safe, since validators have executed it and nothing else can take its place; it is applied when \
                 they do, and if the chain drops the report it is sent again as a new version."
            ),
            None => format!(
                "It waits in the service for its parent B-{}; that is safe, since it is applied in order or not at all; \
                 it follows as soon as its parent is applied.",
                self.bundle.parent.number
            ),
        })
    }

    fn accumulated(&self) -> Option<String> {
        let lag = self.outlook.finality_lag();
        (lag > FINALITY_BLOCKS).then(|| {
            format!(
                "It is applied, and finality is {lag} blocks behind; that is safe, since a fork that undoes it only \
                 sends it again; it is final when finality has caught up."
            )
        })
    }

    fn abandoned(&self) -> String {
        let own = self.bundle.number();
        match self.outlook.abandoned_from.filter(|from| *from < own) {
            Some(from) => stands_on(from),
            None if self.outlook.abandoned_by == ReleasedBy::Operator => format!(
                "The operator gave it up; {GIVEN_UP}; {}, unless the chain takes it after all.",
                self.until_release()
            ),
            None => format!(
                "It was given up after {} failed versions; {GIVEN_UP}; {}, unless the chain takes it after all.",
                self.bundle.counted(),
                self.until_release()
            ),
        }
    }

    /// A version is dead once the finalized chain has passed all blocks that its anchor was good for.
    fn until_release(&self) -> String {
        let last = self.bundle.versions.iter().map(|version| version.anchor_height).max();
        let dead_at = last.map_or(0, |height| height + u64::from(self.outlook.history));
        let finalized = self.outlook.finalized.map_or(0, |(_, height)| height);
        match dead_at.saturating_sub(finalized) {
            0 => "its transactions go back to the pool now".to_owned(),
            1 => "its transactions go back to the pool after one more final block".to_owned(),
            left => format!("its transactions go back to the pool after {left} more final blocks"),
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// What holds back what waits.
fn stands_on(from: u64) -> String {
    format!(
        "It stands on B-{from}, which was given up; {GIVEN_UP}; its transactions go back to the pool together with those \
         of B-{from}, or it goes on if the chain takes B-{from} after all."
    )
}

fn held(hold: Hold, outlook: &Outlook) -> String {
    const SAFE: &str = "that is safe, since its blocks are on disk and never change";
    match hold {
        Hold::Window => format!("It waits for the window; {SAFE}; it goes out in the next one."),
        Hold::Halted => {
            "The service's head was not built here, so nothing is sent any more; what is on disk stays \
                         there; an operator must find out who else builds for this service."
                .to_owned()
        }
        Hold::NoChain => {
            format!(
                "The chain has not been seen since the start; {SAFE}; it goes out once validators answer."
            )
        }
        Hold::Inflight { submitted } => format!(
            "{submitted} bundles are on their way, as many as the cores and the settings allow; {SAFE}; it goes \
             out in the first window after one of them is guaranteed."
        ),
        Hold::Behind { bundles } => format!(
            "{bundles} of lower numbers go first; {SAFE}; it goes out in the first window after them that finds a \
             core."
        ),
        Hold::TooFar { applied } => format!(
            "The service has applied block {applied}, and at most {} bundles are sent ahead of that; {SAFE}; \
             it goes out as soon as the service has caught up.",
            outlook.submit_ahead_max
        ),
        Hold::NoAnchor => format!(
            "No recent block can be its anchor, with finality {} blocks behind; {SAFE}, and no version is spent; \
             it goes out once validators prove a fresh state.",
            outlook.finality_lag()
        ),
        Hold::NoGuarantor => format!(
            "No guarantor of a core that could take it is connected; {SAFE}, and no version is spent; it goes out \
             in the first window after one connects."
        ),
    }
}

/// Why nothing can move, if no block of JAM has come for a while.
fn silence(outlook: &Outlook, now: Time) -> Option<String> {
    let silent = outlook.best.map_or(0, |(slot, _)| outlook.clock.slot_at(now).saturating_sub(slot));
    // A chain's first slot lies years back.
    let since = match outlook.best.is_some_and(|(slot, _)| slot == 0) {
        true => "since the start".to_owned(),
        false => format!("for {silent} slots"),
    };
    (silent > SILENT_SLOTS).then(|| {
        format!(
            "No block of JAM has come {since}, so nothing can move; that is safe, since silence counts against no bundle \
             and everything is on disk; it goes on with the next block."
        )
    })
}
