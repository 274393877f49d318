//! Callers who wait: for a request to leave, or for a hash that is the only answer they know.
//!
//! Such a caller has no name to come back with. So an error must not leave a request behind that is sent later: a request
//! that cannot be sent in time is withdrawn, and the error is answered when that is durable.

use super::{Done, Error, ErrorKind, Sender, Sending, Transaction, TransactionRequest, requests::fresh_id};
use sender_model::{Account, AccountId, CommandKind, Held, RequestId, State, Subject};
use std::time::Duration;
use tokio::time::Instant;

/// How often a request that is waited for is looked at without being told.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long a withdrawal may take: as long as another process needs to take the account over, and some more.
const WITHDRAWAL: Duration = Duration::from_secs(30);

impl Sender {
    /// Accepts a request and waits until its bytes are durable, so that it has a hash, or it has ended. One that waits for
    /// something, or for too long, is withdrawn. When this is an error nothing is sent later, except where
    /// [`ErrorKind::Unknown`] says so. It is finished even if the caller has gone.
    pub async fn send(
        &self,
        mut submission: TransactionRequest,
        patience: Duration,
    ) -> Result<Sending, Error> {
        if self.shared.is_stopping() {
            return Err(Error::Stopping);
        }
        let id = match submission.key.take() {
            Some(key) => key,
            None => fresh_id(self.shared.now())?,
        };
        submission.key = Some(id.clone());
        let (sender, named) = (self.clone(), id.clone());
        let sending =
            tokio::spawn(async move { sender.send_or_withdraw(&named, submission, patience).await });
        sending.await.map_err(|_| Error::uncertain(&id, &Error::Stopping))?
    }

    async fn send_or_withdraw(
        &self,
        id: &RequestId,
        submission: TransactionRequest,
        patience: Duration,
    ) -> Result<Sending, Error> {
        let deadline = Instant::now() + patience;
        // The name makes it safe to ask again until it is known whether the request was accepted.
        loop {
            match self.submit(submission.clone()).await {
                Err(why) if why.kind() == ErrorKind::Unknown && Instant::now() < deadline => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                taken => break drop(taken?),
            }
        }
        let mut stopping = self.shared.stopping.subscribe();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
            let waited = tokio::select! {
                waited = self.settled(id, left) => waited,
                () = stopped => Err(Error::Stopping),
            };
            let (account, held) = match waited {
                Ok(transaction) if is_settled(&transaction) => return Ok(Sending::Settled(transaction)),
                Ok(transaction) => (transaction.request.account, transaction.request.state.held()),
                // What became of it is asked again when it is withdrawn.
                Err(_) => return self.withdraw(id, None).await,
            };
            if left.is_zero() {
                return self.withdraw(id, held).await;
            }
            if held.is_some()
                && let Some(held) = self.verdict(account, id, held).await
            {
                return self.withdraw(id, Some(held)).await;
            }
            tokio::time::sleep(LOOK_AGAIN.min(left)).await;
        }
    }

    /// Why a request is held, judged by what its account has seen since it was accepted; none if that is not known yet.
    async fn verdict(&self, account: AccountId, id: &RequestId, held: Option<Held>) -> Option<Held> {
        let id = id.clone();
        let asked = self.shared.ask(account, move |account, now| Ok(account.verdict(&id, now))).await;
        // If another process runs the account, what it has written counts.
        asked.ok().and_then(Result::ok).unwrap_or(held)
    }

    /// Ends a request of which nothing has left; one of which something has goes on. An error says that neither is known.
    async fn withdraw(&self, id: &RequestId, held: Option<Held>) -> Result<Sending, Error> {
        let deadline = Instant::now() + WITHDRAWAL;
        let (mut ordered, mut why) = (false, String::new());
        while Instant::now() < deadline && !(ordered && self.shared.is_stopping()) {
            why = match self.get(id).await {
                Ok(transaction) if transaction.request.state == State::Cancelled => {
                    return Ok(Sending::Withdrawn { transaction, held });
                }
                Ok(transaction) if is_settled(&transaction) => return Ok(Sending::Settled(transaction)),
                Ok(_) if ordered => why,
                Ok(transaction) => match self.withdraw_once(transaction).await {
                    Ok(Done::Done) => continue,
                    Ok(Done::Ordered) => {
                        ordered = true;
                        "its withdrawal is left to the process that runs the account next".into()
                    }
                    Err(why) => why.to_string(),
                },
                Err(error @ Error::Forgotten(_)) => return Err(error),
                Err(why) => why.to_string(),
            };
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err(Error::uncertain(id, &why))
    }

    /// Has the owner withdraw a request, or leaves a command for whoever owns the account next.
    async fn withdraw_once(&self, transaction: Transaction) -> Result<Done, Error> {
        let (request, id) = (transaction.request.clone(), transaction.request.id.clone());
        let (account, kind) = (request.account, CommandKind::Withdraw(id.clone()));
        let withdraw = move |account: &mut Account, now| {
            // It may have been accepted a moment ago.
            account.admit(request);
            account.withdraw(&id, now)
        };
        match self.order(account, withdraw, kind.clone()).await {
            Ok(done) => Ok(if done.is_some() { Done::Done } else { Done::Ordered }),
            // The account is not run here any more. Its next owner finds the command before it sends anything.
            Err(Error::Stopping) => self.command(account, kind).await.map(|()| Done::Ordered),
            Err(error) => Err(error),
        }
    }

    /// Waits until a request has been handed to a node, is held, or has ended; or until the time is over. The state then.
    pub async fn settled(&self, id: &RequestId, patience: Duration) -> Result<Transaction, Error> {
        let mut events = self.subscribe();
        let deadline = Instant::now() + patience;
        loop {
            let transaction = self.get(id).await?;
            let waits = match transaction.request.state {
                State::Accepted { held } => held.is_none(),
                State::Bound { .. } => true,
                _ => false,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if !waits || left.is_zero() {
                return Ok(transaction);
            }
            let told = async {
                // A reader that has lost some looks again.
                while let Ok(event) = events.recv().await {
                    if event.subject == Subject::Request(id.clone()) {
                        return;
                    }
                }
            };
            // Being held is no event of the request.
            let _told = tokio::time::timeout(left.min(LOOK_AGAIN), told).await;
        }
    }
}

/// Whether a request that was waited for has its answer. Request and attempts are read one after the other, so that one
/// which was settled in between shows no attempt: it is read again.
fn is_settled(transaction: &Transaction) -> bool {
    match transaction.request.state {
        State::Accepted { .. } => false,
        _ => transaction.request.state.is_terminal() || transaction.hash().is_some(),
    }
}
