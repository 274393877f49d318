//! The moments at which a node is killed: right after something that it said, or before it has said anything.

use harness::rng::Rng;
use std::time::Duration;

/// Something that a node says in its log, after which it may be killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// It has accepted a transaction.
    Accepted,
    /// It has sealed a block.
    Sealed,
    /// The submission window has opened.
    Window,
    /// A bundle is about to be sent.
    Submitted,
    /// A bundle is guaranteed.
    Guaranteed,
    /// A block is applied.
    Accumulated,
    /// A block is final.
    Finalized,
    /// It is ready.
    Ready,
    /// It was started, some time ago, and may not be ready yet.
    Starting,
}

impl Moment {
    /// All of them.
    pub(super) const ALL: [Self; 9] = [
        Self::Accepted,
        Self::Sealed,
        Self::Window,
        Self::Submitted,
        Self::Guaranteed,
        Self::Accumulated,
        Self::Finalized,
        Self::Ready,
        Self::Starting,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::Accepted => "transaction added",
            Self::Sealed => "block sealed",
            Self::Window => "submission window open",
            Self::Submitted => "bundle submitted",
            Self::Guaranteed => "bundle guaranteed",
            Self::Accumulated => "bundle accumulated",
            Self::Finalized => "bundle finalized",
            Self::Ready => "ready in ",
            // Nothing is said then.
            Self::Starting => "\0",
        }
    }

    /// Whether a log line says that the moment has come.
    pub(super) fn is_said_by(self, line: &str) -> bool {
        line.contains(self.words())
    }
}

/// A moment, and how long after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strike {
    /// The moment.
    pub(super) moment: Moment,
    /// How long after it.
    pub(super) delay: Duration,
}

impl Strike {
    /// The next one in a shuffled sequence: every moment has its turn before any has its second. Some only come when
    /// a node has lived for a while.
    pub(super) fn draw(deck: &mut Vec<Moment>, rng: &mut Rng, needs_life: bool) -> Self {
        let is_short = |moment: &Moment| matches!(moment, Moment::Starting | Moment::Ready);
        if !deck.iter().any(|moment| !(needs_life && is_short(moment))) {
            deck.extend(Moment::ALL);
        }
        let moment = loop {
            let place = rng.below(deck.len() as u64) as usize;
            if !(needs_life && is_short(&deck[place])) {
                break deck.swap_remove(place);
            }
        };
        let delay_ms = match moment {
            Moment::Starting => rng.within(5, 400),
            // At once, half of the time: between a record and the act.
            _ if rng.chance(500) => 0,
            _ => rng.within(1, 60),
        };
        Self { moment, delay: Duration::from_millis(delay_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256};
    use types::{BlockId, Event};

    #[test]
    fn the_words_are_those_of_the_log() {
        let block = BlockId::new(7, B256::ZERO);
        let run = types::Run::of(block);
        let (hash, sender) = (B256::ZERO, Address::ZERO);
        let events = [
            Event::Added { hash, sender, pending: true },
            Event::Sealed { block, transactions: 1 },
            Event::Window { queued: 1, inflight: 0, submitted: 0, can_submit: true },
            Event::Submitted { run, version: 1, core: 0 },
            Event::Guaranteed { run, version: 1 },
            Event::Accumulated { run },
            Event::Finalized { run },
        ];
        for (moment, event) in Moment::ALL.into_iter().zip(events) {
            let said = Moment::ALL.into_iter().filter(|moment| moment.is_said_by(&event.to_string()));
            assert_eq!(said.collect::<Vec<_>>(), [moment]);
        }
    }

    #[test]
    fn every_moment_has_its_turn() {
        let (mut deck, mut rng) = (vec![], Rng::new(1));
        let drawn = Moment::ALL.map(|_| Strike::draw(&mut deck, &mut rng, false).moment);
        assert!(Moment::ALL.iter().all(|moment| drawn.contains(moment)));
        for _ in 0..100 {
            let moment = Strike::draw(&mut deck, &mut rng, true).moment;
            assert!(!matches!(moment, Moment::Starting | Moment::Ready));
        }
    }
}
