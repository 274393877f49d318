//! Preimages: `query`, `solicit`, `forget`, `provide` (appendix B.7).

use super::context::Context;
use crate::{
    accounts::{count_request, threshold, uncount_request},
    calls::{FULL, HUH, NONE, OK, WHO},
    run::{Flow, Guest},
};
use alloy_primitives::Bytes;
use jam::{Hash, hash::blake2b, state::preimage_key};

impl Context<'_> {
    /// The hash and length that the first two registers name, with what is recorded of them.
    fn requested(&self, guest: &Guest<'_>) -> Option<(Hash, Option<u32>, Option<Vec<u32>>)> {
        let hash = guest.read_hash(guest.register(7))?;
        let len = u32::try_from(guest.register(8)).ok();
        let slots = len.and_then(|len| self.x.state.accounts.request(self.service, hash, len));
        Some((hash, len, slots))
    }

    pub(super) fn query(&self, guest: &mut Guest<'_>) -> Flow {
        let Some((_, _, slots)) = self.requested(guest) else { return Flow::Panic };
        let wide = u64::from;
        let (first, second) = match slots.as_deref() {
            Some([]) => (0, 0),
            Some([x]) => (1 + (wide(*x) << 32), 0),
            Some([x, y]) => (2 + (wide(*x) << 32), wide(*y)),
            Some([x, y, z]) => (3 + (wide(*x) << 32), wide(*y) + (wide(*z) << 32)),
            _ => (NONE, 0),
        };
        guest.set_second(second);
        Flow::Answer(first)
    }

    pub(super) fn solicit(&mut self, guest: &Guest<'_>) -> Flow {
        let Some((hash, len, slots)) = self.requested(guest) else { return Flow::Panic };
        // A blob of 4 GiB has a deposit that no balance pays for.
        let Some(len) = len else { return Flow::Answer(FULL) };
        let Some(mut own) = self.x.state.accounts.info(self.service) else { return Flow::Answer(FULL) };
        let slots = match slots.as_deref() {
            None => {
                count_request(&mut own, len);
                vec![]
            }
            Some([x, y]) => vec![*x, *y, self.scene.slot],
            Some(_) => return Flow::Answer(HUH),
        };
        if own.balance < threshold(self.scene.params, &own) {
            return Flow::Answer(FULL);
        }
        let accounts = &mut self.x.state.accounts;
        accounts.set_info(self.service, &own);
        accounts.set_request(self.service, hash, len, Some(&slots));
        Flow::Answer(OK)
    }

    pub(super) fn forget(&mut self, guest: &Guest<'_>) -> Flow {
        let Some((hash, len, slots)) = self.requested(guest) else { return Flow::Panic };
        let (Some(len), Some(slots)) = (len, slots) else { return Flow::Answer(HUH) };
        let now = self.scene.slot;
        let slots = match slots[..] {
            [] => None,
            [_, y] if self.has_expired(y) => None,
            [x] => Some(vec![x, now]),
            [_, y, w] if self.has_expired(y) => Some(vec![w, now]),
            _ => return Flow::Answer(HUH),
        };
        let accounts = &mut self.x.state.accounts;
        accounts.set_request(self.service, hash, len, slots.as_ref());
        if slots.is_none() {
            accounts.set(preimage_key(self.service, hash), None);
            if let Some(mut own) = accounts.info(self.service) {
                uncount_request(&mut own, len);
                accounts.set_info(self.service, &own);
            }
        }
        Flow::Answer(OK)
    }

    pub(super) fn provide(&mut self, guest: &Guest<'_>) -> Flow {
        let blob = guest.read(guest.register(8), guest.register(9));
        let Some(blob) = blob.map(Bytes::from) else { return Flow::Panic };
        let service = match guest.register(7) {
            u64::MAX => Some(self.service),
            other => u32::try_from(other).ok(),
        };
        let accounts = &self.x.state.accounts;
        let Some(service) = service.filter(|service| accounts.exists(*service)) else {
            return Flow::Answer(WHO);
        };
        // Memory holds less than 4 GiB.
        let request = accounts.request(service, blake2b(&[&blob]), blob.len() as u32);
        let wanted = request.is_some_and(|slots| slots.is_empty());
        if !wanted || !self.x.provisions.insert((service, blob)) {
            return Flow::Answer(HUH);
        }
        Flow::Answer(OK)
    }
}
