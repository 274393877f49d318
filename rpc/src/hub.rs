//! From pictures to what changed between them: new blocks, blocks that were given up, new transactions.
//!
//! One task compares each snapshot with what it has told so far. Subscriptions listen to it; filters look into the list
//! of the last notices. Both see the same in the same order, so they cannot disagree.

use crate::{Archive, Feed, Limits, PendingBlock, PoolIndex, Snapshot, snapshot::Happened};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::broadcast;
use types::{Event, ReceiptedBlock, Transaction};

/// How many notices a slow subscriber may be behind before it is cut off.
const NOTICES_WAITING_MAX: usize = 4096;
/// How many notices are kept for filters at most.
const NOTICES_KEPT_MAX: usize = 8192;
/// About what a transaction takes in memory, twice its bytes not counted: they are kept encoded and decoded.
const TRANSACTION_BYTES: usize = 1024;
/// About what a log takes in memory, its data not counted.
const LOG_BYTES: usize = 256;
/// How many told blocks are remembered, to say which of them were given up. If a release goes deeper, the blocks below are
/// not told of, and those that take their place are.
const BLOCKS_TOLD_MAX: usize = 256;
/// And about how many bytes of them.
const BYTES_TOLD_MAX: usize = 16 << 20;

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

impl Notice {
    /// About what it takes in memory, as if nobody else held it.
    fn bytes(&self) -> usize {
        let transactions = |all: &[Transaction]| {
            all.iter().map(|tx| TRANSACTION_BYTES + 2 * tx.encoded().len()).sum::<usize>()
        };
        match self {
            Self::Block { block, .. } => {
                let logs = block.receipts.iter().flat_map(|receipt| receipt.logs());
                let logs = logs.map(|log| LOG_BYTES + log.data.data.len()).sum::<usize>();
                TRANSACTION_BYTES + transactions(block.block.transactions()) + logs
            }
            Self::Transactions(all) => transactions(all),
            Self::Pending(_) | Self::Happened(_) => 0,
        }
    }
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

/// What filters have not asked for yet. It is held until no filter can ask for it any more, or until it takes too much:
/// blocks are large, and here they live longer than in any snapshot. As long as there is no filter nothing is held.
struct Kept {
    newest: u64,
    /// Until then there may be a filter.
    wanted_until: Option<Instant>,
    notices: VecDeque<KeptNotice>,
    bytes: usize,
    bytes_max: usize,
    /// As long as a filter lives that nobody asks for.
    ttl: Duration,
}

struct KeptNotice {
    notice: Notice,
    bytes: usize,
    since: Instant,
}

impl Kept {
    fn new(limits: &Limits) -> Self {
        let (bytes_max, ttl) = (limits.notices_bytes_max, limits.filter_ttl);
        Self { newest: 0, wanted_until: None, notices: VecDeque::new(), bytes: 0, bytes_max, ttl }
    }

    /// Somebody makes a filter or asks for one.
    fn want(&mut self, now: Instant) {
        self.wanted_until = Some(now + self.ttl);
    }

    fn is_wanted(&self, now: Instant) -> bool {
        self.wanted_until.is_some_and(|until| now <= until)
    }

    fn push(&mut self, notice: Notice, now: Instant) {
        self.newest += 1;
        if !self.is_wanted(now) {
            (self.notices, self.bytes) = (VecDeque::new(), 0);
            return;
        }
        let bytes = notice.bytes();
        self.bytes += bytes;
        self.notices.push_back(KeptNotice { notice, bytes, since: now });
        self.forget(now);
    }

    /// Lets go of what is too old or too much. The newest one stays, however large it is.
    fn forget(&mut self, now: Instant) {
        while let Some(oldest) = self.notices.front()
            && self.notices.len() > 1
            && (self.notices.len() > NOTICES_KEPT_MAX
                || self.bytes > self.bytes_max
                || now.saturating_duration_since(oldest.since) > self.ttl)
        {
            self.bytes -= oldest.bytes;
            self.notices.pop_front();
        }
    }

    fn since(&self, told: u64) -> Option<Vec<Notice>> {
        let new = usize::try_from(self.newest.checked_sub(told)?).ok()?;
        let old = self.notices.len().checked_sub(new)?;
        Some(self.notices.range(old..).map(|kept| kept.notice.clone()).collect())
    }
}

impl Hub {
    /// Follows a feed for as long as it lives.
    pub(crate) fn start(
        feed: &Feed,
        archive: Arc<dyn Archive>,
        pool: Arc<PoolIndex>,
        limits: &Limits,
    ) -> Self {
        let notices = broadcast::channel(NOTICES_WAITING_MAX).0;
        let kept = Arc::new(Mutex::new(Kept::new(limits)));
        let hub = Self { notices, sent: Arc::default(), kept };
        let mut snapshots = feed.watch();
        let mut happened = feed.listen();
        let first = snapshots.borrow_and_update().clone();
        let mut told = Told { blocks: VecDeque::new(), bytes: 0, pending: first.pending.clone() };
        told.remember(first.latest().block.clone());
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
        if self.notices.receiver_count() == 0 && !self.kept.lock().is_wanted(Instant::now()) {
            return;
        }
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
            self.kept.lock().push(notice.clone(), Instant::now());
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

    /// The number of the newest notice, for a filter that is made now.
    pub(crate) fn newest(&self) -> u64 {
        let mut kept = self.kept.lock();
        kept.want(Instant::now());
        kept.newest
    }

    /// The notices after `told`, for a filter that is asked for; `None` if some of them are not kept any more.
    pub(crate) fn since(&self, told: u64) -> Option<Vec<Notice>> {
        let mut kept = self.kept.lock();
        kept.want(Instant::now());
        kept.since(told)
    }
}

/// What was told so far.
struct Told {
    /// The last is the newest.
    blocks: VecDeque<ReceiptedBlock>,
    /// About what they take.
    bytes: usize,
    pending: Option<Arc<PendingBlock>>,
}

impl Told {
    fn remember(&mut self, block: ReceiptedBlock) {
        let bytes = |block: &ReceiptedBlock| Notice::Block { block: block.clone(), removed: false }.bytes();
        self.bytes += bytes(&block);
        self.blocks.push_back(block);
        while self.blocks.len() > BLOCKS_TOLD_MAX || self.blocks.len() > 1 && self.bytes > BYTES_TOLD_MAX {
            let oldest = self.blocks.pop_front();
            self.bytes -= oldest.as_ref().map_or(0, bytes);
        }
    }

    fn compare(&mut self, snapshot: &Snapshot, archive: &dyn Archive, tell: &mut dyn FnMut(Notice)) {
        let oldest = snapshot.blocks()[0].id().number;
        let mut next = oldest;
        while let Some(newest) = self.blocks.back() {
            let id = newest.block.id();
            let still = snapshot.by_number(id.number).map_or(id.number < oldest, |block| block.id() == id);
            if still {
                break;
            }
            let notice = Notice::Block { block: newest.clone(), removed: true };
            self.bytes -= notice.bytes();
            tell(notice);
            self.blocks.pop_back();
            // Where telling goes on if none of those that are remembered is left.
            next = id.number;
        }
        let next = self.blocks.back().map_or(next, |block| block.block.id().number + 1);
        for number in next..=snapshot.latest().id().number {
            let block = match snapshot.by_number(number) {
                Some(block) => Some(block.block.clone()),
                None => archive.block(number).ok().flatten(),
            };
            let Some(block) = block else { continue };
            tell(Notice::Block { block: block.clone(), removed: false });
            self.remember(block);
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{Header, Receipt, ReceiptEnvelope};
    use alloy_primitives::{Address, Log};
    use types::SealedBlock;

    /// A block whose only log has so many bytes.
    fn block(number: u64, bytes: usize) -> Notice {
        let log = Log::new_unchecked(Address::ZERO, vec![], vec![0; bytes].into());
        let receipt = Receipt { logs: vec![log], ..Receipt::default() }.with_bloom();
        let block = SealedBlock::new(Header { number, ..Header::default() }, vec![]);
        let block = ReceiptedBlock { block, receipts: [ReceiptEnvelope::Legacy(receipt)].into() };
        Notice::Block { block, removed: false }
    }

    #[test]
    fn what_is_kept_for_filters_is_bounded_in_bytes_and_in_time() {
        let limits = Limits { notices_bytes_max: 1_000_000, ..Limits::default() };
        let mut kept = Kept::new(&limits);
        let start = Instant::now();
        kept.push(block(0, 100_000), start);
        assert!(kept.notices.is_empty() && kept.bytes == 0, "without a filter nothing is kept");
        kept.newest = 0;
        kept.want(start);
        (0..100).for_each(|number| kept.push(block(number, 100_000), start));
        assert!(
            kept.bytes <= 1_000_000 && kept.notices.len() == 9,
            "{} in {}",
            kept.bytes,
            kept.notices.len()
        );
        assert!(kept.since(90).is_none(), "what is gone is not told as if it were all");
        assert_eq!(kept.since(91).unwrap().len(), 9);
        kept.push(block(100, 10_000_000), start);
        assert_eq!(kept.since(100).unwrap().len(), 1, "the newest one can always be told");
        let later = start + limits.filter_ttl + Duration::from_secs(1);
        kept.want(later);
        kept.push(block(101, 0), later);
        assert_eq!((kept.notices.len(), kept.bytes), (1, block(101, 0).bytes()));
        kept.push(block(102, 0), later + limits.filter_ttl + Duration::from_secs(1));
        assert!(kept.notices.is_empty(), "there is no filter any more");
    }

    #[test]
    fn told_blocks_are_bounded_in_number_and_in_bytes() {
        let sealed = |number, bytes| match block(number, bytes) {
            Notice::Block { block, .. } => block,
            _ => unreachable!("it is a block"),
        };
        let mut told = Told { blocks: VecDeque::new(), bytes: 0, pending: None };
        (0..1000).for_each(|number| told.remember(sealed(number, 10)));
        assert_eq!(told.blocks.len(), BLOCKS_TOLD_MAX);
        (1000..1100).for_each(|number| told.remember(sealed(number, 1 << 20)));
        assert!(told.blocks.len() < 20 && told.bytes <= BYTES_TOLD_MAX, "{}", told.bytes);
        told.remember(sealed(1100, 100 << 20));
        assert_eq!(told.blocks.len(), 1, "the newest one is always there");
    }
}
