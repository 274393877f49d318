//! Results as text, never longer than allowed.

use crate::{Error, error};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io;

/// A result, as it is sent.
pub type Json = Box<RawValue>;

/// Writes at most so many bytes.
struct Bounded {
    bytes: Vec<u8>,
    max: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text of a result of at most so many bytes.
pub(crate) fn reply<T: Serialize + ?Sized>(value: &T, bytes_max: usize) -> Result<Json, Error> {
    let mut bounded = Bounded { bytes: Vec::with_capacity(128), max: bytes_max };
    match serde_json::to_writer(&mut bounded, value) {
        Ok(()) => {}
        Err(error) if error.is_io() => return Err(Error::new(error::TOO_LARGE, "response too large")),
        Err(error) => return Err(Error::internal(error)),
    }
    let text = String::from_utf8(bounded.bytes).map_err(Error::internal)?;
    RawValue::from_string(text).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_never_longer_than_allowed() {
        assert_eq!(reply("1234", 6).unwrap().get(), "\"1234\"");
        assert_eq!(reply("12345", 6).unwrap_err().code, -32003);
    }
}
