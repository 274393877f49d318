//! Reading and writing: `fetch`, `lookup`, `read`, `write`, `info` (appendix B.5).

use super::{context::Context, operand::Operand};
use crate::{
    accounts::{count_storage, threshold},
    calls::{FULL, NONE},
    fetch::{self, Wanted},
    run::{Flow, Guest},
};
use alloy_primitives::Bytes;
use jam::{
    codec::{Encode, put_exactly, put_natural},
    state::{ServiceInfo, storage_key},
};

impl Context<'_> {
    pub(super) fn fetch(&self, guest: &mut Guest<'_>) -> Flow {
        let wanted = Wanted::of(guest);
        let value = match wanted.kind {
            1 => Some(Bytes::copy_from_slice(self.scene.entropy.as_slice())),
            14 => Some(encode_all(self.operands)),
            15 => wanted.first(self.operands).map(|operand| operand.encode().into()),
            _ => wanted.parameters(self.scene.params),
        };
        fetch::answer(guest, value.as_ref())
    }

    /// The service that a register names: this one, or another.
    fn named(&self, register: u64) -> Option<u32> {
        if register == u64::MAX { Some(self.service) } else { u32::try_from(register).ok() }
    }

    pub(super) fn lookup(&self, guest: &mut Guest<'_>) -> Flow {
        let service = self.named(guest.register(7));
        let Some(hash) = guest.read_hash(guest.register(8)) else { return Flow::Panic };
        let value = service.and_then(|service| self.x.state.accounts.preimage(service, hash));
        let (to, from, len) = (guest.register(9), guest.register(10), guest.register(11));
        guest.give(value, to, from, len)
    }

    pub(super) fn read(&self, guest: &mut Guest<'_>) -> Flow {
        let service = self.named(guest.register(7));
        let name = guest.read(guest.register(8), guest.register(9));
        let Some(name) = name else { return Flow::Panic };
        let value = service.and_then(|service| self.x.state.accounts.storage(service, &name));
        let (to, from, len) = (guest.register(10), guest.register(11), guest.register(12));
        guest.give(value, to, from, len)
    }

    pub(super) fn write(&mut self, guest: &Guest<'_>) -> Flow {
        let name = guest.read(guest.register(7), guest.register(8));
        let Some(name) = name else { return Flow::Panic };
        let value = match guest.register(10) {
            0 => None,
            len => match guest.read(guest.register(9), len) {
                Some(value) => Some(Bytes::from(value)),
                None => return Flow::Panic,
            },
        };
        let accounts = &mut self.x.state.accounts;
        let Some(mut info) = accounts.info(self.service) else { return Flow::Answer(FULL) };
        let before = accounts.storage(self.service, &name).map(|value| value.len());
        count_storage(&mut info, name.len(), before, value.as_ref().map(|value| value.len()));
        if threshold(self.scene.params, &info) > info.balance {
            return Flow::Answer(FULL);
        }
        accounts.set(storage_key(self.service, &name), value);
        accounts.set_info(self.service, &info);
        Flow::Answer(before.map_or(NONE, |len| len as u64))
    }

    pub(super) fn info(&self, guest: &mut Guest<'_>) -> Flow {
        let info = self.named(guest.register(7)).and_then(|service| self.x.state.accounts.info(service));
        let value = info.map(|info| Bytes::from(describe(&info, threshold(self.scene.params, &info))));
        let (to, from, len) = (guest.register(8), guest.register(9), guest.register(10));
        guest.give(value.as_ref(), to, from, len)
    }
}

fn encode_all(operands: &[Operand<'_>]) -> Bytes {
    let mut out = vec![];
    put_natural(operands.len() as u64, &mut out);
    put_exactly(operands, &mut out);
    out.into()
}

/// An account as `info` tells of it.
fn describe(info: &ServiceInfo, threshold: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    info.code_hash.encode_to(&mut out);
    for number in [info.balance, threshold, info.min_item_gas, info.min_memo_gas, info.bytes] {
        number.encode_to(&mut out);
    }
    info.items.encode_to(&mut out);
    info.deposit_offset.encode_to(&mut out);
    for number in [info.creation_slot, info.last_accumulation_slot, info.parent_service] {
        number.encode_to(&mut out);
    }
    out
}
