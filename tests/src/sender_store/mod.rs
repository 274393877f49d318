//! The sender's stores: one suite for all of them, a real Redis server to run it against, and what a sync is worth.

#![allow(clippy::unwrap_used, reason = "a check that cannot go on has failed")]

pub mod bench;
pub mod conformance;
pub mod twins;

use alloy_primitives::{Address, keccak256};
use sender_model::{AccountId, Commit, Config, Decision, Intent, NewRequest, accept};
use types::Time;

/// The account of the checks.
pub fn account() -> AccountId {
    AccountId { chain_id: 1337, address: Address::repeat_byte(0xcc) }
}

/// The commit by which a request of this name is accepted: a transfer, one webhook endpoint.
pub fn acceptance(name: &str) -> Commit {
    let new = NewRequest {
        id: name.parse().expect("a name of letters and digits"),
        account: account(),
        intent: Intent { to: Some(Address::repeat_byte(0xdd)), ..Intent::default() },
        body: keccak256(name.as_bytes()),
        expires_at: None,
        options: Default::default(),
    };
    let config = Config { endpoints: vec!["one".into()], ..Config::default() };
    match accept::decide(new, None, 0, &config, Time::from_millis(1)) {
        Ok(Decision::New(_, commit)) => commit,
        other => panic!("a new request is accepted, not {other:?}"),
    }
}
