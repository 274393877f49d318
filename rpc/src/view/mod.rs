//! How things look in JSON: the fields of go-ethereum, in its notation.
//!
//! Why not `alloy-rpc-types-eth`: its header cannot leave `hash` and `nonce` null, as they are in the open block
//! (`pending`), and its types own what they show, so an answer would first copy every transaction of a block. These views borrow.
//! alloy as a client reads them in a test (`clients::alloy`), so both agree on every field that they share.

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
