//! Stops an execution that takes too long.

use revm::{
    Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, Gas, InstructionResult, Interpreter,
        InterpreterResult, InterpreterTypes, interpreter_types::Jumps,
    },
};
use std::time::Instant;

/// The clock is looked at once in so many steps.
const STEPS_BETWEEN: u32 = 4096;

/// Ends every frame once the time is over.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    steps: u32,
    over: bool,
}

impl Deadline {
    pub(crate) const fn new(at: Instant) -> Self {
        Self { at, steps: 0, over: false }
    }

    /// Whether the time was over before the execution was.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    fn look(&mut self) -> bool {
        self.over = self.over || Instant::now() >= self.at;
        self.over
    }
}

fn stopped() -> InterpreterResult {
    InterpreterResult::new(InstructionResult::OutOfGas, Default::default(), Gas::new(0))
}

impl<CTX, INTR: InterpreterTypes<Bytecode: Jumps>> Inspector<CTX, INTR> for Deadline {
    fn step(&mut self, interp: &mut Interpreter<INTR>, _: &mut CTX) {
        self.steps = self.steps.wrapping_add(1);
        if self.over || (self.steps.is_multiple_of(STEPS_BETWEEN) && self.look()) {
            interp.halt(InstructionResult::OutOfGas);
        }
    }

    fn call(&mut self, _: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.look().then(|| CallOutcome::new(stopped(), inputs.return_memory_offset.clone()))
    }

    fn create(&mut self, _: &mut CTX, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.look().then(|| CreateOutcome::new(stopped(), None))
    }
}
