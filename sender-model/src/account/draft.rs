//! Drafts: what should be signed next, for which nonce and at which price.

use super::{
    Account, Action,
    watch::{Simulated, millis},
};
use crate::{
    AttemptKind, Draft, EventKind, Failure, Fees, Held, Intent, Nonce, Place, Purpose, Quote, RequestId,
    Signed, Simulation, State, View,
};
use alloy_primitives::{Bytes, U256};
use types::Time;

/// Failures of a simulation after which a request is held, so that others go on.
const SIMULATION_ERRORS_MAX: u32 = 5;

/// A draft that waits for its signature.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub draft: Draft,
    pub signed: Option<Signed>,
}

impl Waiting {
    pub(super) fn is_new(&self) -> bool {
        matches!(self.draft.purpose, Purpose::New(_))
    }

    /// Whether its nonce is not counted as in flight yet.
    pub(super) fn takes_nonce(&self) -> bool {
        matches!(self.draft.purpose, Purpose::New(_) | Purpose::Fill)
    }

    pub(super) fn cost(&self) -> U256 {
        self.draft.fees.cost(self.draft.gas, self.draft.intent.value)
    }
}

/// What a draft says, but for its ticket.
pub(super) struct Plan {
    pub purpose: Purpose,
    pub kind: AttemptKind,
    pub nonce: Nonce,
    pub intent: Intent,
    pub gas: u64,
    pub fees: Fees,
}

/// Whether a request can be bound.
enum Readiness {
    Ready(Box<Plan>),
    Ask,
    Wait,
    Hold(Held),
}

impl Account {
    pub(super) fn draft(&mut self, plan: Plan, now: Time, actions: &mut Vec<Action>) {
        self.tickets += 1;
        let Plan { purpose, kind, nonce, intent, gas, fees } = plan;
        let draft = Draft { ticket: self.tickets, purpose, kind, nonce, intent, gas, fees, made_at: now };
        self.drafts.insert(self.tickets, Waiting { draft: draft.clone(), signed: None });
        actions.push(Action::Sign(Box::new(draft)));
    }

    pub(super) fn is_drafted(&self, nonce: Nonce) -> bool {
        self.drafts.values().any(|waiting| waiting.draft.nonce == nonce)
    }

    /// First attempts are bound in order, so when one falls away the later ones do too.
    pub(super) fn drop_new_drafts(&mut self) {
        self.drafts.retain(|_, waiting| !waiting.is_new());
    }

    pub(super) fn drop_late_drafts(&mut self, now: Time) {
        let patience = millis(self.config.answer_ms);
        let late = |waiting: &Waiting| now.since(waiting.draft.made_at) >= patience;
        if self.drafts.values().any(|waiting| waiting.is_new() && late(waiting)) {
            self.drop_new_drafts();
        }
        self.drafts.retain(|_, waiting| !late(waiting));
    }

    /// Noops for nonces that are free for too long, or were lent and not used.
    pub(super) fn draft_fills(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        let grace = millis(self.config.gap_grace_ms);
        let due = |place: &Place| match place {
            Place::Free { since } => now.since(*since) >= grace,
            Place::Leased(loan) => loan.until <= now,
            _ => false,
        };
        let range = self.places.range(self.count()..);
        let nonces: Vec<Nonce> = range.filter(|(_, place)| due(place)).map(|(nonce, _)| *nonce).collect();
        for nonce in nonces {
            // A first attempt that waits for its signature may lose its nonce to the noop; it gets another.
            let filling = |waiting: &Waiting| waiting.draft.nonce == nonce && !waiting.is_new();
            let refused = self.watches.get(&nonce).is_some_and(|watch| watch.sign_at > now);
            if self.drafts.values().any(filling) || refused || actions.len() >= self.config.actions_max {
                continue;
            }
            let gas = self.config.noop_gas;
            let fees = Fees::from_quote(&view.quote, self.config.fee_cap);
            if self.reserved().saturating_add(fees.cost(gas, U256::ZERO)) > view.balance {
                break;
            }
            let intent = Intent::noop(self.id.address, gas);
            let plan = Plan { purpose: Purpose::Fill, kind: AttemptKind::Noop, nonce, intent, gas, fees };
            self.draft(plan, now, actions);
        }
    }

    /// First attempts, in the order of acceptance. Held requests are passed over; one that only waits is not.
    pub(super) fn draft_requests(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        if self.row.paused || !self.has_room() {
            return;
        }
        let drafted: Vec<RequestId> = self
            .drafts
            .values()
            .filter_map(|waiting| match &waiting.draft.purpose {
                Purpose::New(id) => Some(id.clone()),
                _ => None,
            })
            .collect();
        // Held ones are looked at each time; of the others no more than could be drafted.
        let mut ready = self.config.drafts_max + 1;
        let undrafted = self.queue.iter().map(|(_, id)| id).filter(|id| !drafted.contains(id));
        let queue: Vec<RequestId> = undrafted
            .take_while(|id| {
                let counts = !self.is_held(id);
                ready = ready.saturating_sub(usize::from(counts));
                ready > 0 || !counts
            })
            .cloned()
            .collect();
        let (mut in_turn, mut ahead, mut lacks_funds) = (true, drafted.len(), false);
        for id in queue {
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
                Readiness::Wait => in_turn &= self.is_held(&id),
                Readiness::Ask => {
                    in_turn &= self.is_held(&id);
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
            || (self.row.funds_told && self.holds_for_funds());
        self.report_funds(lacks_funds, &view, now);
    }

    /// Below this balance the account runs dry: what is promised, and one plain transaction more at today's price.
    pub(super) fn threshold(&self, view: &View) -> U256 {
        let fees = Fees::from_quote(&view.quote, self.config.fee_cap);
        self.reserved().saturating_add(fees.cost(self.config.noop_gas, U256::ZERO))
    }

    fn holds_for_funds(&self) -> bool {
        let held = State::Accepted { held: Some(Held::Funds) };
        self.queue.iter().any(|(_, id)| self.state_of(id) == Some(&held))
    }

    fn has_room(&self) -> bool {
        self.in_flight() < self.config.in_flight_limit() && self.places.len() < self.config.unfinal_max
    }

    pub(super) fn hold(&mut self, id: &RequestId, held: Option<Held>, now: Time) {
        self.become_state(id, State::Accepted { held }, now);
    }

    fn report_funds(&mut self, lacking: bool, view: &View, now: Time) {
        if lacking && !self.row.funds_told {
            self.tell_account(EventKind::LowBalance, serde_json::json!({ "balance": view.balance }), now);
        }
        if lacking != self.row.funds_told {
            self.row.funds_told = lacking;
            self.touch_row();
        }
    }

    fn ask_simulation(&mut self, id: &RequestId, now: Time, actions: &mut Vec<Action>) {
        let errors = match self.simulations.get(id) {
            Some(Simulated::Failed { errors, .. } | Simulated::Asked { errors, .. }) => *errors,
            _ => 0,
        };
        let Some(request) = self.requests.get(id) else { return };
        actions.push(Action::Simulate(id.clone(), request.intent.clone()));
        self.simulations.insert(id.clone(), Simulated::Asked { at: now, errors });
    }

    /// Whether a request can be bound now, and as what.
    fn readiness(&self, id: &RequestId, view: &View, now: Time) -> Readiness {
        let Some(request) = self.requests.get(id) else { return Readiness::Hold(Held::Policy) };
        if self.refusals.get(id).is_some_and(|again| *again > now) {
            return Readiness::Hold(Held::Policy);
        }
        let cap = self.cap(&request.intent);
        if cap < view.quote.base_fee_per_gas {
            return Readiness::Hold(Held::FeeTooHigh);
        }
        let fees = first_fees(&request.intent, &view.quote, cap);
        let left = view.balance.saturating_sub(self.reserved());
        if fees.cost(self.config.noop_gas, request.intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let gas = match self.simulations.get(id) {
            Some(Simulated::Gas { gas, at })
                if now.since(*at) <= millis(self.config.simulation_age_max_ms) =>
            {
                *gas
            }
            Some(Simulated::Failed { retry_at, errors }) if *retry_at > now => {
                let hopeless = *errors >= SIMULATION_ERRORS_MAX;
                return if hopeless { Readiness::Hold(Held::Policy) } else { Readiness::Wait };
            }
            Some(Simulated::Asked { at, .. }) if now.since(*at) < millis(self.config.answer_ms) => {
                return Readiness::Wait;
            }
            _ => return Readiness::Ask,
        };
        if fees.cost(gas, request.intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let Some(nonce) = self.next_nonce() else { return Readiness::Wait };
        let (purpose, kind) = (Purpose::New(id.clone()), AttemptKind::Payload);
        Readiness::Ready(Box::new(Plan { purpose, kind, nonce, intent: request.intent.clone(), gas, fees }))
    }

    /// Why a held request is held, judged by a look at the chain that came after its acceptance. None if nothing holds it
    /// now, or there is no such look yet; then the chain is looked at. The row of a request that was held before the last
    /// payment to the account says so until its simulation is answered.
    pub fn verdict(&mut self, id: &RequestId, now: Time) -> Option<Held> {
        if self.row.paused {
            return Some(Held::Paused);
        }
        let request = self.requests.get(id).filter(|_| self.is_held(id))?;
        match &self.view {
            Some((view, at)) if *at > request.accepted_at => match self.readiness(id, view, now) {
                Readiness::Hold(held) => Some(held),
                _ => None,
            },
            _ => {
                self.wake(now);
                None
            }
        }
    }

    /// The most that an attempt of a request may offer per gas. The last part under the account's cap is kept for the
    /// noop that must be able to replace it: a request that can neither be mined nor cancelled would stop all others.
    pub(super) fn cap(&self, intent: &Intent) -> u128 {
        let below = Fees::replaceable_under(self.config.fee_cap);
        intent.fee_cap.map_or(below, |cap| cap.0.min(below))
    }

    /// The answer to a simulation. One that would be reverted fails before it costs a nonce.
    pub fn handle_simulation(&mut self, id: &RequestId, simulation: Simulation, now: Time) {
        let Some(Simulated::Asked { errors, .. }) = self.simulations.get(id) else { return };
        let errors = *errors;
        match simulation {
            Simulation::Gas(gas) => {
                let margin = gas / 100 * u64::from(self.config.gas_margin_percent);
                let wanted = self.requests.get(id).and_then(|request| request.intent.gas);
                let most = self.config.limits.gas_max.unwrap_or(u64::MAX);
                if wanted.is_none() && gas > most {
                    let reason = format!("it needs {gas} gas, and a transaction has at most {most}");
                    self.fail_simulated(id, reason, Bytes::new(), now);
                    return;
                }
                let gas = wanted.unwrap_or(gas.saturating_add(margin).min(most));
                self.simulations.insert(id.clone(), Simulated::Gas { gas, at: now });
            }
            Simulation::Error => {
                let retry_at = now + self.pause(errors + 1);
                self.simulations.insert(id.clone(), Simulated::Failed { retry_at, errors: errors + 1 });
            }
            Simulation::Reverted { reason, data } => self.fail_simulated(id, reason, data, now),
        }
    }

    /// Ends a request that could not work, before it costs a nonce.
    fn fail_simulated(&mut self, id: &RequestId, reason: String, data: Bytes, now: Time) {
        self.simulations.remove(id);
        if matches!(self.state_of(id), Some(State::Accepted { .. })) {
            self.become_state(id, State::Failed(Failure::Simulation { reason, data }), now);
            self.tell(id, EventKind::Failed, now);
        }
    }
}

/// The first price of a request.
fn first_fees(intent: &Intent, quote: &Quote, cap: u128) -> Fees {
    let fees = match intent.fees {
        Some(fees) => {
            let max_fee_per_gas = fees.max_fee_per_gas.min(cap);
            let max_priority_fee_per_gas = fees.max_priority_fee_per_gas.min(max_fee_per_gas);
            Fees { max_fee_per_gas, max_priority_fee_per_gas }
        }
        None => Fees::from_quote(quote, cap),
    };
    if intent.legacy { fees.into_legacy() } else { fees }
}
