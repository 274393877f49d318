//! Drafts: what should be signed next, for which nonce and at which price.

use super::{Account, Action, events::Alert, signing::Plan, simulations::Verdict, watch::millis};
use crate::{AttemptKind, EventKind, Failure, Held, Intent, Purpose, RequestId, Simulation, State, View};
use alloy_primitives::{Bytes, U256};
use types::Time;

/// Whether a request can be bound.
enum Readiness {
    Ready(Box<Plan>),
    Ask,
    Wait,
    Hold(Held),
}

impl Account {
    pub(super) fn draft(&mut self, plan: Plan, now: Time, actions: &mut Vec<Action>) {
        actions.push(Action::Sign(Box::new(self.signing.draft(plan, now))));
    }

    /// Noops for nonces that are free for too long, or were lent and not used.
    pub(super) fn draft_fills(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        let grace = millis(self.config.gap_grace_ms);
        for nonce in self.book.to_fill(self.chain.count(), now, grace) {
            // A first attempt that waits for its signature may lose its nonce to the noop; it gets another.
            let refused = self.book.watch(nonce).is_some_and(|watch| watch.is_signing_refused(now));
            if self.signing.has_other(nonce) || refused || actions.len() >= self.config.actions_max {
                continue;
            }
            let gas = self.config.noop_gas;
            let fees = self.fees().noop(&view.quote, self.must_be_legacy());
            if self.reserved().saturating_add(fees.cost(gas, U256::ZERO)) > view.balance {
                break;
            }
            let intent = self.typed(Intent::noop(self.id.address, gas), &view);
            let plan = Plan { purpose: Purpose::Fill, kind: AttemptKind::Noop, nonce, intent, gas, fees };
            self.draft(plan, now, actions);
        }
    }

    /// First attempts, in the order of acceptance. Held requests are passed over; one that only waits is not.
    pub(super) fn draft_requests(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        if self.paused || !self.has_room() {
            self.hold_for_memory(now);
            return;
        }
        let drafted = self.signing.requests();
        let (mut in_turn, mut ahead, mut lacks_funds) = (true, drafted.len(), false);
        for id in self.to_draft(&drafted) {
            if ahead >= self.config.drafts_max || actions.len() >= self.config.actions_max {
                break;
            }
            ahead += 1;
            match self.readiness(&id, &view, now) {
                Readiness::Ready(plan) => {
                    self.hold(&id, None, now);
                    in_turn &= self.has_room();
                    if in_turn {
                        self.draft(*plan, now, actions);
                    }
                }
                Readiness::Wait => in_turn &= self.requests.is_held(&id),
                Readiness::Ask => {
                    in_turn &= self.requests.is_held(&id);
                    self.ask_simulation(&id, now, actions);
                }
                Readiness::Hold(held) => {
                    ahead -= 1;
                    lacks_funds |= held == Held::Funds;
                    self.hold(&id, Some(held), now);
                }
            }
        }
        // Not every request was looked at; those that were held for lack of funds before still are.
        let lacks_funds = lacks_funds
            || view.balance < self.threshold(&view)
            || (self.events.alerts().funds && self.requests.lack_funds());
        let data = lacks_funds.then(|| serde_json::json!({ "balance": view.balance }));
        self.events.alert(Alert::Funds, data, now);
    }

    /// The requests to look at: held ones each time; of the others no more than could be drafted.
    fn to_draft(&self, drafted: &[RequestId]) -> Vec<RequestId> {
        let mut ready = self.config.drafts_max + 1;
        let undrafted = self.requests.queue().filter(|id| !drafted.contains(id));
        let looked_at = undrafted.take_while(|id| {
            let counts = !self.requests.is_held(id);
            ready = ready.saturating_sub(usize::from(counts));
            ready > 0 || !counts
        });
        looked_at.cloned().collect()
    }

    /// Below this balance the account runs dry: what is promised, and one plain transaction more at today's price.
    pub(super) fn threshold(&self, view: &View) -> U256 {
        let fees = self.fees().noop(&view.quote, self.must_be_legacy());
        self.reserved().saturating_add(fees.cost(self.config.noop_gas, U256::ZERO))
    }

    /// Whether the chain takes only transactions with one gas price.
    pub(super) fn must_be_legacy(&self) -> bool {
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::DynamicFeesEverywhere) {
            return false;
        }
        self.chain.is_legacy()
    }

    /// What is to be signed, as a transaction of a type that the chain takes.
    pub(super) fn typed(&self, intent: Intent, view: &View) -> Intent {
        if self.must_be_legacy() { self.fees().as_legacy(intent, &view.quote) } else { intent }
    }

    fn has_room(&self) -> bool {
        self.in_flight() < self.config.in_flight_limit() && !self.is_full()
    }

    /// Whether as much waits for finality as may be kept in memory.
    pub(super) fn is_full(&self) -> bool {
        self.book.bytes() >= self.config.unfinal_bytes_max || self.book.len() >= self.config.unfinal_max
    }

    /// Says of the next requests that they wait for finality, if they do.
    fn hold_for_memory(&mut self, now: Time) {
        if self.is_full() && !self.paused {
            let next: Vec<RequestId> = self.requests.queue().take(self.config.drafts_max).cloned().collect();
            next.iter().for_each(|id| self.hold(id, Some(Held::Unfinal), now));
        }
    }

    pub(super) fn hold(&mut self, id: &RequestId, held: Option<Held>, now: Time) {
        self.become_state(id, State::Accepted { held }, now);
    }

    fn ask_simulation(&mut self, id: &RequestId, now: Time, actions: &mut Vec<Action>) {
        let Some(request) = self.requests.get(id) else { return };
        actions.push(Action::Simulate(id.clone(), request.intent.clone()));
        self.simulations.ask(id, now);
    }

    /// Whether a request can be bound now, and as what.
    fn readiness(&self, id: &RequestId, view: &View, now: Time) -> Readiness {
        let Some(request) = self.requests.get(id) else { return Readiness::Hold(Held::Policy) };
        if self.signing.is_refused(id, now) {
            return Readiness::Hold(Held::Policy);
        }
        let intent = self.typed(request.intent.clone(), view);
        let Some(fees) = self.fees().first(&intent, &view.quote) else {
            return Readiness::Hold(Held::FeeTooHigh);
        };
        let left = view.balance.saturating_sub(self.reserved());
        if fees.cost(self.config.noop_gas, intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let gas = match self.simulations.verdict(id, &self.config, now) {
            Verdict::Gas(gas) => gas,
            Verdict::Unknown => return Readiness::Ask,
            Verdict::Awaited => return Readiness::Wait,
            Verdict::Hopeless => return Readiness::Hold(Held::Policy),
        };
        if fees.cost(gas, intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let Some(nonce) = self.next_nonce() else { return Readiness::Wait };
        let (purpose, kind) = (Purpose::New(id.clone()), AttemptKind::Payload);
        Readiness::Ready(Box::new(Plan { purpose, kind, nonce, intent, gas, fees }))
    }

    /// Why a held request is held, judged by a look at the chain that came after its acceptance. None if nothing holds it
    /// now, or there is no such look yet; then the chain is looked at. The row of a request that was held before the last
    /// payment to the account says so until its simulation is answered.
    pub fn verdict(&mut self, id: &RequestId, now: Time) -> Option<Held> {
        if self.paused {
            return Some(Held::Paused);
        }
        let request = self.requests.get(id).filter(|_| self.requests.is_held(id))?;
        match self.chain.view() {
            Some((view, at)) if at > request.accepted_at => match self.readiness(id, view, now) {
                Readiness::Hold(held) => Some(held),
                _ => None,
            },
            _ => {
                self.wake(now);
                None
            }
        }
    }

    /// The answer to a simulation. One that would be reverted fails before it costs a nonce.
    pub fn handle_simulation(&mut self, id: &RequestId, simulation: Simulation, now: Time) {
        if !self.simulations.is_asked(id) {
            return;
        }
        match simulation {
            Simulation::Gas(gas) => self.handle_estimate(id, gas, now),
            Simulation::Error => self.simulations.fail(id, &self.config, now),
            Simulation::Reverted { reason, data } => self.fail_simulated(id, reason, data, now),
        }
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
            self.fail_simulated(id, reason, Bytes::new(), now);
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
    fn fail_simulated(&mut self, id: &RequestId, reason: String, data: Bytes, now: Time) {
        self.simulations.forget(id);
        if matches!(self.requests.state(id), Some(State::Accepted { .. })) {
            self.become_state(id, State::Failed(Failure::Simulation { reason, data }), now);
            self.tell(id, EventKind::Failed, now);
        }
    }
}
