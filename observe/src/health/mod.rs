//! Whether the node does its work, and if not, why and what to do: judged here for all who show it, which are `/readyz`,
//! the page, `builder_status`, `pectin doctor` and `pectin queue`, and `/metrics` with its alarms.
//!
//! [`Facts`] is what is known at one moment, [`Health::of`] judges it and touches nothing else, and the node's
//! runtime gathers the facts.
//!
//! A new reason is a row of the table in `reason.rs`, a fact, a condition here with its test, and a row in
//! `docs/operating.md`. Everything that shows reasons shows it then.

mod facts;
mod reason;

pub use facts::{Abandoned, Accounts, Facts, Jam, Queue, Validators};
pub use reason::{Code, Level, Reason};

use ::clock::Standing;
use serde_json::{Value, json};

/// Without a block for more slots than this the node is cut off, or JAM stands still.
pub const SILENT_SLOTS_MAX: u32 = 8;
/// A window that was missed is held against the node for this many slots.
const MISSED_SLOTS: u32 = 10;
/// A bundle usually is final after four or five slots; after this many it is stuck.
const STUCK_SLOTS: u32 = 30;
/// A queue without room may have no new block for this many slots before it counts as full for long.
const FULL_SLOTS: u32 = 20;

/// How healthy the node is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// Why it is not, the gravest first; empty if it is.
    pub reasons: Vec<Reason>,
}

impl Health {
    /// Judges what is known.
    pub fn of(facts: &Facts) -> Self {
        let mut reasons = Vec::new();
        if let Some(why) = &facts.journal_error {
            reasons.push(Code::JournalStalled.because(format!(
                "Nothing is accepted, sealed or sent, since the journal cannot be written: {why}."
            )));
        }
        facts.lasting(&mut reasons);
        // While the journal stands still, what moves was last seen when it could be written. To judge that would blame
        // validators and the chain for a full disk.
        if facts.journal_error.is_none() {
            facts.moving(&mut reasons);
        }
        let place = |code: Code| Code::ALL.iter().position(|known| *known == code);
        reasons.sort_by_key(|reason| place(reason.code));
        Self { reasons }
    }

    /// The level of the gravest reason.
    pub fn level(&self) -> Level {
        self.reasons.iter().map(|reason| reason.code.level()).max().unwrap_or_default()
    }

    /// Whether `/readyz` answers 200.
    pub fn is_ready(&self) -> bool {
        self.level() < Level::Unready
    }

    /// Whether this is one of the reasons.
    pub fn has(&self, code: Code) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// As JSON, the same for all who show it.
    pub fn to_json(&self) -> Value {
        let reasons = self.reasons.iter().map(Reason::to_json).collect::<Vec<_>>();
        json!({ "ready": self.is_ready(), "level": self.level().name(), "reasons": reasons })
    }
}

impl Facts {
    /// What stays as it is until somebody does something.
    fn lasting(&self, reasons: &mut Vec<Reason>) {
        if let Some(head) = self.foreign_head {
            reasons.push(Code::ForeignHead.because(format!(
                "Building stopped: the service's head {head} on the chain was not built by this node."
            )));
        }
        if self.executed_twice > 0 {
            let text = format!("{} transactions became final twice.", self.executed_twice);
            reasons.push(Code::ExecutedTwice.because(text));
        }
        if self.service_differs {
            let text = "The service's storage on the chain is not what the followed reports come to.";
            reasons.push(Code::ServiceDiffers.because(text));
        }
        if self.service_unreadable {
            let text = "The service's storage on the chain could not be read.";
            reasons.push(Code::ServiceUnreadable.because(text));
        }
        if let Some(Abandoned { from, blocks }) = self.queue.abandoned {
            let text = match blocks {
                1 => format!(
                    "Block {from} was abandoned, and no block is sealed until it is clear what becomes of it."
                ),
                _ => format!(
                    "Block {from} was abandoned together with {} that stand on it, and no block is sealed until it is \
                     clear what becomes of them.",
                    blocks.saturating_sub(1)
                ),
            };
            reasons.push(Code::BlocksAbandoned.because(text));
        }
        if self.paused {
            reasons.push(Code::Paused.because("The operator paused sealing; transactions wait in the pool."));
        }
    }

    /// What changes by itself from slot to slot.
    fn moving(&self, reasons: &mut Vec<Reason>) {
        reasons.extend(self.time());
        reasons.extend(self.validators());
        reasons.extend(self.chain());
        reasons.extend(self.missed());
        reasons.extend(self.finality());
        reasons.extend(self.stuck());
        reasons.extend(self.full());
        self.accounts(reasons);
    }

    fn time(&self) -> Option<Reason> {
        let code = match self.standing {
            Standing::Wall => return None,
            Standing::Holding { .. } => Code::ClockJumped,
            Standing::Validators { .. } => Code::ClockWrong,
        };
        let text = self.standing.to_string();
        let (first, rest) = text.split_at(1);
        Some(code.because(format!("{}{rest}.", first.to_uppercase())))
    }

    fn accounts(&self, reasons: &mut Vec<Reason>) {
        let Accounts { store_error, degraded, stuck } = &self.accounts;
        if let Some(why) = store_error {
            let text = format!("The rows of managed accounts cannot be read or written: {why}.");
            reasons.push(Code::SenderStore.because(text));
        }
        if *degraded > 0 {
            let text = format!("{degraded} managed accounts cannot see their chain or cannot sign.");
            reasons.push(Code::SenderDegraded.because(text));
        }
        if *stuck > 0 {
            let text = format!("The next transaction of {stuck} managed accounts has been waiting for long.");
            reasons.push(Code::SenderStuck.because(text));
        }
    }

    fn validators(&self) -> Option<Reason> {
        let Validators { connected, of, cores, unreached } = self.validators;
        match (connected, unreached) {
            (0, _) => {
                let text = format!("None of {of} validators is connected, so nothing can be submitted or followed.");
                Some(Code::NoValidators.because(text))
            }
            (_, 0) => None,
            _ if unreached == cores => Some(Code::NoGuarantors.because(format!(
                "{connected} of {of} validators are connected, and none of them guarantees on any of the {cores} cores now."
            ))),
            _ => Some(Code::FewGuarantors.because(format!(
                "{connected} of {of} validators are connected, and no guarantor of {unreached} of {cores} cores is among \
                 them."
            ))),
        }
    }

    fn chain(&self) -> Option<Reason> {
        if self.jam.catching_up {
            let text = "The node fetches blocks of the JAM chain that it missed, and submits nothing until it has them.";
            return Some(Code::CatchingUp.because(text));
        }
        let silent = |best: u32| self.clock.slot_at(self.now).saturating_sub(best);
        match self.jam.best_slot {
            // A chain's first slot lies years back.
            None | Some(0) => Some(Code::JamSilent.because("No block of JAM has arrived since the start.")),
            Some(best) if silent(best) > SILENT_SLOTS_MAX => Some(
                Code::JamSilent
                    .because(format!("No block of JAM has arrived for {}.", counted(silent(best).into()))),
            ),
            Some(_) => None,
        }
    }

    /// Nothing can be sent to validators that are not connected: that is a reason of its own and no slowness.
    fn missed(&self) -> Option<Reason> {
        let missed = self.missed_at.filter(|_| self.validators.connected > 0)?;
        let slots = self.slots_since(missed);
        (slots <= u64::from(MISSED_SLOTS)).then(|| {
            Code::WindowMissed.because(format!(
                "A submission window was missed {} ago: the driver or the journal was too slow.",
                counted(slots)
            ))
        })
    }

    fn finality(&self) -> Option<Reason> {
        let Jam { finality_lag_blocks: lag, finality_lag_blocks_max: max, .. } = self.jam;
        (lag >= max)
            .then(|| Code::FinalityLags.because(format!("Finality is {lag} blocks behind the best block.")))
    }

    fn stuck(&self) -> Option<Reason> {
        let (number, sealed_at) = self.queue.oldest.filter(|_| !self.dry_run)?;
        let slots = self.slots_since(sealed_at);
        (slots > u64::from(STUCK_SLOTS)).then(|| {
            Code::BundleStuck
                .because(format!("Block {number} is not final {} after it was sealed.", counted(slots)))
        })
    }

    /// A queue without room that takes no block for long. An abandoned block or a foreign head stops building as well, and
    /// is a reason of its own.
    fn full(&self) -> Option<Reason> {
        let Queue { waiting, waiting_bytes, is_full, newest_at, abandoned, .. } = self.queue;
        let slots = self.slots_since(newest_at?);
        if !is_full
            || self.dry_run
            || abandoned.is_some()
            || self.foreign_head.is_some()
            || slots <= u64::from(FULL_SLOTS)
        {
            return None;
        }
        let megabytes = waiting_bytes / 1_000_000;
        Some(Code::QueueFull.because(format!(
            "{waiting} blocks of {megabytes} MB wait to be submitted or are not final, as many as may, so no block is sealed; \
             the last one was sealed {} ago.",
            counted(slots)
        )))
    }

    fn slots_since(&self, time: types::Time) -> u64 {
        let slot_ms = self.clock.slot_duration().as_millis().max(1);
        u64::try_from(self.now.since(time).as_millis() / slot_ms).unwrap_or(u64::MAX)
    }
}

fn counted(slots: u64) -> String {
    format!("{slots} slot{}", if slots == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
