//! Counts what a transaction executes, while it is executed.
//!
//! An instruction is counted before it is executed. One that runs out of gas counts too, with no more words than its gas would have paid
//! for.

use super::{Feature, Work, precompiles};
use alloy_primitives::U256;
use revm::{
    Inspector,
    bytecode::opcode,
    context_interface::ContextTr,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, MemoryTr},
    },
};

/// Bytes of a word.
const WORD: usize = 32;
/// Bytes that Keccak takes at once.
pub(super) const KECCAK_BYTES: usize = 136;

/// Counts what is executed; see the [module](super).
#[derive(Clone, Debug, Default)]
pub struct Counter {
    work: Work,
    /// Whether the current instruction can grow the memory.
    grows: bool,
    memory_before: usize,
}

/// What an instruction needs besides being counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Its operands say how much it does.
    Sized,
    /// It can grow the memory.
    Memory,
    /// Both.
    SizedMemory,
}

const KINDS: [Kind; 256] = kinds();

const fn kinds() -> [Kind; 256] {
    let mut kinds = [Kind::Plain; 256];
    let (sized, memory, both) = (
        [opcode::DIV, opcode::SDIV, opcode::MOD, opcode::SMOD, opcode::ADDMOD, opcode::MULMOD, opcode::EXP],
        [
            opcode::MLOAD,
            opcode::MSTORE,
            opcode::MSTORE8,
            opcode::CREATE,
            opcode::CREATE2,
            opcode::CALL,
            opcode::CALLCODE,
            opcode::DELEGATECALL,
            opcode::STATICCALL,
        ],
        [
            opcode::KECCAK256,
            opcode::CALLDATACOPY,
            opcode::CODECOPY,
            opcode::EXTCODECOPY,
            opcode::RETURNDATACOPY,
            opcode::MCOPY,
            opcode::LOG0,
            opcode::LOG1,
            opcode::LOG2,
            opcode::LOG3,
            opcode::LOG4,
            opcode::RETURN,
            opcode::REVERT,
        ],
    );
    let mut at = 0;
    while at < sized.len() {
        kinds[sized[at] as usize] = Kind::Sized;
        at += 1;
    }
    at = 0;
    while at < memory.len() {
        kinds[memory[at] as usize] = Kind::Memory;
        at += 1;
    }
    at = 0;
    while at < both.len() {
        kinds[both[at] as usize] = Kind::SizedMemory;
        at += 1;
    }
    kinds
}

impl Counter {
    /// What was counted since the last [`clear`](Self::clear).
    pub const fn work(&self) -> &Work {
        &self.work
    }

    pub(crate) const fn work_mut(&mut self) -> &mut Work {
        &mut self.work
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.work.clear();
        self.grows = false;
    }

    /// Counts what the operands of an instruction say.
    #[inline(never)]
    fn sized(&mut self, opcode: u8, interpreter: &Interpreter<EthInterpreter>) {
        let stack = interpreter.stack.data();
        let operand =
            |from_top: usize| stack.len().checked_sub(from_top + 1).map_or(U256::ZERO, |index| stack[index]);
        let gas = interpreter.gas.remaining();
        // More bytes than `gas` pays for are not touched.
        let bytes = |from_top: usize, gas_for_word: u64| {
            let paid = (gas / gas_for_word).saturating_mul(WORD as u64);
            usize::try_from(operand(from_top).saturating_to::<u64>().min(paid)).unwrap_or(usize::MAX)
        };
        match opcode {
            opcode::DIV | opcode::MOD => self.divided(limbs(operand(0)), operand(1)),
            opcode::SDIV | opcode::SMOD => self.divided(limbs(size_of(operand(0))), size_of(operand(1))),
            opcode::ADDMOD => {
                for summand in [0, 1] {
                    self.divided(limbs(operand(summand)), operand(2));
                }
            }
            opcode::MULMOD => self.divided(limbs(operand(0)) + limbs(operand(1)), operand(2)),
            opcode::EXP => {
                let exponent = operand(1);
                self.work.add(Feature::ExponentBits, exponent.bit_len() + exponent.count_ones());
            }
            opcode::KECCAK256 => match bytes(1, 6) {
                // The hash of nothing is known.
                0 => {}
                bytes => self.work.add(Feature::KeccakBlocks, bytes / KECCAK_BYTES + 1),
            },
            opcode::MCOPY => self.work.add(Feature::MovedWords, bytes(2, 3).div_ceil(WORD)),
            opcode::CALLDATACOPY | opcode::CODECOPY | opcode::RETURNDATACOPY => {
                self.work.add(Feature::CopiedWords, bytes(2, 3).div_ceil(WORD));
            }
            opcode::EXTCODECOPY => self.work.add(Feature::CopiedWords, bytes(3, 3).div_ceil(WORD)),
            opcode::LOG0..=opcode::LOG4 => self.work.add(Feature::LogWords, bytes(1, 256).div_ceil(WORD)),
            opcode::RETURN | opcode::REVERT => {
                // What is returned is in memory, which was or is paid for with three gas for each word.
                let known = interpreter.memory.size();
                let new = bytes(1, 3).min(known.saturating_add(usize::try_from(gas / 3).unwrap_or(0) * WORD));
                self.work.add(Feature::OutputWords, new.div_ceil(WORD));
            }
            _ => {}
        }
    }

    /// A division of so many limbs.
    fn divided(&mut self, limbs_above: usize, divisor: U256) {
        let limbs_below = limbs(divisor);
        let steps = (limbs_above + 1).saturating_sub(limbs_below);
        match limbs_below {
            0 => {}
            1 => self.work.add(Feature::DivisionShort, limbs_above),
            2 => self.work.add(Feature::DivisionTwo, steps),
            _ => {
                self.work.add(Feature::DivisionLong, steps);
                self.work.add(Feature::DivisionLimbs, steps * limbs_below);
            }
        }
    }
}

fn limbs(number: U256) -> usize {
    number.bit_len().div_ceil(64)
}

/// The absolute value of a number in two's complement.
fn size_of(number: U256) -> U256 {
    if number.bit(255) { number.wrapping_neg() } else { number }
}

impl<CTX: ContextTr> Inspector<CTX, EthInterpreter> for Counter {
    fn initialize_interp(&mut self, _: &mut Interpreter<EthInterpreter>, _: &mut CTX) {
        self.work.add(Feature::Frames, 1);
    }

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut CTX) {
        let opcode = interpreter.bytecode.opcode();
        self.work.opcode(opcode);
        let kind = KINDS[usize::from(opcode)];
        self.grows = false;
        if kind != Kind::Plain {
            if matches!(kind, Kind::Sized | Kind::SizedMemory) {
                self.sized(opcode, interpreter);
            }
            if kind != Kind::Sized {
                self.grows = true;
                self.memory_before = interpreter.memory.size();
            }
        }
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut CTX) {
        if self.grows {
            let grown = interpreter.memory.size().saturating_sub(self.memory_before);
            self.work.add(Feature::MemoryWords, grown / WORD);
        }
    }

    fn call(&mut self, _: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.work.add(Feature::Calls, 1);
        self.work.add(Feature::InputWords, inputs.input.len().div_ceil(WORD));
        None
    }

    fn call_end(&mut self, context: &mut CTX, inputs: &CallInputs, outcome: &mut CallOutcome) {
        // Gas is taken before anything is done.
        if outcome.was_precompile_called && outcome.result.result != InstructionResult::PrecompileOOG {
            let input = inputs.input.as_bytes(context);
            precompiles::count(&mut self.work, inputs.bytecode_address, &input, &outcome.result.output);
        }
    }

    fn create(&mut self, _: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.work.add(Feature::InitBytes, inputs.init_code().len());
        None
    }
}
