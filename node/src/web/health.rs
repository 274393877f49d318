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
    match health.best_slot {
        // A chain's first slot lies years back.
        None | Some(0) => reasons.push("no block of JAM has come since the start".to_owned()),
        _ if silent > BLOCK_SLOTS_MAX => reasons.push(format!("no block of JAM has come for {silent} slots")),
        _ => {}
    }
    let held = outlook.clock.slot_duration().saturating_mul(MISSED_SLOTS);
    if missed_at.is_some_and(|missed| now.since(missed) <= held) {
        reasons.push("a submission window was missed a moment ago".to_owned());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::Header;
    use jam::{Params, SlotClock};
    use rpc::{Health, Insight, LayerState, Parts, RecentBlock, Tags};
    use std::sync::Arc;
    use types::{Duration, ReceiptedBlock, SealedBlock};

    const SLOT: Duration = Duration::from_secs(6);

    /// A node whose best block is that of slot 100.
    fn snapshot(change: impl FnOnce(&mut Health)) -> Snapshot {
        let clock = SlotClock::starting_at(Time::ZERO, 6000);
        let config = queue::Config::new(&Params::TINY, 6000);
        let block = SealedBlock::new(Header::default(), vec![]);
        let id = block.id();
        let layer = state::Layer::new(Arc::new(state::MemoryValues::default()), state::Tree::default(), 0);
        let state = Arc::new(LayerState::new(layer, Arc::new(state::CodeSet::default())));
        let mut health = Health { best_slot: Some(100), ..Health::default() };
        change(&mut health);
        let parts = Parts {
            tags: Tags { safe: id, finalized: id },
            pending: None,
            queue: Arc::new(queue::Queue::new(config.clone(), clock, id).snapshot()),
            pool: txpool::Stats::default(),
            rules: txpool::Config::default().rules(txpool::Head { base_fee_wei: 0, gas_limit: 0 }),
            health,
            insight: Insight {
                outlook: Some(Arc::new(queue::Outlook::empty(&config, clock))),
                ..Insight::default()
            },
        };
        let recent = RecentBlock::new(ReceiptedBlock { block, receipts: [].into() }, state);
        Snapshot::new(vec![recent], parts).unwrap()
    }

    #[test]
    fn each_reason_is_told_and_only_while_it_lasts() {
        let now = Time::ZERO + SLOT * 101;
        let reasons = |snapshot: &Snapshot, missed, trouble: Option<&str>, now| {
            not_ready(snapshot, missed, trouble.map(str::to_owned), now).join("; ")
        };
        let well = snapshot(|_| {});
        assert_eq!(reasons(&well, None, None, now), "");
        assert_eq!(reasons(&well, None, None, now + SLOT * 8), "no block of JAM has come for 9 slots");
        assert_eq!(reasons(&well, None, Some("it is full"), now), "the store cannot be written: it is full");
        let missed = Some(now);
        assert_eq!(reasons(&well, missed, None, now), "a submission window was missed a moment ago");
        let later = snapshot(|health| health.best_slot = Some(120));
        assert_eq!(reasons(&later, missed, None, now + SLOT * 20), "");
        let halted = snapshot(|health| health.halted = Some("somebody else built".to_owned()));
        assert_eq!(reasons(&halted, None, None, now), "building stopped: somebody else built");
        assert_eq!(
            reasons(&snapshot(|health| health.syncing = true), None, None, now),
            "it still catches up with JAM"
        );
        assert_eq!(reasons(&snapshot(|health| health.paused = true), None, None, now), "");
        let new = snapshot(|health| health.best_slot = Some(0));
        assert_eq!(reasons(&new, None, None, now), "no block of JAM has come since the start");
    }
}
