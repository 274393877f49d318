//! What happened. Log lines, metrics, the operator's page and RPC are all made from these, so they cannot disagree.

use crate::BlockId;
use alloy_primitives::{Address, B256};
use core::fmt;

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
    /// A pending transaction cannot be executed any more, for the time being: a nonce before it is missing, or its
    /// sender cannot pay for it.
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
    /// A block got its final hash.
    Sealed {
        /// The block.
        block: BlockId,
        /// How many transactions it holds.
        transactions: usize,
    },
}

impl Event {
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

/// Why something that was accepted did not go on. RPC shows it to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It stayed longer than the pool keeps a transaction.
    Expired,
    /// The pool was full and others paid more.
    Evicted,
    /// The sender's nonce went past it: another transaction took its place on the chain.
    NonceTooLow,
    /// The sender replaced it.
    Replaced {
        /// The transaction that stands in its place.
        by: B256,
    },
    /// Block after block with it was refused, at last with it alone.
    Poisonous {
        /// How many blocks were abandoned with it.
        attempts: u32,
    },
    /// It can never be executed.
    Invalid {
        /// What is wrong with it.
        why: String,
    },
    /// The operator removed it.
    Flushed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("expired: it stayed longer than the pool keeps a transaction"),
            Self::Evicted => f.write_str("evicted: the pool was full and others paid more"),
            Self::NonceTooLow => f.write_str("nonce too low: another transaction took this nonce"),
            Self::Replaced { by } => write!(f, "replaced by {by}"),
            Self::Poisonous { attempts } => {
                write!(
                    f,
                    "poisonous: validators refused {attempts} blocks with it, the last ones with it alone"
                )
            }
            Self::Invalid { why } => write!(f, "invalid: {why}"),
            Self::Flushed => f.write_str("flushed: the operator removed it"),
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
