//! Settings of single chains: in the file a table for each (`[sender-chain.137]`), as a flag one text.

use sender_model::ChainSettings;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// What is set for each chain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PerChain(pub BTreeMap<u64, ChainSettings>);

impl PerChain {
    fn new(of: impl IntoIterator<Item = (String, Value)>) -> Result<Self, String> {
        let one = |(id, settings): (String, Value)| {
            let chain_id = id.parse().map_err(|_| format!("{id:?} is not the number of a chain"))?;
            let settings: ChainSettings =
                serde_json::from_value(settings).map_err(|why| format!("chain {chain_id}: {why}"))?;
            settings.check().map_err(|why| format!("chain {chain_id}: {why}"))?;
            Ok((chain_id, settings))
        };
        of.into_iter().map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// `ID:name=value,name=value`, several separated by semicolons; the speeds are `speeds=SLOW/STANDARD/FAST`.
impl FromStr for PerChain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |part: &str| format!("{part:?} is not ID:name=value,name=value");
        let chain = |part: &str| {
            let (id, settings) = part.split_once(':').ok_or_else(|| wrong(part))?;
            let pairs = settings.split(',').map(|pair| {
                let (name, value) = pair.split_once('=').ok_or_else(|| wrong(part))?;
                Ok((name.trim().to_owned(), value_of(value.trim())))
            });
            Ok((id.trim().to_owned(), Value::Object(pairs.collect::<Result<Map<_, _>, String>>()?)))
        };
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        Self::new(parts.map(chain).collect::<Result<Vec<_>, String>>()?)
    }
}

/// A number, three speeds, or a text.
fn value_of(text: &str) -> Value {
    let number = |text: &str| text.parse::<u64>().ok();
    if let Some(number) = number(text) {
        return number.into();
    }
    let speeds: Option<Vec<u64>> = text.split('/').map(number).collect();
    match speeds.as_deref() {
        Some([slow, standard, fast]) => {
            serde_json::json!({ "slow": slow, "standard": standard, "fast": fast })
        }
        _ => text.into(),
    }
}

impl<'de> Deserialize<'de> for PerChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PerChain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table for each chain, or a text like \"137:confirmations=64\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerChain, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<PerChain, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry::<String, Value>()? {
                    all.push(entry);
                }
                PerChain::new(all).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl fmt::Display for PerChain {
    /// As it is written as a flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (chain_id, settings)) in self.0.iter().enumerate() {
            let ChainSettings {
                fee_cap,
                bump_percent,
                stall_ms,
                confirmations,
                finality_depth,
                speeds,
                calls_per_second,
                poll_ms,
            } = settings;
            let numbers = [
                ("fee-cap", fee_cap.map(|cap| cap.0)),
                ("bump-percent", bump_percent.map(u128::from)),
                ("stall-ms", stall_ms.map(u128::from)),
                ("confirmations", confirmations.map(u128::from)),
                ("finality-depth", finality_depth.map(u128::from)),
                ("calls-per-second", calls_per_second.map(u128::from)),
                ("poll-ms", poll_ms.map(u128::from)),
            ];
            let speeds =
                speeds.map(|speeds| format!("speeds={}/{}/{}", speeds.slow, speeds.standard, speeds.fast));
            let set = numbers.iter().filter_map(|(name, value)| Some(format!("{name}={}", (*value)?)));
            let set = set.chain(speeds).collect::<Vec<_>>().join(",");
            write!(f, "{}{chain_id}:{set}", if index > 0 { ";" } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for PerChain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_a_text_say_the_same_and_what_is_shown_can_be_read_again() {
        let table = "[137]\nconfirmations = 64\nstall-ms = 30000\nspeeds = { slow = 50, fast = 300 }\n\
                     [10]\nfee-cap = 7000000000\ncalls-per-second = 20\n";
        let text = "137:confirmations=64,stall-ms=30000,speeds=50/100/300; 10:fee-cap=7000000000,calls-per-second=20";
        let (table, text): (PerChain, PerChain) = (toml::from_str(table).unwrap(), text.parse().unwrap());
        assert_eq!(table, text);
        assert_eq!(table.to_string().parse::<PerChain>().unwrap(), table);
        assert_eq!(table.0[&137].confirmations, Some(64));
        assert_eq!("".parse::<PerChain>().unwrap(), PerChain::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<PerChain>().unwrap_err();
        assert!(wrong("137").contains("ID:name=value"));
        assert!(wrong("x:confirmations=1").contains("is not the number of a chain"));
        assert!(wrong("137:confirm=1").contains("unknown field `confirm`"));
        assert_eq!(wrong("137:bump-percent=5"), "chain 137: bumpPercent: 5 is not within 10 to 1000");
    }
}
