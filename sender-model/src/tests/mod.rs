//! Tests of the model: the table of answers, the fee rule, and the life of requests step by step.

mod classify;
mod dependents;
mod events;
mod fees;
mod harness;
mod life;
mod markets;
mod nonces;
mod withdraw;

pub(crate) use harness::{account_id, attempt, id, new_request, plain, request};
