//! Privileges: `bless`, `assign`, `designate` (appendix B.7).

use super::context::Context;
use crate::{
    calls::{CORE, HUH, OK, WHO},
    run::{Flow, Guest},
};
use jam::{
    Hash,
    codec::Decode,
    state::{AuthQueue, Privileges, Validators},
};
use std::{collections::BTreeMap, sync::Arc};

/// Bytes of a validator's keys.
const VALIDATOR_BYTES: u64 = 336;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn service(register: u64) -> Option<u32> {
    u32::try_from(register).ok()
}

impl Context<'_> {
    pub(super) fn bless(&mut self, guest: &Guest<'_>) -> Flow {
        let cores = usize::from(self.scene.params.cores);
        let assign = guest.read(guest.register(8), 4 * cores as u64);
        let always = guest.read(guest.register(11), guest.register(12).saturating_mul(12));
        let (Some(assign), Some(always)) = (assign, always) else { return Flow::Panic };
        let named = (service(guest.register(7)), service(guest.register(9)), service(guest.register(10)));
        let (Some(bless), Some(designate), Some(register)) = named else { return Flow::Answer(WHO) };
        let always = always.chunks_exact(12).map(|entry| (number(&entry[..4]) as u32, number(&entry[4..])));
        self.x.state.privileges = Arc::new(Privileges {
            bless,
            assign: assign.chunks_exact(4).map(|bytes| number(bytes) as u32).collect(),
            designate,
            register,
            always_accumulate: always.collect::<BTreeMap<_, _>>(),
        });
        Flow::Answer(OK)
    }

    pub(super) fn assign(&mut self, guest: &Guest<'_>) -> Flow {
        let len = usize::from(self.scene.params.auth_queue_len);
        let Some(queue) = guest.read(guest.register(8), 32 * len as u64) else { return Flow::Panic };
        let core =
            usize::try_from(guest.register(7)).ok().filter(|core| *core < self.x.state.queues.cores.len());
        let Some(core) = core else { return Flow::Answer(CORE) };
        if self.x.state.privileges.assign.get(core) != Some(&self.service) {
            return Flow::Answer(HUH);
        }
        let Some(assigner) = service(guest.register(9)) else { return Flow::Answer(WHO) };
        let authorizers = queue.chunks_exact(32).map(Hash::from_slice).collect();
        Arc::make_mut(&mut self.x.state.queues).cores[core] = AuthQueue { authorizers };
        Arc::make_mut(&mut self.x.state.privileges).assign[core] = assigner;
        Flow::Answer(OK)
    }

    pub(super) fn designate(&mut self, guest: &Guest<'_>) -> Flow {
        let len = VALIDATOR_BYTES * u64::from(self.scene.params.validators);
        let Some(keys) = guest.read(guest.register(7), len) else { return Flow::Panic };
        if self.service != self.x.state.privileges.designate {
            return Flow::Answer(HUH);
        }
        let Ok(designated) = Validators::decode(&keys, self.scene.params) else { return Flow::Answer(HUH) };
        self.x.state.designated = Arc::new(designated);
        Flow::Answer(OK)
    }
}
