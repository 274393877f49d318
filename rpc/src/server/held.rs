//! Large answers are held in memory until their clients have read them; together they take no more than allowed.
//!
//! When there is no room for another one, an answer gives way that its client should have read long ago, and the
//! connection that it is for is cut off: of the addresses that hold more than the newcomer's would, the oldest answer of
//! the one that holds most, or else the oldest of all. So clients that do not read harm others for a moment at most,
//! however many connections they open.

use super::{batch, connection_slots::CloseSignal};
use crate::{Error, Limits, Origin, error};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

/// Below this an answer is not counted: connections are limited too.
const SMALL_BYTES: usize = 64 * 1024;
/// An answer may be read for so long before it gives way to one of an address that holds less.
const UNFAIR_AFTER: Duration = Duration::from_secs(1);
/// Any answer may be read for so long before it gives way.
const STALE_AFTER: Duration = Duration::from_secs(10);

/// What may be held.
pub(super) struct Answers(Arc<Mutex<Ledger>>);

/// What is held: each answer by its number, hence the oldest first.
struct Ledger {
    parts: BTreeMap<u64, Part>,
    newest: u64,
    bytes: usize,
    bytes_max: usize,
}

/// What one answer takes.
struct Part {
    address: Option<IpAddr>,
    bytes: usize,
    since: Instant,
    close_signal: CloseSignal,
}

/// An answer with its part of what may be held.
struct Held {
    text: Vec<u8>,
    number: u64,
    ledger: Arc<Mutex<Ledger>>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.lock().release(self.number);
    }
}

impl Ledger {
    fn release(&mut self, number: u64) -> Option<Part> {
        let part = self.parts.remove(&number)?;
        self.bytes -= part.bytes;
        Some(part)
    }

    /// Makes room for so many bytes, or changes nothing. Whether there is room.
    fn make_room(&mut self, bytes: usize, address: Option<IpAddr>, now: Instant) -> bool {
        let mut by_address = HashMap::<Option<IpAddr>, usize>::new();
        for part in self.parts.values() {
            *by_address.entry(part.address).or_default() += part.bytes;
        }
        let (mut left, mut gone) = (self.bytes, Vec::<u64>::new());
        while left + bytes > self.bytes_max {
            let holds = |address| by_address.get(&address).copied().unwrap_or(0);
            let own = holds(address) + bytes;
            let waits = |after| {
                let is_late = move |part: &Part| now.saturating_duration_since(part.since) >= after;
                self.parts.iter().filter(move |(_, part)| is_late(part))
            };
            let waits = |after| waits(after).filter(|(number, _)| !gone.contains(number));
            let unfair =
                waits(UNFAIR_AFTER).filter(|(_, part)| part.address != address && holds(part.address) > own);
            // Of several the first is the oldest.
            let unfair = unfair.min_by_key(|(_, part)| Reverse(holds(part.address)));
            let Some((number, part)) = unfair.or_else(|| waits(STALE_AFTER).next()) else { return false };
            let (number, address) = (*number, part.address);
            left -= part.bytes;
            by_address.insert(address, holds(address) - part.bytes);
            gone.push(number);
        }
        for number in gone {
            if let Some(part) = self.release(number) {
                part.close_signal.close();
            }
        }
        true
    }
}

impl Answers {
    pub(super) fn new(limits: &Limits) -> Self {
        let bytes_max = limits.answers_bytes_max;
        Self(Arc::new(Mutex::new(Ledger { parts: BTreeMap::new(), newest: 0, bytes: 0, bytes_max })))
    }

    /// Holds an answer until it is dropped. If there is no room for it, the answer is that.
    pub(super) fn hold(&self, text: Vec<u8>, origin: Origin, close_signal: &CloseSignal) -> Bytes {
        self.hold_at(text, origin.address, close_signal, Instant::now())
    }

    fn hold_at(
        &self,
        text: Vec<u8>,
        address: Option<IpAddr>,
        close_signal: &CloseSignal,
        now: Instant,
    ) -> Bytes {
        let bytes = text.len();
        if bytes < SMALL_BYTES {
            return text.into();
        }
        let mut ledger = self.0.lock();
        if !ledger.make_room(bytes, address, now) {
            drop(ledger);
            return refusal(&text).into();
        }
        ledger.newest += 1;
        let number = ledger.newest;
        ledger.bytes += bytes;
        ledger.parts.insert(number, Part { address, bytes, since: now, close_signal: close_signal.clone() });
        drop(ledger);
        Bytes::from_owner(Held { text, number, ledger: self.0.clone() })
    }
}

/// What is said instead of an answer; to the same id, unless it is a batch.
fn refusal(answer: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Answered<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let id = serde_json::from_slice::<Answered<'_>>(answer).ok().map(|answered| answered.id);
    let why = "too many large answers wait to be read, try again later";
    let mut refusal = Vec::new();
    batch::write(&mut refusal, id, &Err(Error::new(error::LIMIT, why)));
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    /// Room for ten answers.
    struct World {
        answers: Answers,
        now: Instant,
    }

    impl World {
        fn new() -> Self {
            let limits = Limits { answers_bytes_max: 1000 * KIB, ..Limits::default() };
            Self { answers: Answers::new(&limits), now: Instant::now() }
        }

        fn hold(&self, address: u8, close_signal: &CloseSignal) -> Bytes {
            let address = Some(IpAddr::from([10, 0, 0, address]));
            self.answers.hold_at(large(), address, close_signal, self.now)
        }

        fn bytes(&self) -> usize {
            self.answers.0.lock().bytes
        }
    }

    fn large() -> Vec<u8> {
        let (begin, end) = (br#"{"jsonrpc":"2.0","id":"x","result":""#, br#""}"#);
        let result = vec![b'a'; 100 * KIB - begin.len() - end.len()];
        [&begin[..], &result, end].concat()
    }

    fn is_refused(answer: &Bytes) -> bool {
        answer.starts_with(br#"{"jsonrpc":"2.0","id":"x","error":{"code":-32005"#)
    }

    #[test]
    fn only_so_much_is_held_at_once() {
        let (world, close_signal) = (World::new(), CloseSignal::default());
        let mut held = (0..10).map(|_| world.hold(1, &close_signal)).collect::<Vec<_>>();
        assert!(held.iter().all(|answer| *answer == large()));
        assert!(is_refused(&world.hold(1, &close_signal)));
        let small = world.answers.hold_at(vec![b' '; 100], None, &close_signal, world.now);
        assert_eq!(small.len(), 100, "small ones always pass");
        held.pop();
        assert_eq!(world.hold(1, &close_signal), large());
        drop(held);
        assert_eq!(world.bytes(), 0);
    }

    #[test]
    fn whoever_holds_most_gives_way_to_others_and_the_oldest_of_its_answers_first() {
        let mut world = World::new();
        let signals = (0..10).map(|_| CloseSignal::default()).collect::<Vec<_>>();
        let mut greedy = signals.iter().map(|close_signal| world.hold(1, close_signal)).collect::<Vec<_>>();
        let other = CloseSignal::default();
        assert!(is_refused(&world.hold(2, &other)), "an answer that was just given may be read first");
        world.now += UNFAIR_AFTER;
        assert!(is_refused(&world.hold(1, &other)), "nothing gives way to whoever holds most");
        let given = (0..5).map(|_| world.hold(2, &other)).collect::<Vec<_>>();
        assert!(given.iter().all(|answer| *answer == large()));
        assert_eq!(signals.iter().filter(|close_signal| close_signal.is_asked()).count(), 5);
        assert!(signals[..5].iter().all(CloseSignal::is_asked), "the oldest");
        assert!(is_refused(&world.hold(2, &other)), "both hold the same now");
        assert_eq!(world.hold(3, &other), large(), "a third one holds less");
        assert!(world.bytes() <= 1000 * KIB);
        // What has given way is not counted twice when it is dropped.
        greedy.clear();
        assert_eq!(world.bytes(), 500 * KIB);
    }

    #[test]
    fn whatever_is_not_read_for_long_gives_way_even_to_the_same_address() {
        let mut world = World::new();
        let signals = (0..10).map(|_| CloseSignal::default()).collect::<Vec<_>>();
        let addresses = |index: usize| if index < 5 { 1 } else { index as u8 };
        let held = signals
            .iter()
            .enumerate()
            .map(|(index, close_signal)| world.hold(addresses(index), close_signal));
        let _held = held.collect::<Vec<_>>();
        world.now += STALE_AFTER;
        assert_eq!(world.hold(1, &CloseSignal::default()), large());
        assert!(signals[0].is_asked() && !signals[1..].iter().any(CloseSignal::is_asked));
    }

    #[test]
    fn nothing_gives_way_in_vain() {
        let mut world = World::new();
        let close_signal = CloseSignal::default();
        let _old = (0..5).map(|_| world.hold(1, &close_signal)).collect::<Vec<_>>();
        world.now += STALE_AFTER;
        let _new = (0..5).map(|_| world.hold(2, &close_signal)).collect::<Vec<_>>();
        let huge = vec![b'a'; 600 * KIB];
        let answer = world.answers.hold_at(huge, None, &close_signal, world.now);
        assert!(answer.len() < KIB, "not even all that is stale makes enough room");
        assert!(!close_signal.is_asked());
    }
}
