//! From pictures to what changed between them: new blocks, blocks that were given up, new transactions.
//!
//! One task compares each snapshot with what it has told so far. Subscriptions listen to it; filters look into the list
//! of the last notices. Both see the same in the same order, so they cannot disagree.

use crate::{Archive, Feed, PendingBlock, PoolIndex, Snapshot, snapshot::Happened};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::broadcast;
use types::{Event, ReceiptedBlock, Transaction};

/// How many notices a slow subscriber may be behind before it is cut off.
const NOTICES_WAITING_MAX: usize = 4096;
/// How many notices are kept for filters.
const NOTICES_KEPT_MAX: usize = 8192;
/// How many told blocks are remembered, to say which of them were given up: more than can be unfinished.
const BLOCKS_TOLD_MAX: usize = 256;

/// Something that changed.
#[derive(Clone)]
pub(crate) enum Notice {
    /// A block was sealed, or given up.
    Block { block: ReceiptedBlock, removed: bool },
    /// Transactions that can be executed came in.
    Transactions(Arc<[Transaction]>),
    /// The open block changed.
    Pending(Arc<PendingBlock>),
    /// Everything that happened, as the operator sees it.
    Happened(Happened),
}

/// A notice with its number, counted from when the node started.
#[derive(Clone)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) notice: Notice,
}

/// What happened, for all who listen.
#[derive(Clone)]
pub(crate) struct Hub {
    notices: broadcast::Sender<Numbered>,
    /// The number of the last notice that listeners have.
    sent: Arc<AtomicU64>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    newest: u64,
    notices: VecDeque<Notice>,
}

impl Hub {
    /// Follows a feed for as long as it lives.
    pub(crate) fn start(feed: &Feed, archive: Arc<dyn Archive>, pool: Arc<PoolIndex>) -> Self {
        let notices = broadcast::channel(NOTICES_WAITING_MAX).0;
        let hub = Self { notices, sent: Arc::default(), kept: Arc::default() };
        let mut snapshots = feed.watch();
        let mut happened = feed.listen();
        let first = snapshots.borrow_and_update().clone();
        let mut told = Told { blocks: [first.latest().block.clone()].into(), pending: first.pending.clone() };
        let this = hub.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    changed = snapshots.changed() => match changed {
                        Ok(()) => {
                            let snapshot = snapshots.borrow_and_update().clone();
                            told.compare(&snapshot, &*archive, &mut |notice| this.tell(notice));
                        }
                        Err(_) => return,
                    },
                    happened = happened.recv() => match happened {
                        Ok(happened) => this.tell_happened(happened, &pool),
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => return,
                    },
                }
            }
        });
        hub
    }

    fn tell_happened(&self, happened: Happened, pool: &PoolIndex) {
        let executable = happened.events.iter().filter_map(|event| match event {
            Event::Added { hash, pending: true, .. } | Event::Promoted { hash, .. } => pool.get(hash),
            _ => None,
        });
        let executable = executable.map(|pooled| pooled.tx).collect::<Vec<_>>();
        if !executable.is_empty() {
            self.tell(Notice::Transactions(executable.into()));
        }
        self.send(Notice::Happened(happened));
    }

    /// Only one task sends; the number counts once the notice is there.
    fn send(&self, notice: Notice) {
        let number = self.sent.load(Ordering::Relaxed) + 1;
        // Nobody listens: nobody is told.
        let _ = self.notices.send(Numbered { number, notice });
        self.sent.store(number, Ordering::Release);
    }

    fn tell(&self, notice: Notice) {
        if matches!(notice, Notice::Block { .. } | Notice::Transactions(_)) {
            let mut kept = self.kept.lock();
            kept.newest += 1;
            if kept.notices.len() == NOTICES_KEPT_MAX {
                kept.notices.pop_front();
            }
            kept.notices.push_back(notice.clone());
        }
        self.send(notice);
    }

    /// What happens from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Numbered> {
        self.notices.subscribe()
    }

    /// The number of the last notice that listeners have.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// The number of the newest notice.
    pub(crate) fn newest(&self) -> u64 {
        self.kept.lock().newest
    }

    /// The notices after `told`, and the number of the newest; `None` if some of them are not kept any more.
    pub(crate) fn since(&self, told: u64) -> Option<(u64, Vec<Notice>)> {
        let kept = self.kept.lock();
        let new = usize::try_from(kept.newest.checked_sub(told)?).ok()?;
        let old = kept.notices.len().checked_sub(new)?;
        Some((kept.newest, kept.notices.range(old..).cloned().collect()))
    }
}

/// What was told so far.
struct Told {
    /// Never empty; the last is the newest.
    blocks: VecDeque<ReceiptedBlock>,
    pending: Option<Arc<PendingBlock>>,
}

impl Told {
    fn compare(&mut self, snapshot: &Snapshot, archive: &dyn Archive, tell: &mut dyn FnMut(Notice)) {
        let oldest = snapshot.blocks()[0].id().number;
        while let Some(newest) = self.blocks.back() {
            let id = newest.block.id();
            let still = snapshot.by_number(id.number).map_or(id.number < oldest, |block| block.id() == id);
            if still {
                break;
            }
            tell(Notice::Block { block: newest.clone(), removed: true });
            self.blocks.pop_back();
        }
        let next = self.blocks.back().map_or(oldest, |block| block.block.id().number + 1);
        for number in next..=snapshot.latest().id().number {
            let block = match snapshot.by_number(number) {
                Some(block) => Some(block.block.clone()),
                None => archive.block(number).ok().flatten(),
            };
            let Some(block) = block else { continue };
            tell(Notice::Block { block: block.clone(), removed: false });
            if self.blocks.len() == BLOCKS_TOLD_MAX {
                self.blocks.pop_front();
            }
            self.blocks.push_back(block);
        }
        let same = match (&self.pending, &snapshot.pending) {
            (Some(told), Some(now)) => Arc::ptr_eq(told, now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.pending.clone_from(&snapshot.pending);
            if let Some(pending) = &self.pending {
                tell(Notice::Pending(pending.clone()));
            }
        }
    }
}

/// A name that nobody guesses, as filters and subscriptions have them: `0x` and 32 digits, the first of them not zero,
/// since it is specified as a number.
pub(crate) fn id() -> String {
    static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("0x{:016x}{:016x}", KEYS.0.hash_one(count) | 1 << 63, KEYS.1.hash_one(count))
}
