//! Known mistakes, so that the simulator can show that it finds them.

/// A mistake in a rule that this crate holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The driver wants to be woken for transactions that it does not drop while time is in doubt: it never rests.
    HotLoop,
    /// Time stands still when a clock that was ahead is corrected, until the wrong time has come.
    FrozenClock,
    /// Transactions expire by a clock that is in doubt.
    ExpiresInDoubt,
    /// What a wrong clock dated keeps its date when the clock is corrected.
    WrongDates,
    /// The queue does not learn which cores have no connected guarantor.
    UnreachableCores,
}
