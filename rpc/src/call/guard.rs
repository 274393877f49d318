//! Bounds what a trace may take: time, and memory for what it records and for what is made of that.

use super::deadline::Deadline;
use alloy_primitives::{
    Address, Log, U256,
    map::{AddressMap, HashSet},
};
use revm::{
    Inspector,
    bytecode::opcode::{SLOAD, SSTORE},
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        InterpreterTypes,
        interpreter_types::{InputsTr, Jumps, MemoryTr, StackTr},
    },
};

/// What a step takes besides its stack, its memory and its storage: as it is recorded, and as it is shown.
const STEP_BYTES: usize = 512;
/// A word on the stack, recorded and shown.
const WORD_BYTES: usize = 64;
/// How much more than itself a step's memory takes: it is shown as text, in lines.
const MEMORY_COPIES: usize = 4;
/// A slot of a contract in the storage that is shown with a step. All that the contract has used so far are shown with
/// each step that uses one.
const SLOT_BYTES: usize = 96;
/// What a call takes besides its input and its output.
const CALL_BYTES: usize = 1024;
/// What a log takes besides its data.
const LOG_BYTES: usize = 512;

/// What an inspector keeps of an execution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recorded {
    /// Up to so many steps.
    pub(crate) steps: u64,
    /// With each step the memory.
    pub(crate) memory: bool,
    /// With each step that uses storage what its contract has used of it.
    pub(crate) storage: bool,
    /// Calls, with what goes in and what comes out.
    pub(crate) calls: bool,
    /// Logs.
    pub(crate) logs: bool,
}

/// Stops an execution whose trace gets too large, or takes too long.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    deadline: Deadline,
    recorded: Recorded,
    /// The slots that each contract has used.
    slots: AddressMap<HashSet<U256>>,
    bytes_left: usize,
}

impl Guard {
    pub(crate) fn new(deadline: Deadline, recorded: Recorded, bytes_left: usize) -> Self {
        Self { deadline, recorded, slots: AddressMap::default(), bytes_left }
    }

    /// Whether the time was over.
    pub(crate) const fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    /// The memory that is left; none if there was too much to record.
    pub(crate) const fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    const fn charge(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// How many slots are shown with a step that uses this one.
    fn slots_of(&mut self, contract: Address, slot: U256) -> usize {
        let slots = self.slots.entry(contract).or_default();
        slots.insert(slot);
        slots.len()
    }
}

impl<CTX, INTR> Inspector<CTX, INTR> for Guard
where
    INTR: InterpreterTypes<Bytecode: Jumps, Stack: StackTr, Memory: MemoryTr, Input: InputsTr>,
{
    fn step(&mut self, interp: &mut Interpreter<INTR>, context: &mut CTX) {
        if self.recorded.steps > 0 {
            self.recorded.steps -= 1;
            let memory = if self.recorded.memory { interp.memory.size() } else { 0 };
            let slots = match interp.stack.data().last() {
                Some(slot)
                    if self.recorded.storage && [SLOAD, SSTORE].contains(&interp.bytecode.opcode()) =>
                {
                    self.slots_of(interp.input.target_address(), *slot)
                }
                _ => 0,
            };
            self.charge(
                STEP_BYTES + WORD_BYTES * interp.stack.len() + MEMORY_COPIES * memory + SLOT_BYTES * slots,
            );
        }
        if self.bytes_left == 0 {
            interp.halt(InstructionResult::OutOfGas);
        }
        self.deadline.step(interp, context);
    }

    fn log(&mut self, _: &mut CTX, log: Log) {
        if self.recorded.logs {
            self.charge(LOG_BYTES + log.data.data.len());
        }
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        if self.recorded.calls {
            self.charge(CALL_BYTES + inputs.input.len());
        }
        Inspector::<CTX, INTR>::call(&mut self.deadline, context, inputs)
    }

    fn call_end(&mut self, _: &mut CTX, _: &CallInputs, outcome: &mut CallOutcome) {
        if self.recorded.calls {
            self.charge(outcome.result.output.len());
        }
    }

    fn create(&mut self, context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        if self.recorded.calls {
            self.charge(CALL_BYTES + inputs.init_code().len());
        }
        Inspector::<CTX, INTR>::create(&mut self.deadline, context, inputs)
    }

    fn create_end(&mut self, _: &mut CTX, _: &CreateInputs, outcome: &mut CreateOutcome) {
        if self.recorded.calls {
            self.charge(outcome.result.output.len());
        }
    }
}
