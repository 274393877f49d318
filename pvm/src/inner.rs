//! Machines within a machine: `machine`, `peek`, `poke`, `pages`, `invoke`, `expunge` (appendix B.6).
//!
//! They are interpreted, and their memory is made page by page. Our service has no use for them; others may. A program can ask for
//! far more memory than its gas suggests, so all its machines together have a limit of this host.

use crate::{
    calls::{HUH, OK, OOB, WHO},
    machine::Machines,
    program::{self, PAGE_BYTES},
    run::{Fault, Flow, Guest},
};
use alloy_primitives::Bytes;
use polkavm::{InterruptKind, MemoryProtection, ProgramCounter, RawInstance, Reg};
use std::collections::BTreeMap;

/// Bytes of code and memory that a program's machines may take together.
const INNER_BYTES_MAX: u64 = 256 << 20;
/// What a machine costs beside its code.
const MACHINE_BYTES: u64 = 64 << 10;
/// Pages of the address space.
const PAGES: u64 = (1 << 32) / PAGE_BYTES as u64;
/// The first page that can be made accessible.
const FIRST_PAGE: u64 = 16;
/// Gas and registers, as `invoke` passes them.
const STATE_BYTES: usize = 8 * 14;

/// How an inner machine stopped.
const HALT: u64 = 0;
const PANIC: u64 = 1;
const FAULT: u64 = 2;
const HOST: u64 = 3;
const OUT_OF_GAS: u64 = 4;

/// The machines of a program.
pub(crate) struct Inner<'a> {
    machines: &'a Machines,
    instances: BTreeMap<u64, InnerMachine>,
    bytes: u64,
}

struct InnerMachine {
    instance: RawInstance,
    /// Where it goes on.
    at: u64,
}

impl<'a> Inner<'a> {
    pub(crate) const fn new(machines: &'a Machines) -> Self {
        Self { machines, instances: BTreeMap::new(), bytes: 0 }
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > INNER_BYTES_MAX { Err(Fault::Memory(INNER_BYTES_MAX)) } else { Ok(()) }
    }

    pub(crate) fn machine(&mut self, guest: &Guest<'_>) -> Result<Flow, Fault> {
        let (from, len, at) = (guest.register(7), guest.register(8), guest.register(9));
        if !guest.is_readable(from, len) {
            return Ok(Flow::Panic);
        }
        self.reserve(len.saturating_add(MACHINE_BYTES))?;
        let Some(code) = guest.read(from, len).map(Bytes::from) else { return Ok(Flow::Panic) };
        let module = program::bare(&code).and_then(|blob| self.machines.inner(blob));
        let Ok(module) = module else { return Ok(Flow::Answer(HUH)) };
        let instance = module.instantiate().map_err(|error| Fault::Engine(error.to_string()))?;
        let number = (0..).find(|number| !self.instances.contains_key(number));
        let number = number.expect("there are fewer machines than numbers");
        self.instances.insert(number, InnerMachine { instance, at });
        Ok(Flow::Answer(number))
    }

    pub(crate) fn peek(&self, guest: &mut Guest<'_>) -> Flow {
        let (number, to) = (guest.register(7), guest.register(8));
        let (from, len) = (guest.register(9), guest.register(10));
        if !guest.is_writable(to, len) {
            return Flow::Panic;
        }
        let Some(machine) = self.instances.get(&number) else { return Flow::Answer(WHO) };
        match machine.read(from, len) {
            Some(bytes) if guest.write(to, &bytes) => Flow::Answer(OK),
            Some(_) => Flow::Panic,
            None => Flow::Answer(OOB),
        }
    }

    pub(crate) fn poke(&mut self, guest: &Guest<'_>) -> Flow {
        let (number, from) = (guest.register(7), guest.register(8));
        let (to, len) = (guest.register(9), guest.register(10));
        let Some(bytes) = guest.read(from, len) else { return Flow::Panic };
        let Some(machine) = self.instances.get_mut(&number) else { return Flow::Answer(WHO) };
        Flow::Answer(if machine.write(to, &bytes) { OK } else { OOB })
    }

    pub(crate) fn pages(&mut self, guest: &Guest<'_>) -> Result<Flow, Fault> {
        let (number, first) = (guest.register(7), guest.register(8));
        let (count, mode) = (guest.register(9), guest.register(10));
        let Some(machine) = self.instances.get_mut(&number) else { return Ok(Flow::Answer(WHO)) };
        let end = first.saturating_add(count);
        if mode > 4 || first < FIRST_PAGE || end >= PAGES {
            return Ok(Flow::Answer(HUH));
        }
        let (at, len) = ((first * u64::from(PAGE_BYTES)) as u32, (count * u64::from(PAGE_BYTES)) as u32);
        let accessible =
            |instance: &RawInstance| instance.is_memory_accessible(at, len, MemoryProtection::Read);
        if mode > 2 && !accessible(&machine.instance) {
            return Ok(Flow::Answer(HUH));
        }
        if matches!(mode, 1 | 2) {
            self.reserve(len.into())?;
        }
        let machine = self.instances.get_mut(&number);
        let changed = machine.map_or(Ok(()), |machine| set_pages(&mut machine.instance, at, len, mode));
        changed.map(|()| Flow::Answer(OK)).map_err(Fault::Engine)
    }

    pub(crate) fn invoke(&mut self, guest: &mut Guest<'_>) -> Result<Flow, Fault> {
        let (number, at) = (guest.register(7), guest.register(8));
        let state = guest.read(at, STATE_BYTES as u64);
        let state = state.filter(|_| guest.is_writable(at, STATE_BYTES as u64));
        let Some(state) = state else { return Ok(Flow::Panic) };
        let Some(machine) = self.instances.get_mut(&number) else { return Ok(Flow::Answer(WHO)) };
        let (stopped, detail) = machine.run(&state)?;
        guest.write(at, &machine.state());
        if let Some(detail) = detail {
            guest.set_second(detail);
        }
        Ok(Flow::Answer(stopped))
    }

    pub(crate) fn expunge(&mut self, guest: &Guest<'_>) -> Flow {
        match self.instances.remove(&guest.register(7)) {
            Some(machine) => Flow::Answer(machine.at),
            None => Flow::Answer(WHO),
        }
    }
}

/// Makes pages inaccessible (0), zero and readable (1) or writable (2), or changes what may be done with them (3, 4).
fn set_pages(instance: &mut RawInstance, at: u32, len: u32, mode: u64) -> Result<(), String> {
    let access = if matches!(mode, 1 | 3) { MemoryProtection::Read } else { MemoryProtection::ReadWrite };
    let changed = match mode {
        0 => return instance.free_pages(at, len).map_err(|error| error.to_string()),
        1 | 2 => instance.zero_memory_with_memory_protection(at, len, access),
        3 => instance.protect_memory(at, len),
        _ => instance.unprotect_memory(at, len),
    };
    changed.map_err(|error| error.to_string())
}

impl InnerMachine {
    fn read(&self, from: u64, len: u64) -> Option<Vec<u8>> {
        if len == 0 {
            return Some(vec![]);
        }
        let (from, len) = (u32::try_from(from).ok()?, u32::try_from(len).ok()?);
        let accessible = self.instance.is_memory_accessible(from, len, MemoryProtection::Read);
        accessible.then(|| self.instance.read_memory(from, len).ok()).flatten()
    }

    fn write(&mut self, to: u64, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let (Ok(to), Ok(len)) = (u32::try_from(to), u32::try_from(bytes.len())) else { return false };
        self.instance.is_memory_accessible(to, len, MemoryProtection::ReadWrite)
            && self.instance.write_memory(to, bytes).is_ok()
    }

    /// Runs with gas and registers as passed. Gives how it stopped, with a detail.
    fn run(&mut self, state: &[u8]) -> Result<(u64, Option<u64>), Fault> {
        let (words, _) = state.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let gas = words.next().unwrap_or(0).min(i64::MAX as u64);
        self.instance.set_gas(gas as i64);
        for (register, value) in Reg::ALL.into_iter().zip(words) {
            self.instance.set_reg(register, value);
        }
        let Ok(at) = u32::try_from(self.at) else { return Ok((PANIC, None)) };
        self.instance.set_next_program_counter(ProgramCounter(at));
        let stopped = self.instance.run().map_err(|error| Fault::Engine(error.to_string()))?;
        let here = self.instance.program_counter().map_or(self.at, |at| at.0.into());
        let (next, stopped) = match stopped {
            InterruptKind::Finished => (here, (HALT, None)),
            InterruptKind::Trap | InterruptKind::Step => (here, (PANIC, None)),
            InterruptKind::Segfault(fault) => (here, (FAULT, Some(fault.page_address.into()))),
            InterruptKind::NotEnoughGas => (here, (OUT_OF_GAS, None)),
            InterruptKind::Ecalli(number) => {
                let next = self.instance.next_program_counter().map_or(here, |at| at.0.into());
                // The immediate is sign-extended.
                (next, (HOST, Some(number as i32 as i64 as u64)))
            }
        };
        self.at = next;
        Ok(stopped)
    }

    fn state(&self) -> [u8; STATE_BYTES] {
        let mut state = [0; STATE_BYTES];
        let gas = self.instance.gas() as u64;
        let values = std::iter::once(gas).chain(Reg::ALL.map(|register| self.instance.reg(register)));
        for (place, value) in state.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        state
    }
}
