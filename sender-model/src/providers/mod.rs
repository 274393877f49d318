//! The providers of a chain: which of them to ask, what their errors are about, and when one answer is not enough.
//!
//! A provider is a URL that may lead to one node, to many behind a balancer, to a cache, or to a web page that says
//! "upgrade your plan". So nothing that it answers is taken without two questions: is the answer about the *question*
//! (a revert, a nonce that is too low) or about the *provider* ([`Blame`])? And is it plausible, or does it need a second
//! provider's word ([`View::is_expected`](crate::View::is_expected), [`BlockCheck::claims_finality`](crate::BlockCheck::claims_finality))?
//!
//! [`Providers`] remembers how each of them fares, in pure data: time is an argument, and the I/O around it and the
//! simulator share every decision.

mod ask;
mod blame;
mod budget;
mod health;
mod tally;

pub use ask::{Failed, Panel, Unanswered, confirmed, first, milder, send};
pub use blame::{Blame, Question, Trouble, blame};
pub use health::{ProviderHealth, ProviderState, Providers};
pub use tally::SendTally;
