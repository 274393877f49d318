//! Hashes that are still to be computed, gathered so that independent ones are computed side by side.
//!
//! A change to the tree names its new nodes bottom-up: each is the hash of two halves, and a half is a hash that is
//! known or one that an earlier job will give. Jobs whose halves are ready form a level; a level is hashed as a whole,
//! which takes about a third of the time on a CPU with wide registers.

use crate::{
    hash::{Hash, Hasher, Value},
    key::{Key, Stem},
};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A hash that is known, or the job that gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ref<'a> {
    Known(&'a Hash),
    Job(JobId),
}

/// A job, by its level and its place in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobId {
    level: u32,
    index: u32,
}

impl Ref<'_> {
    pub(crate) const EMPTY: Self = Self::Known(&Hash::ZERO);

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Ref::Known(hash) if hash.is_zero())
    }

    fn level_above(&self) -> u32 {
        match self {
            Ref::Known(_) => 0,
            Ref::Job(id) => id.level + 1,
        }
    }
}

/// The tags of the three kinds of nodes.
const LEAF: u8 = 0;
const INNER: u8 = 1;
const STEM: u8 = 2;

/// Messages that are handed to the hash function at a time.
const BATCH: usize = 16;

/// The longest message: a tag and two halves.
type Message = [u8; 65];

struct Job {
    message: Message,
    /// The halves that come from other jobs.
    from: [Option<JobId>; 2],
}

/// Jobs that depend on none but those of lower levels, and their results once they ran.
#[derive(Default)]
struct Level {
    jobs: Vec<Job>,
    results: Vec<Hash>,
}

/// Jobs, level by level.
pub(crate) struct Plan<H> {
    levels: Vec<Level>,
    len: usize,
    hasher: PhantomData<H>,
}

impl<H: Hasher> Plan<H> {
    pub(crate) fn new() -> Self {
        Self { levels: Vec::new(), len: 0, hasher: PhantomData }
    }

    /// How many hashes it takes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The hash of a leaf.
    pub(crate) fn leaf(&mut self, value: &Value) -> Ref<'static> {
        self.push(LEAF, Ref::Known(value), Ref::EMPTY)
    }

    /// The hash of two nodes, which is empty if both are.
    pub(crate) fn inner(&mut self, left: Ref<'_>, right: Ref<'_>) -> Ref<'static> {
        if left.is_empty() && right.is_empty() {
            return Ref::EMPTY;
        }
        self.push(INNER, left, right)
    }

    /// The hash of a stem above the root of its leaves.
    pub(crate) fn stem(&mut self, stem: &Stem, root: Ref<'_>) -> Ref<'static> {
        let half = Hash::from(*Key::of(stem, 0).as_bytes());
        self.push(STEM, Ref::Known(&half), root)
    }

    fn push(&mut self, tag: u8, left: Ref<'_>, right: Ref<'_>) -> Ref<'static> {
        let level = left.level_above().max(right.level_above());
        if self.levels.len() <= level as usize {
            self.levels.resize_with(level as usize + 1, Level::default);
        }
        let jobs = &mut self.levels[level as usize].jobs;
        let id = JobId { level, index: jobs.len() as u32 };
        let mut job = Job { message: [tag; 65], from: [None; 2] };
        for (half, at) in [(left, 0), (right, 1)] {
            match half {
                Ref::Known(hash) => write(&mut job.message, at, hash),
                Ref::Job(id) => job.from[at] = Some(id),
            }
        }
        jobs.push(job);
        self.len += 1;
        Ref::Job(id)
    }

    /// Computes every hash.
    pub(crate) fn run(&mut self) {
        for level in 0..self.levels.len() {
            let (below, current) = self.levels.split_at_mut(level);
            let Level { jobs, results } = &mut current[0];
            results.clear();
            for jobs in jobs.chunks_mut(BATCH) {
                results.extend_from_slice(&run_batch::<H>(below, jobs)[..jobs.len()]);
            }
        }
    }

    /// The hash behind a reference, after [`Plan::run`].
    pub(crate) fn resolve(&self, hash: Ref<'_>) -> Hash {
        match hash {
            Ref::Known(hash) => *hash,
            Ref::Job(id) => *result(&self.levels, id),
        }
    }

    /// Forgets every job, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.levels.iter_mut().for_each(|level| level.jobs.clear());
    }
}

fn result(levels: &[Level], id: JobId) -> &Hash {
    &levels[id.level as usize].results[id.index as usize]
}

fn run_batch<H: Hasher>(below: &[Level], jobs: &mut [Job]) -> [Hash; BATCH] {
    let n = jobs.len();
    let mut messages: [&[u8]; BATCH] = [&[]; BATCH];
    for (message, job) in messages.iter_mut().zip(jobs) {
        for (at, id) in job.from.iter().enumerate() {
            if let Some(id) = id {
                write(&mut job.message, at, result(below, *id));
            }
        }
        *message = trim::<H>(&job.message);
    }
    let mut hashes = [Hash::ZERO; BATCH];
    H::hash_many(&messages[..n], &mut hashes[..n]);
    hashes
}

/// Writes one half of a message.
fn write(message: &mut Message, at: usize, hash: &Hash) {
    message[1 + 32 * at..][..32].copy_from_slice(hash.as_slice());
}

/// What of a message is hashed: a leaf has one half only, and without tags the tag is not part of it.
fn trim<H: Hasher>(message: &Message) -> &[u8] {
    let end = if message[0] == LEAF { 33 } else { 65 };
    &message[usize::from(!H::TAGGED)..end]
}

/// The hash of two nodes, at once.
pub(crate) fn inner<H: Hasher>(left: Hash, right: Hash) -> Hash {
    if left.is_zero() && right.is_zero() {
        return Hash::ZERO;
    }
    let mut message = [INNER; 65];
    write(&mut message, 0, &left);
    write(&mut message, 1, &right);
    H::hash(trim::<H>(&message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Blake2b;

    #[test]
    fn jobs_see_the_results_of_earlier_ones_whatever_their_level() {
        let mut plan = Plan::<Blake2b>::new();
        let leaf = plan.leaf(&Value::repeat_byte(1));
        let mut chain = leaf;
        for _ in 0..40 {
            chain = plan.inner(leaf, chain);
        }
        let stem = plan.stem(&[7; 31], chain);
        plan.run();
        let mut message = alloc::vec![0];
        message.extend([1; 32]);
        let mut hash = Blake2b::hash(&message);
        assert_eq!(plan.resolve(leaf), hash);
        for _ in 0..40 {
            hash = inner::<Blake2b>(plan.resolve(leaf), hash);
        }
        let mut message = alloc::vec![2];
        message.extend([7; 31]);
        message.push(0);
        message.extend(hash);
        assert_eq!(plan.resolve(stem), Blake2b::hash(&message));
    }

    #[test]
    fn two_empty_nodes_are_empty_and_take_no_hash() {
        let mut plan = Plan::<Blake2b>::new();
        assert!(plan.inner(Ref::EMPTY, Ref::EMPTY).is_empty());
        assert_eq!(plan.len(), 0);
        assert_eq!(inner::<Blake2b>(Hash::ZERO, Hash::ZERO), Hash::ZERO);
    }
}
