//! The names of rows. Numbers are written as fixed hexadecimal, so that rows sort as numbers do.
//!
//! ```text
//!   a/ACCOUNT                        the account: book, health        n/ACCOUNT/NONCE      one nonce
//!   r/REQUEST                        the request                      l/ACCOUNT/TIME/ID    requests that have not ended
//!   h/HASH                           attempt's hash -> request        t/TIME/ID            requests that have ended
//!   e/SUBJECT/SEQUENCE               event                            d/ACCOUNT/…          deliveries to be made
//!   c/ACCOUNT/TIME/ID                commands to be obeyed            x/ACCOUNT/…          dead letters
//!   w/ENDPOINT                       webhook endpoint                 g/GROUP              account group
//!   i/CHAIN                          a chain's first block            k/REQUEST            name of a forgotten request
//!   u/TIME/ID                        names of forgotten requests      m/CHAIN              a chain's settings
//! ```

use super::{AccountId, Nonce, RequestId, Subject, commit::Key};
use alloy_primitives::{B256, hex};
use types::Time;

/// The account's row.
pub fn account(id: AccountId) -> Key {
    format!("a/{id}")
}

/// All accounts.
pub fn accounts() -> Key {
    "a/".to_owned()
}

/// A nonce's row.
pub fn nonce(id: AccountId, nonce: Nonce) -> Key {
    format!("n/{id}/{nonce:016x}")
}

/// All nonces of an account.
pub fn nonces(id: AccountId) -> Key {
    format!("n/{id}/")
}

/// A request's row.
pub fn request(id: &RequestId) -> Key {
    format!("r/{id}")
}

/// A request that has not ended, in the order of acceptance.
pub fn live(account: AccountId, accepted_at: Time, id: &RequestId) -> Key {
    format!("l/{account}/{:016x}/{id}", accepted_at.as_millis())
}

/// All requests of an account that have not ended.
pub fn all_live(account: AccountId) -> Key {
    format!("l/{account}/")
}

/// The request that a live row names.
pub fn request_of_live(key: &str) -> Option<RequestId> {
    key.rsplit('/').next()?.parse().ok()
}

/// An attempt's hash.
pub fn hash(hash: B256) -> Key {
    format!("h/{}", hex::encode(hash))
}

/// A request that has ended, by the time of its end.
pub fn done(completed_at: Time, id: &RequestId) -> Key {
    format!("t/{:016x}/{id}", completed_at.as_millis())
}

/// All requests that have ended.
pub fn all_done() -> Key {
    "t/".to_owned()
}

/// What stays of a request that was forgotten.
pub fn used_name(id: &RequestId) -> Key {
    format!("k/{id}")
}

/// The name of a request that was forgotten, by the time of its end.
pub fn used(completed_at: Time, id: &RequestId) -> Key {
    format!("u/{:016x}/{id}", completed_at.as_millis())
}

/// All names of forgotten requests, in the order of their ends.
pub fn all_used() -> Key {
    "u/".to_owned()
}

/// The end that a row of [`all_done`] or [`all_used`] stands for.
pub fn time_of_end(key: &str) -> Option<Time> {
    u64::from_str_radix(key.split('/').nth(1)?, 16).ok().map(Time::from_millis)
}

/// An event.
pub fn event(subject: &Subject, sequence: u32) -> Key {
    format!("e/{subject}/{sequence:08x}")
}

/// All events of accounts.
pub fn account_events() -> Key {
    "e/a/".to_owned()
}

/// An event that an endpoint is to be told.
pub fn delivery(account: AccountId, subject: &Subject, sequence: u32, endpoint: &str) -> Key {
    format!("d/{account}/{subject}/{sequence:08x}/{endpoint}")
}

/// All deliveries of an account.
pub fn deliveries(account: AccountId) -> Key {
    format!("d/{account}/")
}

/// All deliveries of one subject's events.
pub fn deliveries_about(account: AccountId, subject: &Subject) -> Key {
    format!("d/{account}/{subject}/")
}

/// A delivery that was given up.
pub fn dead_letter(account: AccountId, subject: &Subject, sequence: u32, endpoint: &str) -> Key {
    format!("x/{account}/{subject}/{sequence:08x}/{endpoint}")
}

/// All dead letters.
pub fn all_dead_letters() -> Key {
    "x/".to_owned()
}

/// All dead letters of an account.
pub fn dead_letters(account: AccountId) -> Key {
    format!("x/{account}/")
}

/// A command.
pub fn command(account: AccountId, at: Time, id: &RequestId) -> Key {
    format!("c/{account}/{:016x}/{id}", at.as_millis())
}

/// All commands of an account.
pub fn commands(account: AccountId) -> Key {
    format!("c/{account}/")
}

/// A webhook endpoint.
pub fn endpoint(id: &str) -> Key {
    format!("w/{id}")
}

/// All webhook endpoints.
pub fn endpoints() -> Key {
    "w/".to_owned()
}

/// An account group.
pub fn group(name: &str) -> Key {
    format!("g/{name}")
}

/// All account groups.
pub fn groups() -> Key {
    "g/".to_owned()
}

/// The settings of a chain.
pub fn chain_settings(chain_id: u64) -> Key {
    format!("m/{chain_id}")
}

/// The settings of all chains.
pub fn all_chain_settings() -> Key {
    "m/".to_owned()
}

/// The first block of a chain.
pub fn chain(chain_id: u64) -> Key {
    format!("i/{chain_id}")
}

/// The account in the name of a row, if it has one there: `l/ACCOUNT/…`, `n/ACCOUNT/…` and so on.
pub fn account_of(key: &str) -> Option<AccountId> {
    key.split('/').nth(1)?.parse().ok()
}

/// A name after all rows of an account that begin with this letter, and before those of the next account.
pub fn after_account(letter: char, account: AccountId) -> Key {
    // '0' is the character after '/'.
    format!("{letter}/{account}0")
}
