//! A proof of what some keys held before a block: enough to execute it and to compute the root after it.
//!
//! It is the tree with everything closed that none of the keys needs:
//!
//! ```text
//!   EMPTY      nothing here: every key below is absent
//!   HASH       something, not needed, known by its hash
//!   INTERNAL   two nodes, which follow
//!   STEM       sealed: a stem, and it is not that of the key, so the key is absent
//!              open: the values of some sub-indices (or their absence), and hashes of the rest
//! ```
//!
//! There is no proof of the state after: values never vanish, so what the keys need before is all they need after. A
//! witness has one encoding. [`Witness::decode`] refuses whatever [`Witness::encode`] would not write, so nobody can
//! make two packages out of one.
//!
//! # Encoding, version 1
//!
//! Little-endian; bit fields start at the least significant bit and are padded with zeros.
//!
//! ```text
//!   u8 1 | root[32]
//!   u32 n | n tokens of 2 bits, preorder: 0 EMPTY 1 HASH 2 INTERNAL 3 STEM
//!   u32 m | m hashes, one per HASH
//!   per STEM: stem[31] | u16 c
//!     c = 0 (sealed): the root of its eight levels
//!     c > 0 (open):   c sub-indices ascending | a presence bit each | the values present
//!                     | a bit per largest subtree without any of them, set if it is not empty | the hashes of those set
//! ```

mod decode;
mod encode;
mod make;
mod partial;
mod verify;

pub use decode::Malformed;
pub use make::MakeError;
pub use partial::{CoverageError, PartialTree};
pub use verify::VerifyError;

use crate::{
    hash::{Hash, Value},
    key::Stem,
    table::Code,
    tree::nodes_below,
};
use alloc::vec::Vec;

/// The version that is written and read.
const VERSION: u8 = 1;

/// A proof of what some keys held. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    root: Hash,
    tokens: Vec<Token>,
    /// One per [`Token::Hash`].
    hashes: Vec<Hash>,
    /// One per [`Token::Stem`].
    stems: Vec<StemProof>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Token {
    Empty = 0,
    Hash = 1,
    Internal = 2,
    Stem = 3,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct StemProof {
    stem: Stem,
    opening: Opening,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Opening {
    /// The root of the eight levels.
    Sealed(Hash),
    Open {
        /// The sub-indices that are covered, ascending.
        subs: Vec<u8>,
        /// Those of them that hold a value.
        values: Vec<(u8, Value)>,
        /// The largest subtrees that are neither covered nor empty, from left to right.
        rest: Vec<(Code, Hash)>,
    },
}

impl Witness {
    /// The root of the tree that it claims to be about. [`Witness::verify`] checks the claim.
    pub fn root(&self) -> Hash {
        self.root
    }

    /// How much it proves, for whoever looks at it.
    pub fn counts(&self) -> Counts {
        let inner = self.tokens.iter().filter(|token| **token == Token::Internal).count();
        let (stems, hashes) = (self.stems.len(), self.hashes.len());
        let mut counts = Counts { stems, hashes, inner, ..Counts::default() };
        for proof in &self.stems {
            match &proof.opening {
                Opening::Sealed(_) => counts.hashes += 1,
                Opening::Open { subs, values, rest } => {
                    counts.keys += subs.len();
                    counts.below += nodes_below(subs.iter().copied());
                    counts.values += values.len();
                    counts.hashes += rest.len();
                }
            }
        }
        counts
    }
}

/// How much a witness proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Stems, those included that only show that another one is not there.
    pub stems: usize,
    /// Hashes of what is not covered.
    pub hashes: usize,
    /// Keys that are covered.
    pub keys: usize,
    /// Keys of them that hold a value.
    pub values: usize,
    /// Inner nodes that are open: those on the way to a stem.
    pub inner: usize,
    /// Inner nodes in the eight levels below stems that are on the way to a covered key.
    pub below: usize,
}
