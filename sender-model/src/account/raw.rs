//! Transactions that an outside signer made for a nonce on loan. They are watched and sent again like any other, but
//! only their signer could bump their fees.

use super::{Account, OperationError};
use crate::{
    Attempt, AttemptKind, EventKind, Fees, Intent, Nonce, Precondition, Request, RequestId, RequestOptions,
    Slot, State, key,
};
use alloy_primitives::{B256, Bytes};
use types::Time;

/// A signed transaction, taken apart by whoever checked its signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawRequest {
    /// The request's name.
    pub id: RequestId,
    /// The hash of all that the caller sent.
    pub body: B256,
    /// The token of the loan.
    pub token: String,
    /// The nonce.
    pub nonce: Nonce,
    /// What it does.
    pub intent: Intent,
    /// Its gas limit.
    pub gas: u64,
    /// Its fees.
    pub fees: Fees,
    /// Its hash.
    pub hash: B256,
    /// The signed transaction.
    pub bytes: Bytes,
}

impl Account {
    /// Takes a signed transaction for a nonce on loan. The commit also demands that its name is new.
    pub fn submit_raw(&mut self, raw: RawRequest, now: Time) -> Result<(), OperationError> {
        self.check_loan(raw.nonce, &raw.token)?;
        if raw.nonce < self.chain.count() || self.requests.get(&raw.id).is_some() {
            return Err(OperationError::NonceConflict { current: self.book.next(), attempted: raw.nonce });
        }
        let cost = raw.fees.cost(raw.gas, raw.intent.value);
        if !self.can_pay(cost) {
            return Err(OperationError::Full);
        }
        let attempt = Attempt {
            hash: raw.hash,
            kind: AttemptKind::Payload,
            fees: raw.fees,
            legacy: raw.intent.legacy,
            gas: raw.gas,
            cost,
            bytes: raw.bytes,
            bound_at: now,
            bound_head: self.chain.head(),
            taken: false,
            nacked: false,
        };
        let request = Request {
            id: raw.id.clone(),
            account: self.id,
            intent: raw.intent,
            body: raw.body,
            accepted_at: now,
            expires_at: None,
            options: RequestOptions::default(),
            raw: true,
            state: State::Accepted { held: None },
            events: 0,
            rebinds: 0,
            past: vec![],
            completed_at: None,
        };
        let id = raw.id;
        self.changes.require(Precondition::Absent(key::request(&id)));
        self.changes.require(Precondition::Absent(key::used_name(&id)));
        self.requests.create(request);
        self.tell(&id, EventKind::Accepted, now);
        let owner = Some(id.clone());
        self.take_nonce(raw.nonce, Slot::new(owner, attempt), now);
        self.become_state(&id, State::Bound { nonce: raw.nonce }, now);
        Ok(())
    }
}
