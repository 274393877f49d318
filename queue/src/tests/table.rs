//! The legal moves as a table, and numbers that only configuration decides.

use crate::{Queue, State};
use jam::HeaderHash;
use types::Time;

#[test]
fn every_legal_move_and_no_other() {
    let states = [
        State::Queued { version: 1 },
        State::Submitted { version: 1, core: 0, sent_at: Time::ZERO, anchor: HeaderHash::ZERO },
        State::Guaranteed { version: 1, core: Some(0) },
        State::Accumulated,
        State::Finalized,
        State::Abandoned,
        State::Released,
    ];
    // From the row to the column, in the order above. The chain may show anything; a block that stands on a dead one
    // is released from wherever it is, except applied.
    let table = [
        ("Queued", [1, 1, 1, 1, 1, 1, 0]),
        ("Submitted", [1, 1, 1, 1, 1, 1, 0]),
        ("Guaranteed", [1, 1, 1, 1, 1, 1, 1]),
        ("Accumulated", [1, 1, 1, 1, 1, 1, 0]),
        ("Finalized", [0, 0, 0, 0, 0, 0, 0]),
        ("Abandoned", [1, 0, 1, 1, 1, 1, 1]),
        ("Released", [0, 0, 0, 0, 0, 0, 0]),
    ];
    let moves = |from: &State| states.each_ref().map(|to| u8::from(from.may_become(to)));
    assert_eq!(states.each_ref().map(|from| (from.name(), moves(from))), table);
}

#[test]
fn suspects_come_in_blocks_an_eighth_as_large_each_time() {
    let sizes = [0, 1, 2, 3, 4, 21, 22, u32::MAX].map(|attempts| Queue::suspect_txs_max(500, attempts));
    assert_eq!(sizes, [500, 62, 7, 1, 1, 1, 1, 1]);
    assert_eq!(Queue::suspect_txs_max(0, 0), 1);
    assert_eq!(Queue::suspect_txs_max(usize::MAX, 21), 1);
}
