//! Errors as clients know them: go-ethereum's codes, words and data.

use serde::Serialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The body is no JSON.
pub const PARSE: i32 = -32700;
/// The JSON is no request.
pub const INVALID_REQUEST: i32 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is missing or wrong.
pub const INVALID_PARAMS: i32 = -32602;
/// The node has a fault.
pub const INTERNAL: i32 = -32603;
/// Whatever has no code of its own.
pub const DEFAULT: i32 = -32000;
/// Something that would have to exist does not.
pub const NOT_FOUND: i32 = -32001;
/// It took too long.
pub const TIMEOUT: i32 = -32002;
/// The answer is too large.
pub const TOO_LARGE: i32 = -32003;
/// A limit is exceeded.
pub const LIMIT: i32 = -32005;
/// The execution reverted.
pub const REVERTED: i32 = 3;
/// The receipt did not come in time (EIP-7966).
pub const RECEIPT_TIMEOUT: i32 = 4;
/// More is asked for than one request may (the code of simulations).
pub const CLIENT_LIMIT: i32 = -38026;
/// What was asked for is no longer kept (EIP-4444's code).
pub const PRUNED: i32 = 4444;

/// Why a call has no result.
#[derive(Clone, Debug, Serialize)]
pub struct Error {
    /// What kind of error.
    pub code: i32,
    /// What is wrong, in a sentence or in the words that clients match on.
    pub message: Cow<'static, str>,
    /// More about it, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl Error {
    /// An error of this kind.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// A parameter is missing or wrong.
    pub fn params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Whatever has no code of its own.
    pub fn other(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(DEFAULT, message)
    }

    /// The node has a fault. What exactly is the log's business.
    pub fn internal(why: impl fmt::Display) -> Self {
        tracing::error!(%why, "a call failed");
        Self::new(INTERNAL, "internal error")
    }

    /// There is no such method.
    pub fn no_method(method: &str) -> Self {
        let shown = method.chars().take(METHOD_CHARS_SHOWN_MAX).collect::<String>();
        Self::new(METHOD_NOT_FOUND, format!("the method {shown} does not exist/is not available"))
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }
}

/// Nobody's log grows by what a client calls a method.
const METHOD_CHARS_SHOWN_MAX: usize = 64;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Error {}
