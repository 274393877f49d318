//! Transactions come in.
//!
//! Decoding and recovering the signature happen here, on the thread that read the request; the driver gets what is left
//! to do. A batch is recovered by several threads and offered to the driver in one go.

use super::{Api, Caller, Json, Method};
use crate::{Error, Params, SubmitError, error, hex::FromHex};
use alloy_primitives::{B256, Bytes};
use futures_util::future::BoxFuture;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use types::Transaction;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_sendRawTransaction", Method::Later(send)),
    ("eth_sendRawTransactionSync", Method::Later(send_sync)),
];

/// The name of the method that a batch may consist of.
pub(crate) const SEND: &str = "eth_sendRawTransaction";

/// As many of a batch are recovered by one task.
const RECOVERED_TOGETHER: usize = 16;

fn send<'a>(api: &'a Arc<Api>, params: &'a Params, _: &'a Caller) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(1)?;
        let hash = api.submit(params).await?;
        api.reply(&hash)
    })
}

fn send_sync<'a>(api: &'a Arc<Api>, params: &'a Params, _: &'a Caller) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(2)?;
        let limits = &api.config.limits;
        let timeout = match params.raw(1) {
            Some(_) => timeout_ms(params)?,
            None => limits.receipt_timeout,
        };
        let timeout = timeout.min(limits.receipt_timeout_max);
        let mut snapshots = api.feed.watch();
        let hash = api.submit(params).await?;
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

impl From<SubmitError> for Error {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused(refused) => Self::new(refused.code(), refused.to_string()),
            SubmitError::Unavailable(_) => Self::other(error.to_string()),
        }
    }
}

impl Api {
    fn recover(&self, bytes: Bytes) -> Result<Transaction, Error> {
        let rules = self.feed.snapshot().rules;
        txpool::recover(bytes, &rules).map_err(|error| self.refused(error.into()))
    }

    /// Counts a refusal on its way to the client.
    fn refused(&self, error: SubmitError) -> Error {
        self.stats.refuse(&error);
        error.into()
    }

    async fn submit(&self, params: &Params) -> Result<B256, Error> {
        let tx = self.recover(params.hex(0)?)?;
        let answers = self.driver.submit(vec![tx]).await;
        let answer = answers.into_iter().next();
        let answer = answer.ok_or_else(|| Error::internal("the driver has no answer"))?;
        answer.map_err(|error| self.refused(error))
    }

    /// Sends many at once; one answer for each, in order.
    pub(crate) async fn send_all(
        self: &Arc<Self>,
        all: Vec<Result<Bytes, Error>>,
    ) -> Vec<Result<Json, Error>> {
        let begun = Instant::now();
        let mut tasks = Vec::with_capacity(all.len().div_ceil(RECOVERED_TOGETHER));
        let mut all = all.into_iter();
        loop {
            let some = all.by_ref().take(RECOVERED_TOGETHER).collect::<Vec<_>>();
            if some.is_empty() {
                break;
            }
            let api = self.clone();
            let recover = move |bytes: Result<Bytes, Error>| api.recover(bytes?);
            let count = some.len();
            let work = async move { some.into_iter().map(recover).collect::<Vec<_>>() };
            tasks.push((count, tokio::spawn(work)));
        }
        let mut recovered = Vec::with_capacity(tasks.len() * RECOVERED_TOGETHER);
        for (count, task) in tasks {
            match task.await {
                Ok(some) => recovered.extend(some),
                Err(error) => recovered.extend(vec![Err(Error::internal(error)); count]),
            }
        }
        let good = recovered.iter().filter_map(|one| one.as_ref().ok()).cloned().collect::<Vec<_>>();
        let mut answers = match good.is_empty() {
            true => Vec::new(),
            false => self.driver.submit(good).await,
        }
        .into_iter();
        let answer = |one: Result<Transaction, Error>| {
            one?;
            let answer = answers.next().ok_or_else(|| Error::internal("the driver has no answer"))?;
            self.reply(&answer.map_err(|error| self.refused(error))?)
        };
        let answers = recovered.into_iter().map(answer).collect::<Vec<_>>();
        let (took, counted) = (begun.elapsed(), self.stats.method(SEND));
        answers.iter().for_each(|answer| counted.note(took, answer.is_err()));
        answers
    }
}
