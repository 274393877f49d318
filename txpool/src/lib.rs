//! The transaction pool: what was accepted waits here, in the order in which it will be built into blocks, and stays
//! known until it is final or has ended for a reason.
//!
//! ```text
//!  bytes --recover--> Transaction --insert--> QUEUED <--promoted/demoted--> PENDING --best, mark_open--> OPEN
//!         (no lock)        |                     ^                             ^                          |
//!                          v                     |                             |                    mark_bundled
//!                       refused                  +----------- reinsert --------+------------------+       |
//!                      with words                             (release)                           |       v
//!                                                                                                 +--- BUNDLED
//!  QUEUED, PENDING --> ended: replaced, evicted, expired, dropped(reason)                                 |
//!                                                                                                    mark_final
//!                                                                                                         v
//!                                                                                                       final
//! ```
//!
//! * **Pending** can be executed now: its nonces follow the account's without a gap, its sender can pay for it after
//!   all that comes before, it pays the base fee. **Queued** cannot, or found pending full. Queued ones that only the base
//!   fee keeps from being pending are [shown](Status::BelowBaseFee) apart, and become pending when it falls. **Open** is in
//!   the block that is being built, **bundled** in a sealed one that is not final. Each transaction is in one of them:
//!   `accepted = final ⊎ bundled ⊎ open ⊎ pending ⊎ queued ⊎ ended with a reason`.
//! * **Pure.** No clock, no I/O, no lock: time, accounts and the next block's base fee are arguments. Signatures are
//!   recovered before, by [`recover`] or, many at once and cheaper, by [`recover_all`].
//! * **Order** ([`Pool::best`]): effective tip, each sender's nonces in order, ties by arrival, suspects last. The pool
//!   remembers what was handed out, so the builder stops and goes on while inserts happen.
//! * **Blocks.** What is in a block can neither be replaced nor evicted nor expire, is "already known", and counts for
//!   [`Pool::next_nonce`]. [`Pool::reinsert`] puts the transactions of released blocks back: no limit drops them, and
//!   what made a block fail ends up alone and then [poisonous](types::Reason::Poisonous).
//! * **Throttling** ([`Pool::throttle`]): a sender whose transaction was executed for nothing waits, each time twice as long.
//! * **Limits** ([`Config`]): 1,000 pending, 1,000 queued, 16 per sender, one hour, 1 gwei, 32 KB per transaction, a byte
//!   budget for all, 64 nonces ahead. A full pool gives up the cheapest for what pays more, of equally cheap ones the largest
//!   sender's last; what cannot be executed never displaces what can.
//! * **Errors** ([`Error`]) have the words, details and codes of go-ethereum, in the order of its checks, and say what the
//!   caller may do ([`Advice`]).
//! * **Events** ([`types::Event`]), to be [drained](Pool::drain_events) after every call, tell all of this as it happens.
//!
//! Inside, one list per sender holds its transactions by nonce; two hash maps find a sender and a transaction, a heap
//! holds one transaction of each sender, and that is all an insert touches. The indices for eviction exist only while
//! the pool is nearly full. Nothing is ever searched through, except all senders when the base fee changes.
//!
//! ```
//! use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope, crypto::secp256k1};
//! use alloy_eips::eip2718::Encodable2718;
//! use alloy_primitives::{Address, B256, TxKind, U256};
//! use txpool::{Account, Config, Error, Head, Pool, Status, recover};
//! use types::{BlockId, Time};
//!
//! let tx = TxEip1559 {
//!     chain_id: 732846,
//!     gas_limit: 21_000,
//!     max_fee_per_gas: 2_000_000_000,
//!     max_priority_fee_per_gas: 1_000_000_000,
//!     to: TxKind::Call(Address::repeat_byte(1)),
//!     ..TxEip1559::default()
//! };
//! let signature = secp256k1::sign_message(B256::repeat_byte(7), tx.signature_hash())?;
//! let bytes = TxEnvelope::from(tx.into_signed(signature)).encoded_2718();
//!
//! let head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };
//! let mut pool = Pool::new(Config::default(), head);
//! let tx = recover(bytes.into(), &pool.rules())?;
//! let account = Account { balance: U256::from(10_u64.pow(18)), ..Account::default() };
//!
//! pool.insert(tx.clone(), account, Time::ZERO)?;
//! assert_eq!(pool.insert(tx.clone(), account, Time::ZERO), Err(Error::AlreadyKnown));
//!
//! // The builder takes the best, executes it, and at last seals the block.
//! let best = pool.best().next().expect("one is pending");
//! assert_eq!((best.tx.hash(), best.tip_wei), (tx.hash(), 1_000_000_000));
//! pool.mark_open(&tx.hash());
//! let block = BlockId::new(1, B256::repeat_byte(2));
//! pool.mark_bundled(block, [&tx]);
//! assert_eq!(pool.get(&tx.hash()).expect("it is known").status, Status::Bundled(block));
//! assert_eq!(pool.next_nonce(&tx.sender()), Some(1));
//! assert_eq!(pool.mark_final(block), 1);
//! assert_eq!(pool.drain_events().count(), 3); // added, bundled, final
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod authorities;
mod below;
mod block_table;
mod blocks;
mod config;
mod consumed;
mod content;
mod counts;
mod entry;
mod error;
mod events;
mod evict;
mod eviction;
mod expiry;
mod gas;
mod insert;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod order;
mod pool;
mod recover;
mod refresh;
mod sender;
mod senders;
mod throttle;
mod update;
mod validate;
mod waiting;

#[cfg(test)]
mod tests;

pub use account::{Account, Code, Head, StateChange};
pub use blocks::{Returned, Verdict};
pub use config::Config;
pub use content::SenderContent;
pub use counts::{Stats, Totals};
pub use entry::{Lookup, Status};
pub use error::{Advice, Error};
pub use gas::{INITCODE_BYTES_MAX, TX_GAS_MAX};
pub use insert::Inserted;
pub use order::{Best, Candidate};
pub use pool::Pool;
pub use recover::{Rules, recover, recover_all};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "model")]
    "txpool/model",
];
