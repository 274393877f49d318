//! What happened. Log lines, metrics, the operator's page and RPC are all made from these, so they cannot disagree.

mod fields;
mod spec;

pub use fields::{Fields, Subject};
pub use spec::SpecLine;

use crate::{BlockId, Reason, Run};
use alloc::string::String;
use alloy_primitives::{Address, B256};
use core::fmt;

/// Who gave a sealed block up, so that its transactions went back to the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleasedBy {
    /// The chain: guarantors did not take the block, so one of its transactions may be at fault.
    Chain,
    /// The operator, by an order that says nothing about the transactions.
    Operator,
}

impl fmt::Display for ReleasedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chain => "chain",
            Self::Operator => "operator",
        })
    }
}

/// One thing that happened, in the order in which it happened.
///
/// Each crate adds the variants of what it decides; nobody else emits them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The pool accepted a transaction.
    Added {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
        /// Whether it can be executed now; if not, it is queued.
        pending: bool,
    },
    /// A queued transaction can be executed now.
    Promoted {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
    },
    /// A pending transaction cannot be executed any more, for the time being: a nonce before it is missing, its sender
    /// cannot pay for it, or the base fee is above its fee cap.
    Demoted {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
    },
    /// The sender replaced a transaction by another one of the same nonce. The old one has ended.
    Replaced {
        /// The hash of the old one.
        hash: B256,
        /// Who signed both.
        sender: Address,
        /// The hash of the new one.
        by: B256,
    },
    /// A full pool gave up a transaction to make room. It has ended.
    Evicted {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
    },
    /// A transaction stayed longer than the pool keeps one. It has ended.
    Expired {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
    },
    /// A transaction is part of a sealed block.
    Bundled {
        /// Its hash.
        hash: B256,
        /// The block.
        block: BlockId,
    },
    /// A transaction came back from a block that will never be applied.
    Returned {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
        /// How many blocks were abandoned with it so far; above zero it is a suspect, and waits behind the others.
        attempts: u32,
    },
    /// A transaction is final: it will never change again.
    Final {
        /// Its hash.
        hash: B256,
        /// The block.
        block: BlockId,
    },
    /// A transaction was given up and will not come back by itself. It has ended.
    Dropped {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
        /// Why.
        reason: Reason,
    },
    /// A block got its final hash and entered the queue.
    Sealed {
        /// The block.
        block: BlockId,
        /// How many transactions it holds.
        transactions: usize,
    },
    /// Validators would refuse a block that was built here, so it went nowhere. Its transactions are tried apart.
    Refused {
        /// The block.
        block: BlockId,
        /// What they would say.
        why: String,
    },
    /// The submission window is open. Once per window.
    Window {
        /// Bundles that wait.
        queued: usize,
        /// Bundles that are submitted or guaranteed.
        inflight: usize,
        /// Bundles that are submitted; only these keep a core.
        submitted: usize,
        /// Whether one of those that wait can be sent.
        can_submit: bool,
    },
    /// A bundle should have been sent in a window, and this node was too late for it.
    WindowMissed {
        /// The blocks in it.
        run: Run,
    },
    /// A version of a bundle reached no guarantor, or was refused by those that it reached.
    NotSubmitted {
        /// The blocks in it.
        run: Run,
        /// The version.
        version: u32,
        /// Why.
        why: String,
    },
    /// A version of a bundle is about to be sent.
    Submitted {
        /// The blocks in it.
        run: Run,
        /// The version.
        version: u32,
        /// The core.
        core: u16,
    },
    /// A version of a bundle stands in a block; its core is free again.
    Guaranteed {
        /// The blocks in it.
        run: Run,
        /// The version.
        version: u32,
    },
    /// Another version of a bundle was guaranteed too. Harmless, and counted.
    DuplicateGuarantee {
        /// The blocks in it.
        run: Run,
    },
    /// The service applied the blocks of a bundle.
    Accumulated {
        /// The blocks in it.
        run: Run,
    },
    /// The blocks of a bundle are applied in a final block of JAM.
    Finalized {
        /// The blocks in it.
        run: Run,
    },
    /// The guarantee of a bundle did not come in time.
    GuaranteeTimeout {
        /// The blocks in it.
        run: Run,
        /// The version.
        version: u32,
    },
    /// The anchor of a bundle that should be sent again is getting too old; it gets a new version.
    AnchorStale {
        /// The blocks in it.
        run: Run,
    },
    /// A bundle that was guaranteed or abandoned waits again.
    Requeued {
        /// The blocks in it.
        run: Run,
        /// The version that will be sent.
        version: u32,
    },
    /// A bundle failed too often, or stands on one that did.
    Abandoned {
        /// The blocks in it.
        run: Run,
    },
    /// A bundle of several blocks is dead: the same blocks are sent again as two smaller bundles.
    Dissolved {
        /// The blocks that were in it.
        run: Run,
        /// The first block of the second one.
        second: BlockId,
    },
    /// Validators would refuse a run of blocks that they would take one by one: this node is wrong. A shorter run is tried.
    RunRefused {
        /// The blocks.
        run: Run,
        /// What they would say.
        why: String,
    },
    /// A sealed block is dead; its transactions go back to the pool.
    Released {
        /// The block.
        block: BlockId,
        /// Who gave it up.
        by: ReleasedBy,
    },
    /// The service's storage on the chain is not what the followed reports come to: this node or the network is wrong.
    ServiceDiffers {
        /// The head on the chain.
        chain: BlockId,
        /// The head that was expected.
        ours: BlockId,
    },
    /// The service's storage on the chain cannot be read.
    ServiceUnreadable {
        /// Why.
        why: String,
    },
    /// The service has another code at the best block: packages name it from now on.
    CodeChanged {
        /// The hash of the code.
        code_hash: B256,
        /// Whether its configuration and its builder's key are here. If not, building stops until they are.
        is_known: bool,
    },
    /// The service's head was not built here. Building stops.
    ForeignHead {
        /// The head.
        head: BlockId,
    },
}

impl Event {
    /// Whose transaction it is about, where that is said.
    pub const fn sender(&self) -> Option<Address> {
        match self {
            Self::Added { sender, .. }
            | Self::Promoted { sender, .. }
            | Self::Demoted { sender, .. }
            | Self::Replaced { sender, .. }
            | Self::Evicted { sender, .. }
            | Self::Expired { sender, .. }
            | Self::Returned { sender, .. }
            | Self::Dropped { sender, .. } => Some(*sender),
            _ => None,
        }
    }

    /// The transaction that ended with this event without becoming final, and why.
    pub fn ended(&self) -> Option<(B256, Reason)> {
        match self {
            Self::Replaced { hash, by, .. } => Some((*hash, Reason::Replaced { by: *by })),
            Self::Evicted { hash, .. } => Some((*hash, Reason::Evicted)),
            Self::Expired { hash, .. } => Some((*hash, Reason::Expired)),
            Self::Dropped { hash, reason, .. } => Some((*hash, reason.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_says_why() {
        let (hash, sender, by) = (B256::repeat_byte(1), Address::repeat_byte(2), B256::repeat_byte(3));
        let why = |event: Event| event.ended().map(|(hash, reason)| (hash, reason.to_string()));
        assert_eq!(
            why(Event::Replaced { hash, sender, by }),
            Some((hash, format!("replaced by 0x{}", "03".repeat(32))))
        );
        assert_eq!(why(Event::Dropped { hash, sender, reason: Reason::Flushed }).unwrap().0, hash);
        assert!(why(Event::Expired { hash, sender }).unwrap().1.starts_with("expired"));
        assert!(why(Event::Evicted { hash, sender }).unwrap().1.starts_with("evicted"));
        assert_eq!(why(Event::Added { hash, sender, pending: true }), None);
    }
}
