//! Replacements: the same nonce at a higher price, because it stands still, because somebody asks, or because the request
//! is to be cancelled. All follow one rule.

use super::{Account, Action, draft::Plan, watch::millis};
use crate::{Attempt, AttemptKind, Fees, Intent, Nonce, Place, Purpose, Slot, View};
use alloy_primitives::U256;
use types::Time;

impl Account {
    pub(super) fn draft_replacements(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        let range = self.places.range(self.count()..);
        let nonces: Vec<Nonce> =
            range.filter(|(_, place)| place.slot().is_some()).map(|(nonce, _)| *nonce).collect();
        for nonce in nonces {
            if self.is_drafted(nonce) || actions.len() >= self.config.actions_max {
                continue;
            }
            if let Some(plan) = self.replacement(nonce, &view, now) {
                self.draft(plan, now, actions);
            }
        }
    }

    /// The replacement that a nonce needs now, if it needs one and may have one.
    fn replacement(&self, nonce: Nonce, view: &View, now: Time) -> Option<Plan> {
        let slot = self.places.get(&nonce).and_then(Place::slot).filter(|slot| slot.mined.is_none())?;
        let last = slot.last().filter(|last| self.changes.is_durable(last.hash))?;
        let refused = self.watches.get(&nonce).is_some_and(|watch| watch.sign_at > now);
        if refused || now.since(last.bound_at) < millis(self.config.replacement_interval_ms) {
            return None;
        }
        let cancels = slot.cancel.is_some() && !slot.has_noop();
        if !cancels && !self.needs_bump(nonce, slot, last, view, now) {
            return None;
        }
        let kind = if cancels { AttemptKind::Noop } else { last.kind };
        let (intent, gas) = self.to_sign(slot, last, kind)?;
        let fees = self.dearer(last, &intent, kind, slot.wish, view)?;
        if !self.can_replace(slot, fees.cost(gas, intent.value), view) {
            return None;
        }
        let attempts = slot.attempts.len();
        let purpose = if cancels { Purpose::Cancel { attempts } } else { Purpose::Bump { attempts } };
        Some(Plan { purpose, kind, nonce, intent, gas, fees })
    }

    /// What a replacement signs: the request again, or nothing at all. What an outside signer made only it can make again.
    fn to_sign(&self, slot: &Slot, last: &Attempt, kind: AttemptKind) -> Option<(Intent, u64)> {
        if kind == AttemptKind::Noop {
            let gas = self.config.noop_gas;
            return Some((Intent::noop(self.id.address, gas), gas));
        }
        let request = self.requests.get(slot.owner.as_ref()?).filter(|request| !request.raw)?;
        Some((request.intent.clone(), last.gas))
    }

    /// Whether a nonce stands still for the price, or somebody wants it dearer.
    fn needs_bump(&self, nonce: Nonce, slot: &Slot, last: &Attempt, view: &View, now: Time) -> bool {
        let Some(watch) = self.watches.get(&nonce) else { return false };
        if watch.bundled || slot.attempts.len() > self.config.bumps_max {
            return false;
        }
        if slot.wish.is_some() {
            return true;
        }
        // While nothing is sealed, a higher price helps nobody.
        if view.latest.number <= last.bound_head {
            return false;
        }
        if watch.underpriced {
            return true;
        }
        let stall = millis(self.config.stall_ms);
        let holds_others_up = nonce == self.count() && self.is_stalled(now);
        let too_cheap = last.fees.max_fee_per_gas < view.quote.base_fee_per_gas;
        now.since(last.bound_at) >= stall && (holds_others_up || too_cheap)
    }

    /// The price of a replacement, if the cap leaves room for one.
    pub(super) fn dearer(
        &self,
        last: &Attempt,
        intent: &Intent,
        kind: AttemptKind,
        wish: Option<Fees>,
        view: &View,
    ) -> Option<Fees> {
        let cap = match kind {
            AttemptKind::Payload => self.cap(intent),
            AttemptKind::Noop => self.config.fee_cap,
        };
        let mut market = Fees::from_quote(&view.quote, cap);
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::BumpFromQuote) {
            return Fees::default().bumped(self.config.bump_percent, &market, cap);
        }
        if let Some(wanted) = wish {
            market.max_fee_per_gas = market.max_fee_per_gas.max(wanted.max_fee_per_gas);
            market.max_priority_fee_per_gas =
                market.max_priority_fee_per_gas.max(wanted.max_priority_fee_per_gas);
        }
        let fees = last.fees.bumped(self.config.bump_percent, &market, cap)?;
        Some(if intent.legacy { fees.into_legacy() } else { fees })
    }

    /// Whether an attempt of this cost can be paid for besides all else that is promised.
    pub(super) fn can_replace(&self, slot: &Slot, cost: U256, view: &View) -> bool {
        let more = cost.saturating_sub(slot.cost());
        self.reserved().saturating_add(more) <= view.balance
    }

    /// Whether all that is promised can be paid, by the newest look at the chain.
    pub(super) fn can_pay(&self, more: U256) -> bool {
        self.view.as_ref().is_some_and(|(view, _)| self.reserved().saturating_add(more) <= view.balance)
    }
}
