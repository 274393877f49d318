//! How numbers are written in rows: prices as hexadecimal text, because JSON's numbers end at 2^53 for many readers, and
//! times as milliseconds.

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{Error, Unexpected, Visitor},
};
use std::fmt;

pub(super) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#x}"))
}

/// Reads what callers write: hexadecimal text, or a number that JSON can hold.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    deserializer.deserialize_any(Quantity)
}

struct Quantity;

impl Visitor<'_> for Quantity {
    type Value = u128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or hexadecimal text that begins with 0x")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u128, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u128, E> {
        u128::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u128, E> {
        let digits = text.strip_prefix("0x").filter(|digits| !digits.is_empty());
        let value = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
        value.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A number of 64 bits that may not be there, as callers write it; it is written as a number.
pub fn maybe_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Wide(#[serde(deserialize_with = "deserialize")] u128);
    let Some(Wide(wide)) = Option::<Wide>::deserialize(deserializer)? else { return Ok(None) };
    let number = u64::try_from(wide);
    number.map(Some).map_err(|_| D::Error::custom("a number of at most 64 bits is expected"))
}

/// Times, as milliseconds.
pub(super) mod time {
    use serde::{Deserialize, Deserializer, Serializer};
    use types::Time;

    pub(crate) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_millis())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        u64::deserialize(deserializer).map(Time::from_millis)
    }
}

/// Times that may not be there.
pub(super) mod maybe_time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use types::Time;

    pub(crate) fn serialize<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Time::as_millis).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Time::from_millis))
    }
}
