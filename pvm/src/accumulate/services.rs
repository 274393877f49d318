//! Other services and their balances: `new`, `upgrade`, `transfer`, `eject` (appendix B.7).

use super::{
    Transfer,
    context::{Context, following, is_reserved},
};
use crate::{
    accounts::{count_request, only_request_len, threshold},
    calls::{CASH, FULL, HUH, LOW, OK, WHO},
    run::{Flow, Guest},
};
use alloy_primitives::FixedBytes;
use jam::{
    Hash,
    state::{ServiceInfo, preimage_key, service_key},
};

/// Items of an account that asked for one preimage and has nothing else.
const ITEMS_OF_ONE_REQUEST: u32 = 2;

impl Context<'_> {
    fn own(&self) -> Option<ServiceInfo> {
        self.x.state.accounts.info(self.service)
    }

    pub(super) fn create(&mut self, guest: &Guest<'_>) -> Flow {
        let code_hash = guest.read_hash(guest.register(7));
        let len = u32::try_from(guest.register(8)).ok();
        let (Some(code_hash), Some(len)) = (code_hash, len) else { return Flow::Panic };
        let privileges = &self.x.state.privileges;
        let (deposit_offset, wanted) = (guest.register(11), guest.register(12));
        if deposit_offset != 0 && self.service != privileges.bless {
            return Flow::Answer(HUH);
        }
        let mut account = ServiceInfo {
            version: 0,
            code_hash,
            balance: 0,
            min_item_gas: guest.register(9),
            min_memo_gas: guest.register(10),
            bytes: 0,
            deposit_offset,
            items: 0,
            creation_slot: self.scene.slot,
            last_accumulation_slot: 0,
            parent_service: self.service,
        };
        count_request(&mut account, len);
        account.balance = threshold(self.scene.params, &account);
        let Some(mut own) = self.own() else { return Flow::Answer(CASH) };
        match own.balance.checked_sub(account.balance) {
            Some(rest) if rest >= threshold(self.scene.params, &own) => own.balance = rest,
            _ => return Flow::Answer(CASH),
        }
        let number = match u32::try_from(wanted) {
            Ok(wanted) if self.service == privileges.register && is_reserved(wanted.into()) => {
                if self.x.state.accounts.exists(wanted) {
                    return Flow::Answer(FULL);
                }
                wanted
            }
            _ => self.x.next_service,
        };
        let accounts = &mut self.x.state.accounts;
        accounts.set_info(self.service, &own);
        accounts.set_info(number, &account);
        accounts.set_request(number, code_hash, len, Some(&vec![]));
        if number == self.x.next_service {
            self.x.next_service = following(&self.x.state, number);
        }
        Flow::Answer(number.into())
    }

    pub(super) fn upgrade(&mut self, guest: &Guest<'_>) -> Flow {
        let Some(code_hash) = guest.read_hash(guest.register(7)) else { return Flow::Panic };
        if let Some(own) = self.own() {
            let (min_item_gas, min_memo_gas) = (guest.register(8), guest.register(9));
            let own = ServiceInfo { code_hash, min_item_gas, min_memo_gas, ..own };
            self.x.state.accounts.set_info(self.service, &own);
        }
        Flow::Answer(OK)
    }

    pub(super) fn transfer(&mut self, guest: &mut Guest<'_>) -> Flow {
        let (amount, gas) = (guest.register(8), guest.register(9));
        let memo = guest.read(guest.register(10), self.scene.params.memo_bytes.into());
        let Some(memo) = memo.filter(|memo| memo.len() == 128) else { return Flow::Panic };
        let receiver = u32::try_from(guest.register(7)).ok();
        let receiver = receiver.and_then(|to| Some((to, self.x.state.accounts.info(to)?)));
        let Some((destination, receiver)) = receiver else { return Flow::Answer(WHO) };
        if gas < receiver.min_memo_gas {
            return Flow::Answer(LOW);
        }
        let Some(mut own) = self.own() else { return Flow::Answer(CASH) };
        match own.balance.checked_sub(amount) {
            Some(rest) if rest >= threshold(self.scene.params, &own) => own.balance = rest,
            _ => return Flow::Answer(CASH),
        }
        // The receiver's gas is the sender's.
        if !guest.charge(gas) {
            return Flow::OutOfGas;
        }
        self.x.state.accounts.set_info(self.service, &own);
        let memo = FixedBytes::from_slice(&memo);
        self.x.transfers.push(Transfer { source: self.service, destination, amount, memo, gas });
        Flow::Answer(OK)
    }

    pub(super) fn eject(&mut self, guest: &Guest<'_>) -> Flow {
        let Some(hash) = guest.read_hash(guest.register(8)) else { return Flow::Panic };
        let other = u32::try_from(guest.register(7)).ok().filter(|other| *other != self.service);
        let other = other.and_then(|other| Some((other, self.x.state.accounts.info(other)?)));
        let Some((number, other)) = other.filter(|(_, other)| other.code_hash == owned_by(self.service))
        else {
            return Flow::Answer(WHO);
        };
        let accounts = &self.x.state.accounts;
        let request =
            only_request_len(&other).and_then(|len| Some((len, accounts.request(number, hash, len)?)));
        let (len, until) = match request {
            Some((len, slots)) if other.items == ITEMS_OF_ONE_REQUEST && slots.len() == 2 => (len, slots[1]),
            _ => return Flow::Answer(HUH),
        };
        if !self.has_expired(until) {
            return Flow::Answer(HUH);
        }
        let Some(mut own) = self.own() else { return Flow::Answer(HUH) };
        own.balance = own.balance.saturating_add(other.balance);
        let accounts = &mut self.x.state.accounts;
        accounts.set_info(self.service, &own);
        accounts.set(service_key(number), None);
        accounts.set(preimage_key(number, hash), None);
        accounts.set_request(number, hash, len, None);
        Flow::Answer(OK)
    }

    /// Whether a preimage that was given up at a slot may go (D).
    pub(super) fn has_expired(&self, since: u32) -> bool {
        let expiry = u64::from(since) + u64::from(self.scene.params.preimage_expiry_slots);
        expiry < u64::from(self.scene.slot)
    }
}

/// The code hash of an account that another service may eject: that one's number.
fn owned_by(service: u32) -> Hash {
    let mut hash = Hash::ZERO;
    hash[..4].copy_from_slice(&service.to_le_bytes());
    hash
}
