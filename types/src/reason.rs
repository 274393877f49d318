//! Why something that was accepted did not go on, and the bytes in which a journal keeps it.

use alloc::{string::String, vec::Vec};
use alloy_primitives::B256;
use core::fmt;

/// Why something that was accepted did not go on. RPC shows it to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It stayed longer than the pool keeps a transaction.
    Expired,
    /// There was no room for it: others paid more, or could be executed sooner.
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
    /// No block is large enough for it, not even one of its own.
    DoesNotFit {
        /// What it has too much of.
        why: String,
    },
}

/// The bytes are no reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoReason;

impl fmt::Display for NoReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not a reason for the end of a transaction")
    }
}

impl core::error::Error for NoReason {}

impl Reason {
    /// The bytes for a journal: which one, and what it carries.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tag, carried): (u8, &[u8]) = match self {
            Self::Expired => (0, &[]),
            Self::Evicted => (1, &[]),
            Self::NonceTooLow => (2, &[]),
            Self::Replaced { by } => (3, by.as_slice()),
            Self::Poisonous { attempts } => (4, &attempts.to_le_bytes()),
            Self::Invalid { why } => (5, why.as_bytes()),
            Self::Flushed => (6, &[]),
            Self::DoesNotFit { why } => (7, why.as_bytes()),
        };
        [&[tag], carried].concat()
    }

    /// Reads what [`Reason::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoReason> {
        let why = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| NoReason);
        Ok(match bytes {
            [0] => Self::Expired,
            [1] => Self::Evicted,
            [2] => Self::NonceTooLow,
            [3, by @ ..] => Self::Replaced { by: B256::try_from(by).map_err(|_| NoReason)? },
            [4, attempts @ ..] => {
                let attempts = attempts.try_into().map_err(|_| NoReason)?;
                Self::Poisonous { attempts: u32::from_le_bytes(attempts) }
            }
            [5, rest @ ..] => Self::Invalid { why: why(rest)? },
            [6] => Self::Flushed,
            [7, rest @ ..] => Self::DoesNotFit { why: why(rest)? },
            _ => return Err(NoReason),
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("expired: it stayed longer than the pool keeps a transaction"),
            Self::Evicted => {
                f.write_str("evicted: the pool was full, and others paid more or could be executed sooner")
            }
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
            Self::DoesNotFit { why } => write!(f, "does not fit into any block: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reasons() -> impl Strategy<Value = Reason> {
        prop_oneof![
            Just(Reason::Expired),
            Just(Reason::Evicted),
            Just(Reason::NonceTooLow),
            any::<[u8; 32]>().prop_map(|by| Reason::Replaced { by: by.into() }),
            any::<u32>().prop_map(|attempts| Reason::Poisonous { attempts }),
            any::<String>().prop_map(|why| Reason::Invalid { why }),
            Just(Reason::Flushed),
            any::<String>().prop_map(|why| Reason::DoesNotFit { why }),
        ]
    }

    proptest! {
        #[test]
        fn reasons_come_back(reason in reasons()) {
            prop_assert_eq!(Reason::from_bytes(&reason.to_bytes()), Ok(reason));
        }

        #[test]
        fn whatever_is_read_is_written_the_same(
            tag in 0..9_u8,
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = [&[tag], &bytes[..]].concat();
            if let Ok(reason) = Reason::from_bytes(&bytes) {
                prop_assert_eq!(reason.to_bytes(), bytes);
            }
        }
    }
}
