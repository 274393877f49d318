//! A witness to a tree, if its root is the expected one.
//!
//! First the root is computed and nothing is built; only what the root vouches for becomes a tree. Hostile bytes can ask
//! for many nodes with few bits (a chain of inner nodes with nothing on their other side), and so they cost time in
//! proportion to their length, but never the memory of the nodes. Read backwards, preorder is a program for a stack
//! machine: an INTERNAL takes the two nodes that were put there last.

use super::{Opening, PartialTree, StemProof, Token, Witness};
use crate::{
    hash::{Hash, Hasher},
    key::{Key, STEM_BITS},
    plan::{self, Plan, Ref},
    table::{Code, Position, Table, plan_table},
    tree::{Link, Node, StemNode, Tree},
};
use alloc::{sync::Arc, vec, vec::Vec};
use blake2b::words::is_zero;
use core::ops::Range;

/// Hashes that are computed together.
const PORTION: usize = 1024;

/// Why a witness proves nothing about a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the witness hashes to {computed}, it should be {expected}")]
pub struct VerifyError {
    /// The root of the state.
    pub expected: Hash,
    /// What the witness hashes to, or what it claims, if that already differs.
    pub computed: Hash,
}

impl Witness {
    /// Checks the witness against a root and makes it a tree that can be read and written where it is covered.
    pub fn verify<H: Hasher>(&self, expected: Hash) -> Result<PartialTree<H>, VerifyError> {
        let wrong = |computed| VerifyError { expected, computed };
        if self.root != expected {
            return Err(wrong(self.root));
        }
        let hashes = Hashing::<H>::of(self);
        if hashes.root != expected {
            return Err(wrong(hashes.root));
        }
        // What is closed may be as deep as it likes.
        let tree = Tree::from_link(self.build::<H>(hashes.tables, &hashes.forks), STEM_BITS);
        Ok(PartialTree::new(tree, self.stems.iter().flat_map(covered)))
    }

    /// The nodes. Hashes of inner nodes with one empty side were not kept and are computed again: there are few.
    fn build<H: Hasher>(&self, tables: Vec<Table>, forks: &[Hash]) -> Link {
        let mut stems = self.stems.iter().rev().zip(tables);
        let mut hashes = self.hashes.iter().rev();
        let mut forks = forks.iter();
        let mut stack = Vec::new();
        for token in self.tokens.iter().rev() {
            let link = match token {
                Token::Empty => Link::EMPTY,
                Token::Hash => Link { hash: *hashes.next().expect(ONE_EACH), node: Node::Opaque },
                Token::Stem => {
                    let (proof, table) = stems.next().expect(ONE_EACH);
                    let hash = *forks.next().expect(ONE_EACH);
                    let node = StemNode { stem: proof.stem, complete: false, table };
                    Link { hash, node: Node::Stem(Arc::new(node)) }
                }
                Token::Internal => {
                    let children: [Link; 2] = [stack.pop().expect(PREORDER), stack.pop().expect(PREORDER)];
                    let [left, right] = [&children[0].hash, &children[1].hash];
                    let lone = is_zero(left) || is_zero(right);
                    let hash =
                        if lone { plan::inner::<H>(left, right) } else { *forks.next().expect(ONE_EACH) };
                    Link { hash, node: Node::Inner(Arc::new(children)) }
                }
            };
            stack.push(link);
        }
        stack.pop().expect(PREORDER)
    }
}

const ONE_EACH: &str = "make and decode give each token what it needs";
const PREORDER: &str = "make and decode give preorder, whose operands are on the stack";

/// The keys that an open stem covers.
fn covered(proof: &StemProof) -> impl Iterator<Item = (Key, Option<crate::Value>)> {
    let (subs, values) = match &proof.opening {
        Opening::Sealed(_) => (&[][..], &[][..]),
        Opening::Open { subs, values, .. } => (&subs[..], &values[..]),
    };
    let mut values = values.iter().peekable();
    subs.iter().map(move |sub| {
        let value = values.next_if(|(present, _)| present == sub).map(|(_, value)| *value);
        (Key::of(&proof.stem, *sub), value)
    })
}

/// The hashes of a witness.
struct Hashes {
    root: Hash,
    /// Of the stems and the inner nodes without an empty side, last token first.
    forks: Vec<Hash>,
    /// Of the stems, last token first.
    tables: Vec<Table>,
}

/// The stack machine that computes them, some at a time.
struct Hashing<'a, H> {
    plan: Plan<H>,
    stack: Vec<Held<'a>>,
    /// What the current portion will add to the result.
    forks: Vec<Ref<'a>>,
    entries: Vec<(Code, Ref<'a>)>,
    tables: Vec<Range<usize>>,
    leaves: Vec<(u8, Ref<'a>)>,
    done: Hashes,
}

/// A node on the stack, of the current portion or of an earlier one.
enum Held<'a> {
    Planned(Ref<'a>),
    Done(Hash),
}

impl Held<'_> {
    fn hash(&self) -> Ref<'_> {
        match self {
            Self::Planned(hash) => *hash,
            Self::Done(hash) => Ref::Known(hash),
        }
    }
}

impl<'a, H: Hasher> Hashing<'a, H> {
    fn of(witness: &'a Witness) -> Hashes {
        let mut hashing = Self {
            plan: Plan::new(),
            stack: vec![],
            forks: vec![],
            entries: vec![],
            tables: vec![],
            leaves: vec![],
            done: Hashes { root: Hash::ZERO, forks: vec![], tables: vec![] },
        };
        let mut hashes = witness.hashes.iter().rev();
        let mut stems = witness.stems.iter().rev();
        for token in witness.tokens.iter().rev() {
            let hash = match token {
                Token::Empty => Ref::EMPTY,
                Token::Hash => Ref::Known(hashes.next().expect(ONE_EACH)),
                Token::Stem => hashing.stem(stems.next().expect(ONE_EACH)),
                Token::Internal => hashing.internal(),
            };
            hashing.stack.push(Held::Planned(hash));
            if hashing.plan.len() >= PORTION {
                hashing.flush();
            }
        }
        hashing.flush();
        let top = hashing.stack.pop().expect(PREORDER);
        Hashes { root: hashing.plan.resolve(top.hash()), ..hashing.done }
    }

    fn stem(&mut self, proof: &'a StemProof) -> Ref<'a> {
        let start = self.entries.len();
        let root = match &proof.opening {
            Opening::Sealed(root) => {
                self.entries.push((Position::ROOT.code(), Ref::Known(root)));
                Ref::Known(root)
            }
            Opening::Open { values, rest, .. } => {
                self.leaves.clear();
                self.leaves.extend(values.iter().map(|(sub, value)| (*sub, self.plan.leaf(value))));
                plan_table(&mut self.plan, &mut self.entries, rest, &self.leaves)
            }
        };
        self.tables.push(start..self.entries.len());
        let hash = self.plan.stem(&proof.stem, root);
        self.forks.push(hash);
        hash
    }

    fn internal(&mut self) -> Ref<'a> {
        let [left, right] = [self.stack.pop().expect(PREORDER), self.stack.pop().expect(PREORDER)];
        let hash = self.plan.inner(left.hash(), right.hash());
        if !left.hash().is_empty() && !right.hash().is_empty() {
            self.forks.push(hash);
        }
        hash
    }

    /// Runs the jobs; afterwards every hash on the stack is known.
    fn flush(&mut self) {
        let plan = &mut self.plan;
        plan.run();
        self.stack.iter_mut().for_each(|held| *held = Held::Done(plan.resolve(held.hash())));
        self.done.forks.extend(self.forks.drain(..).map(|hash| plan.resolve(hash)));
        let entries =
            |range: Range<usize>| self.entries[range].iter().map(|(code, hash)| (*code, plan.resolve(*hash)));
        self.done.tables.extend(self.tables.drain(..).map(|range| Table::new(entries(range).collect())));
        self.entries.clear();
        plan.clear();
    }
}
