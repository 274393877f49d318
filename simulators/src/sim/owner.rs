//! The service's owner, who changes the code of the running service now and then: a request, and, once that is final, the upgrade.
//!
//! The orders travel as packages of the owner's. Each is tried until the finalized chain has obeyed it. Half of the seeds have one or
//! two upgrades; what the owner does is drawn from numbers of its own, so that the other seeds are as they would be without.

use harness::rng::Rng;
use jam::Hash;
use queue::ServiceCode;
use service::order::{Action, Order};
use std::collections::VecDeque;

/// The codes that the service has, one after the other.
pub(super) const CODES: [Hash; 3] =
    [Hash::repeat_byte(0xcc), Hash::repeat_byte(0xcd), Hash::repeat_byte(0xce)];
/// Slots in which upgrades begin.
const BEGIN_SLOTS: (u64, u64) = (6, 60);
/// An order that was not obeyed is tried again after so many slots.
const RETRY_SLOTS: u32 = 6;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Owner {
    /// When the upgrades to the codes after the first one begin.
    begins: VecDeque<u32>,
    tried_at: Option<u32>,
}

impl Owner {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x7570_6772_6164_6500);
        let count = if rng.chance(500) { rng.within(1, 2) } else { 0 };
        let mut begins =
            (0..count).map(|_| rng.within(BEGIN_SLOTS.0, BEGIN_SLOTS.1) as u32).collect::<Vec<_>>();
        begins.sort_unstable();
        Self { begins: begins.into(), tried_at: None }
    }

    /// What the owner orders in a slot, if anything, given the service's code at the finalized block.
    pub(super) fn order(&mut self, slot: u32, code: ServiceCode) -> Option<Order> {
        let begin = *self.begins.front()?;
        let next = CODES.iter().position(|known| *known == code.hash)? + 1;
        let target = *CODES.get(next)?;
        if slot < begin || self.tried_at.is_some_and(|tried| slot < tried + RETRY_SLOTS) {
            return None;
        }
        self.tried_at = Some(slot);
        let (code_hash, code_len) = (target, 1000);
        let is_requested = code.orders.requested == Some((code_hash, code_len));
        let action = if is_requested { Action::Upgrade } else { Action::Request };
        Some(Order { number: code.orders.last + 1, action, code_hash, code_len })
    }

    /// The finalized chain has another code.
    pub(super) fn upgraded(&mut self) {
        self.begins.pop_front();
        self.tried_at = None;
    }
}
