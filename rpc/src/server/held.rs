//! Large answers are held in memory until their clients have read them; together they take no more than allowed.

use super::batch;
use crate::{Error, Limits, error};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Below this an answer is not counted: connections are limited too.
const SMALL_BYTES: usize = 64 * 1024;
/// What is counted in.
const UNIT_BYTES: usize = 1024;

/// What may be held.
pub(super) struct Answers(Arc<Semaphore>);

/// An answer with its part of what may be held.
struct Held {
    text: Vec<u8>,
    _part: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Answers {
    pub(super) fn new(limits: &Limits) -> Self {
        let units = (limits.answers_bytes_max / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(units)))
    }

    /// Holds an answer until it is dropped. If there is too much already, the answer is that.
    pub(super) fn hold(&self, text: Vec<u8>) -> Bytes {
        if text.len() < SMALL_BYTES {
            return text.into();
        }
        let units = u32::try_from(text.len() / UNIT_BYTES).unwrap_or(u32::MAX);
        match self.0.clone().try_acquire_many_owned(units) {
            Ok(part) => Bytes::from_owner(Held { text, _part: part }),
            Err(_) => refusal(&text).into(),
        }
    }
}

/// What is said instead of an answer; to the same id, unless it is a batch.
fn refusal(answer: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Answered<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let id = serde_json::from_slice::<Answered<'_>>(answer).ok().map(|answered| answered.id);
    let why = "too many large answers wait to be read, try again later";
    let mut refusal = Vec::new();
    batch::write(&mut refusal, id, &Err(Error::new(error::LIMIT, why)));
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_much_is_held_at_once() {
        let answers = Answers::new(&Limits { answers_bytes_max: 1024 * 1024, ..Limits::default() });
        let result = "a".repeat(600 * 1024);
        let large = || format!(r#"{{"jsonrpc":"2.0","id":"x","result":"{result}"}}"#).into_bytes();
        let first = answers.hold(large());
        assert_eq!(first, large());
        let refused = answers.hold(large());
        let begin = br#"{"jsonrpc":"2.0","id":"x","error":{"code":-32005"#;
        assert!(refused.starts_with(begin), "{refused:?}");
        assert_eq!(answers.hold(vec![b' '; 100]).len(), 100, "small ones always pass");
        drop(first);
        assert_eq!(answers.hold(large()), large());
    }
}
