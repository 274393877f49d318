//! Where the values are: behind a trait, since the node keeps them in a durable table and a test in memory.

use crate::{Writes, hash::Value, key::Key};
use alloc::sync::Arc;
use alloy_primitives::map::HashMap;
use core::{convert::Infallible, error::Error};

/// Answers what a key holds.
pub trait Values {
    /// Why there may be no answer.
    type Error: Error + Send + Sync + 'static;

    /// The value of a key, or `None` if it never was written.
    fn value(&self, key: &Key) -> Result<Option<Value>, Self::Error>;
}

impl<V: Values + ?Sized> Values for &V {
    type Error = V::Error;

    fn value(&self, key: &Key) -> Result<Option<Value>, Self::Error> {
        (**self).value(key)
    }
}

impl<V: Values + ?Sized> Values for Arc<V> {
    type Error = V::Error;

    fn value(&self, key: &Key) -> Result<Option<Value>, Self::Error> {
        (**self).value(key)
    }
}

/// Values in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryValues(HashMap<Key, Value>);

impl MemoryValues {
    /// Writes a block's changes.
    pub fn apply(&mut self, writes: &Writes) {
        self.0.extend(writes.iter().map(|(key, value)| (*key, *value)));
    }

    /// How many keys hold a value.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key holds a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Key, Value)> for MemoryValues {
    fn from_iter<I: IntoIterator<Item = (Key, Value)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Values for MemoryValues {
    type Error = Infallible;

    fn value(&self, key: &Key) -> Result<Option<Value>, Infallible> {
        Ok(self.0.get(key).copied())
    }
}
