//! The sender's managed accounts, for the page: nonces, gaps, what is on its way, what they own.
//!
//! Which accounts are managed is the operator's affair, as for REST: it takes the token, except in development.

use super::{json_answer, plain};
use ::sender::{Sender, stats::Gauges};
use alloy_primitives::{Address, U256};
use hyper::{HeaderMap, Response, StatusCode};
use rpc::{Body, Snapshot};
use sender_model::AccountId;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

/// So many accounts are shown.
const ACCOUNTS_MAX: usize = 500;

/// The sender, and who may see what it runs.
pub struct Managed {
    /// The accounts.
    pub sender: Sender,
    /// Whether no token is needed.
    open: bool,
    /// The token is that of JSON-RPC.
    rpc: rpc::Config,
    /// Whether an account was ever seen here: none goes away, and there may be too many to list them for each picture.
    was_seen: AtomicBool,
}

impl Managed {
    /// Accounts that are shown to the operator alone, unless `open`.
    pub fn new(sender: Sender, open: bool, rpc: rpc::Config) -> Self {
        Self { sender, open, rpc, was_seen: AtomicBool::new(false) }
    }

    fn is_there(&self) -> bool {
        let is_there = self.was_seen.load(Ordering::Relaxed) || !self.sender.addresses().is_empty();
        self.was_seen.store(is_there, Ordering::Relaxed);
        is_there
    }
}

/// Whether there are accounts to ask for, and whether that takes the token, so that a page asks for nothing in vain.
pub(super) fn access(managed: Option<&Managed>) -> Value {
    json!({
        "there": managed.is_some_and(Managed::is_there),
        "token": managed.is_some_and(|managed| !managed.open),
    })
}

pub(super) fn answer(managed: Option<&Managed>, snapshot: &Snapshot, headers: &HeaderMap) -> Response<Body> {
    let Some(Managed { sender, open, rpc, .. }) = managed else {
        return plain(StatusCode::NOT_FOUND, "there is no sender here\n");
    };
    if !open && !rpc::is_operator(rpc, headers) {
        return plain(StatusCode::UNAUTHORIZED, "send the operator's token as `Authorization: Bearer ..`\n");
    }
    json_answer(StatusCode::OK, &list(sender, snapshot))
}

/// All accounts of this node's chain, and those of other chains that are run here.
fn list(sender: &Sender, snapshot: &Snapshot) -> Value {
    let home = sender.home_chain();
    let here = sender.addresses().into_iter().map(|address| AccountId { chain_id: home, address });
    let mut accounts = here.map(|account| (account, None)).collect::<BTreeMap<_, _>>();
    accounts.extend(sender.stats().accounts.into_iter().map(|(account, gauges)| (account, Some(gauges))));
    let rows = accounts.iter().take(ACCOUNTS_MAX).map(|(account, gauges)| {
        let owned = (account.chain_id == home).then(|| owned(snapshot, account.address)).flatten();
        row(account, gauges.as_ref(), owned)
    });
    json!(rows.collect::<Vec<_>>())
}

/// Nonce and balance after the newest block.
fn owned(snapshot: &Snapshot, address: Address) -> Option<(u64, U256)> {
    let account = snapshot.latest().state.account(address).ok()?;
    Some(account.map_or((0, U256::ZERO), |account| (account.nonce, account.balance)))
}

fn row(account: &AccountId, gauges: Option<&Gauges>, owned: Option<(u64, U256)>) -> Value {
    let known = gauges.copied().unwrap_or_default();
    let state = match gauges {
        None => "rests",
        Some(Gauges { stuck: true, .. }) => "stuck",
        Some(Gauges { degraded: true, .. }) => "degraded",
        Some(_) => "runs",
    };
    json!({
        "chain": account.chain_id,
        "address": account.address,
        "next": gauges.map(|gauges| gauges.next).or(owned.map(|(nonce, _)| nonce)),
        "gaps": known.free,
        "inFlight": known.borrowed + known.submitted,
        "waiting": known.queue,
        "held": known.held,
        "leased": known.leased,
        "balance": owned.map(|(_, balance)| balance.to_string()),
        "state": state,
    })
}
