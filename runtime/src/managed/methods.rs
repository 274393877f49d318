//! What wallets ask of a node that holds keys: accounts, sending, signing. Each needs the operator's token, except on a
//! development network, whose keys everybody knows.

use super::{params::Wanted, typed_data_preimage};
use ::sender::{
    Sender,
    facade::{ErrorKind, SendFrom, Sending, Transaction, TransactionRequest},
};
use alloy_primitives::{Address, B256, Bytes, U128, eip191_hash_message, hex, keccak256};
use futures_util::future::BoxFuture;
use rpc::{Caller, Error, Extension, Json, Params, error};
use sender_model::{AccountId, Failure, Held, RequestOptions, State};
use serde::Serialize;
use serde_json::json;
use std::time::Duration;

/// How long a wallet waits for its hash.
const PATIENCE: Duration = Duration::from_secs(10);
/// The transaction is rejected (EIP-1474).
const REJECTED: i32 = -32003;

/// The sender's methods.
#[derive(Debug)]
pub(crate) struct Methods {
    pub(crate) sender: Sender,
    /// Whether no token is needed.
    pub(crate) open: bool,
}

impl Extension for Methods {
    fn methods(&self) -> &'static [&'static str] {
        &[
            "eth_accounts",
            "eth_sendTransaction",
            "eth_signTransaction",
            "personal_sign",
            "eth_signTypedData_v4",
        ]
    }

    fn call<'a>(
        &'a self,
        method: &'a str,
        params: &'a Params,
        caller: &'a Caller,
    ) -> Option<BoxFuture<'a, Result<Json, Error>>> {
        let allowed = self.open || caller.operator;
        Some(match method {
            "eth_accounts" => Box::pin(async move { self.accounts(params, allowed) }),
            "eth_sendTransaction" => guarded(allowed, self.send(params)),
            "eth_signTransaction" => guarded(allowed, self.sign_transaction(params)),
            "personal_sign" => guarded(allowed, self.personal_sign(params)),
            "eth_signTypedData_v4" => guarded(allowed, self.sign_typed_data(params)),
            _ => return None,
        })
    }

    fn other_hash(&self, hash: B256) -> BoxFuture<'_, Option<B256>> {
        Box::pin(async move {
            let found = self.sender.by_hash(hash).await;
            found.inspect_err(|why| tracing::warn!(%why, "Sender: no answer about a hash")).ok()??.hash()
        })
    }
}

fn guarded<'a>(
    allowed: bool,
    call: impl Future<Output = Result<Json, Error>> + Send + 'a,
) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        if !allowed {
            let why = "only for the operator: send the token as `Authorization: Bearer ..`";
            return Err(Error::new(error::NOT_FOUND, why));
        }
        call.await
    })
}

fn reply<T: Serialize + ?Sized>(value: &T) -> Result<Json, Error> {
    serde_json::value::to_raw_value(value).map_err(Error::internal)
}

/// A facade's error in a client's words.
fn failed(why: ::sender::Error) -> Error {
    if let ::sender::Error::Uncertain { id, .. } = &why {
        return Error::other(why.to_string()).with_data(&json!({ "requestId": id }));
    }
    match why.kind() {
        ErrorKind::Internal => Error::internal(why),
        ErrorKind::NotFound => Error::other(format!("unknown account: {why}")),
        ErrorKind::Invalid | ErrorKind::Unprocessable | ErrorKind::TooLarge => Error::params(why.to_string()),
        ErrorKind::Gone
        | ErrorKind::Conflict
        | ErrorKind::Busy
        | ErrorKind::Unavailable
        | ErrorKind::Unknown => Error::other(why.to_string()),
    }
}

impl Methods {
    /// Whoever may not use the accounts is told of none.
    fn accounts(&self, params: &Params, allowed: bool) -> Result<Json, Error> {
        params.at_most(0)?;
        let addresses = if allowed { self.sender.addresses() } else { vec![] };
        reply(&addresses)
    }

    async fn send(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let wanted: Wanted = params.required(0)?;
        let account = AccountId { chain_id: self.sender.home_chain(), address: wanted.from };
        self.sender.signer(account.address).map_err(failed)?;
        let fees = self.sender.fees(account.chain_id).await.map_err(failed)?;
        let intent = wanted.intent(account.chain_id, &fees.quote)?;
        self.check_nonce(account, &wanted).await?;
        let body = keccak256(params.raw(0).unwrap_or_default());
        let submission = TransactionRequest {
            key: None,
            from: SendFrom::Account(account),
            intent,
            body,
            expires_at: None,
            options: RequestOptions::default(),
        };
        match self.sender.send(submission, PATIENCE).await.map_err(failed)? {
            Sending::Settled(transaction) => reply(&hash_of(&transaction)?),
            Sending::Withdrawn { transaction, held } => Err(withdrawn(&transaction, held)),
        }
    }

    /// Nonces are the sender's business. A wallet that insists on one gets it if it is the next.
    async fn check_nonce(&self, account: AccountId, wanted: &Wanted) -> Result<(), Error> {
        let Some(nonce) = wanted.nonce.map(|nonce| nonce.to::<u64>()) else { return Ok(()) };
        let next = self.sender.nonce_health(account).await.map_err(failed)?.tracked_nonce;
        if nonce == next {
            return Ok(());
        }
        let word = if nonce < next { "low" } else { "high" };
        Err(Error::other(format!(
            "nonce too {word}: the sender assigns nonces, next nonce {next}, tx nonce {nonce}"
        )))
    }

    async fn sign_transaction(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let wanted: Wanted = params.required(0)?;
        let account = AccountId { chain_id: self.sender.home_chain(), address: wanted.from };
        self.sender.signer(account.address).map_err(failed)?;
        let fees = self.sender.fees(account.chain_id).await.map_err(failed)?;
        let intent = wanted.intent(account.chain_id, &fees.quote)?;
        let gas = wanted.gas.ok_or_else(|| Error::other("gas not specified"))?;
        let nonce = wanted.nonce.ok_or_else(|| Error::other("nonce not specified"))?;
        let no_fees = || Error::other("missing gasPrice or maxFeePerGas/maxPriorityFeePerGas");
        let fees = intent.fees.ok_or_else(no_fees)?;
        let signed = self.sender.sign_transaction(account, &intent, nonce.to(), gas.to(), fees).await;
        let signed = signed.map_err(failed)?;
        let tx = json!({
            "hash": signed.hash,
            "from": account.address,
            "to": intent.to,
            "nonce": nonce,
            "gas": gas,
            "value": intent.value,
            "input": intent.data,
            "maxFeePerGas": U128::from(fees.max_fee_per_gas),
            "maxPriorityFeePerGas": U128::from(fees.max_priority_fee_per_gas),
        });
        reply(&json!({ "raw": signed.bytes, "tx": tx }))
    }

    /// Signs a message as EIP-191 says, so that it can never be a transaction.
    async fn personal_sign(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(3)?;
        let (message, address): (Bytes, Address) = (params.required(0)?, params.required(1)?);
        let mut preimage = format!("\x19Ethereum Signed Message:\n{}", message.len()).into_bytes();
        preimage.extend_from_slice(&message);
        debug_assert_eq!(keccak256(&preimage), eip191_hash_message(&message));
        self.sign(address, &preimage).await
    }

    async fn sign_typed_data(&self, params: &Params) -> Result<Json, Error> {
        params.at_most(2)?;
        let address: Address = params.required(0)?;
        let preimage = typed_data_preimage(params.required(1)?);
        let preimage = preimage.map_err(|why| Error::params(format!("invalid argument 1: {why}")))?;
        self.sign(address, &preimage).await
    }

    async fn sign(&self, address: Address, preimage: &[u8]) -> Result<Json, Error> {
        let signer = self.sender.signer(address).map_err(failed)?;
        let signature = signer.sign(preimage).await.map_err(|why| Error::other(why.to_string()))?;
        reply(&hex::encode_prefixed(signature.as_bytes()))
    }
}

/// The hash of a request's transaction; an error if the request has ended without one in a block.
fn hash_of(transaction: &Transaction) -> Result<B256, Error> {
    let id = &transaction.request.id;
    let ended = |why: &str| {
        let what = format!("the request {id} has ended and nothing of it will be sent: {why}");
        Error::new(REJECTED, what).with_data(&json!({ "requestId": id }))
    };
    Err(match &transaction.request.state {
        State::Failed(Failure::Simulation { reason, data, .. }) => {
            let error =
                Error::new(if data.is_empty() { error::DEFAULT } else { error::REVERTED }, reason.clone());
            if data.is_empty() { error } else { error.with_data(data) }
        }
        State::Failed(Failure::Rejected(why)) => ended(why),
        State::Failed(Failure::NonceTaken) => ended("its nonce was used by another transaction"),
        State::Cancelled => ended("it was cancelled"),
        State::Expired => ended("it has expired"),
        _ => return transaction.hash().ok_or_else(|| Error::internal(format!("{id} has no hash"))),
    })
}

/// Why a request was withdrawn. It has ended before this is answered.
fn withdrawn(transaction: &Transaction, held: Option<Held>) -> Error {
    let (id, address) = (&transaction.request.id, transaction.request.account.address);
    let why = match held {
        Some(Held::Funds) => {
            format!("insufficient funds for gas * price + value: the account {address} cannot pay for it now")
        }
        Some(Held::Paused) => format!("the account {address} is paused; resume it, and send again"),
        Some(Held::FeeTooHigh) => "max fee per gas less than block base fee, or the base fee is above the \
                                   sender's fee cap"
            .to_owned(),
        Some(Held::Policy) => {
            "the signer refused it, or no node could simulate it; the log says which".to_owned()
        }
        Some(Held::Parent) => {
            format!("it would be reverted until earlier transactions of {address} are mined; send again then")
        }
        Some(Held::Unfinal) => {
            format!(
                "as many transactions of {address} wait for finality as are kept in memory; send again later"
            )
        }
        None => {
            format!("it was not sent within {} s: other requests of {address} are ahead", PATIENCE.as_secs())
        }
    };
    let data = json!({ "requestId": id, "held": held });
    Error::new(REJECTED, format!("{why} (the request {id} was cancelled, nothing will be sent)"))
        .with_data(&data)
}
