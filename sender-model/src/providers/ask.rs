//! Asking: one provider after the other until one answers, and a second one where one word is not enough.
//!
//! These functions are asynchronous but touch nothing: how a provider is asked is the caller's. The node asks over HTTP, the
//! simulator asks simulated nodes.

use super::{Providers, SendTally, Trouble};
use crate::{SendResponse, Simulation};
use alloy_primitives::B256;
use types::{Duration, Time};

/// Why a provider's answer cannot be used, and how long it wants to be left alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// What is wrong.
    pub trouble: Trouble,
    /// What it asked for, if it did.
    pub wait: Option<Duration>,
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, wait: None }
    }
}

/// Why a question has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unanswered {
    /// All providers rest.
    Resting,
    /// The last one that was asked has failed.
    Failed(Trouble),
    /// One has answered, and the one that should confirm it cannot be asked.
    Unconfirmed,
}

impl core::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Resting => f.write_str("all providers rest"),
            Self::Failed(trouble) => trouble.fmt(f),
            Self::Unconfirmed => f.write_str("no second provider confirms the answer"),
        }
    }
}

/// Where the state of a chain's providers is kept.
pub trait Panel {
    /// Looks at the providers, or changes them, now.
    fn with<R>(&self, look: impl FnOnce(&mut Providers, Time) -> R) -> R;
}

/// Asks one provider, and remembers how it fared.
async fn one<T>(
    panel: &impl Panel,
    index: usize,
    asked: impl Future<Output = Result<T, Failed>>,
) -> Result<T, Trouble> {
    let answer = asked.await;
    #[cfg(feature = "bugs")]
    if panel.with(|providers, _| providers.makes(crate::Mistake::ProviderErrorIsFinal)) {
        return answer.map_err(|failed| failed.trouble);
    }
    panel.with(|providers, now| match answer {
        Ok(answer) => {
            providers.succeeded(index);
            Ok(answer)
        }
        Err(Failed { trouble, wait }) => {
            providers.failed(index, trouble.clone(), wait, now);
            Err(trouble)
        }
    })
}

/// Asks one after the other until one answers, and says which.
pub async fn first<T, F>(panel: &impl Panel, ask: impl Fn(usize) -> F) -> Result<(usize, T), Unanswered>
where
    F: Future<Output = Result<T, Failed>>,
{
    let mut why = Unanswered::Resting;
    for index in panel.with(|providers, now| providers.order(now)) {
        match one(panel, index, ask(index)).await {
            Ok(answer) => return Ok((index, answer)),
            Err(trouble) => why = Unanswered::Failed(trouble),
        }
        #[cfg(feature = "bugs")]
        if panel.with(|providers, _| providers.makes(crate::Mistake::ProviderErrorIsFinal)) {
            break;
        }
    }
    Err(why)
}

/// Asks until one answers, and a second one if the answer `needs` it; `merge` makes one of two, if they agree on anything.
pub async fn confirmed<T, F>(
    panel: &impl Panel,
    ask: impl Fn(usize) -> F,
    needs: impl Fn(&T) -> bool,
    merge: impl Fn(T, &T) -> Option<T>,
) -> Result<T, Unanswered>
where
    F: Future<Output = Result<T, Failed>>,
{
    let (index, answer) = first(panel, &ask).await?;
    if !needs(&answer) {
        return Ok(answer);
    }
    // One that cannot say, now or ever, need not be waited for.
    let mut lacks = false;
    for other in panel.with(|providers, now| providers.others(index, now)) {
        match one(panel, other, ask(other)).await {
            Ok(other) => return merge(answer, &other).ok_or(Unanswered::Unconfirmed),
            Err(trouble) => lacks |= trouble.is_a_lack(),
        }
    }
    let alone = lacks || panel.with(|providers, now| providers.is_alone(index, now));
    if alone { Ok(answer) } else { Err(Unanswered::Unconfirmed) }
}

/// Of two simulations of one call, one of which fails it: it fails only if both say so.
pub fn milder(first: Simulation, second: &Simulation) -> Option<Simulation> {
    Some(if matches!(second, Simulation::Reverted { .. }) { first } else { second.clone() })
}

/// Hands bytes to one provider after the other until one has them.
pub async fn send<F>(panel: &impl Panel, hash: B256, ask: impl Fn(usize) -> F) -> SendResponse
where
    F: Future<Output = Result<SendResponse, Failed>>,
{
    let (mut tally, mut last) = (SendTally::new(hash), 0);
    for index in panel.with(|providers, now| providers.order(now)) {
        last = index;
        let own_hash = async {
            let answer = ask(index).await;
            #[cfg(feature = "bugs")]
            let trusts = panel.with(|providers, _| providers.makes(crate::Mistake::TrustAnyHash));
            #[cfg(feature = "bugs")]
            let answer = answer.map(|answer| match answer {
                SendResponse::Hash(_) if trusts => SendResponse::Hash(hash),
                other => other,
            });
            match answer {
                Ok(SendResponse::Hash(other)) if other != hash => {
                    let trouble = Trouble::Implausible(format!("it took {hash} and answered {other}"));
                    Err(trouble.into())
                }
                answer => answer,
            }
        };
        let answer = match one(panel, index, own_hash).await {
            Ok(answer) => answer,
            Err(trouble) => response(&trouble),
        };
        if tally.add(answer) {
            break;
        }
        #[cfg(feature = "bugs")]
        if panel.with(|providers, _| providers.makes(crate::Mistake::ProviderErrorIsFinal)) {
            break;
        }
    }
    tally.finish(panel.with(|providers, now| providers.is_alone(last, now)))
}

/// A provider's trouble as an answer to a send. Only what says that nothing was taken is more than silence.
fn response(trouble: &Trouble) -> SendResponse {
    let refused = |http_status, code, message: &str| SendResponse::Error {
        http_status,
        code,
        message: message.to_owned(),
    };
    match trouble {
        Trouble::Disconnected => SendResponse::Disconnected,
        Trouble::RateLimited(why) => refused(Some(429), None, why),
        Trouble::Full(why) => refused(None, Some(-32000), why),
        Trouble::Status(status) => refused(Some(*status), None, "HTTP error"),
        _ => SendResponse::TimedOut,
    }
}
