//! Running a program to its end (appendices A.6 and A.8).

use crate::{
    calls::{CALL_GAS, Call, WHAT},
    machine::{ARGUMENT_BYTES_MAX, Machines, Program, Speed},
};
use alloy_primitives::Bytes;
use polkavm::{
    InterruptKind, MemoryProtection, ProgramBlob, ProgramCounter, RETURN_TO_HOST, RawInstance, Reg,
};

/// Gas that is run before the limits are looked at: some tens of milliseconds.
const SLICE_GAS: u64 = 20_000_000;
/// Addresses end here.
const ADDRESSES: u64 = 1 << 32;

/// What a program may take of this machine, beside its gas. No validator agrees with another about these, so who meets one has
/// no result, not a bad one.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Bytes of memory that the program may ask for.
    pub heap_bytes_max: u32,
    /// Whether the time is up. Looked at every 20 M gas and at every host call.
    pub is_late: &'a (dyn Fn() -> bool + Sync),
}

impl Limits<'_> {
    /// No time limit, and the heap that addresses allow.
    pub const NONE: Self = Self { heap_bytes_max: u32::MAX, is_late: &|| false };
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Limits(heap {} bytes)", self.heap_bytes_max)
    }
}

/// Why this machine cannot say what a program comes to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// The engine failed.
    #[error("the engine failed: {0}")]
    Engine(String),
    /// The time is up.
    #[error("the program runs for too long")]
    Late,
    /// More memory than this machine gives.
    #[error("the program takes more memory than the {0} bytes that it is given here")]
    Memory(u64),
}

/// How a program ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// With this output.
    Halt(Bytes),
    /// With an output of more bytes than were wanted.
    Oversize,
    /// Unexpectedly.
    Panic,
    /// The gas ran out.
    OutOfGas,
}

/// What a host call does to the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The program goes on, with this in its first result register.
    Answer(u64),
    /// The program panics.
    Panic,
    /// The gas ran out.
    OutOfGas,
}

/// What a program can ask for.
pub(crate) trait Host {
    /// A host call, for which [`CALL_GAS`] was paid.
    fn call(&mut self, call: Call, guest: &mut Guest<'_>) -> Result<Flow, Fault>;
}

/// What to run.
pub(crate) struct Invocation<'a> {
    pub(crate) speed: Speed,
    /// Where the program begins: 0 for authorizers and refine, 5 for accumulate.
    pub(crate) entry: u32,
    pub(crate) gas: u64,
    pub(crate) arguments: &'a [u8],
    /// An output with more bytes is not read.
    pub(crate) output_bytes_max: usize,
    pub(crate) limits: Limits<'a>,
}

impl Machines {
    /// Runs a program. Gives how it ended and the gas that it used.
    pub(crate) fn run(
        &self,
        program: &Program,
        invocation: &Invocation<'_>,
        host: &mut dyn Host,
    ) -> Result<(End, u64), Fault> {
        let Ok((module, exact)) = self.module(program, invocation.speed) else { return Ok((End::Panic, 0)) };
        let instance = module.instantiate().map_err(|error| Fault::Engine(error.to_string()))?;
        let blocks = (!exact).then_some(&program.blob);
        let mut guest = Guest { instance, blocks, reserve: 0, limits: invocation.limits };
        guest.begin(invocation)?;
        // More gas than this counts as this: no chain allows it.
        let gas = invocation.gas.min(i64::MAX as u64);
        guest.set_gas(gas as i64);
        let end = guest.run(host, invocation.output_bytes_max)?;
        let left = match end {
            End::OutOfGas => 0,
            _ => guest.exact_gas().max(0) as u64,
        };
        Ok((end, gas.saturating_sub(left)))
    }
}

/// A program that runs, as host calls see it.
pub(crate) struct Guest<'a> {
    instance: RawInstance,
    /// The program, if gas is charged by block and not by instruction.
    blocks: Option<&'a ProgramBlob>,
    /// Gas that the engine was not given yet.
    reserve: i64,
    limits: Limits<'a>,
}

impl Guest<'_> {
    /// Puts arguments and registers in place (A.7).
    fn begin(&mut self, invocation: &Invocation<'_>) -> Result<(), Fault> {
        let arguments = invocation.arguments;
        let len = u32::try_from(arguments.len()).ok().filter(|len| *len <= ARGUMENT_BYTES_MAX);
        let len = len.ok_or_else(|| Fault::Engine("arguments of more than 16 MiB".into()))?;
        let map = self.instance.module().memory_map();
        let (at, stack) = (map.aux_data_address(), map.stack_address_high());
        let engine = |error: polkavm::Error| Fault::Engine(error.to_string());
        self.instance
            .write_memory(at, arguments)
            .map_err(|error| Fault::Engine(format!("arguments cannot be written: {error}")))?;
        self.instance.set_accessible_aux_size(len).map_err(engine)?;
        // Arguments are read only, for host calls too.
        self.instance.set_host_side_aux_write_protect(true).map_err(engine)?;
        self.instance.clear_regs();
        self.instance.set_reg(Reg::RA, RETURN_TO_HOST);
        self.instance.set_reg(Reg::SP, stack.into());
        self.instance.set_reg(Reg::A0, at.into());
        self.instance.set_reg(Reg::A1, len.into());
        self.instance.set_next_program_counter(ProgramCounter(invocation.entry));
        Ok(())
    }

    fn run(&mut self, host: &mut dyn Host, output_bytes_max: usize) -> Result<End, Fault> {
        loop {
            self.check_limits()?;
            match self.instance.run().map_err(|error| Fault::Engine(error.to_string()))? {
                InterruptKind::Finished => return Ok(self.output(output_bytes_max)),
                InterruptKind::NotEnoughGas if self.reserve > 0 => self.set_gas(self.gas()),
                InterruptKind::NotEnoughGas => return Ok(End::OutOfGas),
                InterruptKind::Ecalli(number) => match self.call(number, host)? {
                    Flow::Answer(value) => self.instance.set_reg(Reg::A0, value),
                    Flow::Panic => return Ok(End::Panic),
                    Flow::OutOfGas => return Ok(End::OutOfGas),
                },
                InterruptKind::Trap | InterruptKind::Segfault(_) | InterruptKind::Step => {
                    return Ok(End::Panic);
                }
            }
        }
    }

    fn call(&mut self, number: u32, host: &mut dyn Host) -> Result<Flow, Fault> {
        if !self.charge(CALL_GAS) {
            return Ok(Flow::OutOfGas);
        }
        match Call::of(number) {
            Some(call) => host.call(call, self),
            None => Ok(Flow::Answer(WHAT)),
        }
    }

    fn check_limits(&self) -> Result<(), Fault> {
        if self.instance.heap_size() > self.limits.heap_bytes_max {
            return Err(Fault::Memory(self.limits.heap_bytes_max.into()));
        }
        if (self.limits.is_late)() { Err(Fault::Late) } else { Ok(()) }
    }

    /// The output of a program that ended well; nothing if it names memory that it cannot read.
    fn output(&self, bytes_max: usize) -> End {
        let (at, len) = (self.register(7), self.register(8));
        if !self.is_readable(at, len) {
            return End::Halt(Bytes::new());
        }
        if len > bytes_max as u64 {
            return End::Oversize;
        }
        self.read(at, len).map_or(End::Panic, |output| End::Halt(output.into()))
    }

    /// A register by the Gray Paper's number.
    pub(crate) fn register(&self, number: usize) -> u64 {
        self.instance.reg(Reg::ALL[number])
    }

    /// Sets the second result register.
    pub(crate) fn set_second(&mut self, value: u64) {
        self.instance.set_reg(Reg::A1, value);
    }

    /// The gas that is left for the engine's counter.
    fn gas(&self) -> i64 {
        self.instance.gas().saturating_add(self.reserve)
    }

    /// The gas that is left by the Gray Paper's count. The recompiler charges a block when it begins, so what the rest of it
    /// takes is added.
    pub(crate) fn exact_gas(&self) -> i64 {
        self.gas().saturating_add(self.blocks.map_or(0, |program| self.charged_ahead(program)))
    }

    fn charged_ahead(&self, program: &ProgramBlob) -> i64 {
        let Some(at) = self.instance.program_counter() else { return 0 };
        let mut rest = program.instructions_bounded_at(at);
        match rest.next() {
            Some(first) if !first.opcode().starts_new_basic_block() => {}
            _ => return 0,
        }
        let mut ahead = 0;
        for instruction in rest {
            ahead += 1;
            if instruction.opcode().starts_new_basic_block() {
                break;
            }
        }
        ahead
    }

    fn set_gas(&mut self, gas: i64) {
        let slice = gas.min(SLICE_GAS as i64);
        self.reserve = gas.saturating_sub(slice);
        self.instance.set_gas(slice);
    }

    /// Takes gas for a host call; whether there was enough.
    pub(crate) fn charge(&mut self, gas: u64) -> bool {
        let enough = i64::try_from(gas).is_ok_and(|gas| gas <= self.exact_gas());
        if enough {
            self.set_gas(self.gas() - gas as i64);
        }
        enough
    }

    /// Whether memory can be read. No bytes always can.
    pub(crate) fn is_readable(&self, at: u64, len: u64) -> bool {
        self.is_accessible(at, len, MemoryProtection::Read)
    }

    /// Whether memory can be written.
    pub(crate) fn is_writable(&self, at: u64, len: u64) -> bool {
        self.is_accessible(at, len, MemoryProtection::ReadWrite)
    }

    fn is_accessible(&self, at: u64, len: u64, least: MemoryProtection) -> bool {
        if len == 0 {
            return true;
        }
        let fits = at < ADDRESSES && len < ADDRESSES && at + len <= ADDRESSES;
        fits && self.instance.is_memory_accessible(at as u32, len as u32, least)
    }

    /// Reads memory, if all of it can be read.
    pub(crate) fn read(&self, at: u64, len: u64) -> Option<Vec<u8>> {
        if len == 0 {
            return Some(vec![]);
        }
        if !self.is_readable(at, len) {
            return None;
        }
        self.instance.read_memory(at as u32, len as u32).ok()
    }

    /// Reads 32 bytes.
    pub(crate) fn read_hash(&self, at: u64) -> Option<jam::Hash> {
        self.read(at, 32).map(|bytes| jam::Hash::from_slice(&bytes))
    }

    /// Writes memory; whether all of it could be written.
    pub(crate) fn write(&mut self, at: u64, bytes: &[u8]) -> bool {
        bytes.is_empty()
            || self.is_writable(at, bytes.len() as u64)
                && self.instance.write_memory(at as u32, bytes).is_ok()
    }

    /// Answers with a value: a part of it is written to memory, its whole length is the answer.
    ///
    /// `from` and `len` say which part the program wants; both are cut to what there is.
    pub(crate) fn give(&mut self, value: Option<&Bytes>, to: u64, from: u64, len: u64) -> Flow {
        let Some(value) = value else { return Flow::Answer(crate::calls::NONE) };
        let all = value.len() as u64;
        let from = from.min(all);
        let len = len.min(all - from);
        if !self.write(to, &value[from as usize..(from + len) as usize]) {
            return Flow::Panic;
        }
        Flow::Answer(all)
    }
}
