//! Replacements: the same nonce at a higher price, because it stands still, because somebody asks, or because the request
//! is to be cancelled. All follow one rule.

use super::{Account, Action, signing::Plan, watch::millis};
use crate::{Attempt, AttemptKind, Intent, Nonce, Purpose, Slot, View};
use alloy_primitives::U256;
use types::Time;

impl Account {
    pub(super) fn draft_replacements(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(view) = self.fresh_view(now) else { return };
        let count = self.chain.count();
        let nonces: Vec<Nonce> =
            self.book.bound().map(|(nonce, _)| nonce).filter(|nonce| *nonce >= count).collect();
        for nonce in nonces {
            if self.signing.has(nonce) || actions.len() >= self.config.actions_max {
                continue;
            }
            if let Some(plan) = self.replacement(nonce, &view, now) {
                self.draft(plan, now, actions);
            }
        }
    }

    /// The replacement that a nonce needs now, if it needs one and may have one.
    fn replacement(&self, nonce: Nonce, view: &View, now: Time) -> Option<Plan> {
        let slot = self.book.slot(nonce).filter(|slot| slot.mined.is_none())?;
        let last = slot.last().filter(|last| self.changes.is_durable(last.hash))?;
        let refused = self.book.watch(nonce).is_some_and(|watch| watch.is_signing_refused(now));
        if refused || now.since(last.bound_at) < millis(self.config.replacement_interval_ms) {
            return None;
        }
        let cancels = slot.cancel.is_some() && !slot.has_noop();
        // No node of this chain takes the last attempt, however often it was bumped before that was known.
        let retypes = self.must_be_legacy() && !last.legacy;
        if !cancels && !retypes && !self.needs_bump(nonce, slot, last, view, now) {
            return None;
        }
        let kind = if cancels { AttemptKind::Noop } else { last.kind };
        let (intent, gas) = self.to_sign(slot, last, kind)?;
        let intent = self.typed(intent, view);
        let (policy, signs) = (self.fees(), (&intent, kind));
        let fees = if retypes {
            policy.retyped(last.fees, signs, slot.wish, &view.quote)
        } else {
            policy.replacement(last.fees, signs, slot.wish, &view.quote)?
        };
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

    /// Whether a nonce stands still for the price, or a caller wants it bumped.
    fn needs_bump(&self, nonce: Nonce, slot: &Slot, last: &Attempt, view: &View, now: Time) -> bool {
        let Some(watch) = self.book.watch(nonce) else { return false };
        if watch.is_bundled() || slot.attempts.len() > self.config.bumps_max {
            return false;
        }
        if slot.wish.is_some() {
            return true;
        }
        // While nothing is sealed, a higher price helps nobody.
        if view.latest.number <= last.bound_head {
            return false;
        }
        if watch.is_underpriced() {
            return true;
        }
        let stall = millis(self.config.stall_ms);
        let holds_others_up = nonce == self.chain.count() && self.is_stalled(now);
        let too_cheap = last.fees.max_fee_per_gas < view.quote.lowest();
        now.since(last.bound_at) >= stall && (holds_others_up || too_cheap)
    }

    /// Whether an attempt of this cost can be paid for besides all else that is promised.
    pub(super) fn can_replace(&self, slot: &Slot, cost: U256, view: &View) -> bool {
        let more = cost.saturating_sub(slot.cost());
        self.reserved().saturating_add(more) <= view.balance
    }
}
