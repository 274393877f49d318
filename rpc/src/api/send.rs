//! Transactions come in.
//!
//! Decoding and recovering the signature happen here, together for all who send at the same time ([`Recovering`]); the
//! driver gets what is left to do, and a batch in one go.
//!
//! [`Recovering`]: super::recovering::Recovering

use super::{Api, Caller, Json, Method, micros};
use crate::{Error, Params, SendError, error, hex::FromHex};
use alloy_primitives::{B256, Bytes};
use futures_util::future::BoxFuture;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::Instrument;
use types::Transaction;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_sendRawTransaction", Method::Later(send)),
    ("eth_sendRawTransactionSync", Method::Later(send_sync)),
];

/// The name of the method that a batch may consist of.
pub(crate) const SEND: &str = "eth_sendRawTransaction";

fn send<'a>(api: &'a Arc<Api>, params: &'a Params, caller: &'a Caller) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(1)?;
        let hash = api.submit(caller, params).await?;
        api.reply(&hash)
    })
}

fn send_sync<'a>(
    api: &'a Arc<Api>,
    params: &'a Params,
    caller: &'a Caller,
) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(2)?;
        let limits = &api.config.limits;
        let timeout = match params.raw(1) {
            Some(_) => timeout_ms(params)?,
            None => limits.receipt_timeout,
        };
        let timeout = timeout.min(limits.receipt_timeout_max);
        let mut snapshots = api.feed.watch();
        let hash = api.submit(caller, params).await?;
        let included = async {
            loop {
                snapshots.borrow_and_update();
                if let Some(receipt) = api.receipt(&hash)? {
                    return Ok(receipt);
                }
                snapshots.changed().await.map_err(Error::internal)?;
            }
        };
        tokio::time::timeout(timeout, included).await.unwrap_or_else(|_| {
            let waited = timeout.as_millis();
            let text = format!(
                "The transaction was added to the transaction pool but wasn't processed in {waited}ms."
            );
            Err(Error::new(error::RECEIPT_TIMEOUT, text).with_data(&hash))
        })
    })
}

/// The time to wait, as a number or in hexadecimal.
fn timeout_ms(params: &Params) -> Result<Duration, Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(u64),
        Text(String),
    }
    let wrong = |why: String| Error::params(format!("invalid argument 1: {why}"));
    let ms = match params.required::<Form>(1)? {
        Form::Number(ms) => ms,
        Form::Text(text) => u64::from_hex(&text).map_err(wrong)?,
    };
    if ms == 0 {
        return Err(wrong("the timeout must not be zero".to_owned()));
    }
    Ok(Duration::from_millis(ms))
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Refused(refused) => Self::new(refused.code(), refused.to_string()),
            SendError::Unavailable(_) => Self::other(error.to_string()),
        }
    }
}

impl Api {
    /// Decodes transactions and recovers who signed them; one answer for each, in order.
    async fn recover(&self, caller: &Caller, all: Vec<Bytes>) -> Vec<Result<Transaction, Error>> {
        let count = all.len();
        match self.recovering.recover(caller.origin.connection, all).await {
            Some(recovered) => {
                recovered.into_iter().map(|one| one.map_err(|error| self.refused(error.into()))).collect()
            }
            None => vec![Err(Error::internal("signatures cannot be recovered")); count],
        }
    }

    /// Counts a refusal on its way to the client.
    fn refused(&self, error: SendError) -> Error {
        self.stats.refuse(&error);
        error.into()
    }

    async fn submit(&self, caller: &Caller, params: &Params) -> Result<B256, Error> {
        let missing = || Error::internal("the driver has no answer");
        let recovered = self.recover(caller, vec![params.hex(0)?]).await;
        let tx = recovered.into_iter().next().ok_or_else(missing)??;
        let answers = self.backend.submit(vec![tx]).await;
        let answer = answers.into_iter().next().ok_or_else(missing)?;
        answer.map_err(|error| self.refused(error))
    }

    /// Sends many at once; one answer for each, in order.
    pub(crate) async fn send_all(
        &self,
        caller: &Caller,
        all: Vec<Result<Bytes, Error>>,
    ) -> Vec<Result<Json, Error>> {
        let begun = Instant::now();
        let connection = caller.origin.connection;
        let span =
            tracing::debug_span!(target: "rpc", "request", method = SEND, batch = all.len(), connection);
        let bytes = all.iter().filter_map(|one| one.as_ref().ok()).cloned().collect::<Vec<_>>();
        let recovered = self.recover(caller, bytes).instrument(span.clone()).await;
        let good = recovered.iter().filter_map(|one| one.as_ref().ok()).cloned().collect::<Vec<_>>();
        let answers = match good.is_empty() {
            true => Vec::new(),
            false => self.backend.submit(good).instrument(span.clone()).await,
        };
        let (mut recovered, mut answers) = (recovered.into_iter(), answers.into_iter());
        let missing = || Error::internal("the driver has no answer");
        let answer = |one: Result<Bytes, Error>| {
            one?;
            recovered.next().ok_or_else(missing)??;
            let answer = answers.next().ok_or_else(missing)?;
            self.reply(&answer.map_err(|error| self.refused(error))?)
        };
        let answers = all.into_iter().map(answer).collect::<Vec<_>>();
        let (took, counted) = (begun.elapsed(), self.stats.method(SEND));
        answers.iter().for_each(|answer| counted.note(took, answer.is_err()));
        let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
        tracing::debug!(target: "rpc", parent: &span, accepted, took_us = micros(took), "request answered");
        answers
    }
}
