//! Whether requests would work. A request may need what an earlier one of the same account does (approve, then use), so a revert
//! counts only if nothing before it is left to be mined, or if it was simulated on top of all of that.

use super::{Account, Action, simulations::Asked, watch::millis};
use crate::{Basis, EventKind, Failure, Intent, Request, RequestId, Simulation, State};
use alloy_primitives::Bytes;
use types::Time;

/// The most requests that another is simulated on top of, and the most bytes of their call data.
const ON_TOP_MAX: usize = 32;
const ON_TOP_BYTES_MAX: usize = 256 * 1024;
/// For so long after something was mined a node may not have it yet.
const LAG_MS: u64 = 10_000;
/// How soon a request is simulated again that may have met such a node.
const AGAIN_MS: u64 = 1_000;

impl Account {
    pub(super) fn ask_simulation(
        &mut self,
        id: &RequestId,
        on_top: bool,
        now: Time,
        actions: &mut Vec<Action>,
    ) {
        let Some(request) = self.requests.get(id) else { return };
        let before = self.on_top_of(request).filter(|_| on_top);
        let lags = self.mined_at.is_some_and(|at| now.since(at) < millis(LAG_MS));
        let asked = Asked { had_parents: lags || self.has_parents(request), on_top: before.is_some() };
        let (intent, before) = (request.intent.clone(), before.unwrap_or_default());
        actions.push(Action::Simulate { id: id.clone(), intent, before });
        self.simulations.ask(id, asked, now);
    }

    /// Whether earlier requests of the account are not mined.
    pub(super) fn has_parents(&self, request: &Request) -> bool {
        self.requests.before(request).next().is_some()
            || self.requests.unmined_before(request).next().is_some()
    }

    /// All earlier requests that are not mined, in the order in which they will be; none if there are too many, or if it is not
    /// known that they come before this one: a held request, or one whose nonce was used by another transaction.
    pub(super) fn on_top_of(&self, request: &Request) -> Option<Vec<(RequestId, Intent)>> {
        let mut bound: Vec<&Request> = self.requests.unmined_before(request).take(ON_TOP_MAX + 1).collect();
        bound.sort_by_key(|earlier| earlier.state.nonce());
        let is_used = |earlier: &&Request| {
            let slot = earlier.state.nonce().and_then(|nonce| self.book.slot(nonce));
            slot.is_none_or(|slot| slot.mined.is_some())
        };
        if bound.iter().any(is_used) {
            return None;
        }
        let (mut before, mut bytes) = (Vec::new(), 0);
        for earlier in bound.into_iter().chain(self.requests.before(request)) {
            bytes += earlier.intent.bytes();
            if self.requests.is_held(&earlier.id) || before.len() >= ON_TOP_MAX || bytes > ON_TOP_BYTES_MAX {
                return None;
            }
            before.push((earlier.id.clone(), earlier.intent.clone()));
        }
        (!before.is_empty()).then_some(before)
    }

    /// The answer to a simulation. One that would be reverted fails before it costs a nonce.
    pub fn handle_simulation(&mut self, id: &RequestId, simulation: Simulation, now: Time) {
        let Some(asked) = self.simulations.asked(id) else { return };
        match simulation {
            Simulation::Gas(gas) => self.handle_estimate(id, gas, now),
            Simulation::Error => self.simulations.fail(id, &self.config, now),
            Simulation::Reverted { reason, data, on_top } => {
                let basis = if on_top && asked.on_top { Basis::InFlight } else { Basis::Newest };
                if basis == Basis::Newest && self.may_lack_a_parent(id, asked) {
                    // If no provider could simulate it on top of what comes before it, that must be mined first.
                    self.simulations.block(id, asked.on_top, now + millis(AGAIN_MS));
                } else {
                    self.fail_simulated(id, Failure::Simulation { reason, data, on: basis }, now);
                }
            }
        }
    }

    /// Whether a revert on the newest state may have its reason in an earlier request that is not there yet.
    fn may_lack_a_parent(&self, id: &RequestId, asked: Asked) -> bool {
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ParentIgnored) {
            return false;
        }
        asked.had_parents || self.requests.get(id).is_some_and(|request| self.has_parents(request))
    }

    fn handle_estimate(&mut self, id: &RequestId, gas: u64, now: Time) {
        let margin = gas / 100 * u64::from(self.config.gas_margin_percent);
        let wanted = self.requests.get(id).and_then(|request| request.intent.gas);
        let most = self.config.limits.gas_max.unwrap_or(u64::MAX);
        if wanted.is_none() && !self.is_plausible(id, gas) {
            self.simulations.fail(id, &self.config, now);
            return;
        }
        if wanted.is_none() && gas > most {
            let reason = format!("it needs {gas} gas, and a transaction has at most {most}");
            let failure = Failure::Simulation { reason, data: Bytes::new(), on: Basis::Newest };
            self.fail_simulated(id, failure, now);
            return;
        }
        let gas = wanted.unwrap_or(gas.saturating_add(margin).min(most));
        self.simulations.succeed(id, gas, now);
    }

    /// Whether a transaction can do with so much gas at all.
    fn is_plausible(&self, id: &RequestId, gas: u64) -> bool {
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ZeroGas) {
            return true;
        }
        self.requests.get(id).is_none_or(|request| gas >= request.intent.intrinsic_gas())
    }

    /// Ends a request that could not work, before it costs a nonce.
    fn fail_simulated(&mut self, id: &RequestId, failure: Failure, now: Time) {
        self.simulations.forget(id);
        if matches!(self.requests.state(id), Some(State::Accepted { .. })) {
            self.become_state(id, State::Failed(failure), now);
            self.tell(id, EventKind::Failed, now);
        }
    }
}
