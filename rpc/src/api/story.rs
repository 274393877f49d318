//! A transaction's story: each thing that happened to it, in order, with the block that it happened in.
//!
//! What was given up comes from the archive, which remembers it for as long as it knows the transaction. When blocks got on
//! comes from memory: a moment from before the last start is not known, and then `at` is null.

use super::builder::{id, ms};
use crate::pooled::Times;
use serde_json::{Value, json};
use types::{BlockId, Release, Story, Time};

/// The block that a transaction is in now.
pub(super) struct Inclusion<'a> {
    pub(super) block: BlockId,
    pub(super) times: &'a Times,
    pub(super) is_applied: bool,
    pub(super) is_final: bool,
}

/// See the [module](self).
pub(super) fn of(
    since: Option<Time>,
    story: &Story,
    times: impl Fn(&BlockId) -> Times,
    inclusion: Option<&Inclusion<'_>>,
    ended: Option<(String, Time)>,
) -> Vec<Value> {
    let mut episodes = vec![json!({ "event": "accepted", "at": ms(since) })];
    for Release { block, sealed_at, released_at, by } in &story.releases {
        episodes.push(step("sealed", block, Some(*sealed_at)));
        let times = times(block);
        for (name, at) in [("submitted", times.submitted), ("guaranteed", times.guaranteed)] {
            episodes.extend(at.map(|at| step(name, block, Some(at))));
        }
        let mut released = step("released", block, Some(*released_at));
        released["by"] = json!(by.to_string());
        episodes.push(released);
    }
    if let Some(Inclusion { block, times, is_applied, is_final }) = inclusion {
        let steps = [
            ("sealed", times.sealed, true),
            ("submitted", times.submitted, false),
            ("guaranteed", times.guaranteed, false),
            ("accumulated", times.accumulated, *is_applied),
            ("finalized", times.finalized, *is_final),
        ];
        let known = steps.into_iter().filter(|(_, at, is_certain)| *is_certain || at.is_some());
        episodes.extend(known.map(|(name, at, _)| step(name, block, at)));
    }
    episodes.extend(
        ended.map(|(reason, at)| json!({ "event": "ended", "at": at.as_millis(), "reason": reason })),
    );
    episodes
}

fn step(name: &str, block: &BlockId, at: Option<Time>) -> Value {
    json!({ "event": name, "at": ms(at), "block": id(*block) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::ReleasedBy;

    #[test]
    fn every_block_is_in_the_story_and_what_is_certain_without_a_time_too() {
        let at = Time::from_millis;
        let (first, second) = (BlockId::new(3, [1; 32].into()), BlockId::new(3, [2; 32].into()));
        let release =
            Release { block: first, sealed_at: at(2), released_at: at(4), by: ReleasedBy::Operator };
        let story = Story { accepted_at: Some(at(1)), releases: vec![release], ..Story::default() };
        let before = |_: &BlockId| Times { submitted: Some(at(3)), ..Times::default() };
        let now = Times { sealed: Some(at(5)), ..Times::default() };
        let inclusion = Inclusion { block: second, times: &now, is_applied: true, is_final: true };
        let told = of(story.accepted_at, &story, before, Some(&inclusion), None);
        let told = told.iter().map(|episode| {
            (episode["event"].as_str().unwrap(), episode["at"].as_u64(), episode["block"]["hash"].clone())
        });
        let (first, second) = (json!(first.hash), json!(second.hash));
        let expected = [
            ("accepted", Some(1), Value::Null),
            ("sealed", Some(2), first.clone()),
            ("submitted", Some(3), first.clone()),
            ("released", Some(4), first),
            ("sealed", Some(5), second.clone()),
            ("accumulated", None, second.clone()),
            ("finalized", None, second),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
