//! What refine answers: the one format of the outputs that reports carry.
//!
//! | first byte | what follows |
//! |---|---|
//! | [`CLAIM`] | a [`Claim`](crate::accumulate::Claim): the run is valid |
//! | [`ORDER`] | an [`Order`] of the owner |
//! | [`REFUSAL`] | a code ([`RefineError::code`]) and the reason in words, at most [`REASON_BYTES_MAX`] bytes |
//!
//! A refusal is an ordinary output and no trap: virtual machines charge the instructions before a trap in different ways, and the
//! gas must be the same in all of them. Whatever begins with another byte is none of ours; accumulate skips it.

use crate::{
    Config,
    order::{self, Order},
    refine::{Input, Output, RefineError, refine_input},
};
use alloc::{string::ToString, vec::Vec};
use jam::Hash;

/// The first byte of a claim.
pub const CLAIM: u8 = 1;
/// The first byte of an order.
pub const ORDER: u8 = 2;
/// The first byte of a refusal.
pub const REFUSAL: u8 = 3;
/// Bytes of a refusal's reason at most.
pub const REASON_BYTES_MAX: usize = 200;

/// What refine answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The run is valid.
    Run(Output),
    /// The owner orders this.
    Order(Order),
    /// The item is refused.
    Refused(RefineError),
}

/// Refines a work item. `preimage` says what the service's preimage of a hash is at the lookup anchor.
pub fn answer<'a>(
    input: &Input<'_>,
    config: &Config,
    preimage: impl FnOnce(&Hash) -> Option<&'a [u8]>,
) -> Answer {
    let answer = match order::is_order(input.payload) {
        true => order::refine(input, config, preimage).map(Answer::Order),
        false => refine_input(input, config).map(Answer::Run),
    };
    answer.unwrap_or_else(Answer::Refused)
}

impl Answer {
    /// The output that a report carries.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Run(output) => output.claim.encode().to_vec(),
            Self::Order(order) => order.encode().to_vec(),
            Self::Refused(why) => refusal(why),
        }
    }
}

fn refusal(why: &RefineError) -> Vec<u8> {
    let mut reason = why.to_string();
    let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    reason.truncate(end.unwrap_or(0));
    [&[REFUSAL, why.code()], reason.as_bytes()].concat()
}

/// Reads a refusal: its code and its reason. `None` if the output is something else.
pub fn decode_refusal(output: &[u8]) -> Option<(u8, &str)> {
    let [REFUSAL, code, reason @ ..] = output else { return None };
    Some((*code, core::str::from_utf8(reason).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accumulate::Claim;

    #[test]
    fn a_refusal_says_why_in_a_few_bytes() {
        let output = Answer::Refused(RefineError::Signature).encode();
        let why = "the last block is not signed by the builder";
        assert_eq!(decode_refusal(&output), Some((RefineError::Signature.code(), why)));
        let long = RefineError::Execution { block: 1, why: "ü".repeat(300) };
        let output = Answer::Refused(long).encode();
        assert!(output.len() <= 2 + REASON_BYTES_MAX);
        assert!(decode_refusal(&output).unwrap().1.ends_with('ü'));
        assert_eq!(decode_refusal(&Claim::default().encode()), None);
    }
}
