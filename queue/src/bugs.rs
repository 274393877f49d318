//! Known mistakes, so that the simulator can show that it finds them.

/// A mistake in a rule that this crate holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// After `max_retries` the block is dropped and its transactions are gone.
    DropLosesTxs,
    /// A timeout sends a new version without looking at guarantees.
    LateGuaranteeDouble,
    /// What is in flight is counted globally, not per core.
    GlobalInflight,
    /// Death is judged on the best chain.
    DeadByBestBlock,
    /// There is no way back from guaranteed.
    GuaranteedIsFinal,
    /// The record of a submission is written after it was sent.
    ActBeforeRecord,
    /// Any accumulated package settles its block.
    AccumulatedIsApplied,
    /// A release is written in two steps.
    SplitRelease,
    /// Only the newest package hash is remembered.
    ForgetVersions,
    /// A release leaves the descendants.
    NoDescendants,
    /// What reached no guarantor is sent again at once, as long as the window is open.
    ResendAtOnce,
    /// A dead bundle of several blocks is released from its middle on.
    ReleaseHalfRun,
    /// The empty block that shows that the network works goes with others.
    ProbeSharesRun,
    /// Suspects go with others.
    SuspectsShareRun,
    /// When the service gets another code, bundles in flight keep the former one in all their versions.
    UpgradeForgetsInFlight,
}
