//! What RPC asks of the node's driver.

use alloy_primitives::{Address, B256};
use futures_util::future::BoxFuture;
use txpool::SenderContent;
use types::{Time, Transaction};

/// Why a transaction was not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// The pool refused it.
    #[error(transparent)]
    Refused(#[from] txpool::Error),
    /// The node takes nothing at the moment: it shuts down, or cannot write.
    #[error("the node does not accept transactions: {0}")]
    Unavailable(String),
}

/// What the operator orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Seal no more blocks.
    Pause,
    /// Seal again.
    Resume,
    /// Abandon this block and all after it; their transactions come back once it is certain that they are dead.
    Release {
        /// The block's number.
        block: u64,
    },
    /// Drop a sender's pending and queued transactions.
    Flush {
        /// The sender.
        sender: Address,
    },
    /// Seal the open block now.
    Seal,
}

/// An order was not carried out, for this reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct OrderError(pub String);

/// The driver, as RPC sees it. Each call is a message to its loop; none holds a lock that the loop needs.
pub trait Backend: Send + Sync + 'static {
    /// Offers transactions to the pool, in order. The answer comes once all that were accepted are durable; there is
    /// one for each, in the same order.
    fn submit(&self, transactions: Vec<Transaction>) -> BoxFuture<'_, Vec<Result<B256, SendError>>>;

    /// What the pool holds: of one sender, or of all.
    fn content(&self, sender: Option<Address>) -> BoxFuture<'_, Vec<SenderContent>>;

    /// The time that the next block would have if it were opened now.
    fn now(&self) -> Time;

    /// Asks for a snapshot that shows every transaction that was accepted before this call. The channel says so, or is
    /// closed, when it has been published.
    fn refresh(&self) -> std::sync::mpsc::Receiver<()>;

    /// Carries out an order. The answer says in how many things it resulted, such as transactions dropped.
    fn order(&self, order: Order) -> BoxFuture<'_, Result<u64, OrderError>>;
}
