//! The pool beside a model that keeps one plain list and looks everything up by searching it.
//!
//! The model knows exactly which transactions are in, which are in a block, which ended and why, which the builder gets
//! next, and whether, with which words and at whose expense a new one comes in. Which of the executable ones are pending
//! and which wait because pending is full it takes from the events, and checks that the rules allow it. Where the two
//! differ it panics. Property tests walk through it, and fuzzing does.

mod check;
pub(crate) mod draft;
mod expect;
mod look;
mod operate;

use crate::{Account, Code, Config, Error, Head, Pool, Status};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use draft::{Draft, GWEI, sender};
use std::collections::{BTreeMap, BTreeSet};
use types::{BlockId, Duration, Reason, Time, Transaction};

/// Senders that there are; an operation names one by a number below.
pub const SENDERS: u8 = 5;
const TTL_MS: u64 = 100;

/// What can happen to a pool.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A transaction comes.
    Insert {
        /// Whose.
        sender: u8,
        /// So many nonces above the one before the account's.
        ahead: u64,
        /// Gwei for the builder.
        tip: u128,
        /// Gwei at most; no less than the tip.
        fee: u128,
        /// Bytes of calldata.
        data: usize,
        /// Whose code it sets, if anybody's.
        authority: Option<u8>,
    },
    /// One that is known comes again.
    InsertKnown(usize),
    /// The builder takes the best.
    Pull {
        /// How many.
        count: usize,
        /// What it does with each.
        then: Then,
    },
    /// The builder begins anew.
    Rewind,
    /// What is open becomes a block.
    Seal,
    /// The oldest block is final.
    Final,
    /// The newest blocks are released.
    Release {
        /// How many.
        blocks: usize,
        /// Whether the lowest of them is to blame.
        accuse: bool,
    },
    /// Milliseconds pass.
    Pass(u64),
    /// What is too old goes.
    Cleanup,
    /// An account has so much now.
    Balance {
        /// Whose.
        sender: u8,
        /// Thousandths of an ether.
        thousandths: u64,
    },
    /// Somebody else used nonces of an account.
    Nonce {
        /// Whose.
        sender: u8,
        /// How many.
        by: u64,
    },
    /// An account has code now, or none.
    Code {
        /// Whose.
        sender: u8,
        /// Whether it has.
        delegated: bool,
    },
    /// The base fee is so many gwei now.
    BaseFee(u64),
    /// The operator removes one.
    Remove(usize),
    /// A sender has a limit of its own.
    Limit {
        /// Whose.
        sender: u8,
        /// Transactions at most.
        max: usize,
    },
    /// A new pool takes over.
    Restart,
}

/// What the builder does with what it is handed.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// It puts it into the open block.
    Open,
    /// It finds that it cannot be executed.
    Invalid,
    /// It leaves it.
    Nothing,
}

/// Limits so small that every one of them is met.
pub fn limits(pending_max: usize, queued_max: usize, sender_txs_max: usize, pool_bytes_max: usize) -> Config {
    Config {
        pending_max,
        queued_max,
        sender_txs_max,
        pool_bytes_max,
        ttl: Duration::from_millis(TTL_MS),
        tx_bytes_max: 1_200,
        nonce_gap_max: 3,
        lone_failures_max: 2,
        ..Config::default()
    }
}

/// One transaction, as the model sees it.
#[derive(Clone, Debug)]
struct Item {
    tx: Transaction,
    status: Status,
    arrival: u64,
    added_at: Time,
    attempts: u32,
    lone_failures: u32,
    returned: bool,
}

impl Item {
    fn pooled(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Queued)
    }

    fn tip(&self, head: Head) -> u128 {
        let room = self.tx.max_fee_per_gas().saturating_sub(head.base_fee_wei.into());
        self.tx.max_priority_fee_per_gas().expect("all are dynamic").min(room)
    }

    fn price(&self, head: Head) -> u128 {
        let tip = self.tx.max_priority_fee_per_gas().expect("all are dynamic");
        self.tx.max_fee_per_gas().min(tip + u128::from(head.base_fee_wei))
    }

    fn is(&self, who: Address, nonce: u64) -> bool {
        self.tx.sender() == who && self.tx.nonce() == nonce
    }
}

/// A pool, and the plain list of what must be in it.
pub struct Model {
    pool: Pool,
    config: Config,
    head: Head,
    now: Time,
    accounts: BTreeMap<Address, Account>,
    limits: BTreeMap<Address, usize>,
    items: Vec<Item>,
    accepted: BTreeSet<B256>,
    finals: BTreeSet<B256>,
    ended: BTreeMap<B256, Reason>,
    /// Nonces below were handed to the builder in this round; and whether one of them was invalid.
    handed: BTreeMap<Address, (u64, bool)>,
    open: Vec<Transaction>,
    /// Nonces that the open block took of others than its senders.
    consumed: BTreeMap<Address, u64>,
    blocks: Vec<(BlockId, Vec<Transaction>, BTreeMap<Address, Account>)>,
    sealed: u64,
    arrivals: u64,
}

impl Model {
    /// An empty pool.
    pub fn new(config: Config) -> Self {
        let head = Head { base_fee_wei: GWEI as u64, gas_limit: 30_000_000 };
        let account = Account { nonce: 3, balance: ether(15), code: Code::None };
        Self {
            pool: Pool::new(config.clone(), head),
            config,
            head,
            now: Time::from_millis(1_000),
            accounts: (0..SENDERS).map(|n| (sender(n), account)).collect(),
            limits: BTreeMap::new(),
            items: vec![],
            accepted: BTreeSet::new(),
            finals: BTreeSet::new(),
            ended: BTreeMap::new(),
            handed: BTreeMap::new(),
            open: vec![],
            consumed: BTreeMap::new(),
            blocks: vec![],
            sealed: 0,
            arrivals: 0,
        }
    }

    /// Does it to the pool and to the list, and compares them.
    pub fn apply(&mut self, op: Op) {
        match op {
            Op::Insert { sender: n, ahead, tip, fee, data, authority } => {
                let who = sender(n);
                let authorities = authority.map(sender).into_iter().collect();
                let nonce = self.accounts[&who].nonce.saturating_sub(1) + ahead;
                let (tip, fee) = (tip * GWEI, fee * GWEI);
                self.insert(&Draft { sender: who, nonce, tip, fee, value: 1, data, authorities }.make());
            }
            Op::InsertKnown(n) => {
                if let Some(item) = self.items.get(n % self.items.len().max(1)) {
                    let (tx, account) = (item.tx.clone(), self.accounts[&item.tx.sender()]);
                    assert_eq!(self.pool.insert(tx, account, self.now), Err(Error::AlreadyKnown));
                }
            }
            Op::Pull { count, then } => (0..count).for_each(|_| self.pull(then)),
            Op::Rewind => {
                self.pool.rewind();
                self.handed.clear();
            }
            Op::Seal => self.seal(),
            Op::Final => self.finalize(),
            Op::Release { blocks, accuse } => self.release(blocks, accuse),
            Op::Pass(ms) => self.now = self.now + Duration::from_millis(ms),
            Op::Cleanup => self.cleanup(),
            Op::Balance { sender: n, thousandths } => {
                self.change(sender(n), |account| account.balance = ether(thousandths));
            }
            Op::Nonce { sender: n, by } => {
                // Somebody else uses nonces only of those who have none of theirs in a block.
                if !self.items.iter().any(|item| item.tx.sender() == sender(n) && !item.pooled()) {
                    self.change(sender(n), |account| account.nonce += by);
                }
            }
            Op::Code { sender: n, delegated } => self.change(sender(n), |account| {
                account.code = if delegated { Code::Delegated } else { Code::None };
            }),
            Op::BaseFee(gwei) => {
                self.head.base_fee_wei = gwei * GWEI as u64;
                self.update(&[]);
            }
            Op::Remove(n) => self.remove(n),
            Op::Limit { sender: n, max } => {
                self.limits.insert(sender(n), max);
                self.pool.set_limit(sender(n), max);
            }
            Op::Restart => self.restart(),
        }
        self.check();
    }
}

/// So many thousandths of an ether.
fn ether(thousandths: u64) -> U256 {
    U256::from(thousandths) * U256::from(1_000_000 * GWEI)
}
