//! Doing what the model says: each action becomes a question with a time limit, whose answer comes back as a [`Reply`].

use super::Worker;
use crate::{
    signer::{Signer, SignerError},
    target::Target,
    transaction,
};
use alloy_primitives::B256;
use sender_model::{
    AccountId, Action, BlockCheck, Draft, Identified, Nonce, ReceiptAnswer, RequestId, SendResponse, Signed,
    Simulation, Ticket, View,
};
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// An answer.
pub(super) enum Reply {
    Look(Option<View>),
    Simulated(RequestId, Simulation),
    Signed(Ticket, Result<Signed, SignerError>),
    Sent(Nonce, B256, SendResponse),
    Receipts(Nonce, Vec<(B256, ReceiptAnswer)>),
    Block(Option<BlockCheck>),
    Identified(Nonce, Identified),
}

/// A question that is being asked.
pub(super) type Asking = Pin<Box<dyn Future<Output = Reply> + Send>>;

impl Worker {
    /// Begins an action.
    pub(super) fn perform(&self, action: Action) -> Asking {
        let target = self.target.clone();
        let (patience, account) = (Duration::from_millis(self.shared.config.answer_ms), self.id);
        match action {
            Action::FetchView { known } => Box::pin(async move {
                let view = within(patience, target.view(account.address, known)).await;
                Reply::Look(told(account, view))
            }),
            Action::Simulate { id, intent, before } => Box::pin(async move {
                let before: Vec<_> = before.into_iter().map(|(_, intent)| intent).collect();
                let simulated = within(patience, target.simulate(account.address, &intent, &before)).await;
                Reply::Simulated(id, simulated.unwrap_or(Simulation::Error))
            }),
            Action::Sign(draft) => sign(account, self.shared.keys.signer(account.address), draft, patience),
            Action::Send { nonce, hash, bytes } => Box::pin(async move {
                let answer = within(patience, target.send(account.address, hash, bytes)).await;
                Reply::Sent(nonce, hash, answer.unwrap_or(SendResponse::TimedOut))
            }),
            Action::Receipts { nonce, hashes } => receipts(target, nonce, hashes, patience),
            Action::CheckBlock(number) => Box::pin(async move {
                Reply::Block(told(account, within(patience, target.check_block(number)).await))
            }),
            Action::Identify { nonce, from } => Box::pin(async move {
                let found = within(patience, target.identify(account.address, nonce, from)).await;
                Reply::Identified(nonce, told(account, found).unwrap_or(Identified::Unknown))
            }),
        }
    }
}

fn sign(
    account: AccountId,
    signer: Option<Arc<dyn Signer>>,
    draft: Box<Draft>,
    patience: Duration,
) -> Asking {
    Box::pin(async move {
        let ticket = draft.ticket;
        let signed = match signer {
            None => Err(SignerError::NoKey(account.address)),
            Some(signer) => {
                let signing = transaction::sign(&*signer, account.chain_id, &draft);
                within(patience, signing)
                    .await
                    .unwrap_or_else(|| Err(SignerError::Unavailable("it takes too long".into())))
            }
        };
        if let Err(why) = &signed {
            tracing::warn!(%account, %why, "Sender: not signed");
        }
        Reply::Signed(ticket, signed)
    })
}

fn receipts(target: Arc<dyn Target>, nonce: Nonce, hashes: Vec<B256>, patience: Duration) -> Asking {
    Box::pin(async move {
        let answers = within(patience, target.receipts(hashes.clone())).await;
        let silence = || hashes.into_iter().map(|hash| (hash, ReceiptAnswer::Error)).collect();
        Reply::Receipts(nonce, answers.unwrap_or_else(silence))
    })
}

/// The answer, if it comes in time.
async fn within<T>(patience: Duration, asked: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(patience, asked).await.ok()
}

/// What was answered; a word to the log if nothing was.
fn told<T>(account: AccountId, answer: Option<Result<T, crate::target::TargetError>>) -> Option<T> {
    match answer {
        Some(Ok(value)) => Some(value),
        Some(Err(why)) => {
            tracing::debug!(%account, %why, "Sender: no answer");
            None
        }
        None => {
            tracing::debug!(%account, "Sender: no answer in time");
            None
        }
    }
}
