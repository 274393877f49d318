//! What an error is about: the question, or the provider that was asked.

use crate::{SendClass, SendResponse, classify};
use alloy_primitives::B256;
use core::fmt;

/// What was asked, as far as errors mean different things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Something about the chain or the account.
    Read,
    /// Something that a node may not support, and without which one can do: a tag, a method.
    Optional,
    /// Whether a call would work.
    Simulate,
    /// To take a transaction.
    Send,
}

/// What is wrong with a provider, with its own words where it had some. Never a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It cannot be reached, or the connection broke.
    Disconnected,
    /// It did not answer in time.
    TimedOut,
    /// It asks for fewer questions.
    RateLimited(String),
    /// It wants another key, plan or address.
    Denied(String),
    /// It does not have the method or tag. Others may.
    Unsupported(String),
    /// Its pool takes no more now. Others may.
    Full(String),
    /// It does not have the state of that block (any more). Others may.
    MissingState(String),
    /// It answers with an HTTP error.
    Status(u16),
    /// It answers with a JSON-RPC error that is not about the question.
    Failing(String),
    /// What it answers is not JSON-RPC: a web page, for instance.
    Garbage(String),
    /// Its answer cannot be true.
    Implausible(String),
    /// It serves another chain.
    OtherChain,
}

impl Trouble {
    /// A short name, for metrics and lists.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::TimedOut => "timeout",
            Self::RateLimited(_) => "rateLimited",
            Self::Denied(_) => "denied",
            Self::Unsupported(_) => "unsupported",
            Self::Full(_) => "full",
            Self::MissingState(_) => "missingState",
            Self::Status(_) => "httpStatus",
            Self::Failing(_) => "failing",
            Self::Garbage(_) => "garbage",
            Self::Implausible(_) => "implausible",
            Self::OtherChain => "otherChain",
        }
    }

    /// Whether it says nothing against the provider in general: it only lacks something.
    pub const fn is_a_lack(&self) -> bool {
        matches!(self, Self::Unsupported(_) | Self::MissingState(_) | Self::Full(_))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("no connection"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::RateLimited(why) => write!(f, "rate limited: {why}"),
            Self::Denied(why) => write!(f, "access denied: {why}"),
            Self::Unsupported(why) => write!(f, "not supported: {why}"),
            Self::Full(why) => write!(f, "its pool is full: {why}"),
            Self::MissingState(why) => write!(f, "no state for that block: {why}"),
            Self::Status(status) => write!(f, "HTTP status {status}"),
            Self::Failing(why) => write!(f, "error: {why}"),
            Self::Garbage(why) => write!(f, "the answer is not JSON-RPC: {why}"),
            Self::Implausible(why) => write!(f, "implausible answer: {why}"),
            Self::OtherChain => f.write_str("it serves another chain"),
        }
    }
}

/// What an error is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blame {
    /// The question: every provider would say so.
    Question,
    /// The provider: another one may answer.
    Provider(Trouble),
}

const LIMITED: &[&str] = &[
    "rate limit",
    "rate-limit",
    "too many requests",
    "too many connections",
    "compute units",
    "request count exceeded",
    "limit exceeded",
    "quota",
    "credits",
    "throttle",
    "try again later",
];
const DENIED: &[&str] = &[
    "authenticat",
    "unauthori",
    "api key",
    "apikey",
    "api-key",
    "access denied",
    "forbidden",
    "project id",
    "subscription",
    "upgrade your plan",
    "not whitelisted",
    "invalid token",
    "payment required",
];
const NO_STATE: &[&str] = &[
    "missing trie node",
    "header not found",
    "unknown block",
    "block not found",
    "block does not exist",
    "state not available",
    "state is not available",
    "state unavailable",
    "historical state",
    "state histories",
    "pruned",
    "archive",
    "old data not available",
    "distance to target block exceeds",
    "worldstate unavailable",
    "world state unavailable",
    "no state available",
    "block is out of range",
    "blockoutofrangeerror",
];
const UNSUPPORTED: &[&str] = &[
    "method not found",
    "not supported",
    "unsupported",
    "does not exist/is not available",
    "not available",
    "no such method",
    "unknown method",
    "method is disabled",
    "invalid block tag",
];
/// A pool that takes no more, of anybody or of this account.
const FULL: &[&str] =
    &["pool is full", "account limit exceeded", "transaction limit reached", "already reserved"];
/// How an execution can end badly.
const EXECUTED: &[&str] = &[
    "revert",
    "gas required exceeds",
    "out of gas",
    "outofgas",
    "invalid opcode",
    "invalid jump",
    "stack underflow",
    "intrinsic gas",
    "execution error",
    "insufficient funds",
];

/// What a JSON-RPC error is about, by the question, its code and its text.
pub fn blame(question: Question, code: i64, message: &str) -> Blame {
    let text = message.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let says = || -> String { format!("{} ({code})", message.chars().take(200).collect::<String>()) };
    match question {
        Question::Simulate if code == 3 || has(EXECUTED) => return Blame::Question,
        Question::Send => {
            let answer =
                SendResponse::Error { http_status: None, code: Some(code), message: message.to_owned() };
            match classify(&answer, B256::ZERO) {
                SendClass::Busy if has(FULL) => {
                    return Blame::Provider(Trouble::Full(says()));
                }
                SendClass::Unknown | SendClass::Busy => {}
                _ => return Blame::Question,
            }
        }
        _ => {}
    }
    Blame::Provider(match code {
        -32005 | 429 => Trouble::RateLimited(says()),
        _ if has(LIMITED) => Trouble::RateLimited(says()),
        _ if has(DENIED) => Trouble::Denied(says()),
        _ if has(NO_STATE) => Trouble::MissingState(says()),
        -32601 | -32004 => Trouble::Unsupported(says()),
        -39001 | -38001 if question == Question::Optional => Trouble::Unsupported(says()),
        -32602 if question == Question::Optional => Trouble::Unsupported(says()),
        _ if has(UNSUPPORTED) => Trouble::Unsupported(says()),
        -32600 => Trouble::Denied(says()),
        _ => Trouble::Failing(says()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(question: Question, code: i64, message: &str) -> &'static str {
        match blame(question, code, message) {
            Blame::Question => "question",
            Blame::Provider(trouble) => trouble.name(),
        }
    }

    #[test]
    fn an_error_is_about_the_question_or_about_the_provider() {
        use Question::{Optional, Read, Send, Simulate};
        for (question, code, message, expected) in [
            (Simulate, 3, "execution reverted: no", "question"),
            (Simulate, -32000, "execution reverted", "question"),
            (Simulate, -32000, "gas required exceeds allowance (0)", "question"),
            (Simulate, -32000, "header not found", "missingState"),
            (Simulate, -32600, "must be authenticated!", "denied"),
            (Send, -32000, "nonce too low", "question"),
            (Send, -32000, "transaction type not supported", "question"),
            (Send, -32000, "must be authenticated", "denied"),
            (Send, -32600, "must be authenticated", "denied"),
            (Send, -32011, "no backend is currently healthy to serve traffic", "failing"),
            (
                Send,
                -32601,
                "the method eth_sendRawTransaction does not exist/is not available",
                "unsupported",
            ),
            (Send, -32000, "txpool is full", "full"),
            (Send, -32000, "account limit exceeded", "full"),
            (Read, -32005, "whatever", "rateLimited"),
            (Read, 429, "Your app has exceeded its compute units per second capacity.", "rateLimited"),
            (Read, -32000, "daily quota exhausted", "rateLimited"),
            (Read, -32000, "missing trie node 12ab (path ) state is not available", "missingState"),
            (Read, -32000, "project ID does not have access to archive state", "denied"),
            (Read, -32601, "Method not found", "unsupported"),
            (Read, -32603, "Internal error", "failing"),
            (Read, -32600, "Invalid Request", "denied"),
            (Optional, -32602, "invalid argument 0: hex string without 0x prefix", "unsupported"),
            (Optional, -39001, "Unknown block", "missingState"),
            (Optional, -32600, "must be authenticated", "denied"),
        ] {
            assert_eq!(name(question, code, message), expected, "{question:?} {code} {message}");
        }
    }

    #[test]
    fn what_a_provider_said_is_kept_but_not_at_any_length() {
        let Blame::Provider(Trouble::Failing(why)) = blame(Question::Read, -1, &"x".repeat(10_000)) else {
            panic!("it is about the provider");
        };
        assert!(why.len() < 300 && why.ends_with("(-1)"));
    }
}
