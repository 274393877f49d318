//! What goes into the facade's calls and what comes out. Everything that comes out can be written as JSON as it is.

use alloy_primitives::{Address, B256, Bytes, U256};
use core::{fmt, str::FromStr};
#[cfg(feature = "openapi")]
use sender_model::openapi;
use sender_model::{
    AccountId, AttemptKind, ChainSettings, EventKind, FeeCap, Fees, Held, Intent, Nonce, Quote, Request,
    RequestId, RequestOptions, StateName, Subject,
};
use serde::{Deserialize, Serialize};
use types::Time;

/// Who is to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendFrom {
    /// This account.
    Account(AccountId),
    /// The least loaded account of a group.
    Group {
        /// The group's name.
        name: String,
        /// The chain that the caller means, if it names one: a group of another chain is refused.
        chain_id: Option<u64>,
    },
}

/// A request as a caller hands it over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionRequest {
    /// The idempotency key, which becomes the request's name; without one a name is made.
    pub key: Option<RequestId>,
    /// Who is to send.
    pub from: SendFrom,
    /// What is wanted.
    pub intent: Intent,
    /// The hash of all that the caller sent: the same key with another hash is refused.
    pub body: B256,
    /// When it may not be bound any more.
    pub expires_at: Option<Time>,
    /// How it is to be treated.
    pub options: RequestOptions,
}

/// A transaction that an outside signer made for a nonce on loan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawTransaction {
    /// The idempotency key, which becomes the request's name; without one a name is made.
    pub key: Option<RequestId>,
    /// The token of the loan.
    pub token: String,
    /// The signed transaction. Chain, account and nonce are what it says.
    pub bytes: Bytes,
}

/// How a submission was taken.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// The request as it stands now.
    pub transaction: Transaction,
    /// Whether it was known already (`Idempotency-Replayed: true`).
    #[serde(skip)]
    pub replayed: bool,
}

/// How a request ended up whose caller waited for its hash.
#[derive(Clone, PartialEq, Debug)]
pub enum Sending {
    /// It has a hash, or has ended by itself.
    Settled(Transaction),
    /// It could not be sent in time, and was cancelled: it is never mined.
    Withdrawn {
        /// The request as it ended.
        transaction: Transaction,
        /// Why it waited; none if others were before it.
        held: Option<Held>,
    },
}

/// A request with everything that was signed for it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    /// The request.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub request: Request,
    /// All attempts, oldest first.
    pub attempts: Vec<AttemptView>,
}

impl Transaction {
    /// The hash that matters: of the attempt that was mined, else of the newest payload.
    pub fn hash(&self) -> Option<B256> {
        let mined = self.attempts.iter().find(|attempt| attempt.status == AttemptStatus::Mined);
        let payload = || self.attempts.iter().rev().find(|attempt| attempt.kind == AttemptKind::Payload);
        mined.or_else(payload).map(|attempt| attempt.hash)
    }
}

/// Where an attempt stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum AttemptStatus {
    /// Durable; no node has said that it has it.
    Pending,
    /// A node has it.
    Sent,
    /// In a block.
    Mined,
    /// Another attempt, or another transaction, has used the nonce.
    Dropped,
}

/// One attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Attempt))]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// The nonce.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub nonce: Nonce,
    /// The transaction's hash.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
    pub hash: B256,
    /// What it was for.
    pub kind: AttemptKind,
    /// Its fees.
    pub fees: Fees,
    /// Where it stands.
    pub status: AttemptStatus,
}

/// Which requests to list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Only of this chain.
    pub chain_id: Option<u64>,
    /// Only of this account.
    pub address: Option<Address>,
    /// Only of the accounts of this group.
    pub group: Option<String>,
    /// Only in this state.
    pub state: Option<StateName>,
    /// Only those after this name: the `next` of the page before.
    pub after: Option<RequestId>,
    /// As many as this at most; 0 takes the usual number, and there is a most.
    pub limit: usize,
}

/// A part of a list, in the order of names. Names that the sender makes sort by time.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// What was found.
    pub items: Vec<T>,
    /// Where the next page begins; none if this is the last. A page may be short and still not be the last.
    pub next: Option<String>,
}

/// How many dead letters are pending again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// So many.
    pub replayed: usize,
    /// Where to go on (`after`); none if these were all.
    pub next: Option<String>,
}

/// How an order was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// It is done, and durable.
    Done,
    /// It is durable as a command: the process that runs the account will obey it.
    Ordered,
}

/// How a cancellation was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Cancelling {
    /// It will never be mined.
    Cancelled,
    /// A noop will compete with it.
    Cancelling,
    /// It is in a block, or has ended.
    TooLate,
    /// The process that runs the account will see to it.
    Ordered,
}

/// A chain, and what is set for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Chain))]
#[serde(rename_all = "camelCase")]
pub struct ChainView {
    /// The chain.
    pub chain_id: u64,
    /// What is in force. What is missing does not matter for this chain, or is learned.
    pub settings: ChainSettings,
    /// What of it was set while the sender ran; the rest is from its start.
    pub changed: ChainSettings,
}

/// An account whose key is held here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ManagedAccount))]
#[serde(rename_all = "camelCase")]
pub struct AccountView {
    /// The chain.
    pub chain_id: u64,
    /// The account.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Address))]
    pub address: Address,
    /// The group that it belongs to, if it does.
    pub group: Option<String>,
    /// Whether a worker of this process runs it now.
    pub active: bool,
}

/// What a group is to be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewGroup {
    /// Its name: letters, digits, `_` and `-`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9_-]+$"))]
    pub name: String,
    /// The chain.
    pub chain_id: u64,
    /// Accounts to begin with; missing ones are made until there are `size_min`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<openapi::Address>))]
    pub members: Vec<Address>,
    /// It never has fewer accounts.
    #[serde(default = "one")]
    pub size_min: usize,
    /// It never grows above this.
    #[serde(default = "one")]
    pub size_max: usize,
    /// It grows when every account has as many transactions waiting or in flight.
    #[serde(default = "ten")]
    pub transactions_per_account: usize,
    /// Who pays for the accounts, and how much.
    #[serde(default)]
    pub funding: Option<Funding>,
}

const fn one() -> usize {
    1
}

const fn ten() -> usize {
    10
}

/// How a group's accounts are topped up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Funding {
    /// The account that pays; it is managed here too.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Address))]
    pub owner: Address,
    /// Below this balance an account gets more, in wei.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub threshold: U256,
    /// So much more, in wei.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub amount: U256,
}

/// A group as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What it is to be; `members` are those that it has.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub settings: NewGroup,
    /// How often each account was topped up.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, u32>))]
    pub top_ups: std::collections::BTreeMap<Address, u32>,
    /// Accounts that were seen with a balance.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<openapi::Address>))]
    pub paid: std::collections::BTreeSet<Address>,
}

/// A nonce on loan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Loan {
    /// The nonce.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub nonce: Nonce,
    /// What to show when coming back.
    pub token: String,
    /// When the loan ends, in milliseconds.
    pub until: u64,
}

/// What a chain asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Fees))]
#[serde(rename_all = "camelCase")]
pub struct FeeReport {
    /// The chain.
    pub chain_id: u64,
    /// What the chain asks for.
    pub quote: Quote,
    /// What a first attempt would offer now.
    pub first_attempt: Fees,
    /// The same with `speed` slow.
    pub slow: Fees,
    /// The same with `speed` fast.
    pub fast: Fees,
    /// The highest price per gas of any attempt.
    pub fee_cap: FeeCap,
    /// When it was asked, in milliseconds.
    pub fetched_at: u64,
}

/// What an endpoint is to be told, and where.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEndpoint {
    /// Where to post to. Private addresses are rejected unless the operator allows them.
    #[cfg_attr(feature = "openapi", schema(pattern = "^https?://"))]
    pub url: String,
    /// Only these events; all if there are none.
    #[serde(default)]
    pub events: Vec<EventKind>,
    /// Only of these accounts, on whatever chain; of all if there are none.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<openapi::Address>))]
    pub accounts: Vec<Address>,
    /// Only of accounts on these chains; on all if there are none.
    #[serde(default)]
    pub chain_ids: Vec<u64>,
    /// Whether to add the headers that receivers of thirdweb's engine-core verify: `x-request-timestamp`, and
    /// `x-signature-sha256` over `timestamp.body`.
    #[serde(default)]
    pub legacy_signature: bool,
}

impl NewEndpoint {
    /// Everything is told there.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), events: vec![], accounts: vec![], chain_ids: vec![], legacy_signature: false }
    }

    /// Whether the endpoint is told of an account.
    pub fn tells_of(&self, account: AccountId) -> bool {
        let any = |list: bool, has: bool| !list || has;
        any(!self.accounts.is_empty(), self.accounts.contains(&account.address))
            && any(!self.chain_ids.is_empty(), self.chain_ids.contains(&account.chain_id))
    }
}

impl fmt::Debug for NewEndpoint {
    /// The URL's path may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEndpoint").field("events", &self.events).finish_non_exhaustive()
    }
}

/// An endpoint, without its secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Endpoint))]
#[serde(rename_all = "camelCase")]
pub struct EndpointView {
    /// Its name.
    pub id: String,
    /// What it is told, and where.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub settings: NewEndpoint,
    /// When it was made, in milliseconds.
    pub created_at: u64,
    /// Until when the secret before the newest one signs too, in milliseconds.
    pub rotating_until: Option<u64>,
}

/// The name of a delivery in URLs: account, subject, sequence and endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
pub struct DeliveryId(String);

impl DeliveryId {
    /// Names a delivery.
    pub fn new(account: AccountId, subject: &Subject, sequence: u32, endpoint: &str) -> Self {
        Self(format!("{account}/{subject}/{sequence:08x}/{endpoint}").replace('/', "~"))
    }

    /// What follows the first letter of its row's name.
    pub(crate) fn row(&self) -> String {
        self.0.replace('~', "/")
    }

    /// The account, if the name has one.
    pub(crate) fn account(&self) -> Option<AccountId> {
        self.0.split('~').next()?.parse().ok()
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DeliveryId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = Self(text.to_owned());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:~".contains(&byte);
        if id.account().is_some() && text.len() <= 400 && text.bytes().all(plain) {
            Ok(id)
        } else {
            Err(format!("{text:?} is not the name of a delivery"))
        }
    }
}

impl Serialize for DeliveryId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A delivery that is still to be made, or was given up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Delivery))]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// Its name.
    pub id: DeliveryId,
    /// The event's name, `webhook-id`.
    pub event_id: String,
    /// The account.
    pub account: AccountId,
    /// What the event is about.
    pub subject: Subject,
    /// Which of the subject's events.
    pub sequence: u32,
    /// Whom to tell.
    pub endpoint: String,
    /// Failures so far.
    pub tries: u32,
    /// When it is tried next, in milliseconds; of a dead letter, when it was given up.
    pub next_at: u64,
}

/// Which deliveries to list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeliveryFilter {
    /// Only of this account.
    pub account: Option<AccountId>,
    /// Only to this endpoint.
    pub endpoint: Option<String>,
    /// Only those after this name: the `next` of the page before.
    pub after: Option<DeliveryId>,
    /// As many as this at most; 0 takes the usual number, and there is a most.
    pub limit: usize,
}
