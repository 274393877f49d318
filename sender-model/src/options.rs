//! How a request is to be treated, besides what it does.

#[cfg(feature = "openapi")]
use crate::openapi;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// Bytes of metadata, as JSON.
pub const METADATA_BYTES_MAX: usize = 4_096;
/// Endpoints that one request may name.
pub const REQUEST_WEBHOOKS_MAX: usize = 32;

/// Whether a request is simulated before it gets a nonce. In JSON it is `true`, `false` or `"after-parent"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Simulate {
    /// It is. If it would be reverted while earlier requests of the account are not mined, it is simulated on top of
    /// these, or again when they are mined.
    #[default]
    Always,
    /// It is, when all earlier requests of the account are mined, and not before.
    AfterParent,
    /// It is not. It must name its gas, and a revert costs that gas.
    Never,
}

impl Serialize for Simulate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Always => serializer.serialize_bool(true),
            Self::AfterParent => serializer.serialize_str("after-parent"),
            Self::Never => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for Simulate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Simulate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"after-parent\"")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Simulate, E> {
                Ok(if value { Simulate::Always } else { Simulate::Never })
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Simulate, E> {
                match value {
                    "after-parent" => Ok(Simulate::AfterParent),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// How soon a transaction is to be mined: what part of the chain's usual priority fee its first attempt offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Speed {
    /// When there is room.
    Slow,
    /// Soon.
    #[default]
    Standard,
    /// In the next block, if that can be bought.
    Fast,
}

/// The levels of [`Speed`], in percent of the priority fee that the chain asks for (of the gas price where it has no base fee).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Speeds {
    /// For `slow`.
    pub slow: u32,
    /// For `standard`.
    pub standard: u32,
    /// For `fast`.
    pub fast: u32,
}

impl Default for Speeds {
    fn default() -> Self {
        Self { slow: 80, standard: 100, fast: 200 }
    }
}

impl Speeds {
    /// The percentage of a level.
    pub const fn percent(&self, speed: Speed) -> u32 {
        match speed {
            Speed::Slow => self.slow,
            Speed::Standard => self.standard,
            Speed::Fast => self.fast,
        }
    }
}

/// How a request is to be treated.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestOptions {
    /// Whether it is simulated before it gets a nonce.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Simulate))]
    pub simulate: Simulate,
    /// How soon it is to be mined.
    #[serde(skip_serializing_if = "is_default")]
    pub speed: Speed,
    /// The caller's own words about it, which every answer and every event repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The webhook endpoints that are told of it; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhooks: Option<Vec<String>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl RequestOptions {
    /// Whether nothing is out of the ordinary.
    pub fn is_default(&self) -> bool {
        is_default(self)
    }

    /// Whether an endpoint is to be told of the request.
    pub fn tells(&self, endpoint: &str) -> bool {
        self.webhooks.as_ref().is_none_or(|webhooks| webhooks.iter().any(|name| name == endpoint))
    }

    /// Bytes that its metadata takes.
    pub fn metadata_bytes(&self) -> usize {
        self.metadata
            .as_ref()
            .map_or(0, |metadata| serde_json::to_vec(metadata).map_or(usize::MAX, |json| json.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_callers_write_them_and_not_at_all_if_usual() {
        assert_eq!(serde_json::to_string(&RequestOptions::default()).unwrap(), "{}");
        for (text, simulate) in [
            ("true", Simulate::Always),
            ("false", Simulate::Never),
            ("\"after-parent\"", Simulate::AfterParent),
        ] {
            assert_eq!(serde_json::from_str::<Simulate>(text).unwrap(), simulate);
            assert_eq!(serde_json::to_string(&simulate).unwrap(), text);
        }
        let wrong = serde_json::from_str::<Simulate>("\"later\"").unwrap_err().to_string();
        assert!(wrong.contains("expected true, false or \"after-parent\""), "{wrong}");
    }

    #[test]
    fn a_request_says_which_endpoints_are_told() {
        let some = RequestOptions { webhooks: Some(vec!["a".into()]), ..RequestOptions::default() };
        assert!(RequestOptions::default().tells("b") && some.tells("a") && !some.tells("b"));
    }
}
