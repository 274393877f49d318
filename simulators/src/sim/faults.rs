//! What goes wrong, and how often. Every seed has a swarm of its own: some kinds of fault not at all, some often.

use crate::swarm::{FaultKind, Swarm};

/// The kinds of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub(super) enum Fault {
    /// A submission does not arrive, and the sender learns it.
    SubmissionDropped,
    /// A submission arrives up to a minute later.
    SubmissionDelayed,
    /// A submission arrives twice, the second time later.
    SubmissionDuplicated,
    /// A guarantor takes a submission and does nothing with it.
    AcceptedSilent,
    /// The answer to a submission is lost.
    AnswerLost,
    /// A guarantor takes some slots before it reports.
    GuarantorSlow,
    /// A report never becomes available.
    NeverAvailable,
    /// Availability takes some blocks longer.
    AvailableLate,
    /// A slot without a block.
    SlotSkipped,
    /// Two branches for a while.
    Fork,
    /// Finality stands still for a while.
    FinalityStall,
    /// Nothing gets in or out for minutes.
    Outage,
    /// A block notice is lost.
    NoticeLost,
    /// A block notice comes late, out of order.
    NoticeLate,
    /// A block notice comes twice.
    NoticeTwice,
    /// The machine's wall clock jumps up to ten seconds, either way.
    ClockJump,
    /// The machine's wall clock jumps by hours, either way, and stays there.
    ClockWrong,
    /// Some validators, or all, are not connected for a while.
    PeersLost,
    /// The disk takes up to some seconds for a commit, while the driver goes on.
    SlowDisk,
    /// The node crashes at a journal operation, before or after it is durable.
    CrashAtCommit,
    /// The node crashes at any other time.
    Crash,
    /// A transaction comes that no validator will refine.
    Poison,
    /// A sender replaces a transaction.
    Replacement,
    /// Many transactions come at once.
    Flood,
    /// Packing takes seconds, longer than a window.
    SlowPacking,
}

/// How often each kind happens in one run.
pub(super) type Faults = Swarm<Fault>;

/// All kinds, with the most often that they may happen in one try, in thousandths.
const KINDS: &[(Fault, u64)] = &[
    (Fault::SubmissionDropped, 400),
    (Fault::SubmissionDelayed, 400),
    (Fault::SubmissionDuplicated, 300),
    (Fault::AcceptedSilent, 300),
    (Fault::AnswerLost, 300),
    (Fault::GuarantorSlow, 400),
    (Fault::NeverAvailable, 250),
    (Fault::AvailableLate, 300),
    (Fault::SlotSkipped, 350),
    (Fault::Fork, 250),
    (Fault::FinalityStall, 60),
    (Fault::Outage, 25),
    (Fault::NoticeLost, 300),
    (Fault::NoticeLate, 400),
    (Fault::NoticeTwice, 300),
    (Fault::ClockJump, 20),
    (Fault::ClockWrong, 20),
    (Fault::PeersLost, 30),
    (Fault::SlowDisk, 200),
    (Fault::CrashAtCommit, 60),
    (Fault::Crash, 6),
    (Fault::Poison, 12),
    (Fault::Replacement, 200),
    (Fault::Flood, 40),
    (Fault::SlowPacking, 300),
];

impl FaultKind for Fault {
    const KINDS: &'static [(Self, u64)] = KINDS;

    fn index(self) -> usize {
        self as usize
    }

    /// Poison makes runs long; most seeds do without.
    fn one_in(self) -> u64 {
        if self == Self::Poison { 8 } else { 2 }
    }

    fn counts(self) -> bool {
        !matches!(self, Self::Replacement | Self::Flood)
    }
}
