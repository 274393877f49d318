//! What a node's answer to a send means: one table, driven by code and text.
//!
//! Nodes agree on little. The texts below are those of geth, reth, nethermind, besu, erigon and anvil, and of the
//! providers in front of them; a test runs a corpus of real answers through the table. What is not in the table is
//! [`SendClass::Unknown`], which never fails a request: the bytes may be out.

use alloy_primitives::B256;

/// A node's answer to a send, as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendResponse {
    /// It has taken a transaction, and says which.
    Hash(B256),
    /// It has answered with an error.
    Error {
        /// The status of the HTTP answer, if there was one.
        http_status: Option<u16>,
        /// The JSON-RPC code, if there was one.
        code: Option<i64>,
        /// The text.
        message: String,
    },
    /// It has not answered.
    TimedOut,
    /// It could not be reached, or the connection broke.
    Disconnected,
}

impl SendResponse {
    /// Whether it speaks against the node, not against the transaction. Only these count for a circuit breaker.
    pub fn is_connection_error(&self) -> bool {
        match self {
            Self::Disconnected | Self::TimedOut => true,
            Self::Error { http_status, code: None, .. } => http_status.is_some_and(|status| status >= 500),
            Self::Hash(_) | Self::Error { .. } => false,
        }
    }
}

/// What an answer means for the nonce.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SendClass {
    /// The node has it.
    Taken,
    /// The nonce is used up: by one of our attempts, or by somebody else. The receipts will tell.
    NonceTooLow,
    /// The price is too low for this node, or for what it has at this nonce.
    Underpriced,
    /// The account cannot pay, as this node sees it.
    Funds,
    /// A lower nonce is missing there.
    NonceGap,
    /// The node is full or tired of us: later.
    Busy,
    /// The node does not take transactions of this type: its chain has no EIP-1559.
    TypeRefused,
    /// The bytes can never be mined.
    Rejected(String),
    /// Nobody knows whether it was sent.
    Unknown,
}

/// Where a text must stand in the message.
enum Text {
    Starts(&'static str),
    Contains(&'static str),
}

use SendClass as C;
use Text::{Contains, Starts};

/// The table. The first line that fits decides; all texts are in small letters.
const TABLE: &[(Text, SendClass)] = &[
    // It is there.
    (Contains("already known"), C::Taken),
    (Contains("alreadyknown"), C::Taken),
    (Starts("known transaction"), C::Taken),
    (Contains("already imported"), C::Taken),
    (Contains("alreadyimported"), C::Taken),
    (Contains("existing tx with same hash"), C::Taken),
    (Contains("transaction already exists"), C::Taken),
    (Contains("tx already in mempool"), C::Taken),
    // The nonce is used up.
    (Contains("nonce too low"), C::NonceTooLow),
    (Contains("nonce is too low"), C::NonceTooLow),
    (Contains("oldnonce"), C::NonceTooLow),
    (Contains("invalid transaction nonce"), C::NonceTooLow),
    // A lower nonce is missing, or the node keeps no more for the future.
    (Contains("nonce too high"), C::NonceGap),
    (Contains("noncegap"), C::NonceGap),
    (Contains("noncetoofarinfuture"), C::NonceGap),
    (Contains("nonce is too distant"), C::NonceGap),
    (Contains("gapped-nonce"), C::NonceGap),
    (Contains("gapped nonce"), C::NonceGap),
    (Contains("lower nonce invalid transaction exists"), C::NonceGap),
    (Contains("nonce gap"), C::NonceGap),
    // The price.
    (Contains("underpriced"), C::Underpriced),
    (Contains("could not replace existing tx"), C::Underpriced),
    (Contains("replacementnotallowed"), C::Underpriced),
    (Contains("ownnoncealreadyused"), C::Underpriced),
    (Contains("priority is too low"), C::Underpriced),
    (Contains("feetoolow"), C::Underpriced),
    (Contains("fee_too_low"), C::Underpriced),
    (Contains("less than block base fee"), C::Underpriced),
    (Contains("below current base fee"), C::Underpriced),
    (Contains("below configured minimum gas price"), C::Underpriced),
    (Contains("gas price too low"), C::Underpriced),
    (Contains("fee too low"), C::Underpriced),
    (Contains("tip too low"), C::Underpriced),
    (Contains("future transaction tries to replace pending"), C::Underpriced),
    // The money.
    (Contains("insufficient funds"), C::Funds),
    (Contains("insufficientfunds"), C::Funds),
    (Contains("upfront cost exceeds account balance"), C::Funds),
    (Contains("sender doesn't have enough funds"), C::Funds),
    (Contains("overdraft"), C::Funds),
    // The node.
    (Contains("txpool is full"), C::Busy),
    (Contains("transaction pool is full"), C::Busy),
    (Contains("sub-pool is full"), C::Busy),
    (Contains("account limit exceeded"), C::Busy),
    (Contains("in-flight transaction limit reached"), C::Busy),
    (Contains("address already reserved"), C::Busy),
    (Contains("authority already reserved"), C::Busy),
    (Contains("rate limit"), C::Busy),
    (Contains("too many requests"), C::Busy),
    (Contains("exceeded its compute units"), C::Busy),
    (Contains("request count exceeded"), C::Busy),
    (Contains("limit exceeded, retry"), C::Busy),
    // The type.
    (Contains("transaction type not supported"), C::TypeRefused),
    (Contains("transaction type is not supported"), C::TypeRefused),
    (Contains("unsupported transaction type"), C::TypeRefused),
    (Contains("invalid transaction type"), C::TypeRefused),
    (Contains("invalidtxtype"), C::TypeRefused),
    (Contains("transaction type eip1559 is invalid"), C::TypeRefused),
    (Contains("eip-1559 style fee params"), C::TypeRefused),
    (Contains("eip-1559 transactions require london"), C::TypeRefused),
    (Contains("eip1559 is not activated"), C::TypeRefused),
    (Contains("eip-1559 is not enabled"), C::TypeRefused),
    // Never.
    (Contains("intrinsic gas"), C::Rejected(String::new())),
    (Contains("insufficient gas for floor data"), C::Rejected(String::new())),
    (Contains("exceeds block gas limit"), C::Rejected(String::new())),
    (Contains("gaslimitexceeded"), C::Rejected(String::new())),
    (Contains("gas limit too high"), C::Rejected(String::new())),
    (Contains("gas limit is too high"), C::Rejected(String::new())),
    (Contains("max priority fee per gas higher than max fee per gas"), C::Rejected(String::new())),
    (Contains("max priority fee per gas exceeds max fee per gas"), C::Rejected(String::new())),
    (Contains("invalid sender"), C::Rejected(String::new())),
    (Contains("failedtoresolvesender"), C::Rejected(String::new())),
    (Contains("invalid signature"), C::Rejected(String::new())),
    (Contains("invalid chain id"), C::Rejected(String::new())),
    (Contains("invalidtxchainid"), C::Rejected(String::new())),
    (Contains("wrong chainid"), C::Rejected(String::new())),
    (Contains("wrong chain id"), C::Rejected(String::new())),
    (Contains("setcode transaction"), C::Rejected(String::new())),
    (Contains("higher than 2^256-1"), C::Rejected(String::new())),
    (Contains("only replay-protected"), C::Rejected(String::new())),
    (Contains("oversized data"), C::Rejected(String::new())),
    (Contains("maxtxsizeexceeded"), C::Rejected(String::new())),
    (Contains("rlp too long"), C::Rejected(String::new())),
    (Contains("max initcode size exceeded"), C::Rejected(String::new())),
    (Contains("initcode size"), C::Rejected(String::new())),
    (Contains("exceeds the configured cap"), C::Rejected(String::new())),
    (Contains("transaction fee cap exceeded"), C::Rejected(String::new())),
    (Contains("negative value"), C::Rejected(String::new())),
    (Contains("int256overflow"), C::Rejected(String::new())),
    (Contains("nonce has max value"), C::Rejected(String::new())),
    (Contains("senderiscontract"), C::Rejected(String::new())),
    (Contains("sender is not an eoa"), C::Rejected(String::new())),
    (Contains("sender not an eoa"), C::Rejected(String::new())),
    (Contains("sender account not authorized"), C::Rejected(String::new())),
    (Contains("failed to decode signed transaction"), C::Rejected(String::new())),
];

/// JSON-RPC codes that mean the same whatever the text is.
const CODES: &[(i64, SendClass)] = &[(-32005, C::Busy), (429, C::Busy)];

/// What an answer to the transaction `hash` means. A node that names another one has not taken ours.
pub fn classify(answer: &SendResponse, hash: B256) -> SendClass {
    match answer {
        SendResponse::Hash(taken) if *taken == hash => SendClass::Taken,
        SendResponse::Hash(_) => SendClass::Unknown,
        SendResponse::TimedOut | SendResponse::Disconnected => SendClass::Unknown,
        SendResponse::Error { http_status: Some(429), .. } => SendClass::Busy,
        // Without a code the text is not the node's but that of something in front of it.
        SendResponse::Error { code: None, .. } => SendClass::Unknown,
        SendResponse::Error { code: Some(code), message, .. } => classify_text(*code, message),
    }
}

fn classify_text(code: i64, message: &str) -> SendClass {
    let text = message.to_lowercase();
    let fits = |text_at: &Text| match text_at {
        Starts(start) => text.starts_with(start),
        Contains(part) => text.contains(part),
    };
    let by_text = TABLE.iter().find(|(text_at, _)| fits(text_at)).map(|(_, class)| class);
    let by_code = || CODES.iter().find(|(known, _)| *known == code).map(|(_, class)| class);
    match by_text.or_else(by_code) {
        Some(SendClass::Rejected(_)) => SendClass::Rejected(message.chars().take(512).collect()),
        Some(class) => class.clone(),
        None => SendClass::Unknown,
    }
}
