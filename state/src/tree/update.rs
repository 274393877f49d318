//! Writing: plan the new nodes, hash them side by side, build them.
//!
//! ```text
//!   visit    top-down along the changed keys; each new node is noted, children first, with the jobs that hash it
//!   run      all jobs, level by level
//!   build    the noted nodes, in the same order, now that every hash is known
//! ```

use super::{Link, Node, NotCovered, StemNode, Tree};
use crate::{
    Value,
    hash::Hasher,
    key::{Key, STEM_BITS, Stem, goes_right},
    plan::{Plan, Ref},
    table::{Code, Table, plan_table},
};
use alloc::{sync::Arc, vec::Vec};
use core::ops::Range;

/// Keys that are planned together: enough to fill every level, few enough to stay in the cache.
const PORTION: usize = 4096;

type Write = (Key, Value);

/// A node that stays, or one that is noted.
enum Side {
    Old(Link),
    New(usize),
}

/// A noted node.
struct Draft {
    hash: Ref,
    shape: Shape,
}

enum Shape {
    Inner([Side; 2]),
    Stem { stem: Stem, complete: bool, entries: Range<usize> },
}

impl<H: Hasher> Tree<H> {
    pub(crate) fn try_extend(&self, writes: impl IntoIterator<Item = Write>) -> Result<Self, NotCovered> {
        let mut writes = writes.into_iter();
        let mut tree = self.clone();
        let mut update = Update::<H>::new(self.deepest);
        loop {
            let mut portion = writes.by_ref().take(PORTION).collect::<Vec<_>>();
            if portion.is_empty() {
                return Ok(tree);
            }
            in_order(&mut portion);
            tree = Self::from_link(update.apply(&tree.top, &portion)?, update.deepest);
        }
    }
}

/// Sorts by key; of equal keys the last one stays.
fn in_order(writes: &mut Vec<Write>) {
    if writes.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    writes.sort_by_key(|write| write.0);
    writes.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = later.1;
        }
        same
    });
}

struct Update<H> {
    plan: Plan<H>,
    drafts: Vec<Draft>,
    /// The tables of all noted stems, one after the other.
    entries: Vec<(Code, Ref)>,
    leaves: Vec<(u8, Ref)>,
    deepest: usize,
}

impl<H: Hasher> Update<H> {
    fn new(deepest: usize) -> Self {
        let (drafts, entries, leaves) = (Vec::new(), Vec::new(), Vec::new());
        Self { plan: Plan::new(), drafts, entries, leaves, deepest }
    }

    fn apply(&mut self, top: &Link, writes: &[Write]) -> Result<Link, NotCovered> {
        self.plan.clear();
        self.drafts.clear();
        self.entries.clear();
        let top = self.visit(top, writes, 0)?;
        self.plan.run();
        Ok(self.build(top))
    }

    fn visit(&mut self, link: &Link, writes: &[Write], depth: usize) -> Result<Side, NotCovered> {
        self.deepest = self.deepest.max(depth);
        let (Some((first, _)), Some((last, _))) = (writes.first(), writes.last()) else {
            return Ok(Side::Old(link.clone()));
        };
        let one_stem = first.stem() == last.stem();
        match &link.node {
            Node::Opaque => Err(NotCovered { key: *first }),
            Node::Empty if one_stem => Ok(self.stem(None, writes)),
            Node::Empty => self.fork([&Link::EMPTY; 2], writes, depth),
            Node::Stem(node) if one_stem && node.stem == *first.stem() => Ok(self.stem(Some(node), writes)),
            // The stem that was here moves down on its side.
            Node::Stem(node) if goes_right(&node.stem, depth) => {
                self.fork([&Link::EMPTY, link], writes, depth)
            }
            Node::Stem(_) => self.fork([link, &Link::EMPTY], writes, depth),
            Node::Inner(children) => self.fork([&children[0], &children[1]], writes, depth),
        }
    }

    fn fork(&mut self, children: [&Link; 2], writes: &[Write], depth: usize) -> Result<Side, NotCovered> {
        debug_assert!(depth < STEM_BITS, "two stems differ somewhere");
        let (left, right) =
            writes.split_at(writes.partition_point(|(key, _)| !goes_right(key.stem(), depth)));
        let left = self.visit(children[0], left, depth + 1)?;
        let right = self.visit(children[1], right, depth + 1)?;
        let (a, b) = (self.hash(&left), self.hash(&right));
        let hash = self.plan.inner(a, b);
        Ok(self.note(hash, Shape::Inner([left, right])))
    }

    fn stem(&mut self, old: Option<&StemNode>, writes: &[Write]) -> Side {
        let stem = *writes[0].0.stem();
        self.leaves.clear();
        self.leaves.extend(writes.iter().map(|(key, value)| (key.sub(), self.plan.leaf(*value))));
        let start = self.entries.len();
        let table = old.map_or(&[][..], |node| node.table.entries());
        let root = plan_table(&mut self.plan, &mut self.entries, table, &self.leaves);
        let hash = self.plan.stem(&stem, root);
        let complete = old.is_none_or(|node| node.complete);
        self.note(hash, Shape::Stem { stem, complete, entries: start..self.entries.len() })
    }

    fn hash(&self, side: &Side) -> Ref {
        match side {
            Side::Old(link) => Ref::Known(link.hash),
            Side::New(draft) => self.drafts[*draft].hash,
        }
    }

    fn note(&mut self, hash: Ref, shape: Shape) -> Side {
        self.drafts.push(Draft { hash, shape });
        Side::New(self.drafts.len() - 1)
    }

    /// Makes the noted nodes. Children were noted before their parents, so they are ready when they are needed.
    fn build(&mut self, top: Side) -> Link {
        let mut built = Vec::with_capacity(self.drafts.len());
        for Draft { hash, shape } in self.drafts.drain(..) {
            let hash = self.plan.resolve(hash);
            let node = match shape {
                Shape::Inner(sides) => Node::Inner(Arc::new(sides.map(|side| take(&mut built, side)))),
                Shape::Stem { stem, complete, entries } => {
                    let entries = self.entries[entries].iter();
                    let table = entries.map(|(code, hash)| (*code, self.plan.resolve(*hash))).collect();
                    Node::Stem(Arc::new(StemNode { stem, complete, table: Table::new(table) }))
                }
            };
            built.push(Link { hash, node });
        }
        take(&mut built, top)
    }
}

/// Every noted node has one parent, so it can be moved there.
fn take(built: &mut [Link], side: Side) -> Link {
    match side {
        Side::Old(link) => link,
        Side::New(draft) => core::mem::replace(&mut built[draft], Link::EMPTY),
    }
}
