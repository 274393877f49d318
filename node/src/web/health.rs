//! Whether the node makes progress.

use rpc::Snapshot;
use types::Time;

/// Without a block for so many slots the node is cut off, or JAM stands still.
const BLOCK_SLOTS_MAX: u32 = 8;
/// A window that was missed is held against the node for so many slots.
const MISSED_SLOTS: u32 = 10;

/// Why the node is not ready; nothing if it is. A pause is the operator's own wish and no reason.
pub(super) fn not_ready(
    snapshot: &Snapshot,
    missed_at: Option<Time>,
    trouble: Option<String>,
    now: Time,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(trouble) = trouble {
        reasons.push(format!("the store cannot be written: {trouble}"));
    }
    let health = &snapshot.health;
    if let Some(why) = &health.halted {
        reasons.push(format!("building stopped: {why}"));
    }
    if health.syncing {
        reasons.push("it still catches up with JAM".to_owned());
    }
    let Some(outlook) = &snapshot.insight.outlook else { return reasons };
    let silent = outlook.clock.slot_at(now).saturating_sub(health.best_slot.unwrap_or(0));
    if silent > BLOCK_SLOTS_MAX {
        reasons.push(format!("no block of JAM has come for {silent} slots"));
    }
    let held = outlook.clock.slot_duration().saturating_mul(MISSED_SLOTS);
    if missed_at.is_some_and(|missed| now.since(missed) <= held) {
        reasons.push("a submission window was missed a moment ago".to_owned());
    }
    reasons
}
