//! Executing again what was executed, and writing down how.
//!
//! A block's transactions are executed on the state before it, up to those that are asked for; these with an inspector.

use super::{
    BlockOverrides, Request, Simulator, StateDb, StateOverrides,
    deadline::Deadline,
    error,
    guard::{Guard, Recorded},
    overrides,
    precompiles::Precompiled,
    simulator::surround,
    system,
};
use crate::{Error, State, evm_chain_spec::EvmChainSpec};
use alloy_consensus::Header;
use alloy_primitives::{B256, BlockHash};
use alloy_rpc_types_trace::{
    geth::{GethDebugTracingOptions, GethTrace},
    parity::LocalizedTransactionTrace,
};
use revm::{
    Context, DatabaseCommit, DatabaseRef, ExecuteEvm, InspectEvm, MainBuilder, MainContext,
    context::{
        BlockEnv, CfgEnv, TxEnv,
        result::{EVMError, ResultAndState},
    },
    database::CacheDB,
    primitives::eip170::MAX_CODE_SIZE,
    state::{Account, EvmState},
};
use revm_inspectors::tracing::{
    DebugInspector, TracingInspector, TracingInspectorConfig, TransactionContext,
};
use service::execution::environment;
use std::{sync::Arc, time::Instant};
use types::Transaction;

/// What a trace may take in memory, as it is recorded and as it is shown. Its answer is limited besides, so that this
/// stops only what would not fit into an answer.
const TRACE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// What an account takes in a trace of the state besides its code.
const ACCOUNT_BYTES: usize = 512;
/// A slot in a trace of the state.
const SLOT_BYTES: usize = 256;

/// A state on which transactions are executed one after the other, some of them traced.
pub(crate) struct Tracer {
    db: CacheDB<StateDb>,
    env: BlockEnv,
    cfg: CfgEnv,
    precompiled: Precompiled,
    deadline: Instant,
    bytes_left: usize,
}

/// Which transaction it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traced {
    pub(crate) block: Option<BlockHash>,
    pub(crate) number: u64,
    pub(crate) index: Option<usize>,
    pub(crate) hash: Option<B256>,
}

fn failed(error: EVMError<crate::StateError>) -> Error {
    match error {
        EVMError::Transaction(why) => Error::other(why.to_string()),
        other => Error::internal(other),
    }
}

impl Tracer {
    /// On a state, in the surroundings of the block with this header.
    pub(crate) fn new(
        chain: &EvmChainSpec,
        header: &Header,
        before: Arc<dyn State>,
        deadline: Instant,
    ) -> Self {
        let rules = chain.rules(header.number, header.timestamp);
        let mut cfg = rules.cfg();
        cfg.tx_chain_id_check = false;
        let db = CacheDB::new(StateDb(before));
        let precompiled = Precompiled::new(rules.spec);
        Self { db, env: rules.block(header), cfg, precompiled, deadline, bytes_left: TRACE_BYTES_MAX }
    }

    /// Does what the system does before the first transaction of a block.
    pub(crate) fn begin(&mut self, header: &Header) -> Result<(), Error> {
        system::before(&mut self.db, &self.cfg, &self.env, header)
    }

    /// Executes a transaction that is not asked for.
    pub(crate) fn pass(&mut self, tx: &Transaction) -> Result<(), Error> {
        if Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        let context = Context::mainnet().with_db(&mut self.db);
        let context = context.with_block(self.env.clone()).with_cfg(self.cfg.clone());
        let done = context.build_mainnet().transact(environment(tx, tx.sender())).map_err(failed)?;
        self.db.commit(done.state);
        Ok(())
    }

    /// Executes a transaction of a block and traces it.
    pub(crate) fn trace(
        &mut self,
        tx: &Transaction,
        traced: Traced,
        options: &GethDebugTracingOptions,
    ) -> Result<GethTrace, Error> {
        let (trace, done) = self.trace_env(&environment(tx, tx.sender()), traced, options)?;
        self.db.commit(done.state);
        Ok(trace)
    }

    /// Executes and traces what somebody only asks for: with the state and the block that are pretended, and without
    /// what is checked of a transaction.
    pub(crate) fn trace_call(
        &mut self,
        (chain, header): (&EvmChainSpec, &Header),
        (request, gas): (&Request, u64),
        pretended: (Option<StateOverrides>, Option<BlockOverrides>),
        options: &GethDebugTracingOptions,
    ) -> Result<GethTrace, Error> {
        let simulator = Simulator::new(chain, header, self.db.db.0.clone(), self.deadline);
        self.cfg = simulator.cfg;
        let (state, block) = pretended;
        if let Some(block) = block {
            block.check_for_call()?;
            block.apply(&mut self.env);
        }
        overrides::apply(&state.unwrap_or_default(), &mut self.db, &mut self.precompiled)?;
        let request = surround(request, &mut self.cfg, &mut self.env);
        let sender = self.db.basic_ref(request.from.unwrap_or_default()).map_err(Error::internal)?;
        let tx = request.environment(gas, sender.unwrap_or_default().nonce, chain.chain_id);
        let traced = Traced { number: header.number, ..Traced::default() };
        Ok(self.trace_env(&tx, traced, options)?.0)
    }

    /// Executes whatever it is and traces it; nothing of it stays.
    fn trace_env(
        &mut self,
        tx: &TxEnv,
        traced: Traced,
        options: &GethDebugTracingOptions,
    ) -> Result<(GethTrace, ResultAndState), Error> {
        let inspector = inspector(options)?;
        let recorded = recorded(&inspector);
        let (mut inspector, done) = self.inspect(tx.clone(), inspector, recorded)?;
        if matches!(inspector, DebugInspector::PreStateTracer(..) | DebugInspector::Mux(..)) {
            self.charge(shown_bytes(&done.state))?;
        }
        let context =
            TransactionContext { block_hash: traced.block, tx_index: traced.index, tx_hash: traced.hash };
        let trace = inspector.get_result(Some(context), tx, &self.env, &done, &mut self.db);
        Ok((trace.map_err(Error::internal)?, done))
    }

    /// Executes a transaction of a block and lists its calls.
    pub(crate) fn calls(
        &mut self,
        tx: &Transaction,
        traced: Traced,
    ) -> Result<Vec<LocalizedTransactionTrace>, Error> {
        let inspector = TracingInspector::new(TracingInspectorConfig::default_parity());
        let env = environment(tx, tx.sender());
        let recorded = Recorded { calls: true, ..Recorded::default() };
        let (inspector, done) = self.inspect(env, inspector, recorded)?;
        let builder = inspector.into_parity_builder().with_transaction_gas_used(done.result.tx_gas_used());
        self.db.commit(done.state);
        let traces = builder.into_transaction_traces_iter().map(|trace| LocalizedTransactionTrace {
            trace,
            transaction_position: traced.index.map(|index| index as u64),
            transaction_hash: traced.hash,
            block_number: Some(traced.number),
            block_hash: traced.block,
        });
        Ok(traces.collect())
    }

    fn inspect<I>(
        &mut self,
        tx: TxEnv,
        inspector: I,
        recorded: Recorded,
    ) -> Result<(I, ResultAndState), Error>
    where
        I: for<'a> revm::Inspector<revm::handler::MainnetContext<&'a mut CacheDB<StateDb>>>,
    {
        let guard = Guard::new(Deadline::new(self.deadline), recorded, self.bytes_left);
        let context = Context::mainnet().with_db(&mut self.db);
        let context = context.with_block(self.env.clone()).with_cfg(self.cfg.clone());
        let evm = context.build_mainnet_with_inspector((guard, inspector));
        let mut evm = evm.with_precompiles(self.precompiled.clone());
        let result = evm.inspect_tx(tx);
        let (guard, inspector) = evm.inspector;
        if guard.is_over() || Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        self.charge(self.bytes_left - guard.bytes_left())?;
        Ok((inspector, result.map_err(failed)?))
    }

    /// Takes from the memory that is left. When nothing is left there is no trace.
    fn charge(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.bytes_left == 0 {
            return Err(Error::new(crate::error::TOO_LARGE, "the trace is too large"));
        }
        Ok(())
    }
}

/// What traces as the options say.
fn inspector(options: &GethDebugTracingOptions) -> Result<DebugInspector, Error> {
    let inspector = DebugInspector::new(options.clone());
    match inspector.map_err(|error| Error::params(format!("invalid tracer: {error}")))? {
        // It would keep the whole memory and stack with every step, whatever of them is shown.
        DebugInspector::Erc7562Tracer(..) => {
            let why = "the erc7562Tracer is not supported; there are callTracer, flatCallTracer, prestateTracer, \
                       4byteTracer, muxTracer, noopTracer and, without a name, the struct logger";
            Err(Error::params(why))
        }
        inspector => Ok(inspector),
    }
}

/// What an inspector records.
fn recorded(inspector: &DebugInspector) -> Recorded {
    let calls = Recorded { calls: true, ..Recorded::default() };
    match inspector {
        DebugInspector::FourByte(_) | DebugInspector::Noop(_) | DebugInspector::StateGasTracer(_) => {
            Recorded::default()
        }
        DebugInspector::CallTracer(_, config) => {
            Recorded { logs: config.with_log.unwrap_or_default(), ..calls }
        }
        DebugInspector::PreStateTracer(..) | DebugInspector::FlatCallTracer(_) => calls,
        DebugInspector::Mux(..) => Recorded { logs: true, ..calls },
        DebugInspector::Default(_, config) => Recorded {
            steps: config.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX),
            memory: config.is_memory_enabled(),
            storage: config.is_storage_enabled(),
            ..calls
        },
        DebugInspector::Erc7562Tracer(..) => {
            Recorded { steps: u64::MAX, memory: true, storage: true, logs: true, ..calls }
        }
    }
}

/// What accounts take that are shown with all that was used of them. A code that was not loaded is as long as it can be.
fn shown_bytes(state: &EvmState) -> usize {
    let account = |account: &Account| {
        let code = match &account.info.code {
            Some(code) => code.len(),
            None if account.info.is_empty_code_hash() => 0,
            None => MAX_CODE_SIZE,
        };
        ACCOUNT_BYTES + SLOT_BYTES * account.storage.len() + code
    };
    state.values().map(account).sum()
}
