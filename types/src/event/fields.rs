//! An event as a message and fields, which is how logs and the operator's page show it.
//!
//! One event has one set of fields: the log has them as fields of `tracing`, the page and RPC as text.

use super::{Event, ReleasedBy};
use crate::{BlockId, Reason};
use alloy_primitives::{Address, B256};
use core::fmt;

/// What an event is about. Logs are filtered by it: `--log info,pool=debug` shows the pool's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A transaction of the pool.
    Pool,
    /// A bundle in the queue, or the queue itself.
    Queue,
    /// The service's state on the JAM chain.
    Service,
}

/// An event's message and fields. A field that the event does not have is `None`.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Fields<'a> {
    /// What it is about.
    pub subject: Subject,
    /// What happened, in a few fixed words.
    pub message: &'static str,
    /// The bundle, by the number of its block.
    pub bundle: Option<u64>,
    /// The version of the bundle's package.
    pub version: Option<u32>,
    /// The core that the package is for.
    pub core: Option<u16>,
    /// A block of the EVM chain, where that is not the bundle's.
    pub block: Option<BlockId>,
    /// The transactions of a sealed block.
    pub transactions: Option<usize>,
    /// The hash of a transaction.
    pub tx: Option<B256>,
    /// Who signed it.
    pub sender: Option<Address>,
    /// Whether it can be executed now.
    pub pending: Option<bool>,
    /// The hash of the transaction that replaced it.
    pub replacement: Option<B256>,
    /// Blocks that were abandoned with it.
    pub attempts: Option<u32>,
    /// Why a transaction was dropped.
    pub reason: Option<&'a Reason>,
    /// Who released a bundle.
    pub by: Option<ReleasedBy>,
    /// Bundles that wait for a window.
    pub queued: Option<usize>,
    /// Bundles that are submitted or guaranteed.
    pub inflight: Option<usize>,
    /// Bundles that are submitted and keep a core.
    pub submitted: Option<usize>,
    /// Whether one of the bundles that wait can be sent.
    pub can_submit: Option<bool>,
    /// The service's head on the JAM chain.
    pub chain: Option<BlockId>,
    /// The service's head that this node expects.
    pub local: Option<BlockId>,
    /// What went wrong.
    pub error: Option<&'a str>,
}

impl Fields<'_> {
    const fn new(subject: Subject, message: &'static str) -> Self {
        Self {
            subject,
            message,
            bundle: None,
            version: None,
            core: None,
            block: None,
            transactions: None,
            tx: None,
            sender: None,
            pending: None,
            replacement: None,
            attempts: None,
            reason: None,
            by: None,
            queued: None,
            inflight: None,
            submitted: None,
            can_submit: None,
            chain: None,
            local: None,
            error: None,
        }
    }

    const fn bundle(message: &'static str, block: &BlockId) -> Self {
        Self { bundle: Some(block.number), ..Self::new(Subject::Queue, message) }
    }

    const fn version(message: &'static str, block: &BlockId, version: u32) -> Self {
        Self { version: Some(version), ..Self::bundle(message, block) }
    }

    const fn tx(message: &'static str, tx: B256) -> Self {
        Self { tx: Some(tx), ..Self::new(Subject::Pool, message) }
    }
}

impl Event {
    /// Its message and fields. Every variant is named here, so that a new one cannot be forgotten.
    pub fn fields(&self) -> Fields<'_> {
        match self {
            Self::Sealed { .. }
            | Self::Refused { .. }
            | Self::Window { .. }
            | Self::WindowMissed { .. }
            | Self::NotSubmitted { .. }
            | Self::Submitted { .. }
            | Self::Guaranteed { .. }
            | Self::DuplicateGuarantee { .. }
            | Self::Accumulated { .. }
            | Self::Finalized { .. }
            | Self::GuaranteeTimeout { .. }
            | Self::AnchorStale { .. }
            | Self::Requeued { .. }
            | Self::Abandoned { .. }
            | Self::Released { .. } => self.queue_fields(),
            Self::ServiceDiffers { .. } | Self::ServiceUnreadable { .. } | Self::ForeignHead { .. } => {
                self.service_fields()
            }
            Self::Added { .. }
            | Self::Promoted { .. }
            | Self::Demoted { .. }
            | Self::Replaced { .. }
            | Self::Evicted { .. }
            | Self::Expired { .. }
            | Self::Bundled { .. }
            | Self::Returned { .. }
            | Self::Final { .. }
            | Self::Dropped { .. } => self.pool_fields(),
        }
    }

    fn queue_fields(&self) -> Fields<'_> {
        match self {
            Self::Sealed { block, transactions } => {
                Fields { transactions: Some(*transactions), ..Fields::bundle("block sealed", block) }
            }
            Self::Refused { block, why } => {
                Fields { error: Some(why), ..Fields::bundle("block rejected by our own refine", block) }
            }
            Self::Window { queued, inflight, submitted, can_submit } => Fields {
                queued: Some(*queued),
                inflight: Some(*inflight),
                submitted: Some(*submitted),
                can_submit: Some(*can_submit),
                ..Fields::new(Subject::Queue, "submission window open")
            },
            Self::WindowMissed { block } => Fields::bundle("submission window missed", block),
            Self::NotSubmitted { block, version, why } => {
                Fields { error: Some(why), ..Fields::version("bundle not submitted", block, *version) }
            }
            Self::Submitted { block, version, core } => {
                Fields { core: Some(*core), ..Fields::version("bundle submitted", block, *version) }
            }
            Self::Guaranteed { block, version } => Fields::version("bundle guaranteed", block, *version),
            Self::DuplicateGuarantee { block } => Fields::bundle("another version guaranteed", block),
            Self::Accumulated { block } => Fields::bundle("bundle accumulated", block),
            Self::Finalized { block } => Fields::bundle("bundle finalized", block),
            Self::GuaranteeTimeout { block, version } => {
                Fields::version("guarantee timeout", block, *version)
            }
            Self::AnchorStale { block } => Fields::bundle("anchor stale, package will be rebuilt", block),
            Self::Requeued { block, version } => Fields::version("bundle requeued", block, *version),
            Self::Released { block, by } => {
                Fields { by: Some(*by), ..Fields::bundle("bundle released", block) }
            }
            Self::Abandoned { block } => Fields::bundle("bundle abandoned", block),
            _ => Fields::new(Subject::Queue, "unknown event"),
        }
    }

    fn service_fields(&self) -> Fields<'_> {
        match self {
            Self::ServiceDiffers { chain, ours } => Fields {
                chain: Some(*chain),
                local: Some(*ours),
                ..Fields::new(Subject::Service, "service head mismatch")
            },
            Self::ServiceUnreadable { why } => {
                Fields { error: Some(why), ..Fields::new(Subject::Service, "service state unreadable") }
            }
            Self::ForeignHead { head } => Fields {
                chain: Some(*head),
                ..Fields::new(Subject::Service, "service head was not built here, building stops")
            },
            _ => Fields::new(Subject::Service, "unknown event"),
        }
    }

    fn pool_fields(&self) -> Fields<'_> {
        let fields = match self {
            Self::Added { hash, pending, .. } => {
                Fields { pending: Some(*pending), ..Fields::tx("transaction added", *hash) }
            }
            Self::Promoted { hash, .. } => Fields::tx("transaction promoted", *hash),
            Self::Demoted { hash, .. } => Fields::tx("transaction demoted", *hash),
            Self::Replaced { hash, by, .. } => {
                Fields { replacement: Some(*by), ..Fields::tx("transaction replaced", *hash) }
            }
            Self::Evicted { hash, .. } => Fields::tx("transaction evicted", *hash),
            Self::Expired { hash, .. } => Fields::tx("transaction expired", *hash),
            Self::Bundled { hash, block } => {
                Fields { block: Some(*block), ..Fields::tx("transaction sealed", *hash) }
            }
            Self::Returned { hash, attempts, .. } => {
                Fields { attempts: Some(*attempts), ..Fields::tx("transaction returned", *hash) }
            }
            Self::Final { hash, block } => {
                Fields { block: Some(*block), ..Fields::tx("transaction final", *hash) }
            }
            Self::Dropped { hash, reason, .. } => {
                Fields { reason: Some(reason), ..Fields::tx("transaction dropped", *hash) }
            }
            _ => Fields::new(Subject::Pool, "unknown event"),
        };
        Fields { sender: self.sender(), ..fields }
    }
}

/// Writes ` name=value` if there is a value.
fn field(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name}={value}"))
}

impl fmt::Display for Fields<'_> {
    /// The message and its fields as text, in the order in which logs have them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)?;
        field(f, "bundle", self.bundle)?;
        field(f, "version", self.version)?;
        field(f, "core", self.core)?;
        field(f, "block", self.block)?;
        field(f, "transactions", self.transactions)?;
        field(f, "tx", self.tx)?;
        field(f, "sender", self.sender)?;
        field(f, "pending", self.pending)?;
        field(f, "replacement", self.replacement)?;
        field(f, "attempts", self.attempts)?;
        field(f, "reason", self.reason)?;
        field(f, "by", self.by)?;
        field(f, "queued", self.queued)?;
        field(f, "inflight", self.inflight)?;
        field(f, "submitted", self.submitted)?;
        field(f, "can_submit", self.can_submit)?;
        field(f, "chain", self.chain)?;
        field(f, "local", self.local)?;
        self.error.map_or(Ok(()), |error| write!(f, " error={error:?}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_message_with_fields() {
        let block = BlockId::new(7, B256::repeat_byte(1));
        let (hash, sender) = (B256::repeat_byte(2), Address::repeat_byte(3));
        let lines = [
            (Event::Submitted { block, version: 1, core: 0 }, "bundle submitted bundle=7 version=1 core=0"),
            (
                Event::NotSubmitted { block, version: 2, why: "no guarantor is connected".into() },
                "bundle not submitted bundle=7 version=2 error=\"no guarantor is connected\"",
            ),
            (
                Event::Window { queued: 3, inflight: 2, submitted: 1, can_submit: true },
                "submission window open queued=3 inflight=2 submitted=1 can_submit=true",
            ),
            (Event::Released { block, by: ReleasedBy::Operator }, "bundle released bundle=7 by=operator"),
        ];
        for (event, line) in lines {
            assert_eq!(event.to_string(), line);
            assert_eq!(event.fields().subject, Subject::Queue);
        }
        let added = Event::Added { hash, sender, pending: true };
        assert_eq!(added.to_string(), format!("transaction added tx={hash} sender={sender} pending=true"),);
        let differs = Event::ServiceDiffers { chain: block, ours: BlockId::default() };
        assert_eq!(
            differs.to_string(),
            format!("service head mismatch chain={block} local={}", BlockId::default()),
        );
    }

    /// A new event without fields of its own would be shown as unknown.
    #[test]
    fn no_event_is_unknown() {
        let (block, hash, sender) = (BlockId::default(), B256::ZERO, Address::ZERO);
        let (version, why) = (1, String::new());
        for event in [
            Event::Added { hash, sender, pending: true },
            Event::Promoted { hash, sender },
            Event::Demoted { hash, sender },
            Event::Replaced { hash, sender, by: hash },
            Event::Evicted { hash, sender },
            Event::Expired { hash, sender },
            Event::Bundled { hash, block },
            Event::Returned { hash, sender, attempts: 1 },
            Event::Final { hash, block },
            Event::Dropped { hash, sender, reason: Reason::Flushed },
            Event::Sealed { block, transactions: 1 },
            Event::Refused { block, why: why.clone() },
            Event::WindowMissed { block },
            Event::NotSubmitted { block, version, why: why.clone() },
            Event::Guaranteed { block, version },
            Event::DuplicateGuarantee { block },
            Event::Accumulated { block },
            Event::Finalized { block },
            Event::GuaranteeTimeout { block, version },
            Event::AnchorStale { block },
            Event::Requeued { block, version },
            Event::Abandoned { block },
            Event::ServiceUnreadable { why },
            Event::ForeignHead { head: block },
        ] {
            assert_ne!(event.fields().message, "unknown event", "{event:?}");
        }
    }
}
