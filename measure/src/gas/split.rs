//! Where the gas of a run goes: what the program says of its own work while it runs.

use service::refine::Phase;
use std::fmt;

/// The gas of each part of the work, and what is in none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Split {
    parts: [u64; Phase::ALL.len()],
    rest: u64,
}

/// Listens to a run.
#[derive(Debug)]
pub(super) struct Listener {
    left: u64,
    split: Split,
}

impl Listener {
    /// A run that begins with so much gas.
    pub(super) fn new(gas: u64) -> Self {
        Self { left: gas, split: Split::default() }
    }

    /// The program says that a part is done, with so much gas left.
    pub(super) fn hear(&mut self, left: u64, name: &[u8]) {
        let spent = self.left.saturating_sub(left);
        self.left = left;
        match Phase::ALL.iter().position(|phase| phase.name().as_bytes() == name) {
            Some(part) => self.split.parts[part] += spent,
            None => self.split.rest += spent,
        }
    }

    /// The run ended with so much gas left.
    pub(super) fn end(mut self, left: u64) -> Split {
        self.hear(left, b"");
        self.split
    }
}

impl Split {
    /// What a block has beyond another one, for each of so many transactions.
    pub(super) fn beyond(&self, other: &Self, transactions: u64) -> Self {
        let each = |ours: u64, theirs: u64| ours.saturating_sub(theirs) / transactions.max(1);
        let parts = std::array::from_fn(|part| each(self.parts[part], other.parts[part]));
        Self { parts, rest: each(self.rest, other.rest) }
    }

    /// The gas of all parts.
    pub(super) fn total(&self) -> u64 {
        self.parts.iter().sum::<u64>() + self.rest
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (phase, gas) in Phase::ALL.iter().zip(self.parts) {
            write!(f, "{}={gas} ", phase.name())?;
        }
        write!(f, "rest={}", self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_what_was_used() {
        let mut listener = Listener::new(1_000);
        listener.hear(900, b"package");
        listener.hear(700, b"execution");
        listener.hear(650, b"state-root");
        listener.hear(600, b"execution");
        let split = listener.end(500);
        assert_eq!(split.total(), 500);
        assert_eq!(
            split.to_string(),
            "package=100 signatures=0 witness=0 execution=250 state-root=50 lists=0 rest=100"
        );
        let half = Split { rest: 50, ..Split::default() };
        assert_eq!(
            split.beyond(&half, 10).to_string(),
            "package=10 signatures=0 witness=0 execution=25 state-root=5 lists=0 rest=5"
        );
    }
}
