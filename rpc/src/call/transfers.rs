//! Logs as they come, with those of plain transfers among them if wanted (ERC-7528).

use super::deadline::Deadline;
use alloy_primitives::{Address, B256, Log, LogData, U256, address, b256};
use revm::{
    Inspector,
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Interpreter, InterpreterTypes,
        interpreter_types::Jumps,
    },
};

/// Where logs of plain transfers come from.
const ETHER: Address = address!("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
/// keccak-256 of `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Watches the logs of one transaction, and its time.
#[derive(Clone, Debug)]
pub(crate) struct Transfers {
    deadline: Deadline,
    wanted: bool,
    /// The logs of each frame that is being executed; those of a frame that fails are forgotten.
    frames: Vec<Vec<Log>>,
    logs: Vec<Log>,
}

impl Transfers {
    pub(crate) const fn new(deadline: Deadline, wanted: bool) -> Self {
        Self { deadline, wanted, frames: Vec::new(), logs: Vec::new() }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    /// The logs of a transaction that has ended.
    pub(crate) fn into_logs(self) -> Vec<Log> {
        self.logs
    }

    fn end(&mut self, success: bool) {
        let logs = self.frames.pop().filter(|_| success).unwrap_or_default();
        self.frames.last_mut().unwrap_or(&mut self.logs).extend(logs);
    }
}

fn transfer(from: Address, to: Address, wei: U256) -> Log {
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    Log { address: ETHER, data: LogData::new_unchecked(topics, B256::from(wei).to_vec().into()) }
}

impl<CTX, INTR: InterpreterTypes<Bytecode: Jumps>> Inspector<CTX, INTR> for Transfers {
    fn step(&mut self, interp: &mut Interpreter<INTR>, context: &mut CTX) {
        self.deadline.step(interp, context);
    }

    fn log(&mut self, _: &mut CTX, log: Log) {
        self.frames.last_mut().unwrap_or(&mut self.logs).push(log);
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let wei = inputs.transfer_value().unwrap_or_default();
        let moves = self.wanted && !wei.is_zero() && inputs.scheme == CallScheme::Call;
        let moved = moves.then(|| transfer(inputs.caller, inputs.target_address, wei));
        self.frames.push(moved.into_iter().collect());
        Inspector::<CTX, INTR>::call(&mut self.deadline, context, inputs)
    }

    fn call_end(&mut self, _: &mut CTX, _: &CallInputs, outcome: &mut CallOutcome) {
        self.end(outcome.result.is_ok());
    }

    fn create(&mut self, context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.frames.push(Vec::new());
        Inspector::<CTX, INTR>::create(&mut self.deadline, context, inputs)
    }

    fn create_end(&mut self, _: &mut CTX, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        // The address of what is created is known only now; what came with it moved before anything else.
        if let (true, Some(to), Some(logs)) = (self.wanted, outcome.address, self.frames.last_mut())
            && !inputs.value().is_zero()
        {
            logs.insert(0, transfer(inputs.caller(), to, inputs.value()));
        }
        self.end(outcome.result.is_ok());
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, wei: U256) {
        if self.wanted && !wei.is_zero() {
            self.frames.last_mut().unwrap_or(&mut self.logs).push(transfer(contract, target, wei));
        }
    }
}
