//! How numbers are written in rows: prices as hexadecimal text, because JSON's numbers end at 2^53 for many readers, and
//! times as milliseconds.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(super) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#x}"))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.strip_prefix("0x").ok_or_else(|| D::Error::custom("a quantity begins with 0x"))?;
    u128::from_str_radix(digits, 16).map_err(D::Error::custom)
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
