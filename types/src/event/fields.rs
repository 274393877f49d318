//! An event as a message and fields, which is how logs and the operator's page show it.
//!
//! One event has one set of fields: the log has them as fields of `tracing`, the page and RPC as text.

use super::{Event, ReleasedBy};
use crate::{BlockId, Reason, Run};
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
    /// The bundle, by the number of its first block.
    pub bundle: Option<u64>,
    /// How many blocks the bundle has.
    pub blocks: Option<u64>,
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
    /// The hash of the service's code.
    pub code: Option<B256>,
    /// What went wrong.
    pub error: Option<&'a str>,
}

impl Fields<'_> {
    const fn new(subject: Subject, message: &'static str) -> Self {
        Self {
            subject,
            message,
            bundle: None,
            blocks: None,
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
            code: None,
            error: None,
        }
    }

    const fn block(message: &'static str, block: &BlockId) -> Self {
        Self { block: Some(*block), ..Self::new(Subject::Queue, message) }
    }

    const fn run(message: &'static str, run: &Run) -> Self {
        Self {
            bundle: Some(run.first.number),
            blocks: Some(run.blocks()),
            ..Self::new(Subject::Queue, message)
        }
    }

    const fn version(message: &'static str, run: &Run, version: u32) -> Self {
        Self { version: Some(version), ..Self::run(message, run) }
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
            | Self::Dissolved { .. }
            | Self::RunRefused { .. }
            | Self::Released { .. } => self.queue_fields(),
            Self::ServiceDiffers { .. }
            | Self::ServiceUnreadable { .. }
            | Self::CodeChanged { .. }
            | Self::ForeignHead { .. } => self.service_fields(),
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
                Fields { transactions: Some(*transactions), ..Fields::block("block sealed", block) }
            }
            Self::Refused { block, why } => {
                Fields { error: Some(why), ..Fields::block("block rejected by our own refine", block) }
            }
            Self::Window { queued, inflight, submitted, can_submit } => Fields {
                queued: Some(*queued),
                inflight: Some(*inflight),
                submitted: Some(*submitted),
                can_submit: Some(*can_submit),
                ..Fields::new(Subject::Queue, "submission window open")
            },
            Self::WindowMissed { run } => Fields::run("submission window missed", run),
            Self::NotSubmitted { run, version, why } => {
                Fields { error: Some(why), ..Fields::version("bundle not submitted", run, *version) }
            }
            Self::Submitted { run, version, core } => {
                Fields { core: Some(*core), ..Fields::version("bundle submitted", run, *version) }
            }
            Self::Guaranteed { run, version } => Fields::version("bundle guaranteed", run, *version),
            Self::DuplicateGuarantee { run } => Fields::run("another version guaranteed", run),
            Self::Accumulated { run } => Fields::run("bundle accumulated", run),
            Self::Finalized { run } => Fields::run("bundle finalized", run),
            Self::GuaranteeTimeout { run, version } => Fields::version("guarantee timeout", run, *version),
            Self::AnchorStale { run } => Fields::run("anchor stale, package will be rebuilt", run),
            Self::Requeued { run, version } => Fields::version("bundle requeued", run, *version),
            Self::Released { block, by } => {
                Fields { by: Some(*by), ..Fields::block("block released", block) }
            }
            Self::Dissolved { run, second } => {
                Fields { block: Some(*second), ..Fields::run("bundle dissolved into two", run) }
            }
            Self::RunRefused { run, why } => {
                Fields { error: Some(why), ..Fields::run("run of blocks rejected by our own refine", run) }
            }
            Self::Abandoned { run } => Fields::run("bundle abandoned", run),
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
            Self::CodeChanged { code_hash, is_known: true } => {
                Fields { code: Some(*code_hash), ..Fields::new(Subject::Service, "service code changed") }
            }
            Self::CodeChanged { code_hash, .. } => Fields {
                code: Some(*code_hash),
                ..Fields::new(
                    Subject::Service,
                    "service code changed to one without configuration or key, building stops",
                )
            },
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
        field(f, "blocks", self.blocks)?;
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
        field(f, "code", self.code)?;
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
        let run = Run { first: block, last: BlockId::new(9, B256::repeat_byte(4)) };
        let (hash, sender) = (B256::repeat_byte(2), Address::repeat_byte(3));
        let lines = [
            (
                Event::Submitted { run, version: 1, core: 0 },
                "bundle submitted bundle=7 blocks=3 version=1 core=0",
            ),
            (
                Event::NotSubmitted { run, version: 2, why: "no guarantor is connected".into() },
                "bundle not submitted bundle=7 blocks=3 version=2 error=\"no guarantor is connected\"",
            ),
            (
                Event::Window { queued: 3, inflight: 2, submitted: 1, can_submit: true },
                "submission window open queued=3 inflight=2 submitted=1 can_submit=true",
            ),
        ];
        let released = Event::Released { block, by: ReleasedBy::Operator };
        assert_eq!(released.to_string(), format!("block released block={block} by=operator"));
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
        let (block, run, hash, sender) = (BlockId::default(), Run::default(), B256::ZERO, Address::ZERO);
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
            Event::WindowMissed { run },
            Event::NotSubmitted { run, version, why: why.clone() },
            Event::Guaranteed { run, version },
            Event::DuplicateGuarantee { run },
            Event::Accumulated { run },
            Event::Finalized { run },
            Event::GuaranteeTimeout { run, version },
            Event::AnchorStale { run },
            Event::Requeued { run, version },
            Event::Abandoned { run },
            Event::Dissolved { run, second: block },
            Event::RunRefused { run, why: why.clone() },
            Event::ServiceUnreadable { why },
            Event::CodeChanged { code_hash: hash, is_known: true },
            Event::CodeChanged { code_hash: hash, is_known: false },
            Event::ForeignHead { head: block },
        ] {
            assert_ne!(event.fields().message, "unknown event", "{event:?}");
        }
    }
}
