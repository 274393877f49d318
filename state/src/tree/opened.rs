//! How much of a tree the paths to some keys open: what proving or writing them costs a validator.

use super::{Link, Node, Tree, update::PORTION};
use crate::key::{Key, Stem, goes_right};
use core::ops::AddAssign;

/// Keys that are written together; what is on the way to several such portions is made for each.
pub const WRITTEN_TOGETHER: usize = PORTION;

/// Levels below a stem.
const SUB_BITS: usize = 8;

/// Nodes on the paths to some keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opened {
    /// Inner nodes on the way to a stem.
    pub inner: usize,
    /// Stems.
    pub stems: usize,
    /// Keys.
    pub keys: usize,
    /// Inner nodes in the eight levels below stems.
    pub below: usize,
}

impl AddAssign for Opened {
    fn add_assign(&mut self, other: Self) {
        self.inner += other.inner;
        self.stems += other.stems;
        self.keys += other.keys;
        self.below += other.below;
    }
}

impl<H> Tree<H> {
    /// What writing these keys, which ascend, made anew if this is the tree after it. Keys are written in portions, and a node that is
    /// on the paths of two portions is made twice.
    pub fn written(&self, keys: &[Key]) -> Opened {
        let mut opened = Opened::default();
        for portion in keys.chunks(PORTION) {
            open(&self.top, portion, 0, &mut opened);
        }
        opened
    }

    /// How many inner nodes are on the way to where a stem is or would be, and how many there are once it is written.
    pub fn depth_of(&self, stem: &Stem) -> (usize, usize) {
        let (mut link, mut depth) = (&self.top, 0);
        loop {
            match &link.node {
                Node::Inner(children) => link = &children[usize::from(goes_right(stem, depth))],
                Node::Stem(node) if node.stem != *stem => {
                    let same = |level: &usize| goes_right(stem, *level) == goes_right(&node.stem, *level);
                    return (depth, (depth..).take_while(same).count() + depth + 1);
                }
                _ => return (depth, depth),
            }
            depth += 1;
        }
    }
}

fn open(link: &Link, keys: &[Key], depth: usize, opened: &mut Opened) {
    if keys.is_empty() {
        return;
    }
    match &link.node {
        Node::Inner(children) => {
            opened.inner += 1;
            let (left, right) = keys.split_at(keys.partition_point(|key| !goes_right(key.stem(), depth)));
            open(&children[0], left, depth + 1, opened);
            open(&children[1], right, depth + 1, opened);
        }
        Node::Stem(node) => {
            let subs = keys.iter().filter(|key| *key.stem() == node.stem).map(Key::sub);
            opened.stems += 1;
            opened.keys += subs.clone().count();
            opened.below += nodes_below(subs);
        }
        Node::Empty | Node::Opaque => {}
    }
}

/// Inner nodes below a stem on the paths to sub-indices, which ascend.
pub(crate) fn nodes_below(subs: impl Iterator<Item = u8>) -> usize {
    let mut before = None;
    subs.map(|sub| match before.replace(sub) {
        None => SUB_BITS,
        // The two paths part at the highest bit in which they differ; all below is the later one's own.
        Some(before) => (before ^ sub).checked_ilog2().unwrap_or(0) as usize,
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Writes, hash::Blake2b};

    fn key(first: u8, sub: u8) -> Key {
        let mut bytes = [0; 32];
        (bytes[0], bytes[31]) = (first, sub);
        Key::new(bytes)
    }

    #[test]
    fn paths_are_counted_once() {
        let keys = [key(0, 0), key(0, 1), key(0, 255), key(0x80, 4), key(0xc0, 4)];
        let writes = keys.iter().map(|key| (*key, crate::Value::repeat_byte(1))).collect::<Writes>();
        let tree = Tree::<Blake2b>::default().update(&writes);
        // The root, and the fork of the two that begin with a one.
        let below = 8 + 7 + 8 + 8;
        assert_eq!(tree.written(&keys), Opened { inner: 2, stems: 3, keys: 5, below });
        assert_eq!(tree.written(&keys[3..]), Opened { inner: 2, stems: 2, keys: 2, below: 16 });
        assert_eq!(tree.written(&[]), Opened::default());
    }

    #[test]
    fn depths_are_those_before_and_after_writing() {
        let writes = [key(0, 0), key(0x80, 4)].map(|key| (key, crate::Value::repeat_byte(1)));
        let tree = Tree::<Blake2b>::default().update(&writes.into_iter().collect());
        assert_eq!(tree.depth_of(key(0, 9).stem()), (1, 1));
        assert_eq!(
            tree.depth_of(key(1, 9).stem()),
            (1, 8),
            "beside a stem that differs in the last of eight bits"
        );
        let deeper = tree.update(&[(key(1, 9), crate::Value::repeat_byte(2))].into_iter().collect());
        assert_eq!(deeper.depth_of(key(1, 9).stem()), (8, 8));
        assert_eq!(Tree::<Blake2b>::default().depth_of(key(1, 9).stem()), (0, 0));
    }
}
