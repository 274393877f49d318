//! txpool

mod account;
mod blocks;
mod config;
mod content;
mod counts;
mod entry;
mod error;
mod evict;
mod gas;
mod insert;
mod order;
mod pool;
mod recover;
mod refresh;
mod sender;
mod update;
mod validate;

#[cfg(test)]
mod tests;

pub use account::{Account, Code, Head, StateChange};
pub use blocks::{Returned, Verdict};
pub use config::Config;
pub use content::SenderContent;
pub use counts::{Stats, Totals};
pub use entry::{Lookup, Status};
pub use error::{Advice, Error};
pub use insert::Inserted;
pub use order::{Best, Candidate};
pub use pool::Pool;
pub use recover::{Rules, recover};
