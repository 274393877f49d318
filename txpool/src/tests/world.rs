//! What the tests are made of: accounts, pools, and transactions that need no signature.

pub(super) use crate::model::draft::*;

use crate::{Account, Code, Config, Head, Pool};
use alloy_primitives::U256;
use types::Event;

pub(super) const HEAD: Head = Head { base_fee_wei: GWEI as u64, gas_limit: 120_000_000 };

/// An account with this nonce and a thousand ether.
pub(super) fn rich(nonce: u64) -> Account {
    Account { nonce, balance: U256::from(1_000 * GWEI) * U256::from(GWEI), code: Code::None }
}

/// A pool in which everything fits.
pub(super) fn pool() -> Pool {
    Pool::new(Config::default(), HEAD)
}

/// What happened, in short: the events' names.
pub(super) fn names(pool: &mut Pool) -> Vec<&'static str> {
    pool.drain_events().map(|event| name(&event)).collect()
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Added { pending: true, .. } => "added pending",
        Event::Added { pending: false, .. } => "added queued",
        Event::Promoted { .. } => "promoted",
        Event::Demoted { .. } => "demoted",
        Event::Replaced { .. } => "replaced",
        Event::Evicted { .. } => "evicted",
        Event::Expired { .. } => "expired",
        Event::Bundled { .. } => "bundled",
        Event::Returned { .. } => "returned",
        Event::Final { .. } => "final",
        Event::Dropped { .. } => "dropped",
        _ => "other",
    }
}
