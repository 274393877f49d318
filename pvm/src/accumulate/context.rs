//! One service's accumulation (Ψ_A): its context, and which host call does what.

use super::{PartialState, Transfer, operand::Operand};
use crate::{
    accounts::Changes,
    calls::{Call, OK, WHAT},
    machine::Machines,
    run::{End, Fault, Flow, Guest, Host, Invocation, Limits},
};
use alloy_primitives::Bytes;
use jam::{
    Hash, Params,
    codec::{Encode, put_natural},
    hash::blake2b,
    state::{AuthQueues, Privileges, Validators},
};
use std::{collections::BTreeSet, sync::Arc};

/// A service may end with a hash instead of calling `yield`.
const HASH_BYTES: usize = 32;
/// Numbers of services below this one are given by the registrar (S).
const FIRST_PUBLIC: u64 = 1 << 16;
/// How many numbers there are for the others.
const PUBLIC_NUMBERS: u64 = (1 << 32) - FIRST_PUBLIC - (1 << 8);
/// How far apart the numbers of two services that one creates are.
const NUMBER_STEP: u64 = 42;

/// What all services of a block know.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) params: &'a Params,
    /// τ'.
    pub(crate) slot: u32,
    /// η₀'.
    pub(crate) entropy: Hash,
    pub(crate) limits: Limits<'a>,
}

/// One dimension of the context (L).
#[derive(Clone, Debug)]
pub(crate) struct Implications<'a> {
    pub(crate) state: PartialState<'a>,
    pub(crate) next_service: u32,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) output: Option<Hash>,
    pub(crate) provisions: BTreeSet<(u32, Bytes)>,
}

/// What a service's accumulation came to.
pub(crate) struct One {
    pub(crate) changes: Changes,
    pub(crate) designated: Arc<Validators>,
    pub(crate) queues: Arc<AuthQueues>,
    pub(crate) privileges: Arc<Privileges>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) output: Option<Hash>,
    pub(crate) provisions: BTreeSet<(u32, Bytes)>,
    pub(crate) gas_used: u64,
}

impl Implications<'_> {
    fn after(self, gas_used: u64) -> One {
        let Self { state, transfers, output, provisions, .. } = self;
        let PartialState { accounts, designated, queues, privileges } = state;
        let changes = accounts.into_fresh_changes();
        One { changes, designated, queues, privileges, transfers, output, provisions, gas_used }
    }
}

/// A service that accumulates.
pub(crate) struct Context<'a> {
    pub(crate) scene: Scene<'a>,
    pub(crate) service: u32,
    pub(crate) operands: &'a [Operand<'a>],
    pub(crate) x: Implications<'a>,
    pub(crate) y: Implications<'a>,
}

impl Machines {
    /// Accumulates for one service (Δ1, Ψ_A).
    pub(crate) fn accumulate_one<'a>(
        &self,
        scene: Scene<'a>,
        mut state: PartialState<'a>,
        service: u32,
        gas: u64,
        operands: &'a [Operand<'a>],
    ) -> Result<One, Fault> {
        let next_service = first_free(&scene, &state, service);
        let info = state.accounts.info(service);
        let code = info.as_ref().and_then(|info| {
            let code = state.accounts.preimage(service, info.code_hash)?.clone();
            let fits = code.len() <= scene.params.service_code_bytes_max as usize;
            // Code without metadata is none.
            self.program(info.code_hash, &code).ok().filter(|_| fits)
        });
        credit(&mut state, service, operands);
        let x = Implications {
            state,
            next_service,
            transfers: vec![],
            output: None,
            provisions: BTreeSet::new(),
        };
        let Some(program) = code else { return Ok(x.after(0)) };
        let mut arguments = vec![];
        put_natural(scene.slot.into(), &mut arguments);
        put_natural(service.into(), &mut arguments);
        put_natural(operands.len() as u64, &mut arguments);
        let invocation = Invocation {
            speed: self.accumulating,
            entry: 5,
            gas,
            arguments: &arguments,
            output_bytes_max: HASH_BYTES,
            limits: scene.limits,
        };
        let mut context = Context { scene, service, operands, y: x.clone(), x };
        let (end, gas_used) = self.run(&program, &invocation, &mut context)?;
        let Context { x, y, .. } = context;
        let after = match end {
            End::Panic | End::OutOfGas => y,
            End::Halt(output) if output.len() == HASH_BYTES => {
                Implications { output: Some(Hash::from_slice(&output)), ..x }
            }
            End::Halt(_) | End::Oversize => x,
        };
        Ok(after.after(gas_used))
    }
}

/// Transfers arrive before the code runs, and whether it runs or not.
fn credit(state: &mut PartialState<'_>, service: u32, operands: &[Operand<'_>]) {
    let amounts = operands.iter().filter_map(|operand| match operand {
        Operand::Transfer(transfer) => Some(transfer.amount),
        Operand::Work(..) => None,
    });
    let amount = amounts.fold(0, u64::saturating_add);
    let Some(mut info) = state.accounts.info(service).filter(|_| amount > 0) else { return };
    info.balance = info.balance.saturating_add(amount);
    state.accounts.set_info(service, &info);
}

/// The number of the first service that this one may create in this block.
fn first_free(scene: &Scene<'_>, state: &PartialState<'_>, service: u32) -> u32 {
    let mut seed = vec![];
    put_natural(service.into(), &mut seed);
    scene.entropy.encode_to(&mut seed);
    put_natural(scene.slot.into(), &mut seed);
    let hash = blake2b(&[&seed]);
    let number = u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]]);
    free_from(state, u64::from(number) % PUBLIC_NUMBERS + FIRST_PUBLIC)
}

/// The first number from one on that no service has (check).
fn free_from(state: &PartialState<'_>, number: u64) -> u32 {
    let mut number = number;
    while state.accounts.exists(number as u32) {
        number = (number - FIRST_PUBLIC + 1) % PUBLIC_NUMBERS + FIRST_PUBLIC;
    }
    number as u32
}

/// The number after the one of a service that was just created.
pub(super) fn following(state: &PartialState<'_>, number: u32) -> u32 {
    free_from(state, (u64::from(number) - FIRST_PUBLIC + NUMBER_STEP) % PUBLIC_NUMBERS + FIRST_PUBLIC)
}

/// Whether a number is one that the registrar gives.
pub(super) const fn is_reserved(number: u64) -> bool {
    number < FIRST_PUBLIC
}

impl Host for Context<'_> {
    fn call(&mut self, call: Call, guest: &mut Guest<'_>) -> Result<Flow, Fault> {
        Ok(match call {
            Call::Gas => Flow::Answer(guest.exact_gas().max(0) as u64),
            Call::Fetch => self.fetch(guest),
            Call::Lookup => self.lookup(guest),
            Call::Read => self.read(guest),
            Call::Write => self.write(guest),
            Call::Info => self.info(guest),
            Call::Bless => self.bless(guest),
            Call::Assign => self.assign(guest),
            Call::Designate => self.designate(guest),
            Call::Checkpoint => {
                self.y = self.x.clone();
                Flow::Answer(guest.exact_gas().max(0) as u64)
            }
            Call::New => self.create(guest),
            Call::Upgrade => self.upgrade(guest),
            Call::Transfer => self.transfer(guest),
            Call::Eject => self.eject(guest),
            Call::Query => self.query(guest),
            Call::Solicit => self.solicit(guest),
            Call::Forget => self.forget(guest),
            Call::Yield => match guest.read_hash(guest.register(7)) {
                Some(output) => {
                    self.x.output = Some(output);
                    Flow::Answer(OK)
                }
                None => Flow::Panic,
            },
            Call::Provide => self.provide(guest),
            _ => Flow::Answer(WHAT),
        })
    }
}
