//! Jobs are gathered, and those that do not depend on each other are hashed side by side.
//!
//! Jobs whose halves are ready form a level; a level is hashed as a whole.

use super::{INNER, JobId, LEAF, Ref, STEM, half_of};
use crate::{
    hash::{Hash, Hasher, Value, message},
    key::Stem,
};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Messages that are handed to the hash function at a time.
const BATCH: usize = 16;

struct Job {
    message: message::Node,
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
        self.push(STEM, Ref::Known(&half_of(stem)), root)
    }

    fn push(&mut self, tag: u8, left: Ref<'_>, right: Ref<'_>) -> Ref<'static> {
        let level = level_above(left).max(level_above(right));
        if self.levels.len() <= level as usize {
            self.levels.resize_with(level as usize + 1, Level::default);
        }
        let jobs = &mut self.levels[level as usize].jobs;
        let id = JobId { level, index: jobs.len() as u32 };
        let mut job = Job { message: message::tagged(tag), from: [None; 2] };
        for (half, at) in [(left, 0), (right, 1)] {
            match half {
                Ref::Known(hash) => message::write(&mut job.message, at, hash),
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

fn level_above(half: Ref<'_>) -> u32 {
    match half {
        Ref::Known(_) => 0,
        Ref::Job(id) => id.level + 1,
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
                message::write(&mut job.message, at, result(below, *id));
            }
        }
        *message = message::trim::<H>(&job.message, LEAF);
    }
    let mut hashes = [Hash::ZERO; BATCH];
    H::hash_many(&messages[..n], &mut hashes[..n]);
    hashes
}
