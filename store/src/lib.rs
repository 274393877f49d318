//! The durable memory of a node, in one file.

#[cfg(feature = "faults")]
pub mod faults;

mod base;
mod batch;
mod body;
mod check;
mod checkpoint;
mod commit;
mod engine;
mod error;
mod finality;
mod identity;
mod logs;
mod medium;
mod options;
mod reader;
mod receipts;
mod recover;
mod states;
mod store;
mod tables;
mod tools;
mod values;

pub use base::{Base, CodeTable};
pub use batch::{Batch, Checkpoint, Unfinished};
pub use error::{Retry, StoreError};
pub use logs::{FoundLog, LogFilter};
pub use options::{Chain, Options};
pub use reader::{Ended, Reader};
pub use recover::Recovered;
pub use store::{Committed, Store};
pub use tools::{Stat, TableSize, compact, verify};

type Result<T, E = StoreError> = core::result::Result<T, E>;
