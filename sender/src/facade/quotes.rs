//! Fee quotes, asked for at most every few seconds.

use crate::target::{Target, TargetError};
use sender_model::Quote;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::Mutex;
use types::Time;

/// How old a quote may be.
const AGE_MAX: Duration = Duration::from_secs(5);

/// The newest quotes.
#[derive(Debug, Default)]
pub(super) struct Quotes(Mutex<BTreeMap<u64, (Quote, Time)>>);

impl Quotes {
    /// A chain's quote and when it was asked for. While one asks, others wait for the same answer.
    pub(super) async fn get(
        &self,
        target: &Arc<dyn Target>,
        now: Time,
    ) -> Result<(Quote, Time), TargetError> {
        let mut quotes = self.0.lock().await;
        if let Some((quote, at)) = quotes.get(&target.chain_id())
            && now.since(*at) <= AGE_MAX
        {
            return Ok((*quote, *at));
        }
        let quote = target.quote().await?;
        quotes.insert(target.chain_id(), (quote, now));
        Ok((quote, now))
    }
}
