//! What an operator or a caller may ask of an account.

use super::{Account, RESETS_KEPT, watch::millis};
use crate::{AttemptKind, CancelReason, EventKind, Fees, Nonce, NonceLease, Place, RequestId, State};
use types::Time;

/// The answer to a cancellation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelAnswer {
    /// It will never be mined.
    Cancelled,
    /// A noop will compete with it.
    Cancelling,
    /// It is in a block, or has ended.
    TooLate,
}

/// The answer to a withdrawal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Withdrawal {
    /// It is cancelled and will never be mined.
    Withdrawn,
    /// Something of it has left, and it goes on.
    TooLate,
}

/// Why something was not done. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OperationError {
    /// There is no such request, or it has ended.
    #[error("no such request is in flight")]
    NotInFlight,
    /// A replacement would come too soon after the last attempt.
    #[error("the last attempt is younger than {0} ms")]
    TooSoon(u64),
    /// The fees are above the cap, or below what a replacement needs.
    #[error("these fees cannot replace the last attempt under the fee cap")]
    Fees,
    /// As many replacements were made as may be.
    #[error("the transaction has been replaced {0} times, which is the most there can be")]
    Replaced(usize),
    /// The target has it in a block that is being built.
    #[error("the transaction is in a block that is being built, and cannot be replaced; try again")]
    Bundled,
    /// The account cannot pay for it.
    #[error("the account cannot pay for it")]
    Funds,
    /// Only whoever holds the key can do it.
    #[error("the account's key is not held here: only its signer can replace nonce {0}")]
    NoKey(Nonce),
    /// The chain has not been looked at for too long.
    #[error("the chain has not been seen lately; try again")]
    NoView,
    /// The account is paused.
    #[error("the account is paused")]
    Paused,
    /// As many nonces are in flight or on loan as may be.
    #[error("too many nonces are in flight or on loan; try again")]
    Full,
    /// The nonce is not on loan under this token.
    #[error("nonce {attempted} is not on loan to you; the next one is {current}")]
    NonceConflict {
        /// The next nonce.
        current: Nonce,
        /// The nonce that was meant.
        attempted: Nonce,
    },
}

impl OperationError {
    /// Whether the same may work later.
    pub fn should_retry(&self) -> bool {
        match self {
            Self::TooSoon(_) | Self::NoView | Self::Paused | Self::Full | Self::NonceConflict { .. } => true,
            Self::Bundled | Self::Funds => true,
            Self::NotInFlight | Self::Fees | Self::Replaced(_) | Self::NoKey(_) => false,
        }
    }
}

impl Account {
    /// Cancels a request: at once if nothing of it has left, otherwise by a noop that competes with it.
    pub fn cancel(&mut self, id: &RequestId, now: Time) -> Result<CancelAnswer, OperationError> {
        let state = self.state_of(id).ok_or(OperationError::NotInFlight)?.clone();
        match state {
            State::Accepted { .. } => self.end_cancelled(id, now),
            State::Bound { nonce } | State::Submitted { nonce } => {
                return self.cancel_bound(id, nonce, now);
            }
            State::Cancelling { .. } => return Ok(CancelAnswer::Cancelling),
            _ => return Ok(CancelAnswer::TooLate),
        }
        Ok(CancelAnswer::Cancelled)
    }

    /// Cancels a request whose caller does not wait any longer, unless something of it has left: that one goes on, and
    /// no noop competes with it.
    pub fn withdraw(&mut self, id: &RequestId, now: Time) -> Result<Withdrawal, OperationError> {
        let state = self.state_of(id).ok_or(OperationError::NotInFlight)?;
        let left = match state.nonce() {
            Some(nonce) => self.watches.get(&nonce).is_none_or(|watch| watch.sent),
            None => false,
        };
        if left {
            return Ok(Withdrawal::TooLate);
        }
        Ok(match self.cancel(id, now)? {
            CancelAnswer::Cancelled => Withdrawal::Withdrawn,
            CancelAnswer::Cancelling | CancelAnswer::TooLate => Withdrawal::TooLate,
        })
    }

    fn end_cancelled(&mut self, id: &RequestId, now: Time) {
        self.become_state(id, State::Cancelled, now);
        self.tell(id, EventKind::Cancelled, now);
    }

    fn cancel_bound(
        &mut self,
        id: &RequestId,
        nonce: Nonce,
        now: Time,
    ) -> Result<CancelAnswer, OperationError> {
        let sent = self.watches.get(&nonce).is_none_or(|watch| watch.sent);
        #[cfg(feature = "bugs")]
        let sent = sent && !self.makes(crate::Mistake::RecycleAfterSend);
        let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) else { return Ok(CancelAnswer::TooLate) };
        if sent && !self.config.holds_key {
            return Err(OperationError::NoKey(nonce));
        }
        if sent {
            slot.cancel = Some(CancelReason::Asked);
            self.touch_place(nonce);
            return Ok(CancelAnswer::Cancelling);
        }
        let slot = slot.clone();
        self.remember(id, nonce, &slot, None);
        self.put(nonce, Place::Free { since: now });
        self.tidy();
        self.watch_gaps(now);
        self.end_cancelled(id, now);
        Ok(CancelAnswer::Cancelled)
    }

    /// Asks for a dearer attempt now, at these fees at least if there are any; the rules of a bump hold. The wish is part of
    /// the nonce's row until an attempt has fulfilled it.
    pub fn replace(&mut self, id: &RequestId, fees: Option<Fees>, now: Time) -> Result<(), OperationError> {
        let request =
            self.requests.get(id).filter(|request| !request.raw).ok_or(OperationError::NotInFlight)?;
        let nonce = match request.state {
            State::Bound { nonce } | State::Submitted { nonce } => nonce,
            _ => return Err(OperationError::NotInFlight),
        };
        let cap = self.cap(&request.intent);
        let slot = self.places.get(&nonce).and_then(Place::slot).ok_or(OperationError::NotInFlight)?;
        let last = slot.last().ok_or(OperationError::NotInFlight)?;
        let interval = self.config.replacement_interval_ms;
        if now.since(last.bound_at) < millis(interval) {
            return Err(OperationError::TooSoon(interval));
        }
        if slot.attempts.len() > self.config.bumps_max {
            return Err(OperationError::Replaced(self.config.bumps_max));
        }
        if self.watches.get(&nonce).is_some_and(|watch| watch.bundled) {
            return Err(OperationError::Bundled);
        }
        let wanted = fees.unwrap_or_default();
        let fits = last.fees.bumped(self.config.bump_percent, &wanted, cap).is_some();
        if !fits || wanted.max_fee_per_gas > cap {
            return Err(OperationError::Fees);
        }
        if let Some((view, _)) = &self.view
            && let Some(fees) = self.dearer(last, &request.intent, AttemptKind::Payload, Some(wanted), view)
            && !self.can_replace(slot, fees.cost(last.gas, request.intent.value), view)
        {
            return Err(OperationError::Funds);
        }
        if let Some(Place::Bound(slot)) = self.places.get_mut(&nonce) {
            slot.wish = Some(wanted);
            self.touch_place(nonce);
        }
        Ok(())
    }

    /// Binds no more nonces. What is in flight goes on, and gaps are filled.
    pub fn pause_sending(&mut self, paused: bool) {
        if self.row.paused != paused {
            self.row.paused = paused;
            self.drop_new_drafts();
            self.touch_row();
        }
    }

    /// Lends a nonce to an outside signer, who shows the token when it comes back.
    pub fn reserve(&mut self, token: &str, until: Time, now: Time) -> Result<Nonce, OperationError> {
        if self.row.paused {
            return Err(OperationError::Paused);
        }
        self.fresh_view(now).ok_or(OperationError::NoView)?;
        // First attempts that wait for their signature get other nonces.
        self.drop_new_drafts();
        let loans = self.places.values().filter(|place| matches!(place, Place::Leased(_))).count();
        let full = loans >= self.config.leased_max
            || self.in_flight() >= self.config.in_flight_limit()
            || self.places.len() >= self.config.unfinal_max;
        let nonce = self.next_nonce().filter(|_| !full).ok_or(OperationError::Full)?;
        self.put(nonce, Place::Leased(NonceLease { token: token.to_owned(), until, reported: false }));
        self.row.next = self.row.next.max(nonce + 1);
        Ok(nonce)
    }

    /// Takes a nonce back that its signer has not used, wherever it lies.
    pub fn release(&mut self, nonce: Nonce, token: &str, now: Time) -> Result<(), OperationError> {
        self.loan(nonce, token)?;
        self.put(nonce, Place::Free { since: now });
        self.tidy();
        self.watch_gaps(now);
        Ok(())
    }

    pub(super) fn loan(&self, nonce: Nonce, token: &str) -> Result<&NonceLease, OperationError> {
        match self.places.get(&nonce) {
            Some(Place::Leased(loan)) if loan.token == token => Ok(loan),
            _ => Err(OperationError::NonceConflict { current: self.row.next, attempted: nonce }),
        }
    }

    /// Brings the book in line with the chain, at an operator's word: foreign transactions that the chain does not show
    /// are forgotten at once, and a count that was doubted is believed. What is in flight or on loan keeps its nonce.
    pub fn reset(&mut self, now: Time) -> Result<(), OperationError> {
        self.believe(now);
        let view = self.fresh_view(now).ok_or(OperationError::NoView)?;
        self.drop_new_drafts();
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ResetInFlight) {
            self.reset_in_flight(view.latest_count, now);
        }
        let gone: Vec<Nonce> = self
            .places
            .range(view.latest_count.max(self.row.final_count)..)
            .filter(|(_, place)| **place == Place::Foreign)
            .map(|(nonce, _)| *nonce)
            .collect();
        for nonce in gone {
            self.put(nonce, Place::Free { since: now });
        }
        self.reconcile(&view, now);
        self.row.resets_ms.push(now.as_millis());
        let old = self.row.resets_ms.len().saturating_sub(RESETS_KEPT);
        self.row.resets_ms.drain(..old);
        self.touch_row();
        self.wake(now);
        Ok(())
    }

    #[cfg(feature = "bugs")]
    fn reset_in_flight(&mut self, count: u64, now: Time) {
        let nonces: Vec<Nonce> = self.places.range(count..).map(|(nonce, _)| *nonce).collect();
        for nonce in nonces {
            let owner = self.places.get(&nonce).and_then(Place::slot).and_then(|slot| slot.owner.clone());
            self.put(nonce, Place::Free { since: now });
            if let Some(owner) = owner {
                self.become_state(&owner, State::Accepted { held: None }, now);
            }
        }
    }
}
