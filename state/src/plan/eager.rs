//! Each job is hashed when it is named.

use super::{INNER, JobId, LEAF, Ref, STEM, half_of};
use crate::{
    hash::{Hash, Hasher, Value},
    key::Stem,
};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The hashes of the jobs so far.
pub(crate) struct Plan<H> {
    results: Vec<Hash>,
    hasher: PhantomData<H>,
}

impl<H: Hasher> Plan<H> {
    pub(crate) const fn new() -> Self {
        Self { results: Vec::new(), hasher: PhantomData }
    }

    /// How many hashes it took.
    pub(crate) fn len(&self) -> usize {
        self.results.len()
    }

    /// The hash of a leaf.
    pub(crate) fn leaf(&mut self, value: &Value) -> Ref<'static> {
        self.push(H::leaf(LEAF, value))
    }

    /// The hash of two nodes, which is empty if both are.
    pub(crate) fn inner(&mut self, left: Ref<'_>, right: Ref<'_>) -> Ref<'static> {
        if left.is_empty() && right.is_empty() {
            return Ref::EMPTY;
        }
        let hash = H::node(INNER, self.get(&left), self.get(&right));
        self.push(hash)
    }

    /// The hash of a stem above the root of its leaves.
    pub(crate) fn stem(&mut self, stem: &Stem, root: Ref<'_>) -> Ref<'static> {
        let hash = H::node(STEM, &half_of(stem), self.get(&root));
        self.push(hash)
    }

    fn push(&mut self, hash: Hash) -> Ref<'static> {
        self.results.push(hash);
        Ref::Job(JobId { level: 0, index: self.results.len() as u32 - 1 })
    }

    fn get<'s>(&'s self, hash: &'s Ref<'_>) -> &'s Hash {
        match hash {
            Ref::Known(hash) => hash,
            Ref::Job(id) => &self.results[id.index as usize],
        }
    }

    /// Nothing is left to compute.
    pub(crate) const fn run(&mut self) {}

    /// The hash behind a reference.
    pub(crate) fn resolve(&self, hash: Ref<'_>) -> Hash {
        *self.get(&hash)
    }

    /// Forgets every job, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.results.clear();
    }
}
