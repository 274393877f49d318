//! The reasons why a node is not healthy: a fixed list of codes, each with its level and what the operator does about it.

use serde_json::{Value, json};

/// How well the node does its work. Ordered: the worst reason decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// Everything is as it should be.
    #[default]
    Ok,
    /// The node builds and submits, and an operator should look at something.
    Degraded,
    /// The node does not build, does not submit, or is too late for it: `/readyz` answers 503.
    Unready,
}

impl Level {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Unready => "unready",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident $name:literal $level:ident $action:literal)+) => {
        /// What is wrong, without the numbers of the moment.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Code {
            $($(#[doc = $doc])+ $code,)+
        }

        impl Code {
            /// Every code, the gravest first.
            pub const ALL: &[Self] = &[$(Self::$code),+];

            /// The name in JSON and in the label of the metric.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$code => $name),+ }
            }

            /// How grave it is.
            pub const fn level(self) -> Level {
                match self { $(Self::$code => Level::$level),+ }
            }

            /// What the operator does about it.
            pub const fn action(self) -> &'static str {
                match self { $(Self::$code => $action),+ }
            }
        }
    };
}

codes! {
    /// The journal cannot be written.
    JournalStalled "journal_stalled" Unready
        "Make room on the disk of the data directory, or repair it; the node continues by itself."
    /// The service's head on the chain was not built by this node.
    ForeignHead "foreign_head" Unready
        "Stop this node. Find the other builder that uses this key, or start from the newest copy of the data."
    /// A transaction became final twice.
    ExecutedTwice "executed_twice" Unready
        "Stop the node, keep its data directory and report it."
    /// The service's storage on the chain is not what the followed reports come to.
    ServiceDiffers "service_differs" Unready
        "Stop the node. Look for a second builder with this key or an old copy of the data; a restart clears this reason."
    /// No validator is connected.
    NoValidators "no_validators" Unready
        "Check the network, the firewall (UDP) and the bootnodes of the chain specification or `peers`."
    /// No guarantor of any core is connected.
    NoGuarantors "no_guarantors" Unready
        "Connect to more validators (`peers`, firewall); `pectin doctor` shows the guarantors of each core."
    /// The node still fetches blocks of the JAM chain.
    CatchingUp "catching_up" Unready
        "Wait until the missing blocks have arrived."
    /// The best block of the JAM chain is old.
    JamSilent "jam_silent" Unready
        "Check whether the validators author blocks, then this machine's network and clock: `pectin doctor --ntp HOST`."
    /// A block was abandoned, and sealing is paused until it is released or applied.
    BlocksAbandoned "blocks_abandoned" Unready
        "Read why on the bundle's page (`pectin bundle N`); sealing resumes by itself when the block is released or applied."
    /// A submission window was missed a short time ago.
    WindowMissed "window_missed" Unready
        "If it repeats: a faster disk or machine, or a right clock: `pectin doctor --ntp HOST`."
    /// Validators contradict the machine's clock.
    ClockWrong "clock_wrong" Degraded
        "Set the machine's clock right and keep it so (NTP): `pectin doctor --ntp HOST`; the node follows by itself."
    /// The machine's clock jumped, and nothing has confirmed the jump.
    ClockJumped "clock_jumped" Degraded
        "Check the machine's clock (NTP): `pectin doctor --ntp HOST`; the node decides by itself within a few blocks."
    /// No guarantor of some cores is connected.
    FewGuarantors "few_guarantors" Degraded
        "Connect to more validators (`peers`, firewall); `pectin doctor` shows the guarantors of each core."
    /// The oldest bundle is not final after a long time.
    BundleStuck "bundle_stuck" Degraded
        "Read on the bundle's page what it waits for: `pectin bundle N`."
    /// The queue has been full for long, so that no block is sealed.
    QueueFull "queue_full" Degraded
        "Look for another reason first; without one, more arrives than the cores take. Transactions stay in the pool."
    /// Finality is far behind the best block.
    FinalityLags "finality_lags" Degraded
        "Nothing here: the validators disagree or are down. Bundles wait, nothing is lost."
    /// The service's storage on the chain could not be read.
    ServiceUnreadable "service_unreadable" Degraded
        "Report it with the line of the log that says why; a restart clears this reason."
    /// The operator paused sealing.
    Paused "paused" Degraded
        "`builder_resume` continues."
    /// The rows of managed accounts cannot be read or written.
    SenderStore "sender_store" Degraded
        "Make the store of `sender-store` available again; the sender continues by itself."
    /// Managed accounts cannot see their chain or cannot sign.
    SenderDegraded "sender_degraded" Degraded
        "Check the provider of the chain and the remote signer; GET /v1/accounts/{address}/health says which."
    /// The next transaction of managed accounts has been waiting for long.
    SenderStuck "sender_stuck" Degraded
        "GET /v1/accounts/{address}/health says what the account waits for."
}

impl Code {
    /// The reason with what is true of it now: one sentence.
    pub(super) fn because(self, text: impl Into<String>) -> Reason {
        Reason { code: self, text: text.into() }
    }
}

/// Why the node is not healthy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// What is wrong.
    pub code: Code,
    /// One sentence with the numbers of the moment.
    pub text: String,
}

impl Reason {
    /// As JSON.
    pub(super) fn to_json(&self) -> Value {
        let Self { code, text } = self;
        json!({ "code": code.name(), "level": code.level().name(), "text": text, "action": code.action() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_the_gravest_come_first() {
        let names = Code::ALL.iter().map(|code| code.name()).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|code| std::cmp::Reverse(code.level())));
        for code in Code::ALL {
            assert!(code.level() > Level::Ok, "{code:?}");
            assert!(code.action().ends_with('.'), "{code:?}: {}", code.action());
        }
    }

    /// Whoever sees a code finds it in the operator's guide, with the same level.
    #[test]
    fn the_guide_explains_every_reason() {
        let guide = include_str!("../../../docs/operating.md");
        for code in Code::ALL {
            let row = format!("| `{}` | {} |", code.name(), code.level().name());
            assert!(guide.contains(&row), "docs/operating.md has no row that begins with {row}");
        }
    }
}
