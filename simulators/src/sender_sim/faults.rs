//! What goes wrong, and how often. Every seed has a swarm of its own: some kinds of fault not at all, some often.

use crate::swarm::{FaultKind, Swarm};

/// The kinds of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub(super) enum Fault {
    /// A question never arrives.
    QuestionLost,
    /// A question is answered, and the answer is lost.
    AnswerLost,
    /// Question or answer take long.
    Slow,
    /// A node says 429, or that it does not work.
    NodeBusy,
    /// A node is some blocks behind.
    Lagging,
    /// A node follows a branch that was left.
    StaleBranch,
    /// A node forgets a transaction.
    Eviction,
    /// The chain changes its mind about the newest blocks.
    Reorg,
    /// Finality stands still for a while.
    FinalityStall,
    /// No block for a while.
    BlockSkipped,
    /// Fees rise steeply.
    FeeSpike,
    /// Somebody else uses the key.
    Foreign,
    /// The account runs dry.
    Drained,
    /// An owner crashes at a store operation, before or after it is durable.
    CrashAtCommit,
    /// An owner crashes at any other time.
    Crash,
    /// The store does not say whether it has done a commit.
    CommitUnknown,
    /// An owner stands still for longer than its lease.
    Freeze,
    /// Somebody takes a lease by force.
    ForcedTakeover,
    /// The signer fails, or takes long.
    SignerFails,
    /// A receiver of webhooks fails, or its answer is lost.
    ReceiverFails,
    /// A request comes that nodes refuse for ever.
    Unminable,
    /// An operator resets the nonce book.
    Reset,
    /// An operator pauses the account.
    Pause,
    /// The signer refuses one transaction, and signs the others.
    SignerRefuses,
    /// Blocks of a chain without EIP-1559 seem to have a base fee.
    MarketHidden,
    /// A provider answers "0x0" to everything.
    Nonsense,
}

/// How often each kind happens in one run.
pub(super) type Faults = Swarm<Fault>;

/// All kinds, with the most often that they may happen in one try, in thousandths.
const KINDS: &[(Fault, u64)] = &[
    (Fault::QuestionLost, 200),
    (Fault::AnswerLost, 300),
    (Fault::Slow, 200),
    (Fault::NodeBusy, 300),
    (Fault::Lagging, 400),
    (Fault::StaleBranch, 300),
    (Fault::Eviction, 150),
    (Fault::Reorg, 200),
    (Fault::FinalityStall, 60),
    (Fault::BlockSkipped, 300),
    (Fault::FeeSpike, 60),
    (Fault::Foreign, 120),
    (Fault::Drained, 25),
    (Fault::CrashAtCommit, 80),
    (Fault::Crash, 15),
    (Fault::CommitUnknown, 80),
    (Fault::Freeze, 30),
    (Fault::ForcedTakeover, 60),
    (Fault::SignerFails, 200),
    (Fault::ReceiverFails, 500),
    (Fault::Unminable, 100),
    (Fault::Reset, 100),
    (Fault::Pause, 60),
    (Fault::SignerRefuses, 60),
    (Fault::MarketHidden, 300),
    (Fault::Nonsense, 150),
];

impl FaultKind for Fault {
    const KINDS: &'static [(Self, u64)] = KINDS;

    fn index(self) -> usize {
        self as usize
    }
}
