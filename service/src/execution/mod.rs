//! A block's transactions, executed one after the other.
//!
//! The one way there is, for the builder on a layer and for validators on a witness. An [`Execution`] is one revm for
//! the whole block. A transaction is first attempted, which changes nothing; whoever asked looks at what it would do and
//! then keeps it or discards it. A discarded one leaves no touched key behind.
//!
//! ```text
//!   new (stores the parent's hash, EIP-2935) -> attempt -> keep     -> attempt -> ..  -> finish
//!                                                       -> discard
//! ```

mod precompiles;
mod receipt;
mod rules;
mod transaction;

pub use precompiles::Portable;
pub use receipt::Executed;
pub use rules::{Blobs, Rules};
pub use transaction::environment;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use alloy_consensus::{Header, ReceiptEnvelope, Transaction, TxEnvelope, Typed2718};
use alloy_eips::eip2935::{HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS};
use alloy_primitives::{Address, Bloom, Bytes};
use revm::{
    Context, DatabaseCommit, ExecuteEvm, InspectEvm, Inspector, MainBuilder, MainContext, MainnetEvm,
    SystemCallEvm,
    context::{
        TxEnv,
        result::{EVMError, ExecResultAndState, ExecutionResult, InvalidTransaction},
    },
    handler::MainnetContext,
    state::EvmState,
};
use state::{
    Codes, Values,
    evm::{BlockEffects, BlockState, Checkpoint, EvmError, History},
};

/// The contract with the hashes of earlier blocks.
pub const HISTORY: History =
    History { address: HISTORY_STORAGE_ADDRESS, window: HISTORY_SERVE_WINDOW as u64 };

/// No transaction uses less.
const TRANSACTION_GAS_MIN: u64 = 21_000;
/// Room for more transactions than this is made when they are there.
const EXPECTED_MAX: usize = 8192;

/// Why a state has no answer, for these values and codes.
pub type StateError<V, C> = EvmError<<V as Values>::Error, <C as Codes>::Error>;

/// The machine that executes a block, with who watches it.
type Evm<V, C, W> = MainnetEvm<MainnetContext<BlockState<V, C>>, W>;

/// A block that is being executed. A builder can have each instruction watched by `W`; a validator has nobody watch.
pub struct Execution<V: Values, C: Codes, W = ()> {
    evm: Evm<V, C, W>,
    rules: Rules,
    gas_limit: u64,
    gas_used: u64,
    bloom: Bloom,
    receipts: Vec<ReceiptEnvelope>,
}

/// What revm says of a transaction.
type Transacted<V, C> = Result<ExecResultAndState<ExecutionResult, EvmState>, EVMError<StateError<V, C>>>;

/// What a transaction would do.
#[must_use = "keep it or discard it"]
pub struct Attempt {
    /// Its receipt, if it is kept.
    pub receipt: ReceiptEnvelope,
    /// What it returns or why it stopped.
    pub result: ExecutionResult,
    /// What it changes.
    pub changes: EvmState,
    /// The moment before it.
    pub before: Checkpoint,
}

/// Why a transaction cannot be part of the block.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected<E> {
    /// Its type does not exist on this chain.
    #[error("transaction type {0} is not supported")]
    Type(u8),
    /// Its gas limit is more than the block has left.
    #[error("the gas limit is {limit}, the block has {left} left")]
    Gas {
        /// The transaction's.
        limit: u64,
        /// The block's.
        left: u64,
    },
    /// It is not valid on this state.
    #[error("{0}")]
    Invalid(InvalidTransaction),
    /// The state has no answer.
    #[error("{0}")]
    State(E),
    /// A precompile cannot go on.
    #[error("execution cannot go on: {0}")]
    Fatal(String),
}

impl<V: Values, C: Codes> Execution<V, C> {
    /// Starts the block that `header` begins, and stores the hash of its parent as EIP-2935 says.
    pub fn new(
        values: V,
        codes: C,
        header: &Header,
        rules: Rules,
    ) -> Result<Self, Rejected<StateError<V, C>>> {
        #[cfg(not(feature = "std"))]
        Portable::install();
        let state = BlockState::new(values, codes).with_history(HISTORY);
        let evm = Context::mainnet()
            .with_db(state)
            .with_block(rules.block(header))
            .with_cfg(rules.cfg())
            .build_mainnet();
        let mut execution = Self {
            evm,
            rules,
            gas_limit: header.gas_limit,
            gas_used: 0,
            bloom: Bloom::ZERO,
            receipts: Vec::new(),
        };
        if rules.keeps_history() {
            execution.system_call(HISTORY_STORAGE_ADDRESS, header.parent_hash.into())?;
        }
        Ok(execution)
    }

    /// The same block with an inspector, which [`attempt_watched`](Execution::attempt_watched) shows what is executed.
    pub fn watched_by<W>(self, inspector: W) -> Execution<V, C, W> {
        let Self { evm, rules, gas_limit, gas_used, bloom, receipts } = self;
        let evm = evm.with_inspector(inspector);
        Execution { evm, rules, gas_limit, gas_used, bloom, receipts }
    }
}

impl<V: Values, C: Codes, W> Execution<V, C, W> {
    /// Makes room for so many transactions, or as many as there is gas for. Receipts are large, and to move them whenever
    /// they have become too many is not cheap.
    #[must_use]
    pub fn expecting(mut self, transactions: usize) -> Self {
        let gas_for = usize::try_from(self.gas_limit / TRANSACTION_GAS_MIN).unwrap_or(usize::MAX);
        self.receipts.reserve(transactions.min(gas_for).min(EXPECTED_MAX));
        self
    }

    /// Calls a contract as the system does, outside of any transaction, and keeps what it did. Gives what it returned.
    pub fn system_call(
        &mut self,
        contract: Address,
        data: Bytes,
    ) -> Result<Bytes, Rejected<StateError<V, C>>> {
        let done = self.evm.system_call(contract, data)?;
        self.evm.ctx.journaled_state.database.commit(done.state);
        Ok(done.result.into_output().unwrap_or_default())
    }

    /// Executes a transaction without keeping what it does. If it is refused, it touched nothing.
    pub fn attempt(
        &mut self,
        tx: &TxEnvelope,
        sender: Address,
    ) -> Result<Attempt, Rejected<StateError<V, C>>> {
        self.attempt_by(tx, sender, ExecuteEvm::transact)
    }

    /// The same, shown to the inspector.
    pub fn attempt_watched(
        &mut self,
        tx: &TxEnvelope,
        sender: Address,
    ) -> Result<Attempt, Rejected<StateError<V, C>>>
    where
        W: Inspector<MainnetContext<BlockState<V, C>>>,
    {
        self.attempt_by(tx, sender, InspectEvm::inspect_tx)
    }

    /// Who is shown what is executed.
    pub const fn inspector(&self) -> &W {
        &self.evm.inspector
    }

    /// The same, to begin anew.
    pub const fn inspector_mut(&mut self) -> &mut W {
        &mut self.evm.inspector
    }

    fn attempt_by(
        &mut self,
        tx: &TxEnvelope,
        sender: Address,
        transact: impl FnOnce(&mut Evm<V, C, W>, TxEnv) -> Transacted<V, C>,
    ) -> Result<Attempt, Rejected<StateError<V, C>>> {
        self.admit(tx)?;
        let before = self.state().checkpoint();
        match transact(&mut self.evm, transaction::environment(tx, sender)) {
            Ok(done) => {
                let receipt = receipt::receipt(tx.tx_type(), &done.result, self.gas_used);
                Ok(Attempt { receipt, result: done.result, changes: done.state, before })
            }
            Err(error) => {
                self.evm.ctx.journaled_state.database.rollback(before);
                Err(error.into())
            }
        }
    }

    fn admit(&self, tx: &TxEnvelope) -> Result<(), Rejected<StateError<V, C>>> {
        if tx.is_eip4844() && self.rules.blobs.is_none() {
            return Err(Rejected::Type(tx.ty()));
        }
        let left = self.gas_limit - self.gas_used;
        if tx.gas_limit() > left {
            return Err(Rejected::Gas { limit: tx.gas_limit(), left });
        }
        Ok(())
    }

    /// Makes what a transaction did part of the block. Must be the last attempt.
    pub fn keep(&mut self, attempt: Attempt) -> &ReceiptEnvelope {
        self.evm.ctx.journaled_state.database.commit(attempt.changes);
        self.gas_used = attempt.receipt.cumulative_gas_used();
        self.bloom |= *attempt.receipt.logs_bloom();
        self.receipts.push(attempt.receipt);
        &self.receipts[self.receipts.len() - 1]
    }

    /// Forgets an attempt.
    pub fn discard(&mut self, attempt: &Attempt) {
        self.evm.ctx.journaled_state.database.rollback(attempt.before);
    }

    /// The state after what was kept. To read from it is to touch; read from a clone.
    pub fn state(&self) -> &BlockState<V, C> {
        &self.evm.ctx.journaled_state.database
    }

    /// The same, for changes that no transaction makes.
    pub fn state_mut(&mut self) -> &mut BlockState<V, C> {
        &mut self.evm.ctx.journaled_state.database
    }

    /// The gas that was used so far.
    pub const fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// The gas that the block has left.
    pub const fn gas_left(&self) -> u64 {
        self.gas_limit - self.gas_used
    }

    /// The receipts so far.
    pub fn receipts(&self) -> &[ReceiptEnvelope] {
        &self.receipts
    }

    /// Ends the block.
    pub fn finish(self) -> Result<Executed, StateError<V, C>> {
        let changes = self.state().changes()?;
        Ok(self.executed(changes))
    }

    /// Ends the block for a validator.
    pub fn finish_checked(self) -> Result<Executed<BlockEffects>, StateError<V, C>> {
        let effects = self.state().effects()?;
        Ok(self.executed(effects))
    }

    fn executed<T>(self, changes: T) -> Executed<T> {
        Executed { changes, receipts: self.receipts, gas_used: self.gas_used, bloom: self.bloom }
    }
}

impl<E> From<EVMError<E>> for Rejected<E> {
    fn from(error: EVMError<E>) -> Self {
        match error {
            EVMError::Transaction(invalid) => Self::Invalid(invalid),
            EVMError::Database(error) => Self::State(error),
            EVMError::Header(error) => Self::Fatal(error.to_string()),
            EVMError::Custom(error) => Self::Fatal(error),
            EVMError::CustomAny(error) => Self::Fatal(error.to_string()),
        }
    }
}
