//! What an operator or a caller may ask of an account.

use super::{Account, watch::millis};
use crate::{AttemptKind, CancelReason, EventKind, Fees, Nonce, NonceLease, NonceState, RequestId, State};
use types::Time;

/// Resets that are remembered.
const RESETS_KEPT: usize = 5;

/// The answer to a cancellation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelOutcome {
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
    pub fn cancel(&mut self, id: &RequestId, now: Time) -> Result<CancelOutcome, OperationError> {
        let state = self.requests.state(id).ok_or(OperationError::NotInFlight)?.clone();
        match state {
            State::Accepted { .. } => self.end_cancelled(id, now),
            State::Bound { nonce } | State::Submitted { nonce } => {
                return self.cancel_bound(id, nonce, now);
            }
            State::Cancelling { .. } => return Ok(CancelOutcome::Cancelling),
            _ => return Ok(CancelOutcome::TooLate),
        }
        Ok(CancelOutcome::Cancelled)
    }

    /// Cancels a request whose caller does not wait any longer, unless something of it has left: that one goes on, and
    /// no noop competes with it.
    pub fn withdraw(&mut self, id: &RequestId, now: Time) -> Result<Withdrawal, OperationError> {
        let state = self.requests.state(id).ok_or(OperationError::NotInFlight)?;
        if state.nonce().is_some_and(|nonce| self.book.may_have_left(nonce)) {
            return Ok(Withdrawal::TooLate);
        }
        Ok(match self.cancel(id, now)? {
            CancelOutcome::Cancelled => Withdrawal::Withdrawn,
            CancelOutcome::Cancelling | CancelOutcome::TooLate => Withdrawal::TooLate,
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
    ) -> Result<CancelOutcome, OperationError> {
        let sent = self.book.may_have_left(nonce);
        #[cfg(feature = "bugs")]
        let sent = sent && !self.makes(crate::Mistake::RecycleAfterSend);
        let Some(slot) = self.book.slot(nonce) else { return Ok(CancelOutcome::TooLate) };
        if sent && !self.config.holds_key {
            return Err(OperationError::NoKey(nonce));
        }
        if sent {
            self.book.edit(nonce, |slot| {
                slot.cancel = Some(CancelReason::Asked);
                true
            });
            return Ok(CancelOutcome::Cancelling);
        }
        self.requests.remember(id, nonce, slot, None);
        self.free(nonce, now);
        self.end_cancelled(id, now);
        Ok(CancelOutcome::Cancelled)
    }

    /// Makes a nonce free that nothing has used.
    fn free(&mut self, nonce: Nonce, now: Time) {
        self.book.put(nonce, NonceState::Free { since: now });
        self.book.tidy(self.chain.count());
        self.report_gaps(now);
    }

    /// Asks for a fee bump now, to these fees at least if there are any; the rules of a bump hold. The wish is part of the
    /// nonce's row until an attempt has fulfilled it.
    pub fn replace(&mut self, id: &RequestId, fees: Option<Fees>, now: Time) -> Result<(), OperationError> {
        let request =
            self.requests.get(id).filter(|request| !request.raw).ok_or(OperationError::NotInFlight)?;
        let nonce = match request.state {
            State::Bound { nonce } | State::Submitted { nonce } => nonce,
            _ => return Err(OperationError::NotInFlight),
        };
        let slot = self.book.slot(nonce).ok_or(OperationError::NotInFlight)?;
        let last = slot.last().ok_or(OperationError::NotInFlight)?;
        let interval = self.config.replacement_interval_ms;
        if now.since(last.bound_at) < millis(interval) {
            return Err(OperationError::TooSoon(interval));
        }
        if slot.attempts.len() > self.config.bumps_max {
            return Err(OperationError::Replaced(self.config.bumps_max));
        }
        if self.book.watch(nonce).is_some_and(|watch| watch.is_bundled()) {
            return Err(OperationError::Bundled);
        }
        let (policy, intent, wanted) = (self.fees(), &request.intent, fees.unwrap_or_default());
        if !policy.allows(last.fees, intent, wanted) {
            return Err(OperationError::Fees);
        }
        let payload = (intent, AttemptKind::Payload);
        if let Some((view, _)) = self.chain.view()
            && let Some(fees) = policy.replacement(last.fees, payload, Some(wanted), &view.quote)
            && !self.can_replace(slot, fees.cost(last.gas, intent.value), view)
        {
            return Err(OperationError::Funds);
        }
        self.book.edit(nonce, |slot| {
            slot.wish = Some(wanted);
            true
        });
        Ok(())
    }

    /// Binds no more nonces. What is in flight goes on, and gaps are filled.
    pub fn pause_sending(&mut self, paused: bool) {
        if self.paused != paused {
            self.paused = paused;
            self.signing.drop_new();
            self.changes.touch_row();
        }
    }

    /// Lends a nonce to an outside signer, who shows the token when it comes back.
    pub fn reserve(&mut self, token: &str, until: Time, now: Time) -> Result<Nonce, OperationError> {
        if self.paused {
            return Err(OperationError::Paused);
        }
        self.fresh_view(now).ok_or(OperationError::NoView)?;
        // First attempts that wait for their signature get other nonces.
        self.signing.drop_new();
        let full = self.book.loans() >= self.config.leased_max
            || self.in_flight() >= self.config.in_flight_limit()
            || self.is_full();
        let nonce = self.next_nonce().filter(|_| !full).ok_or(OperationError::Full)?;
        self.book
            .put(nonce, NonceState::Leased(NonceLease { token: token.to_owned(), until, reported: false }));
        Ok(nonce)
    }

    /// Takes a nonce back that its signer has not used, wherever it lies.
    pub fn release(&mut self, nonce: Nonce, token: &str, now: Time) -> Result<(), OperationError> {
        self.check_loan(nonce, token)?;
        self.free(nonce, now);
        Ok(())
    }

    /// Whether a nonce is on loan under this token.
    pub(super) fn check_loan(&self, nonce: Nonce, token: &str) -> Result<(), OperationError> {
        match self.book.loan(nonce, token) {
            Some(_) => Ok(()),
            None => Err(OperationError::NonceConflict { current: self.book.next(), attempted: nonce }),
        }
    }

    /// Brings the book in line with the chain, at an operator's word: foreign transactions that the chain does not show
    /// are forgotten at once, and a count that was doubted is believed. What is in flight or on loan keeps its nonce.
    pub fn reset(&mut self, now: Time) -> Result<(), OperationError> {
        self.chain.believe(now, millis(self.config.view_age_max_ms));
        let view = self.fresh_view(now).ok_or(OperationError::NoView)?;
        self.signing.drop_new();
        #[cfg(feature = "bugs")]
        if self.makes(crate::Mistake::ResetInFlight) {
            self.reset_in_flight(view.latest_count, now);
        }
        self.book.forget_foreign(view.latest_count.max(self.chain.final_count()), now);
        self.reconcile(&view, now);
        self.resets_ms.push(now.as_millis());
        let old = self.resets_ms.len().saturating_sub(RESETS_KEPT);
        self.resets_ms.drain(..old);
        self.changes.touch_row();
        self.wake(now);
        Ok(())
    }

    #[cfg(feature = "bugs")]
    fn reset_in_flight(&mut self, count: u64, now: Time) {
        let nonces: Vec<Nonce> = self.book.iter().map(|(nonce, _)| nonce).collect();
        for nonce in nonces.into_iter().filter(|nonce| *nonce >= count) {
            let owner = self.book.slot(nonce).and_then(|slot| slot.owner.clone());
            self.book.put(nonce, NonceState::Free { since: now });
            if let Some(owner) = owner {
                self.become_state(&owner, State::Accepted { held: None }, now);
            }
        }
    }
}
