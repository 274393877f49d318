//! What can go wrong, named so that the caller knows what to do.

use jam::codec::DecodeError;
use quinn::{ConnectionError, VarInt};

/// Why a peer does not do what it was asked. Travels as the code with which a stream is reset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// It does not serve this kind of request.
    #[error("this kind of request is not served")]
    Unsupported,
    /// It has no room or no time now.
    #[error("too busy now")]
    Busy,
    /// It does not have what was asked for.
    #[error("not known")]
    Unknown,
    /// It looked at what was sent and found it wrong.
    #[error("found wrong")]
    Invalid,
    /// What was sent is anchored too far back.
    #[error("too old")]
    Stale,
    /// The request was not as the protocol wants it.
    #[error("not according to the protocol")]
    Violation,
    /// The request did not arrive in time.
    #[error("did not arrive in time")]
    Late,
    /// Some other reason; other implementations use their own codes.
    #[error("refused with code {0}")]
    Other(u64),
}

/// The code for "not wanted any more".
pub(crate) const CANCELLED: VarInt = VarInt::from_u32(0);

impl Refusal {
    pub(crate) fn code(self) -> VarInt {
        let code = match self {
            Self::Unsupported => 1,
            Self::Busy => 2,
            Self::Unknown => 3,
            Self::Invalid => 4,
            Self::Stale => 5,
            Self::Violation => 6,
            Self::Late => 7,
            Self::Other(code) => code,
        };
        VarInt::from_u64(code).unwrap_or(CANCELLED)
    }

    pub(crate) const fn from_code(code: VarInt) -> Self {
        match code.into_inner() {
            1 => Self::Unsupported,
            2 => Self::Busy,
            3 => Self::Unknown,
            4 => Self::Invalid,
            5 => Self::Stale,
            6 => Self::Violation,
            7 => Self::Late,
            code => Self::Other(code),
        }
    }
}

/// Why something on a stream failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamError {
    /// The other side reset the stream.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The connection is gone.
    #[error("connection lost: {0}")]
    Lost(ConnectionError),
    /// It took too long.
    #[error("{what} took more than {ms} ms")]
    Timeout {
        /// What did.
        what: &'static str,
        /// The limit.
        ms: u64,
    },
    /// There is no such kind of stream.
    #[error("there is no stream kind {0}")]
    Kind(u8),
    /// A message is longer than its kind allows. Nothing was allocated for it.
    #[error("a message of {len} bytes, at most {max} allowed")]
    Oversized {
        /// Declared.
        len: u64,
        /// Allowed.
        max: usize,
    },
    /// The stream ended within a message, or before one.
    #[error("the stream ended too early")]
    Truncated,
    /// The stream goes on after its last message.
    #[error("the stream goes on after its last message")]
    Trailing,
    /// A message does not decode.
    #[error("malformed: {0}")]
    Malformed(#[from] DecodeError),
    /// A message decodes, but does not answer the question.
    #[error("{0}")]
    Wrong(&'static str),
}

impl StreamError {
    /// Whether the other side broke the protocol, which counts against it.
    pub const fn is_violation(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::Lost(_))
    }
}

impl From<quinn::ReadError> for StreamError {
    fn from(error: quinn::ReadError) -> Self {
        match error {
            quinn::ReadError::Reset(code) => Self::Refused(Refusal::from_code(code)),
            quinn::ReadError::ConnectionLost(error) => Self::Lost(error),
            _ => Self::Lost(ConnectionError::LocallyClosed),
        }
    }
}

impl From<quinn::ReadExactError> for StreamError {
    fn from(error: quinn::ReadExactError) -> Self {
        match error {
            quinn::ReadExactError::FinishedEarly(_) => Self::Truncated,
            quinn::ReadExactError::ReadError(error) => error.into(),
        }
    }
}

impl From<quinn::WriteError> for StreamError {
    fn from(error: quinn::WriteError) -> Self {
        match error {
            quinn::WriteError::Stopped(code) => Self::Refused(Refusal::from_code(code)),
            quinn::WriteError::ConnectionLost(error) => Self::Lost(error),
            _ => Self::Lost(ConnectionError::LocallyClosed),
        }
    }
}

impl From<ConnectionError> for StreamError {
    fn from(error: ConnectionError) -> Self {
        Self::Lost(error)
    }
}

/// Why a connection was closed, as its code tells the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Farewell {
    /// The node stops.
    Shutdown,
    /// There is another connection to the same peer.
    Duplicate,
    /// No room.
    Full,
    /// Too many violations.
    Misbehaved,
    /// We do not want it any longer.
    Done,
}

impl Farewell {
    pub(crate) fn close(self, connection: &quinn::Connection) {
        let (code, reason) = match self {
            Self::Shutdown => (0, "shutting down"),
            Self::Duplicate => (1, "another connection is kept"),
            Self::Full => (2, "no room"),
            Self::Misbehaved => (3, "too many violations of the protocol"),
            Self::Done => (4, "not needed any longer"),
        };
        connection.close(VarInt::from_u32(code), reason.as_bytes());
    }
}
