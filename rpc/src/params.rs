//! The parameters of a call, by position.

use crate::{
    Error,
    hex::{FromHex, Hex},
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The parameters of a call. Each is read where it is used; until then it is text.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<Box<RawValue>>);

impl Params {
    /// From the text that stands behind `params`, or nothing.
    pub fn new(raw: Option<&RawValue>) -> Result<Self, Error> {
        match raw.map(RawValue::get) {
            None | Some("null") => Ok(Self::default()),
            Some(text) if text.starts_with('[') => serde_json::from_str(text)
                .map(Self)
                .map_err(|error| Error::params(format!("invalid arguments: {error}"))),
            Some(_) => Err(Error::params("non-array args")),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses more than `max`.
    pub fn at_most(&self, max: usize) -> Result<(), Error> {
        if self.0.len() > max {
            return Err(Error::params(format!("too many arguments, want at most {max}")));
        }
        Ok(())
    }

    /// The text of a parameter; `None` where it is missing or null.
    pub fn raw(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    /// A parameter that may be missing.
    pub fn optional<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        let read = |text| serde_json::from_str(text).map_err(|error| wrong(index, error));
        self.raw(index).map(read).transpose()
    }

    /// A parameter that must be there.
    pub fn required<T: DeserializeOwned>(&self, index: usize) -> Result<T, Error> {
        self.optional(index)?
            .ok_or_else(|| Error::params(format!("missing value for required argument {index}")))
    }

    /// An object that must be there. Serde would also read its fields from a list, in order.
    pub(crate) fn object<T: DeserializeOwned>(&self, index: usize) -> Result<T, Error> {
        match self.raw(index) {
            Some(text) if !text.starts_with('{') => Err(wrong(index, "an object is expected")),
            _ => self.required(index),
        }
    }

    /// A hexadecimal parameter that must be there.
    pub(crate) fn hex<T: FromHex>(&self, index: usize) -> Result<T, Error> {
        self.required::<Hex<T>>(index).map(|hex| hex.0)
    }
}

/// Says which parameter is wrong and why, without the position that serde adds.
fn wrong(index: usize, error: impl std::fmt::Display) -> Error {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    Error::params(format!("invalid argument {index}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Result<Params, Error> {
        Params::new(Some(&RawValue::from_string(text.to_owned()).unwrap()))
    }

    #[test]
    fn parameters_are_read_by_position() {
        let some = params(r#"["0x1", null, true]"#).unwrap();
        assert_eq!(some.hex::<u64>(0).unwrap(), 1);
        assert_eq!(some.optional::<bool>(1).unwrap(), None);
        assert!(some.required::<bool>(2).unwrap());
        assert_eq!(some.required::<bool>(3).unwrap_err().message, "missing value for required argument 3");
        assert_eq!(some.at_most(2).unwrap_err().message, "too many arguments, want at most 2");
        assert!(Params::new(None).unwrap().is_empty());
        assert!(params("null").unwrap().is_empty());
        assert_eq!(params("{}").unwrap_err().message, "non-array args");
        let error = params(r#"["2"]"#).unwrap().hex::<u64>(0).unwrap_err();
        assert_eq!(
            (error.code, &*error.message),
            (-32602, "invalid argument 0: hex string without 0x prefix")
        );
    }
}
