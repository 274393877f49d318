//! The legal moves as a table, and numbers that only configuration decides.

use crate::{Queue, State};
use jam::HeaderHash;
use types::Time;

#[test]
fn suspects_come_in_blocks_an_eighth_as_large_each_time() {
    let sizes = [0, 1, 2, 3, 4, 21, 22, u32::MAX].map(|attempts| Queue::suspect_txs_max(500, attempts));
    assert_eq!(sizes, [500, 62, 7, 1, 1, 1, 1, 1]);
    assert_eq!(Queue::suspect_txs_max(0, 0), 1);
    assert_eq!(Queue::suspect_txs_max(usize::MAX, 21), 1);
}
