//! Writing: plan the new nodes, hash them side by side, build them.
//!
//! ```text
//!   visit    top-down along the changed keys; each new node is noted, children first, with the jobs that hash it
//!   run      all jobs, level by level
//!   build    the noted nodes, in the same order, now that every hash is known
//! ```

use super::{Link, NOTHING, Node, NotCovered, StemNode, Tree};
use crate::{
    Value,
    hash::Hasher,
    key::{Key, STEM_BITS, Stem, goes_right},
    plan::{Plan, Ref},
    table::{Code, Table, plan_table},
};
use alloc::{sync::Arc, vec::Vec};
use core::ops::Range;

/// Keys that are planned together: enough to fill every level, few enough that their plan stays in the cache.
pub(super) const PORTION: usize = 64;

type Write = (Key, Value);

/// A node that stays, or one that is noted.
#[derive(Clone, Copy)]
enum Side<'a> {
    Old(&'a Link),
    New(usize),
}

/// A noted node.
struct Draft<'a> {
    hash: Ref<'a>,
    shape: Shape<'a>,
}

enum Shape<'a> {
    Inner([Side<'a>; 2]),
    Stem { stem: Stem, complete: bool, entries: Range<usize> },
}

impl<H: Hasher> Tree<H> {
    pub(crate) fn try_extend(&self, writes: impl IntoIterator<Item = Write>) -> Result<Self, NotCovered> {
        let mut writes = writes.into_iter();
        let mut tree = self.clone();
        let mut plan = Plan::<H>::new();
        loop {
            let mut portion = writes.by_ref().take(PORTION).collect::<Vec<_>>();
            if portion.is_empty() {
                return Ok(tree);
            }
            in_order(&mut portion);
            let link = Update::apply(&mut plan, &tree.top, &portion, &mut tree.deepest)?;
            tree.top = link;
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

struct Update<'p, 'a, H> {
    plan: &'p mut Plan<H>,
    /// The depth of the deepest node.
    deepest: &'p mut usize,
    drafts: Vec<Draft<'a>>,
    /// The tables of all noted stems, one after the other.
    entries: Vec<(Code, Ref<'a>)>,
    leaves: Vec<(u8, Ref<'a>)>,
}

impl<'p, 'a, H: Hasher> Update<'p, 'a, H> {
    fn apply(
        plan: &'p mut Plan<H>,
        top: &'a Link,
        writes: &[Write],
        deepest: &'p mut usize,
    ) -> Result<Link, NotCovered> {
        plan.clear();
        let mut update = Self {
            plan,
            deepest,
            drafts: Vec::with_capacity(16 * writes.len()),
            entries: Vec::with_capacity(4 * writes.len()),
            leaves: Vec::new(),
        };
        warm(top, writes.iter().map(|(key, _)| key), 0);
        let top = update.visit(top, writes, 0)?;
        update.plan.run();
        Ok(update.build(top))
    }

    fn visit(&mut self, link: &'a Link, writes: &[Write], depth: usize) -> Result<Side<'a>, NotCovered> {
        *self.deepest = depth.max(*self.deepest);
        let (Some((first, _)), Some((last, _))) = (writes.first(), writes.last()) else {
            return Ok(Side::Old(link));
        };
        let one_stem = first.stem() == last.stem();
        match &link.node {
            Node::Opaque => Err(NotCovered { key: *first }),
            Node::Empty if one_stem => Ok(self.stem(None, writes)),
            Node::Empty => self.fork([&NOTHING; 2], writes, depth),
            Node::Stem(node) if one_stem && node.stem == *first.stem() => Ok(self.stem(Some(node), writes)),
            // The stem that was here moves down on its side.
            Node::Stem(node) if goes_right(&node.stem, depth) => self.fork([&NOTHING, link], writes, depth),
            Node::Stem(_) => self.fork([link, &NOTHING], writes, depth),
            Node::Inner(children) => self.fork([&children[0], &children[1]], writes, depth),
        }
    }

    fn fork(
        &mut self,
        children: [&'a Link; 2],
        writes: &[Write],
        depth: usize,
    ) -> Result<Side<'a>, NotCovered> {
        debug_assert!(depth < STEM_BITS, "two stems differ somewhere");
        let (left, right) =
            writes.split_at(writes.partition_point(|(key, _)| !goes_right(key.stem(), depth)));
        let left = self.visit(children[0], left, depth + 1)?;
        let right = self.visit(children[1], right, depth + 1)?;
        let hash = self.plan.inner(hash(&self.drafts, left), hash(&self.drafts, right));
        Ok(self.note(hash, Shape::Inner([left, right])))
    }

    fn stem(&mut self, old: Option<&'a StemNode>, writes: &[Write]) -> Side<'a> {
        let stem = *writes[0].0.stem();
        self.leaves.clear();
        self.leaves.extend(writes.iter().map(|(key, value)| (key.sub(), self.plan.leaf(value))));
        let start = self.entries.len();
        let table = old.map_or(&[][..], |node| node.table.entries());
        let root = plan_table(self.plan, &mut self.entries, table, &self.leaves);
        let hash = self.plan.stem(&stem, root);
        let complete = old.is_none_or(|node| node.complete);
        self.note(hash, Shape::Stem { stem, complete, entries: start..self.entries.len() })
    }

    fn note(&mut self, hash: Ref<'a>, shape: Shape<'a>) -> Side<'a> {
        self.drafts.push(Draft { hash, shape });
        Side::New(self.drafts.len() - 1)
    }

    /// Makes the noted nodes. Children were noted before their parents, so they are ready when they are needed.
    fn build(self, top: Side<'_>) -> Link {
        let mut built = Vec::with_capacity(self.drafts.len());
        for Draft { hash, shape } in self.drafts {
            let node = match shape {
                Shape::Inner(sides) => Node::Inner(Arc::new(sides.map(|side| take(&mut built, side)))),
                Shape::Stem { stem, complete, entries } => {
                    let entries = self.entries[entries].iter();
                    let table = entries.map(|(code, hash)| (*code, self.plan.resolve(*hash))).collect();
                    Node::Stem(Arc::new(StemNode { stem, complete, table: Table::new(table) }))
                }
            };
            built.push(Link { hash: self.plan.resolve(hash), node });
        }
        take(&mut built, top)
    }
}

fn hash<'a>(drafts: &[Draft<'a>], side: Side<'a>) -> Ref<'a> {
    match side {
        Side::Old(link) => Ref::Known(&link.hash),
        Side::New(draft) => drafts[draft].hash,
    }
}

/// Looks at every node on the way from one at a depth to these keys, which come in order, and at the counter of every sibling: all that an
/// update will copy or share, and a witness will open.
///
/// In a large tree most of them are far from the CPU. One path alone would wait for them one by one; here all paths go
/// down together, so that the waiting overlaps.
pub(crate) fn warm<'k>(top: &Link, keys: impl Iterator<Item = &'k Key>, depth: usize) {
    let mut paths = keys.map(|key| (top, key.stem())).collect::<Vec<_>>();
    paths.dedup_by_key(|path| path.1);
    let mut seen = 0;
    for depth in depth..=STEM_BITS {
        if paths.is_empty() {
            break;
        }
        paths.retain_mut(|(link, stem)| match &link.node {
            Node::Inner(children) => {
                let right = usize::from(goes_right(stem, depth));
                seen += usize::from(children[0].hash[0]) + sharers(&children[1 - right].node);
                *link = &children[right];
                true
            }
            Node::Stem(node) => {
                seen += node.table.entries().last().map_or(0, |entry| usize::from(entry.0));
                false
            }
            Node::Empty | Node::Opaque => false,
        });
    }
    core::hint::black_box(seen);
}

fn sharers(node: &Node) -> usize {
    match node {
        Node::Empty | Node::Opaque => 0,
        Node::Inner(node) => Arc::strong_count(node),
        Node::Stem(node) => Arc::strong_count(node),
    }
}

/// Every noted node has one parent, so it can be moved there.
fn take(built: &mut [Link], side: Side<'_>) -> Link {
    match side {
        Side::Old(link) => link.clone(),
        Side::New(draft) => core::mem::replace(&mut built[draft], Link::EMPTY),
    }
}
