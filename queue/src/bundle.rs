//! One bundle: a run of blocks that never changes, the versions in which it was sent, and where it stands.

use crate::sealed::QueuedBlock;
use jam::{Hash, HeaderHash, PackageHash, RefineContext};
use std::sync::Arc;
use types::{BlockId, Run, Time};

/// One version of a bundle: its blocks with one refine context, for one code of the service. Its package hash is its identity on the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// Counts from 1.
    pub number: u32,
    /// What the chain knows it by.
    pub package: PackageHash,
    /// What it was built against.
    pub context: RefineContext,
    /// The code of the service that it names.
    pub code_hash: Hash,
    /// The height of its anchor: it can be reported up to [`history`](crate::Config::history) blocks above.
    pub anchor_height: u64,
    /// The core it was last sent to.
    pub core: u16,
    /// When it was last sent.
    pub sent_at: Time,
    /// How often its bytes were sent.
    pub sends: u32,
    /// Whether a guarantor took it when it was last sent.
    pub taken: bool,
    /// Whether it counts against the bundle: taken, and not guaranteed although nothing else stood in the way.
    pub counted: bool,
}

/// Where a bundle stands, with what belongs to it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It waits for a window and a core.
    Queued {
        /// The version that will be sent.
        version: u32,
    },
    /// It was sent and waits for its guarantee; its core is ours.
    Submitted {
        /// The version.
        version: u32,
        /// The core.
        core: u16,
        /// When it was sent.
        sent_at: Time,
        /// Its anchor.
        anchor: HeaderHash,
    },
    /// A version stands in a block; the core is free again. It may still be dropped.
    Guaranteed {
        /// The lowest version that stands there, or the last one sent if it waits in the service.
        version: u32,
        /// On which core; `None` once its report has left the core and it waits in the service for its parent.
        core: Option<u16>,
    },
    /// The service applied it at the best block.
    Accumulated,
    /// The service applied it at the finalized block. Nothing changes any more.
    Finalized,
    /// It failed too often, or stands on one that did. It waits until it is certain that it is dead.
    Abandoned,
    /// It is dead, and the transactions of its blocks are back in the pool.
    Released,
}

impl State {
    /// The state's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "Queued",
            Self::Submitted { .. } => "Submitted",
            Self::Guaranteed { .. } => "Guaranteed",
            Self::Accumulated => "Accumulated",
            Self::Finalized => "Finalized",
            Self::Abandoned => "Abandoned",
            Self::Released => "Released",
        }
    }

    /// Every legal move. What the chain says may jump ahead (a guarantee seen late, together with its accumulation)
    /// and, until it is final, back; only final and released bundles never move.
    pub const fn may_become(&self, next: &Self) -> bool {
        use State::{Abandoned, Accumulated, Finalized, Guaranteed, Queued, Released, Submitted};
        match (self, next) {
            (Finalized | Released, _) => false,
            (_, Guaranteed { .. } | Accumulated | Finalized) => true,
            (Queued { .. }, Submitted { .. } | Abandoned | Queued { .. }) => true,
            (Submitted { .. }, Queued { .. } | Submitted { .. } | Abandoned) => true,
            (Guaranteed { .. } | Accumulated, Queued { .. } | Submitted { .. } | Abandoned) => true,
            (Abandoned, Queued { .. } | Released | Abandoned) => true,
            (Abandoned, Submitted { .. }) => false,
            // It stands on a dead block: that it is guaranteed, or waits in the service, helps it no more.
            (Guaranteed { .. }, Released) => true,
            (Queued { .. } | Submitted { .. } | Accumulated, Released) => false,
        }
    }
}

/// What the journal says about sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// To be sent: the bytes of the last version again, or a new version.
    Waiting { again: bool },
    /// The last version is out.
    Out,
}

/// What the chain says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// No version is on the best branch.
    Nowhere,
    /// A version is reported, or waits in the service.
    Guaranteed { version: u32, core: Option<u16> },
    /// Applied at the best block.
    Applied,
    /// Applied at the finalized block.
    Final,
}

/// A bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bundle {
    /// The first and the last of its blocks.
    pub run: Run,
    /// What the first one stands on.
    pub parent: BlockId,
    /// Its blocks, lowest first.
    pub blocks: Arc<[QueuedBlock]>,
    /// All versions that were ever sent.
    pub versions: Vec<Version>,
    /// Where it stands.
    pub state: State,
    pub(crate) phase: Phase,
    pub(crate) seen: Seen,
    /// The timeout runs from here; `None` while another report keeps the core busy.
    pub(crate) timer: Option<Time>,
    /// The height of the best block when the timeout began.
    pub(crate) since_height: u64,
    /// Further versions that were seen guaranteed.
    pub(crate) duplicates: usize,
}

impl Bundle {
    /// `None` without a block.
    pub(crate) fn new(parent: BlockId, blocks: Arc<[QueuedBlock]>) -> Option<Self> {
        let run = Run { first: blocks.first()?.id, last: blocks.last()?.id };
        Some(Self {
            run,
            parent,
            blocks,
            versions: vec![],
            state: State::Queued { version: 1 },
            phase: Phase::Waiting { again: false },
            seen: Seen::Nowhere,
            timer: None,
            since_height: 0,
            duplicates: 0,
        })
    }

    /// The number of its first block, which it is known by.
    pub const fn number(&self) -> u64 {
        self.run.first.number
    }

    /// When its first block was sealed.
    pub fn sealed_at(&self) -> Time {
        self.blocks.first().map_or(Time::ZERO, |block| block.sealed_at)
    }

    /// How many transactions its blocks have.
    pub fn transactions(&self) -> usize {
        self.blocks.iter().map(|block| block.transactions as usize).sum()
    }

    /// How many versions count against it.
    pub fn counted(&self) -> u32 {
        self.versions.iter().filter(|version| version.counted).count() as u32
    }

    /// The version that will be sent next.
    pub(crate) fn next_version(&self) -> u32 {
        let last = self.versions.last().map_or(0, |version| version.number);
        match self.phase {
            Phase::Waiting { again: true } => last.max(1),
            _ => last + 1,
        }
    }

    /// Where it stands, from what the journal and what the chain say: the one place where that is decided.
    pub(crate) fn derive(&self, abandoned: bool) -> State {
        match (self.seen, self.phase, self.versions.last()) {
            (Seen::Final, ..) => State::Finalized,
            (Seen::Applied, ..) => State::Accumulated,
            (Seen::Guaranteed { version, core }, ..) => State::Guaranteed { version, core },
            (Seen::Nowhere, ..) if abandoned => State::Abandoned,
            (Seen::Nowhere, Phase::Out, Some(last)) => State::Submitted {
                version: last.number,
                core: last.core,
                sent_at: last.sent_at,
                anchor: last.context.anchor,
            },
            (Seen::Nowhere, ..) => State::Queued { version: self.next_version() },
        }
    }
}
