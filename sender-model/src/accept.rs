//! Accepting a request: once for each name, whoever asks and however often.
//!
//! Any process may accept, also one that does not own the account: it creates the request, its first event and its position
//! in the queue in one commit, on the condition that none of them is there. The owner finds it by looking.
//!
//! A name stays used after its request is forgotten, for as long as the configuration promises: the same commit demands
//! that no such name is there either.

use super::{
    AccountId, Authority, Commit, Config, Delivery, Event, EventKind, Intent, KnownRequest,
    METADATA_BYTES_MAX, Precondition, REQUEST_WEBHOOKS_MAX, Request, RequestId, RequestOptions, Simulate,
    State, Write, key,
};
use alloy_primitives::B256;
use types::Time;

/// What a caller hands over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRequest {
    /// Its name: the idempotency key, or one made for it.
    pub id: RequestId,
    /// The account that is to send.
    pub account: AccountId,
    /// What is wanted.
    pub intent: Intent,
    /// The hash of all that the caller sent.
    pub body: B256,
    /// When it may not be bound any more.
    pub expires_at: Option<Time>,
    /// How it is to be treated.
    pub options: RequestOptions,
}

/// What to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It is new; it is accepted when this commit is done. A conflict means that somebody else was quicker: look again.
    New(Box<Request>, Commit),
    /// It is known; the answer is where it stands.
    Replayed,
    /// It ended and was forgotten; the answer is what stays of it.
    Forgotten,
}

/// Why a request is not accepted. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The name is taken by a request with another body.
    #[error("the idempotency key {0} was used with another body")]
    Mismatch(RequestId),
    /// The account's queue is full.
    #[error("{0} requests are waiting for this account, which is the most there can be")]
    QueueFull(usize),
    /// It is too large.
    #[error("a request has at most {0} bytes of call data and access list")]
    TooLarge(usize),
    /// It asks for more gas than the chain takes.
    #[error("a transaction on this chain has at most {0} gas")]
    Gas(u64),
    /// It is not to be simulated, and says nothing of its gas.
    #[error("gas: a request with simulate=false names its gas limit")]
    NoGas,
    /// Its metadata is too large.
    #[error("metadata: there are at most {0} bytes of it, as JSON")]
    Metadata(usize),
    /// It names too many webhook endpoints.
    #[error("webhooks: a request names at most {0} endpoints")]
    Webhooks(usize),
    /// Its time is over already.
    #[error("the request expires before it is accepted")]
    Expired,
    /// A row could not be written as text.
    #[error("the request cannot be encoded: {0}")]
    Encoding(#[from] serde_json::Error),
}

/// Decides about a request, given what is durable under its name, if something is, and how many are waiting.
pub fn decide(
    new: NewRequest,
    known: Option<&KnownRequest>,
    waiting: usize,
    config: &Config,
    now: Time,
) -> Result<Decision, AcceptError> {
    if let Some(known) = known {
        return match known {
            known if known.body() != new.body || known.account() != new.account => {
                Err(AcceptError::Mismatch(new.id))
            }
            KnownRequest::Request(_) => Ok(Decision::Replayed),
            KnownRequest::Forgotten(_) => Ok(Decision::Forgotten),
        };
    }
    if waiting >= config.queue_max {
        return Err(AcceptError::QueueFull(waiting));
    }
    check_size(&new.intent, config)?;
    check_options(&new)?;
    if new.expires_at.is_some_and(|at| at <= now) {
        return Err(AcceptError::Expired);
    }
    let request = Request {
        id: new.id,
        account: new.account,
        intent: new.intent,
        body: new.body,
        accepted_at: now,
        expires_at: new.expires_at,
        options: new.options,
        raw: false,
        state: State::Accepted { held: None },
        events: 1,
        rebinds: 0,
        past: vec![],
        completed_at: None,
    };
    let commit = creation(&request, config, now)?;
    Ok(Decision::New(Box::new(request), commit))
}

/// Whether a request is small enough to be kept, and for the chain to take it.
pub fn check_size(intent: &Intent, config: &Config) -> Result<(), AcceptError> {
    let limits = config.limits;
    if intent.bytes() > config.intent_bytes_max {
        return Err(AcceptError::TooLarge(config.intent_bytes_max));
    }
    if let Some(max) = limits.tx_bytes_max.filter(|max| intent.encoded_bytes_max() > *max) {
        return Err(AcceptError::TooLarge(max.saturating_sub(Intent::ENCODING_BYTES_MAX)));
    }
    let creates = intent.to.is_none();
    if let Some(max) = limits.init_code_bytes_max.filter(|max| creates && intent.data.len() > *max) {
        return Err(AcceptError::TooLarge(max));
    }
    match (intent.gas, limits.gas_max) {
        (Some(gas), Some(max)) if gas > max => Err(AcceptError::Gas(max)),
        _ => Ok(()),
    }
}

fn check_options(new: &NewRequest) -> Result<(), AcceptError> {
    let options = &new.options;
    if options.simulate == Simulate::Never && new.intent.gas.is_none() {
        return Err(AcceptError::NoGas);
    }
    if options.metadata_bytes() > METADATA_BYTES_MAX {
        return Err(AcceptError::Metadata(METADATA_BYTES_MAX));
    }
    if options.webhooks.as_ref().is_some_and(|names| names.len() > REQUEST_WEBHOOKS_MAX) {
        return Err(AcceptError::Webhooks(REQUEST_WEBHOOKS_MAX));
    }
    Ok(())
}

/// The commit that makes a request exist.
fn creation(request: &Request, config: &Config, now: Time) -> Result<Commit, serde_json::Error> {
    let mut rows = vec![
        (key::request(&request.id), serde_json::to_vec(request)?),
        (key::live(request.account, request.accepted_at, &request.id), vec![]),
    ];
    let event = Event::about_request(request, None, EventKind::Accepted, now);
    let endpoints: Vec<&String> =
        config.endpoints.iter().filter(|name| request.options.tells(name)).collect();
    rows.extend(event_rows(&event, &endpoints)?);
    let unused = Precondition::Absent(key::used_name(&request.id));
    let absent = rows.iter().map(|(key, _)| Precondition::Absent(key.clone()));
    let preconditions = absent.chain([unused]).collect();
    let writes = rows.into_iter().map(|(key, value)| Write::Put(key, value)).collect();
    Ok(Commit { authority: Authority::Intake, preconditions, writes })
}

/// The rows of an event: itself, and one delivery for each endpoint.
pub(super) fn event_rows(
    event: &Event,
    endpoints: &[&String],
) -> Result<Vec<(String, Vec<u8>)>, serde_json::Error> {
    let mut rows = vec![(key::event(&event.subject, event.sequence), serde_json::to_vec(event)?)];
    for endpoint in endpoints {
        let delivery = Delivery {
            account: event.account,
            subject: event.subject.clone(),
            since: event.since,
            sequence: event.sequence,
            endpoint: (*endpoint).clone(),
            tries: 0,
            next_at: event.at,
        };
        rows.push((delivery.key(), serde_json::to_vec(&delivery)?));
    }
    Ok(rows)
}
