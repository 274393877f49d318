//! The index finds exactly the logs that a look at every one of them finds.

use super::script::{Deed, OTHER_TOKEN, TOKEN, Writer, batch, genesis, options, token_transfer, transfer};
use alloy_primitives::{Address, B256};
use harness::blocks::{Wallet, contracts::TRANSFER_TOPIC};
use proptest::prelude::*;
use std::{sync::LazyLock, time::Instant};
use store::{FoundLog, LogFilter, LogLimits, Store, StoreError};

const BLOCKS: u64 = 24;

/// Blocks with and without logs of two tokens, the last one not final.
static STORE: LazyLock<Store> = LazyLock::new(|| {
    let store = Store::in_memory(options(), &genesis()).unwrap();
    let mut writer = Writer::new();
    let mut nonces = [0; 4];
    for number in 1..=BLOCKS {
        let mut txs = vec![];
        for (wallet, nonce) in (0_u64..).zip(&mut nonces) {
            let kind = (number * 7 + wallet * 3) % 5;
            let to = Address::repeat_byte((number % 3) as u8);
            txs.extend(match kind {
                0 | 1 => Some(token_transfer(wallet, *nonce, TOKEN, to)),
                2 if number.is_multiple_of(2) => Some(token_transfer(wallet, *nonce, OTHER_TOKEN, to)),
                3 => Some(transfer(wallet, *nonce)),
                _ => continue,
            });
            *nonce += 1;
        }
        store.commit(&batch(&writer.seal(&txs))).unwrap();
        if number > 1 {
            let done: Vec<Deed> = vec![writer.finalize(number as usize - 1)];
            store.commit(&batch(&done)).unwrap();
        }
    }
    store
});

/// Looks at every log.
fn look(range: std::ops::RangeInclusive<u64>, filter: &LogFilter) -> Vec<FoundLog> {
    let reader = STORE.reader().unwrap();
    let mut found = vec![];
    for number in range.filter(|number| *number < BLOCKS) {
        let block = reader.receipted(number).unwrap().unwrap();
        let mut log_index = 0;
        for (tx_index, (tx, receipt)) in (0..).zip(block.block.transactions().iter().zip(&*block.receipts)) {
            for log in receipt.logs() {
                if filter.matches(log) {
                    found.push(FoundLog {
                        log: log.clone(),
                        block: block.block.id(),
                        timestamp: block.block.header().timestamp,
                        tx_hash: tx.hash(),
                        tx_index,
                        log_index,
                    });
                }
                log_index += 1;
            }
        }
    }
    found
}

fn word(address: Address) -> B256 {
    address.into_word()
}

fn filters() -> impl Strategy<Value = LogFilter> {
    let addresses = prop::sample::subsequence(vec![TOKEN, OTHER_TOKEN, Address::repeat_byte(9)], 0..3);
    let kinds = prop::sample::subsequence(vec![TRANSFER_TOPIC, B256::ZERO], 0..2);
    let senders = (0..4).map(|wallet| word(Wallet::new(wallet).address())).collect::<Vec<_>>();
    let senders = prop::sample::subsequence(senders, 0..3);
    let receivers = (0..4).map(|byte| word(Address::repeat_byte(byte))).collect::<Vec<_>>();
    let receivers = prop::sample::subsequence(receivers, 0..3);
    (addresses, kinds, senders, receivers, 0..6_usize).prop_map(|(addresses, kinds, from, to, len)| {
        let mut topics = vec![kinds, from, to, vec![], vec![]];
        topics.truncate(len);
        LogFilter { addresses, topics }
    })
}

proptest! {
    #[test]
    fn the_index_finds_what_a_look_at_everything_finds(
        filter in filters(),
        first in 0..BLOCKS + 2,
        len in 0..BLOCKS + 4,
        logs in 0..40_usize,
    ) {
        let range = first..=first + len;
        let expected = look(range.clone(), &filter);
        let reader = STORE.reader().unwrap();
        prop_assert_eq!(&reader.logs(range.clone(), &filter, LogLimits::NONE).unwrap(), &expected);
        let some = LogLimits { logs, ..LogLimits::NONE };
        let first = &expected[..logs.min(expected.len())];
        prop_assert_eq!(reader.logs(range.clone(), &filter, some).unwrap(), first);
        // The data of a transfer is one word: the log that exceeds the bytes is the last one.
        let some = LogLimits { bytes: 32 * logs, ..LogLimits::NONE };
        let first = &expected[..(logs + 1).min(expected.len())];
        prop_assert_eq!(reader.logs(range, &filter, some).unwrap(), first);
    }
}

#[test]
fn a_search_ends_with_its_time() {
    let reader = STORE.reader().unwrap();
    let over = LogLimits { until: Some(Instant::now()), ..LogLimits::NONE };
    for filter in [
        LogFilter { topics: vec![vec![]; 4], ..LogFilter::default() },
        LogFilter { addresses: vec![TOKEN], ..LogFilter::default() },
        LogFilter { topics: vec![vec![TRANSFER_TOPIC]], ..LogFilter::default() },
    ] {
        assert!(matches!(reader.logs(0..=BLOCKS, &filter, over), Err(StoreError::TooLong)), "{filter:?}");
    }
}

#[test]
fn there_are_logs_to_find() {
    let all = look(0..=BLOCKS, &LogFilter::default());
    let of = |token| all.iter().filter(|found| found.log.address == token).count();
    assert!(of(TOKEN) > 10 && of(OTHER_TOKEN) > 2, "{} and {}", of(TOKEN), of(OTHER_TOKEN));
    assert!(all.iter().all(|found| found.block.number < BLOCKS), "only final ones");
}
