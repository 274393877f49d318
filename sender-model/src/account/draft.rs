//! Drafts: what should be signed next, for which nonce and at which price.

use super::{Account, Action, events::Alert, signing::Plan, simulations::Verdict, watch::millis};
use crate::{AttemptKind, Held, Intent, Purpose, Request, RequestId, Simulate, State, View};
use alloy_primitives::U256;
use types::Time;

/// Whether a request can be bound.
enum Readiness {
    Ready(Box<Plan>),
    /// It is to be simulated: on the newest state, or on top of what comes before it.
    Ask {
        on_top: bool,
    },
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
                Readiness::Ask { on_top } => {
                    in_turn &= self.requests.is_held(&id);
                    self.ask_simulation(&id, on_top, now, actions);
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

    /// Whether a request can be bound now, and as what.
    fn readiness(&self, id: &RequestId, view: &View, now: Time) -> Readiness {
        let Some(request) = self.requests.get(id) else { return Readiness::Hold(Held::Policy) };
        if self.signing.is_refused(id, now) {
            return Readiness::Hold(Held::Policy);
        }
        let intent = self.typed(request.intent.clone(), view);
        let quote = view.quote.at_percent(self.config.speeds.percent(request.options.speed));
        let Some(fees) = self.fees().first(&intent, &quote) else {
            return Readiness::Hold(Held::FeeTooHigh);
        };
        let left = view.balance.saturating_sub(self.reserved());
        if fees.cost(self.config.noop_gas, intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let gas = match self.gas(request, now) {
            Ok(gas) => gas,
            Err(unready) => return unready,
        };
        if fees.cost(gas, intent.value) > left {
            return Readiness::Hold(Held::Funds);
        }
        let Some(nonce) = self.next_nonce() else { return Readiness::Wait };
        let (purpose, kind) = (Purpose::New(id.clone()), AttemptKind::Payload);
        Readiness::Ready(Box::new(Plan { purpose, kind, nonce, intent, gas, fees }))
    }

    /// The gas of a request, once it is known that it would work; or what is to be done until then.
    fn gas(&self, request: &Request, now: Time) -> Result<u64, Readiness> {
        let id = &request.id;
        match request.options.simulate {
            // It was not accepted without its gas.
            Simulate::Never => return Ok(request.intent.gas.unwrap_or(self.config.noop_gas)),
            Simulate::AfterParent if self.has_parents(request) => return Err(Readiness::Hold(Held::Parent)),
            Simulate::Always | Simulate::AfterParent => {}
        }
        Err(match self.simulations.verdict(id, &self.config, now) {
            Verdict::Gas(gas) => return Ok(gas),
            Verdict::Unknown => Readiness::Ask { on_top: false },
            Verdict::Awaited => Readiness::Wait,
            Verdict::Hopeless => Readiness::Hold(Held::Policy),
            Verdict::Blocked { on_top, due } => match self.has_parents(request) {
                true if !on_top && self.on_top_of(request).is_some() => Readiness::Ask { on_top: true },
                true => Readiness::Hold(Held::Parent),
                false if due => Readiness::Ask { on_top: false },
                false => Readiness::Hold(Held::Parent),
            },
        })
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
                // It goes on as soon as those before it are mined.
                Readiness::Hold(Held::Parent) => None,
                Readiness::Hold(held) => Some(held),
                _ => None,
            },
            _ => {
                self.wake(now);
                None
            }
        }
    }
}
