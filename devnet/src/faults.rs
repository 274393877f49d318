//! Faults on demand: what a network does to a builder sooner or later, whenever somebody asks for it.
//!
//! One board is shared by the validators of a process; each looks at it when it is about to act. A fault that is not
//! asked for costs a look at an empty board.

use jam::HeaderHash;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
    time::Duration,
};

/// What happens to packages that a builder submits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubmissionFault {
    /// They vanish: no answer comes, and nothing happens.
    Dropped,
    /// They are looked at only after this long.
    Delayed(Duration),
    /// They arrive twice at once.
    Doubled,
    /// They are refused, whatever they are.
    Refused,
    /// They are taken, and nothing happens.
    Silent,
}

/// A fork that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fork {
    /// It begins with the next block that reports something.
    Armed {
        /// Blocks that will be lost.
        depth: u64,
    },
    /// It is under way: the branch that begins with `lost` grows to its depth and is then overtaken by another one that
    /// stands on `base`.
    Running {
        /// Blocks that will be lost.
        depth: u64,
        /// The block below the fork.
        base: HeaderHash,
        /// The first block that will be lost.
        lost: HeaderHash,
    },
}

#[derive(Clone, Default, Debug)]
struct Board {
    submissions: BTreeMap<u16, SubmissionFault>,
    skipped: Range<u32>,
    fork: Option<Fork>,
    unavailable: bool,
    stalled: bool,
    /// The group of each validator; those of different groups do not hear each other.
    groups: BTreeMap<u16, usize>,
    down: BTreeSet<u16>,
}

/// What faults there are, for whoever shows them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FaultView {
    /// By validator: what happens to submissions.
    pub submissions: BTreeMap<u16, SubmissionFault>,
    /// Slots without a block.
    pub skipped: Range<u32>,
    /// A fork.
    pub fork: Option<Fork>,
    /// Whether no validator assures anything.
    pub unavailable: bool,
    /// Whether finality stands still.
    pub stalled: bool,
    /// The group of each validator, if they are parted.
    pub groups: BTreeMap<u16, usize>,
    /// Validators that are down.
    pub down: BTreeSet<u16>,
}

/// The board. Cheap to clone; all clones are the same board.
#[derive(Clone, Debug)]
pub struct Faults {
    board: Arc<Mutex<Board>>,
    validators: u16,
}

impl Faults {
    /// An empty board for so many validators.
    pub fn new(validators: u16) -> Self {
        Self { board: Arc::default(), validators }
    }

    /// What faults there are.
    pub fn view(&self) -> FaultView {
        let Board { submissions, skipped, fork, unavailable, stalled, groups, down } =
            self.board.lock().clone();
        FaultView { submissions, skipped, fork, unavailable, stalled, groups, down }
    }

    /// What shall happen to submissions to all validators.
    pub fn submissions(&self, fault: Option<SubmissionFault>) {
        (0..self.validators).for_each(|validator| self.submissions_to(validator, fault));
    }

    /// What shall happen to submissions to one validator.
    pub fn submissions_to(&self, validator: u16, fault: Option<SubmissionFault>) {
        let submissions = &mut self.board.lock().submissions;
        match fault {
            Some(fault) => submissions.insert(validator, fault),
            None => submissions.remove(&validator),
        };
    }

    /// The next `count` slots after `slot` have no block.
    pub fn skip_slots(&self, slot: u32, count: u32) {
        let first = slot.saturating_add(1);
        self.board.lock().skipped = first..first.saturating_add(count);
    }

    /// The next block that reports a package will be lost, with `depth − 1` blocks on top of it.
    pub fn fork(&self, depth: u64) {
        self.board.lock().fork = Some(Fork::Armed { depth: depth.max(1) });
    }

    /// Whether assurers say nothing, so that no report becomes available.
    pub fn no_availability(&self, on: bool) {
        self.board.lock().unavailable = on;
    }

    /// Whether finality stands still.
    pub fn stall_finality(&self, on: bool) {
        self.board.lock().stalled = on;
    }

    /// Parts the validators into groups that do not hear each other. Whoever is in no group is alone in one.
    pub fn partition(&self, groups: &[Vec<u16>]) {
        let mut by_validator = BTreeMap::new();
        for (number, group) in groups.iter().enumerate() {
            by_validator.extend(group.iter().map(|validator| (*validator, number)));
        }
        for validator in 0..self.validators {
            by_validator.entry(validator).or_insert(groups.len() + usize::from(validator));
        }
        self.board.lock().groups = by_validator;
    }

    /// Everybody hears everybody again.
    pub fn reunite(&self) {
        self.board.lock().groups.clear();
    }

    /// No faults, except for validators that are down: they must be started.
    pub fn clear(&self) {
        let mut board = self.board.lock();
        *board = Board { down: std::mem::take(&mut board.down), ..Board::default() };
    }

    pub(crate) fn set_down(&self, validator: u16, is_down: bool) {
        let down = &mut self.board.lock().down;
        if is_down {
            down.insert(validator)
        } else {
            down.remove(&validator)
        };
    }

    pub(crate) fn submission(&self, validator: u16) -> Option<SubmissionFault> {
        self.board.lock().submissions.get(&validator).copied()
    }

    pub(crate) fn is_skipped(&self, slot: u32) -> bool {
        self.board.lock().skipped.contains(&slot)
    }

    pub(crate) fn is_unavailable(&self) -> bool {
        self.board.lock().unavailable
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.board.lock().stalled
    }

    pub(crate) fn are_parted(&self, a: u16, b: u16) -> bool {
        let groups = &self.board.lock().groups;
        !groups.is_empty() && groups.get(&a) != groups.get(&b)
    }

    pub(crate) fn running_fork(&self) -> Option<Fork> {
        self.board.lock().fork
    }

    /// A block that reports something was made: an armed fork begins with it.
    pub(crate) fn begin_fork(&self, base: HeaderHash, lost: HeaderHash) {
        let fork = &mut self.board.lock().fork;
        if let Some(Fork::Armed { depth }) = *fork {
            *fork = Some(Fork::Running { depth, base, lost });
        }
    }

    /// The fork is over.
    pub(crate) fn end_fork(&self, over: HeaderHash) {
        let fork = &mut self.board.lock().fork;
        if matches!(fork, Some(Fork::Running { lost, .. }) if *lost == over) {
            *fork = None;
        }
    }
}
