//! What several providers say to the same bytes.

use crate::{SendClass, SendResponse, classify};
use alloy_primitives::B256;

/// The answers to one send so far. Providers are asked one after the other until one has the transaction; if none has,
/// the answer that says most decides, and what would give a transaction up or cost money needs two of them.
#[derive(Clone, Debug)]
pub struct SendTally {
    hash: B256,
    best: Option<(u8, SendResponse)>,
    /// Answers about the transaction, not about a provider.
    voices: usize,
}

impl SendTally {
    /// For the transaction with this hash.
    pub const fn new(hash: B256) -> Self {
        Self { hash, best: None, voices: 0 }
    }

    /// Adds a provider's answer, or its silence. Whether no other has to be asked.
    pub fn add(&mut self, answer: SendResponse) -> bool {
        let class = classify(&answer, self.hash);
        let rank = rank(&class);
        self.voices += usize::from(!matches!(class, SendClass::Unknown | SendClass::Busy));
        if self.best.as_ref().is_none_or(|(best, _)| rank < *best) {
            self.best = Some((rank, answer));
        }
        class == SendClass::Taken
    }

    /// What they said together. `alone` says that there is no other provider to wait for.
    pub fn finish(self, alone: bool) -> SendResponse {
        let Some((_, answer)) = self.best else { return SendResponse::Disconnected };
        let class = classify(&answer, self.hash);
        let costs = matches!(
            class,
            SendClass::Rejected(_) | SendClass::Underpriced | SendClass::TypeRefused | SendClass::Funds
        );
        // It may be the provider that is wrong. The same bytes are sent again, until another one answers, too.
        if costs && self.voices < 2 && !alone { SendResponse::TimedOut } else { answer }
    }
}

/// The lower, the more an answer says.
const fn rank(class: &SendClass) -> u8 {
    match class {
        SendClass::Taken => 0,
        SendClass::NonceTooLow => 1,
        SendClass::Underpriced => 2,
        SendClass::NonceGap => 3,
        SendClass::Funds => 4,
        SendClass::TypeRefused => 5,
        SendClass::Rejected(_) => 6,
        SendClass::Busy => 7,
        SendClass::Unknown => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: B256 = B256::repeat_byte(7);

    fn error(message: &str) -> SendResponse {
        SendResponse::Error { http_status: None, code: Some(-32000), message: message.into() }
    }

    fn together(answers: &[SendResponse], alone: bool) -> SendClass {
        let mut tally = SendTally::new(HASH);
        for answer in answers {
            if tally.add(answer.clone()) {
                break;
            }
        }
        classify(&tally.finish(alone), HASH)
    }

    #[test]
    fn one_that_has_it_suffices() {
        let rejected = error("exceeds block gas limit");
        assert_eq!(together(&[rejected, SendResponse::Hash(HASH)], false), SendClass::Taken);
        assert_eq!(together(&[SendResponse::TimedOut, error("already known")], false), SendClass::Taken);
        assert_eq!(together(&[SendResponse::Hash(B256::ZERO)], true), SendClass::Unknown, "not our hash");
        assert_eq!(together(&[], true), SendClass::Unknown);
    }

    #[test]
    fn what_costs_something_needs_two_voices_or_the_only_one() {
        for message in ["exceeds block gas limit", "transaction underpriced", "insufficient funds"] {
            let answer = error(message);
            assert_eq!(together(std::slice::from_ref(&answer), false), SendClass::Unknown);
            assert_eq!(together(&[answer.clone(), SendResponse::TimedOut], false), SendClass::Unknown);
            assert_ne!(together(std::slice::from_ref(&answer), true), SendClass::Unknown);
            assert_ne!(together(&[answer.clone(), answer], false), SendClass::Unknown);
        }
        assert_eq!(
            together(&[error("nonce too low")], false),
            SendClass::NonceTooLow,
            "it costs nothing to look"
        );
    }
}
