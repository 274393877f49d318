//! Bounds what a trace may take: time, and memory for what it records.

use super::deadline::Deadline;
use revm::{
    Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        InterpreterTypes,
        interpreter_types::{Jumps, MemoryTr, StackTr},
    },
};

/// What a step takes besides its stack and its memory.
const STEP_BYTES: usize = 256;
/// A word on the stack.
const WORD_BYTES: usize = 32;

/// Stops an execution whose trace gets too large, or takes too long.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    deadline: Deadline,
    /// Whether each step is recorded, and whether with the memory.
    steps: bool,
    memory: bool,
    bytes_left: usize,
}

impl Guard {
    pub(crate) const fn new(deadline: Deadline, steps: bool, memory: bool, bytes_left: usize) -> Self {
        Self { deadline, steps, memory, bytes_left }
    }

    /// Whether the time was over.
    pub(crate) const fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    /// The memory that is left; none if there was too much to record.
    pub(crate) const fn bytes_left(&self) -> usize {
        self.bytes_left
    }
}

impl<CTX, INTR> Inspector<CTX, INTR> for Guard
where
    INTR: InterpreterTypes<Bytecode: Jumps, Stack: StackTr, Memory: MemoryTr>,
{
    fn step(&mut self, interp: &mut Interpreter<INTR>, context: &mut CTX) {
        if self.steps {
            let memory = if self.memory { interp.memory.size() } else { 0 };
            let step = STEP_BYTES + WORD_BYTES * interp.stack.len() + memory;
            self.bytes_left = self.bytes_left.saturating_sub(step);
        }
        if self.bytes_left == 0 {
            interp.halt(InstructionResult::OutOfGas);
        }
        self.deadline.step(interp, context);
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.bytes_left = self.bytes_left.saturating_sub(STEP_BYTES + inputs.input.len());
        Inspector::<CTX, INTR>::call(&mut self.deadline, context, inputs)
    }

    fn create(&mut self, context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.bytes_left = self.bytes_left.saturating_sub(STEP_BYTES + inputs.init_code().len());
        Inspector::<CTX, INTR>::create(&mut self.deadline, context, inputs)
    }
}
