//! Names: which account, which request.

#[cfg(feature = "openapi")]
use crate::openapi;
use alloy_primitives::Address;
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

/// A transaction's number among those of its account.
pub type Nonce = u64;

/// One account on one chain. Everything about nonces is per such pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Account))]
#[serde(rename_all = "camelCase")]
pub struct AccountId {
    /// The chain.
    pub chain_id: u64,
    /// The account.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Address))]
    pub address: Address,
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.chain_id, alloy_primitives::hex::encode(self.address))
    }
}

impl FromStr for AccountId {
    type Err = BadAccountId;

    fn from_str(text: &str) -> Result<Self, BadAccountId> {
        let (chain_id, address) = text.split_once('-').ok_or(BadAccountId)?;
        let chain_id = chain_id.parse().map_err(|_| BadAccountId)?;
        Ok(Self { chain_id, address: address.parse().map_err(|_| BadAccountId)? })
    }
}

/// A text that names no account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an account is written as CHAIN-ADDRESS, in decimal and hexadecimal digits")]
pub struct BadAccountId;

/// A request's name. It is the caller's idempotency key if there was one.
///
/// At most [`RequestId::BYTES_MAX`] bytes of letters, digits, `_`, `-`, `.` and `:`, so that it can stand in a key and in
/// a URL as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

/// A name that a request cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a request id has 1 to {} letters, digits or any of _ - . :", RequestId::BYTES_MAX)]
pub struct BadRequestId;

impl RequestId {
    /// The longest name.
    pub const BYTES_MAX: usize = 128;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RequestId {
    type Error = BadRequestId;

    fn try_from(text: String) -> Result<Self, BadRequestId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        let fits = (1..=Self::BYTES_MAX).contains(&text.len()) && text.bytes().all(allowed);
        if fits { Ok(Self(text)) } else { Err(BadRequestId) }
    }
}

impl FromStr for RequestId {
    type Err = BadRequestId;

    fn from_str(text: &str) -> Result<Self, BadRequestId> {
        text.to_owned().try_into()
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
