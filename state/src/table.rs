//! The eight levels below a stem, as a short sorted list of hashes.
//!
//! A stem has room for 256 values and usually holds two. Kept are only the hashes that an update cannot do without:
//! the leaves, the root, and each node whose sibling is not empty. All others follow from these:
//!
//! ```text
//!   depth 0          root            kept
//!   ..               | (lone)        not kept: siblings are empty
//!   depth 7          *
//!   depth 8        0   1             kept: leaves
//! ```
//!
//! The list is in preorder, so that the entries of every subtree are one slice of it. A list that came from a witness
//! has the roots of the subtrees that the witness does not open, and nothing below them.

use crate::{
    hash::{Hash, Hasher},
    plan::{self, Plan, Ref},
};
use alloc::{boxed::Box, vec::Vec};

/// A node below a stem: the first of its leaves, and its depth (0 is the root, 8 a leaf).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    first: u8,
    depth: u8,
}

/// A position as a number: preorder is the order of the codes.
pub(crate) type Code = u16;

/// Some of a table, in order.
type Entries = [(Code, Hash)];

impl Position {
    pub(crate) const ROOT: Self = Self { first: 0, depth: 0 };

    pub(crate) const fn leaf(sub: u8) -> Self {
        Self { first: sub, depth: 8 }
    }

    pub(crate) const fn code(self) -> Code {
        (self.first as u16) << 4 | self.depth as u16
    }

    const fn is_leaf(self) -> bool {
        self.depth == 8
    }

    const fn children(self) -> [Self; 2] {
        let depth = self.depth + 1;
        [Self { first: self.first, depth }, Self { first: self.first | 128 >> self.depth, depth }]
    }
}

/// Calls `found` with the root of each largest subtree that has none of the sorted `subs`, from left to right.
pub(crate) fn uncovered(subs: &[u8], at: Position, found: &mut impl FnMut(Position)) {
    if subs.is_empty() {
        return found(at);
    }
    if at.is_leaf() {
        return;
    }
    let [left, right] = at.children();
    let (below, above) = subs.split_at(subs.partition_point(|sub| *sub < right.first));
    uncovered(below, left, found);
    uncovered(above, right, found);
}

/// The hashes below one stem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table(Box<[(Code, Hash)]>);

impl Table {
    /// Entries must be in order.
    pub(crate) fn new(entries: Vec<(Code, Hash)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        Self(entries.into_boxed_slice())
    }

    pub(crate) fn entries(&self) -> &Entries {
        &self.0
    }

    /// The root of the eight levels.
    pub(crate) fn root(&self) -> Hash {
        match self.0.first() {
            Some((code, hash)) if *code == Position::ROOT.code() => *hash,
            _ => Hash::ZERO,
        }
    }

    /// Whether there is a leaf.
    pub(crate) fn has(&self, sub: u8) -> bool {
        self.0.binary_search_by_key(&Position::leaf(sub).code(), |entry| entry.0).is_ok()
    }

    /// The hash of the subtree at a position.
    pub(crate) fn hash_at<H: Hasher>(&self, at: Position) -> Hash {
        let size = 256 >> at.depth;
        let start = self.0.partition_point(|entry| entry.0 < at.code());
        let end = self.0.partition_point(|entry| u32::from(entry.0 >> 4) < u32::from(at.first) + size);
        hash_of::<H>(&self.0[start..end.max(start)], at)
    }
}

fn hash_of<H: Hasher>(entries: &Entries, at: Position) -> Hash {
    match entries.first() {
        None => Hash::ZERO,
        Some((code, hash)) if *code == at.code() => *hash,
        Some(_) => {
            let [left, right] = at.children();
            let (below, above) = split(entries, right);
            plan::inner::<H>(&hash_of::<H>(below, left), &hash_of::<H>(above, right))
        }
    }
}

fn split(entries: &Entries, right: Position) -> (&Entries, &Entries) {
    entries.split_at(entries.partition_point(|entry| entry.0 < right.code()))
}

/// Plans the table that `old` becomes when the `leaves`, sorted, are written; appends its entries, gives its root.
pub(crate) fn plan_table<'a, H: Hasher>(
    plan: &mut Plan<H>,
    entries: &mut Vec<(Code, Ref<'a>)>,
    old: &'a Entries,
    leaves: &[(u8, Ref<'a>)],
) -> Ref<'a> {
    Planner { plan, entries }.visit(Position::ROOT, old, leaves, true)
}

struct Planner<'p, 'a, H> {
    plan: &'p mut Plan<H>,
    entries: &'p mut Vec<(Code, Ref<'a>)>,
}

impl<'a, H: Hasher> Planner<'_, 'a, H> {
    fn visit(&mut self, at: Position, old: &'a Entries, leaves: &[(u8, Ref<'a>)], keep: bool) -> Ref<'a> {
        let (own, old_below) = match old.split_first() {
            Some((entry, below)) if entry.0 == at.code() => (Some(&entry.1), below),
            _ => (None, old),
        };
        if leaves.is_empty() {
            if old.is_empty() {
                return Ref::EMPTY;
            }
            if let Some(hash) = own {
                self.entries.extend(old.iter().map(|(code, hash)| (*code, Ref::Known(hash))));
                return Ref::Known(hash);
            }
        }
        let slot = self.entries.len();
        if keep {
            self.entries.push((at.code(), Ref::EMPTY));
        }
        let hash = if at.is_leaf() { leaves[0].1 } else { self.visit_children(at, old_below, leaves) };
        if keep {
            self.entries[slot].1 = hash;
        }
        hash
    }

    fn visit_children(&mut self, at: Position, old: &'a Entries, leaves: &[(u8, Ref<'a>)]) -> Ref<'a> {
        let [left, right] = at.children();
        let (old_left, old_right) = split(old, right);
        let (leaves_left, leaves_right) =
            leaves.split_at(leaves.partition_point(|(sub, _)| *sub < right.first));
        let lone =
            old_left.is_empty() && leaves_left.is_empty() || old_right.is_empty() && leaves_right.is_empty();
        let keep = !lone || left.is_leaf();
        let left = self.visit(left, old_left, leaves_left, keep);
        let right = self.visit(right, old_right, leaves_right, keep);
        self.plan.inner(left, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Blake2b, Value};
    use alloc::{collections::BTreeMap, vec};
    use proptest::prelude::*;

    fn write(table: &Table, leaves: &BTreeMap<u8, Value>) -> (Table, usize) {
        let mut plan = Plan::<Blake2b>::new();
        let mut entries = Vec::new();
        let leaves = leaves.iter().map(|(sub, value)| (*sub, plan.leaf(value))).collect::<Vec<_>>();
        plan_table(&mut plan, &mut entries, table.entries(), &leaves);
        plan.run();
        let table = Table::new(entries.into_iter().map(|(code, hash)| (code, plan.resolve(hash))).collect());
        (table, plan.len())
    }

    fn empty() -> Table {
        Table::new(vec![])
    }

    #[test]
    fn a_plain_account_keeps_two_leaves_and_the_root() {
        let (table, hashes) = write(&empty(), &BTreeMap::from([(0, Value::ZERO), (1, Value::ZERO)]));
        assert_eq!(table.entries().len(), 3);
        assert_eq!(hashes, 2 + 8);
        // Nine hashes are what a changed leaf costs at least: its own and one for each level.
        assert_eq!(write(&table, &BTreeMap::from([(0, Value::repeat_byte(1))])).1, 9);
        assert!(table.has(0) && table.has(1) && !table.has(2));
        assert_eq!(table.hash_at::<Blake2b>(Position::ROOT), table.root());
    }

    #[test]
    fn a_full_stem_is_updated_with_nine_hashes() {
        let full = (0..=255).map(|sub| (sub, Value::repeat_byte(sub))).collect::<BTreeMap<_, _>>();
        let (table, hashes) = write(&empty(), &full);
        assert_eq!((table.entries().len(), hashes), (511, 511));
        assert_eq!(write(&table, &BTreeMap::from([(77, Value::ZERO)])).1, 9);
    }

    #[test]
    fn uncovered_subtrees_of_one_leaf_are_its_eight_siblings() {
        let mut found = vec![];
        uncovered(&[0], Position::ROOT, &mut |at| found.push(at));
        assert_eq!(found.len(), 8);
        assert_eq!(found[0], Position::leaf(1));
        assert_eq!(found[7], Position { first: 128, depth: 1 });
        uncovered(&[], Position::ROOT, &mut |at| assert_eq!(at, Position::ROOT));
    }

    proptest! {
        #[test]
        fn in_two_steps_or_in_one_the_table_is_the_same(
            first in prop::collection::btree_map(any::<u8>(), any::<[u8; 32]>(), 0..12),
            second in prop::collection::btree_map(any::<u8>(), any::<[u8; 32]>(), 1..12),
            at in (any::<u8>(), 0..=8_u8),
        ) {
            let first = first.into_iter().map(|(s, v)| (s, v.into())).collect::<BTreeMap<_, _>>();
            let second = second.into_iter().map(|(s, v)| (s, v.into())).collect::<BTreeMap<_, _>>();
            let (stepwise, _) = write(&write(&empty(), &first).0, &second);
            let mut all = first;
            all.extend(second);
            let (at_once, _) = write(&empty(), &all);
            prop_assert_eq!(&stepwise, &at_once);
            // Any subtree's hash can be had, kept or not.
            let (sub, depth) = at;
            let first = (u16::from(sub) >> (8 - depth) << (8 - depth)) as u8;
            let last = u32::from(first) + (256 >> depth) - 1;
            let mut part = all.clone();
            part.retain(|s, _| (u32::from(first)..=last).contains(&u32::from(*s)));
            let position = Position { first, depth };
            prop_assert_eq!(at_once.hash_at::<Blake2b>(position), write(&empty(), &part).0.hash_at::<Blake2b>(position));
        }
    }
}
