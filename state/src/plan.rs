//! Hashes that are still to be computed, gathered so that independent ones are computed side by side.
//!
//! A change to the tree names its new nodes bottom-up: each is the hash of two halves, and a half is a hash that is
//! known or one that an earlier job will give. Jobs whose halves are ready form a level; a level is hashed as a whole,
//! which takes about a third of the time on a CPU with wide registers.

use crate::{
    hash::{Hash, Hasher, Value},
    key::Stem,
};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A hash that is known, or the job that gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ref {
    Known(Hash),
    Job(u32),
}

impl Ref {
    pub(crate) const EMPTY: Self = Self::Known(Hash::ZERO);
}

/// The tags of the three kinds of nodes.
const LEAF: u8 = 0;
const INNER: u8 = 1;
const STEM: u8 = 2;

/// Messages that are handed to the hash function at a time.
const BATCH: usize = 16;

struct Job {
    tag: u8,
    halves: [Ref; 2],
}

/// A list of jobs, and their results once they ran.
pub(crate) struct Plan<H> {
    jobs: Vec<Job>,
    /// The level of each job, and the jobs of each level.
    level_of: Vec<u16>,
    levels: Vec<Vec<u32>>,
    results: Vec<Hash>,
    hasher: PhantomData<H>,
}

impl<H: Hasher> Plan<H> {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Vec::new(),
            level_of: Vec::new(),
            levels: Vec::new(),
            results: Vec::new(),
            hasher: PhantomData,
        }
    }

    /// How many hashes it takes.
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The hash of a leaf.
    pub(crate) fn leaf(&mut self, value: Value) -> Ref {
        self.push(LEAF, [Ref::Known(value), Ref::EMPTY])
    }

    /// The hash of two nodes, which is empty if both are.
    pub(crate) fn inner(&mut self, left: Ref, right: Ref) -> Ref {
        if let (Ref::Known(Hash::ZERO), Ref::Known(Hash::ZERO)) = (left, right) {
            return Ref::EMPTY;
        }
        self.push(INNER, [left, right])
    }

    /// The hash of a stem above the root of its leaves.
    pub(crate) fn stem(&mut self, stem: &Stem, root: Ref) -> Ref {
        let mut half = [0; 32];
        half[..31].copy_from_slice(stem);
        self.push(STEM, [Ref::Known(half.into()), root])
    }

    fn push(&mut self, tag: u8, halves: [Ref; 2]) -> Ref {
        let level = halves.iter().map(|half| self.level_above(half)).max().unwrap_or(0);
        if self.levels.len() <= usize::from(level) {
            self.levels.resize_with(usize::from(level) + 1, Vec::new);
        }
        let id = self.jobs.len() as u32;
        self.levels[usize::from(level)].push(id);
        self.level_of.push(level);
        self.jobs.push(Job { tag, halves });
        Ref::Job(id)
    }

    fn level_above(&self, half: &Ref) -> u16 {
        match half {
            Ref::Known(_) => 0,
            Ref::Job(id) => self.level_of[*id as usize] + 1,
        }
    }

    /// Computes every hash.
    pub(crate) fn run(&mut self) {
        self.results.clear();
        self.results.resize(self.jobs.len(), Hash::ZERO);
        for level in 0..self.levels.len() {
            for start in (0..self.levels[level].len()).step_by(BATCH) {
                self.run_batch(level, start);
            }
        }
    }

    fn run_batch(&mut self, level: usize, start: usize) {
        let ids = &self.levels[level][start..];
        let ids = &ids[..ids.len().min(BATCH)];
        let mut messages = [[0; 65]; BATCH];
        let mut slices: [&[u8]; BATCH] = [&[]; BATCH];
        for ((message, slice), id) in messages.iter_mut().zip(&mut slices).zip(ids) {
            let Job { tag, halves } = &self.jobs[*id as usize];
            *slice = write::<H>(message, *tag, halves.map(|half| self.resolve(half)));
        }
        let mut hashes = [Hash::ZERO; BATCH];
        H::hash_many(&slices[..ids.len()], &mut hashes[..ids.len()]);
        for (id, hash) in ids.iter().zip(hashes) {
            self.results[*id as usize] = hash;
        }
    }

    /// The hash behind a reference, after [`Plan::run`].
    pub(crate) fn resolve(&self, hash: Ref) -> Hash {
        match hash {
            Ref::Known(hash) => hash,
            Ref::Job(id) => self.results[id as usize],
        }
    }

    /// Forgets every job, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
        self.level_of.clear();
        self.levels.iter_mut().for_each(Vec::clear);
        self.results.clear();
    }
}

/// Writes the message of a node and gives the part of the buffer that it fills.
fn write<H: Hasher>(message: &mut [u8; 65], tag: u8, halves: [Hash; 2]) -> &[u8] {
    message[0] = tag;
    message[1..33].copy_from_slice(halves[0].as_slice());
    message[33..].copy_from_slice(halves[1].as_slice());
    let end = if tag == LEAF { 33 } else { 65 };
    &message[usize::from(!H::TAGGED)..end]
}

/// The hash of two nodes, at once.
pub(crate) fn inner<H: Hasher>(left: Hash, right: Hash) -> Hash {
    if left.is_zero() && right.is_zero() {
        return Hash::ZERO;
    }
    H::hash(write::<H>(&mut [0; 65], INNER, [left, right]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Blake2b;

    #[test]
    fn jobs_see_the_results_of_earlier_ones_whatever_their_level() {
        let mut plan = Plan::<Blake2b>::new();
        let leaf = plan.leaf(Value::repeat_byte(1));
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
        assert!(matches!(plan.inner(Ref::EMPTY, Ref::EMPTY), Ref::Known(Hash::ZERO)));
        assert_eq!(plan.len(), 0);
        assert_eq!(inner::<Blake2b>(Hash::ZERO, Hash::ZERO), Hash::ZERO);
    }
}
