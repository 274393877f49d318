//! The driver as RPC sees it: messages to its thread.

use super::{driving::Command, writer::WriterHealth};
use alloy_primitives::{Address, B256};
use clock::SystemClock;
use driver::{CodeStatus, Responder};
use futures_util::{FutureExt, future::BoxFuture};
use rpc::{Order, OrderError, SendError};
use std::sync::mpsc::{self, Sender};
use tokio::sync::oneshot;
use tracing::Span;
use txpool::SenderContent;
use types::{Time, Transaction};

/// Sends commands to the driver's thread.
#[derive(Clone, Debug)]
pub(crate) struct Gateway {
    pub(crate) commands: Sender<Command>,
    pub(crate) health: WriterHealth,
    pub(crate) clock: SystemClock,
}

const STOPPED: &str = "it is shutting down";

impl Gateway {
    /// Leaves a word for the driver's thread; it is gone only when the node shuts down.
    pub(crate) fn tell(&self, command: Command) {
        drop(self.commands.send(command));
    }

    /// The service's code, and where an order of its owner could go; nothing while the node shuts down.
    pub(crate) async fn code(&self) -> Option<CodeStatus> {
        let (answer, status) = oneshot::channel();
        self.tell(Command::Code(answer));
        status.await.ok()
    }

    /// Why nothing can be accepted now, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.health.trouble()
    }

    fn unavailable<T: Clone>(count: usize, why: &str) -> Vec<Result<T, SendError>> {
        vec![Err(SendError::Unavailable(why.to_owned())); count]
    }
}

impl rpc::Backend for Gateway {
    fn submit(&self, transactions: Vec<Transaction>) -> BoxFuture<'_, Vec<Result<B256, SendError>>> {
        let count = transactions.len();
        async move {
            if let Some(trouble) = self.health.trouble() {
                return Self::unavailable(count, &trouble);
            }
            let (sender, answer) = oneshot::channel();
            let span = Span::current();
            let durable = span.clone();
            let responder = Responder::new(move |results| {
                tracing::debug!(target: "rpc", parent: &durable, "durable");
                // The client may be gone by then.
                drop(sender.send(results));
            });
            if self.commands.send(Command::Submit { transactions, responder, span }).is_err() {
                return Self::unavailable(count, STOPPED);
            }
            match answer.await {
                Ok(results) => results.into_iter().map(|result| result.map_err(SendError::from)).collect(),
                Err(_) => Self::unavailable(count, STOPPED),
            }
        }
        .boxed()
    }

    fn content(&self, sender: Option<Address>) -> BoxFuture<'_, Vec<SenderContent>> {
        async move {
            let (answer, content) = oneshot::channel();
            drop(self.commands.send(Command::Content(sender, answer)));
            content.await.unwrap_or_default()
        }
        .boxed()
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn refresh(&self) -> mpsc::Receiver<()> {
        let (done, is_done) = mpsc::channel();
        // The reader may have given up by then.
        self.tell(Command::Show(Responder::new(move |_| {
            let _ = done.send(());
        })));
        is_done
    }

    fn order(&self, order: Order) -> BoxFuture<'_, Result<u64, OrderError>> {
        async move {
            let (answer, done) = oneshot::channel();
            drop(self.commands.send(Command::Order(order, answer)));
            done.await.unwrap_or_else(|_| Err(OrderError(STOPPED.to_owned())))
        }
        .boxed()
    }
}
