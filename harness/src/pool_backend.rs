//! A driver that has a pool and no chain: what is accepted waits there for ever.

use alloy_primitives::{Address, B256};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rpc::{Backend, Feed, Order, OrderError, PoolIndex, SendError};
use std::sync::Arc;
use txpool::{Account, Pool, SenderContent};
use types::{Time, Transaction};

/// A pool, and where readers find what is in it.
pub struct PoolBackend {
    pool: Mutex<Pool>,
    index: Arc<PoolIndex>,
    feed: Feed,
    orders: Mutex<Vec<Order>>,
}

impl PoolBackend {
    /// A driver for what `feed` shows.
    pub fn new(pool: Pool, index: Arc<PoolIndex>, feed: Feed) -> Self {
        Self { pool: Mutex::new(pool), index, feed, orders: Mutex::default() }
    }

    /// The orders so far.
    pub fn orders(&self) -> Vec<Order> {
        self.orders.lock().clone()
    }

    fn insert(&self, tx: Transaction) -> Result<B256, SendError> {
        let state = self.feed.snapshot().latest().state.clone();
        let account = state.account(tx.sender()).map_err(|why| SendError::Unavailable(why.to_string()))?;
        let account = account.unwrap_or_default();
        let account = Account { nonce: account.nonce, balance: account.balance, ..Account::default() };
        let (hash, sender) = (tx.hash(), tx.sender());
        let mut pool = self.pool.lock();
        pool.insert(tx.clone(), account, Time::ZERO)?;
        let events = pool.drain_events().collect::<Vec<_>>();
        self.index.insert(tx, Time::ZERO, true);
        self.index.set_next_nonce(sender, pool.next_nonce(&sender));
        drop(pool);
        self.index.note(&events, Time::ZERO);
        self.feed.tell(Time::ZERO, events);
        Ok(hash)
    }
}

impl Backend for PoolBackend {
    fn submit(&self, transactions: Vec<Transaction>) -> BoxFuture<'_, Vec<Result<B256, SendError>>> {
        let answers = transactions.into_iter().map(|tx| self.insert(tx)).collect();
        Box::pin(std::future::ready(answers))
    }

    fn content(&self, sender: Option<Address>) -> BoxFuture<'_, Vec<SenderContent>> {
        let pool = self.pool.lock();
        let content = match sender {
            Some(sender) => vec![pool.content_of(&sender)],
            None => pool.content(),
        };
        Box::pin(std::future::ready(content))
    }

    /// A second after the newest block: recorded chains stand in the past.
    fn now(&self) -> Time {
        Time::from_secs(self.feed.snapshot().latest().header().timestamp + 1)
    }

    fn refresh(&self) -> std::sync::mpsc::Receiver<()> {
        std::sync::mpsc::channel().1
    }

    fn order(&self, order: Order) -> BoxFuture<'_, Result<u64, OrderError>> {
        self.orders.lock().push(order);
        Box::pin(std::future::ready(match order {
            Order::Release { block: 0 } => Err(OrderError("the genesis cannot be released".to_owned())),
            _ => Ok(0),
        }))
    }
}
