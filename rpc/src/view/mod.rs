//! How things look in JSON: the fields of go-ethereum, in its notation.

mod block;
mod event;
mod log;
mod receipt;
mod transaction;

pub(crate) use block::{BlockView, HeaderView};
pub(crate) use event::{PendingView, event};
pub(crate) use log::LogView;
pub(crate) use receipt::receipts;
pub(crate) use transaction::{Mined, TransactionView};
