//! The node that runs, and the files that it starts from.

use super::{Finding, Verdict};
use crate::cli::{client::Client, file::Network, setup};
use jam::ChainSpec;
use observe::health::SILENT_SLOTS_MAX;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use types::Time;

/// Asks the running node, if there is one.
pub(super) fn look(node: Option<&Client>, slot_ms: u64) -> Vec<Finding> {
    let Some(node) = node else {
        return vec![Finding::new("node", Verdict::Unknown, "no node runs where the settings say")];
    };
    let answers = node.calls(&[("builder_status", json!([])), ("builder_peers", json!([]))]);
    let answers = answers.map(|answers| answers.into_iter().collect::<Result<Vec<_>, _>>());
    match answers {
        Ok(Ok(answers)) => match answers.as_slice() {
            [status, peers] => {
                let mut findings = health(status);
                findings.push(slots(status, slot_ms));
                findings.extend(cores(peers));
                findings
            }
            _ => vec![],
        },
        Ok(Err(why)) => vec![Finding::new("node", Verdict::Problem, why)],
        Err(why) => vec![Finding::new("node", Verdict::Problem, why.to_string())],
    }
}

/// What the node itself says of its health: the same as `/readyz` and the page.
fn health(status: &Value) -> Vec<Finding> {
    let what = "node";
    let version = status["version"].as_str().unwrap_or("of an unknown version");
    let Some(reasons) = status["health"]["reasons"].as_array() else {
        return vec![Finding::new(
            what,
            Verdict::Unknown,
            format!("{version} does not say how healthy it is"),
        )];
    };
    if reasons.is_empty() {
        return vec![Finding::new(what, Verdict::Good, format!("{version} builds and submits"))];
    }
    let verdict = |reason: &Value| match reason["level"].as_str() {
        Some("degraded") => Verdict::Warning,
        _ => Verdict::Problem,
    };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let text = |reason: &Value| format!("{} {}", word(&reason["text"]), word(&reason["action"]));
    reasons.iter().map(|reason| Finding::new(what, verdict(reason), text(reason))).collect()
}

/// The newest block of JAM against this machine's clock: the other side of the same question as a time server.
fn slots(status: &Value, slot_ms: u64) -> Finding {
    let what = "JAM blocks";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let slot = devnet::validator::clock(slot_ms).slot_at(Time::from_millis(now));
    let Some(best) = status["bestSlot"].as_u64().and_then(|slot| u32::try_from(slot).ok()) else {
        return Finding::new(what, Verdict::Problem, "the node has seen none yet");
    };
    match (slot.checked_sub(best), best.saturating_sub(slot)) {
        (None, ahead) => {
            let text = format!(
                "the newest is {ahead} slots in the future: this clock is behind, or --slot-ms is wrong"
            );
            Finding::new(what, Verdict::Problem, text)
        }
        (Some(behind), _) if behind <= SILENT_SLOTS_MAX => {
            Finding::new(what, Verdict::Good, format!("the newest is of slot {best}, {behind} ago"))
        }
        (Some(behind), _) => {
            let text = format!(
                "the newest is {behind} slots old: validators are silent, this clock is ahead, or --slot-ms is wrong"
            );
            Finding::new(what, Verdict::Problem, text)
        }
    }
}

/// Whether the guarantors of every core can be reached. With none of some cores the node works, with none of all it does
/// not: the same line as the node's own health draws.
fn cores(peers: &Value) -> Vec<Finding> {
    let what = "peers";
    let cores = peers["cores"].as_array().cloned().unwrap_or_default();
    let count = |core: &Value, name: &str| core[name].as_u64().unwrap_or(0);
    let unreached = cores.iter().filter(|core| count(core, "connected") == 0).count();
    if cores.is_empty() || cores.iter().all(|core| count(core, "guarantors") == 0) {
        return vec![Finding::new(what, Verdict::Unknown, "who guarantees is not known yet")];
    }
    if unreached > 0 {
        let text = format!("no guarantor of {unreached} of {} cores is connected", cores.len());
        let verdict = if unreached == cores.len() { Verdict::Problem } else { Verdict::Warning };
        return vec![Finding::new(what, verdict, text)];
    }
    let of = |core: &Value| {
        format!("core {}: {} of {}", core["core"], count(core, "connected"), count(core, "guarantors"))
    };
    // A full chain has hundreds of cores; the least connected ones tell enough.
    let mut shown = cores.clone();
    shown.sort_by_key(|core| count(core, "connected"));
    let text = shown.iter().take(8).map(of).collect::<Vec<_>>().join(", ");
    let verdict =
        if cores.iter().all(|core| count(core, "connected") >= 2) { Verdict::Good } else { Verdict::Warning };
    vec![Finding::new(what, verdict, format!("guarantors connected: {text}"))]
}

/// Whether the files that the settings name can be used.
pub(super) fn files(network: &Network) -> Vec<Finding> {
    let mut findings = vec![];
    if let Some(path) = &network.chain_spec {
        let read = std::fs::read_to_string(path).map_err(|why| why.to_string());
        let spec = read.and_then(|text| ChainSpec::from_json(&text).map_err(|why| why.to_string()));
        findings.push(match spec {
            Ok(spec) => {
                let text = format!(
                    "{}, {} validators, {} cores",
                    spec.id, spec.params.validators, spec.params.cores
                );
                Finding::new("chain specification", Verdict::Good, text)
            }
            Err(why) => {
                Finding::new("chain specification", Verdict::Problem, format!("{}: {why}", path.display()))
            }
        });
    }
    if let Some(path) = &network.builder_key {
        findings.push(match setup::read_key(path) {
            Ok(secret) => {
                Finding::new("builder key", Verdict::Good, format!("of the builder {}", secret.public()))
            }
            Err(why) => Finding::new("builder key", Verdict::Problem, why.to_string()),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_needs_a_guarantor() {
        let of = |connected: [u64; 2]| {
            let core = |core: usize| json!({ "core": core, "guarantors": 3, "connected": connected[core] });
            cores(&json!({ "cores": [core(0), core(1)] }))[0].verdict
        };
        assert_eq!(of([3, 2]), Verdict::Good);
        assert_eq!(of([3, 1]), Verdict::Warning);
        assert_eq!(of([3, 0]), Verdict::Warning);
        assert_eq!(of([0, 0]), Verdict::Problem);
        assert_eq!(cores(&json!({ "cores": [] }))[0].verdict, Verdict::Unknown);
    }

    #[test]
    fn what_the_node_says_of_its_health_is_found_with_what_to_do() {
        let reason = |level: &str| json!({ "level": level, "text": "It is so.", "action": "Do this." });
        let found = |reasons: &[Value]| {
            let status = json!({ "version": "x", "health": { "reasons": reasons } });
            health(&status).into_iter().map(|finding| (finding.verdict, finding.text)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), [(Verdict::Good, "x builds and submits".to_owned())]);
        let text = "It is so. Do this.".to_owned();
        let all = [(Verdict::Problem, text.clone()), (Verdict::Warning, text)];
        assert_eq!(found(&[reason("unready"), reason("degraded")]), all);
        assert_eq!(health(&json!({ "version": "x" }))[0].verdict, Verdict::Unknown);
    }

    #[test]
    fn a_node_that_sees_no_blocks_has_a_problem() {
        assert_eq!(slots(&json!({ "bestSlot": null }), 6000).verdict, Verdict::Problem);
        assert_eq!(slots(&json!({ "bestSlot": 1 }), 6000).verdict, Verdict::Problem);
        assert_eq!(slots(&json!({ "bestSlot": u32::MAX }), 6000).verdict, Verdict::Problem);
    }
}
