//! Which records say nothing any more. A journal that drops them does not grow with the chain, only with what is
//! unfinished.
//!
//! What a record about one block, or about the bundle that begins with it, says matters as long as that block is unfinished. The
//! others change what is abandoned; nothing enters the queue while something is, so those from before the oldest unfinished block
//! entered are settled. So is a bundle that was dissolved before.
//! The last release stays until a block from there on is final: it says which blocks count as having passed since.

use crate::Record;
use std::collections::BTreeMap;

impl Record {
    /// The one block that it is about.
    const fn block(&self) -> Option<u64> {
        match self {
            Self::Enqueued { block, .. } => Some(block.id.number),
            Self::Formed { first, .. } => Some(*first),
            Self::Submitted { block, .. } | Self::Taken { block, .. } | Self::Requeued { block, .. } => {
                Some(*block)
            }
            _ => None,
        }
    }

    /// Of the records of one queue, in order, whether each still says something. Those that do give the same queue as
    /// all of them, on the base that the last [`Record::Finalized`] among all of them names.
    pub fn still_needed(records: &[Self]) -> Vec<bool> {
        let (live, final_number) = unfinished(records);
        let since = live.values().copied().min().unwrap_or(records.len());
        let release = records.iter().rposition(|record| match record {
            Self::Released { from } => final_number.is_none_or(|number| *from > number),
            _ => false,
        });
        let needed = |(at, record): (usize, &Self)| match (record, record.block()) {
            (_, Some(block)) => live.get(&block).is_some_and(|entered| at >= *entered),
            (Self::Finalized { .. }, _) => false,
            _ => at >= since || Some(at) == release,
        };
        records.iter().enumerate().map(needed).collect()
    }
}

/// Where each unfinished block entered, and the last final number.
fn unfinished(records: &[Record]) -> (BTreeMap<u64, usize>, Option<u64>) {
    let (mut live, mut final_number) = (BTreeMap::new(), None);
    for (at, record) in records.iter().enumerate() {
        match record {
            Record::Enqueued { block, .. } => drop(live.insert(block.id.number, at)),
            Record::Released { from } => drop(live.split_off(from)),
            Record::Finalized { through } => {
                live.retain(|number, _| *number > through.number);
                final_number = Some(through.number);
            }
            _ => {}
        }
    }
    (live, final_number)
}
