//! A list that is cheap to copy: a copy shares all chunks, and a push copies one chunk at most.

use alloc::{sync::Arc, vec::Vec};
use core::ops::Index;

/// Elements in a chunk.
const CHUNK: usize = 32;

/// A list whose copies share what they have in common. It grows at its end, and shrinks at both. What was taken from its front
/// is freed a chunk at a time.
#[derive(Clone, Debug)]
pub struct Chunked<T> {
    /// None is empty, and all but the last are full.
    chunks: Vec<Arc<Vec<T>>>,
    /// Elements at the front of the first chunk that are not part of the list any more.
    skipped: usize,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), skipped: 0, len: 0 }
    }
}

impl<T> Chunked<T> {
    /// How many elements there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An element, counted from the first.
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        let place = self.skipped + index;
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)
    }

    /// The first element.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last element.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len).map(|index| &self[index])
    }

    /// Takes elements from the front.
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.len);
        self.len -= count;
        self.skipped += count;
        self.chunks.drain(..(self.skipped / CHUNK).min(self.chunks.len()));
        self.skipped %= CHUNK;
        if self.len == 0 {
            *self = Self::default();
        }
    }
}

impl<T: Clone> Chunked<T> {
    /// Adds an element at the end.
    pub fn push(&mut self, element: T) {
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(element),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(element);
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
    }

    /// Takes the last element.
    pub fn pop(&mut self) -> Option<T> {
        let popped = Arc::make_mut(self.chunks.last_mut().filter(|_| self.len > 0)?).pop();
        self.len -= 1;
        if self.chunks.last().is_some_and(|chunk| chunk.is_empty()) {
            self.chunks.pop();
        }
        if self.len == 0 {
            *self = Self::default();
        }
        popped
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        let len = self.len;
        self.get(index).unwrap_or_else(|| panic!("index {index} of a list of {len}"))
    }
}

impl<T: Clone> FromIterator<T> for Chunked<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::default();
        elements.into_iter().for_each(|element| list.push(element));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug)]
    enum Deed {
        Push(u8),
        Pop,
        Drop(usize),
    }

    fn deeds() -> impl Strategy<Value = Vec<Deed>> {
        let deed = prop_oneof![
            6 => any::<u8>().prop_map(Deed::Push),
            2 => Just(Deed::Pop),
            1 => (0..40_usize).prop_map(Deed::Drop),
        ];
        prop::collection::vec(deed, 0..400)
    }

    proptest! {
        /// It is the list that a queue is, and copies do not change with it.
        #[test]
        fn it_behaves_as_a_queue(deeds in deeds()) {
            let (mut list, mut model) = (Chunked::default(), VecDeque::new());
            let mut copies = Vec::new();
            for deed in deeds {
                match deed {
                    Deed::Push(element) => {
                        list.push(element);
                        model.push_back(element);
                    }
                    Deed::Pop => prop_assert_eq!(list.pop(), model.pop_back()),
                    Deed::Drop(count) => {
                        list.drop_front(count);
                        model.drain(..count.min(model.len()));
                    }
                }
                copies.push((list.clone(), model.clone()));
            }
            for (list, model) in copies {
                prop_assert!(list.iter().eq(model.iter()) && list.iter().rev().eq(model.iter().rev()));
                prop_assert_eq!((list.len(), list.first(), list.last()), (model.len(), model.front(), model.back()));
            }
        }
    }

    #[test]
    fn a_push_copies_one_chunk() {
        let mut list = (0..100).collect::<Chunked<_>>();
        let copy = list.clone();
        list.push(100);
        let shared = list.chunks.iter().zip(&copy.chunks).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!((shared.count(), list.chunks.len()), (3, 4));
    }
}
