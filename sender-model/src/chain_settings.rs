//! What can be set for one chain. What is not set there is as for all chains.

use super::{Config, FeeCap, Speeds};
use serde::{Deserialize, Serialize};

/// The most blocks that a depth can be.
const DEPTH_MAX: u64 = 1_000_000;
/// The least percentage of a fee bump that nodes take.
const BUMP_PERCENT_MIN: u32 = 10;

/// Settings of one chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChainSettings {
    /// The highest price per gas that is offered, in wei.
    #[serde(alias = "fee-cap", skip_serializing_if = "Option::is_none")]
    pub fee_cap: Option<FeeCap>,
    /// Percent by which a replacement raises both fees; at least 10.
    #[serde(alias = "bump-percent", skip_serializing_if = "Option::is_none")]
    pub bump_percent: Option<u32>,
    /// Milliseconds that a transaction stands still before its fees are bumped.
    #[serde(alias = "stall-ms", skip_serializing_if = "Option::is_none")]
    pub stall_ms: Option<u64>,
    /// Blocks after which a transaction is confirmed, if the chain has no tag `finalized`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<u64>,
    /// Blocks after which a transaction is confirmed, whatever the chain calls final: for chains whose finality is late.
    #[serde(alias = "finality-depth", skip_serializing_if = "Option::is_none")]
    pub finality_depth: Option<u64>,
    /// What part of the chain's priority fee each speed offers, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speeds: Option<Speeds>,
    /// Calls per second that each provider is asked at most.
    #[serde(alias = "calls-per-second", skip_serializing_if = "Option::is_none")]
    pub calls_per_second: Option<u64>,
    /// Milliseconds between two looks at the newest block while something is in flight.
    #[serde(alias = "poll-ms", skip_serializing_if = "Option::is_none")]
    pub poll_ms: Option<u64>,
}

impl ChainSettings {
    /// What is set here, else what is set there.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            fee_cap: self.fee_cap.or(other.fee_cap),
            bump_percent: self.bump_percent.or(other.bump_percent),
            stall_ms: self.stall_ms.or(other.stall_ms),
            confirmations: self.confirmations.or(other.confirmations),
            finality_depth: self.finality_depth.or(other.finality_depth),
            speeds: self.speeds.or(other.speeds),
            calls_per_second: self.calls_per_second.or(other.calls_per_second),
            poll_ms: self.poll_ms.or(other.poll_ms),
        }
    }

    /// Whether they can be used, or which one cannot and why.
    pub fn check(&self) -> Result<(), String> {
        let in_range = |name: &str, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(format!("{name}: {value} is not within {least} to {most}"))
            }
            _ => Ok(()),
        };
        in_range("feeCap", self.fee_cap.map(|cap| u64::try_from(cap.0).unwrap_or(u64::MAX)), 11, u64::MAX)?;
        in_range("bumpPercent", self.bump_percent.map(u64::from), u64::from(BUMP_PERCENT_MIN), 1_000)?;
        in_range("stallMs", self.stall_ms, 1_000, 86_400_000)?;
        in_range("confirmations", self.confirmations, 0, DEPTH_MAX)?;
        in_range("finalityDepth", self.finality_depth, 0, DEPTH_MAX)?;
        in_range("callsPerSecond", self.calls_per_second, 1, 100_000)?;
        in_range("pollMs", self.poll_ms, 50, 600_000)?;
        for speed in self.speeds.iter().flat_map(|speeds| [speeds.slow, speeds.standard, speeds.fast]) {
            in_range("speeds", Some(u64::from(speed)), 1, 10_000)?;
        }
        Ok(())
    }

    /// Runs accounts by them, as far as they are about accounts.
    pub fn apply(&self, config: &mut Config) {
        config.fee_cap = self.fee_cap.map_or(config.fee_cap, |cap| cap.0);
        config.bump_percent = self.bump_percent.unwrap_or(config.bump_percent);
        config.stall_ms = self.stall_ms.unwrap_or(config.stall_ms);
        config.speeds = self.speeds.unwrap_or(config.speeds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_files_and_callers_write_them() {
        let of_file =
            r#"{"fee-cap": 7000000000, "bump-percent": 15, "finality-depth": 64, "speeds": {"fast": 300}}"#;
        let of_caller =
            r#"{"feeCap": "0x1a13b8600", "bumpPercent": 15, "finalityDepth": 64, "speeds": {"fast": 300}}"#;
        let read = |text: &str| serde_json::from_str::<ChainSettings>(text).unwrap();
        assert_eq!(read(of_file), read(of_caller));
        let mut config = Config::default();
        read(of_file).apply(&mut config);
        assert_eq!((config.fee_cap, config.bump_percent, config.stall_ms), (7_000_000_000, 15, 60_000));
        assert_eq!((config.speeds.fast, config.speeds.slow), (300, 80));
        assert!(serde_json::from_str::<ChainSettings>(r#"{"fee": 1}"#).is_err());
    }

    #[test]
    fn what_cannot_be_is_named() {
        let low = ChainSettings { bump_percent: Some(9), ..ChainSettings::default() };
        assert_eq!(low.check().unwrap_err(), "bumpPercent: 9 is not within 10 to 1000");
        let none = ChainSettings {
            speeds: Some(Speeds { slow: 0, ..Speeds::default() }),
            ..ChainSettings::default()
        };
        assert!(none.check().unwrap_err().starts_with("speeds"));
        assert_eq!(ChainSettings::default().check(), Ok(()));
        assert_eq!(low.or(none).speeds, none.speeds);
    }
}
