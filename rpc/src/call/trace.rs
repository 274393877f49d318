//! Executing again what was executed, and writing down how.
//!
//! A block's transactions are executed on the state before it, up to those that are asked for; these with an inspector.

use super::{StateDb, deadline::Deadline, error, guard::Guard, system};
use crate::{Error, State, chain::Chain};
use alloy_consensus::Header;
use alloy_primitives::{B256, BlockHash};
use alloy_rpc_types_trace::{
    geth::{GethDebugTracingOptions, GethTrace},
    parity::LocalizedTransactionTrace,
};
use revm::{
    Context, DatabaseCommit, ExecuteEvm, InspectEvm, MainBuilder, MainContext,
    context::{
        BlockEnv, CfgEnv, TxEnv,
        result::{EVMError, ResultAndState},
    },
    database::CacheDB,
};
use revm_inspectors::tracing::{
    DebugInspector, TracingInspector, TracingInspectorConfig, TransactionContext,
};
use service::execution::environment;
use std::{sync::Arc, time::Instant};
use types::Transaction;

/// What a trace may record. Its answer is limited besides.
const TRACE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// A state on which transactions are executed one after the other, some of them traced.
pub(crate) struct Tracer {
    pub(crate) db: CacheDB<StateDb>,
    pub(crate) env: BlockEnv,
    pub(crate) cfg: CfgEnv,
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
    pub(crate) fn new(chain: &Chain, header: &Header, before: Arc<dyn State>, deadline: Instant) -> Self {
        let rules = chain.rules(header.number, header.timestamp);
        let mut cfg = rules.cfg();
        cfg.tx_chain_id_check = false;
        let db = CacheDB::new(StateDb(before));
        Self { db, env: rules.block(header), cfg, deadline, bytes_left: TRACE_BYTES_MAX }
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

    /// Executes whatever it is and traces it; nothing of it stays.
    pub(crate) fn trace_env(
        &mut self,
        tx: &TxEnv,
        traced: Traced,
        options: &GethDebugTracingOptions,
    ) -> Result<(GethTrace, ResultAndState), Error> {
        let inspector = DebugInspector::new(options.clone());
        let inspector = inspector.map_err(|error| Error::params(format!("invalid argument 1: {error}")))?;
        let steps = matches!(inspector, DebugInspector::Default(..));
        let memory = options.config.enable_memory.unwrap_or(false);
        let (mut inspector, done) = self.inspect(tx.clone(), inspector, steps, memory)?;
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
        let (inspector, done) = self.inspect(env, inspector, false, false)?;
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
        steps: bool,
        memory: bool,
    ) -> Result<(I, ResultAndState), Error>
    where
        I: for<'a> revm::Inspector<revm::handler::MainnetContext<&'a mut CacheDB<StateDb>>>,
    {
        let guard = Guard::new(Deadline::new(self.deadline), steps, memory, self.bytes_left);
        let context = Context::mainnet().with_db(&mut self.db);
        let context = context.with_block(self.env.clone()).with_cfg(self.cfg.clone());
        let mut evm = context.build_mainnet_with_inspector((guard, inspector));
        let result = evm.inspect_tx(tx);
        let (guard, inspector) = evm.inspector;
        if guard.is_over() || Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        self.bytes_left = guard.bytes_left();
        if self.bytes_left == 0 {
            return Err(Error::new(crate::error::TOO_LARGE, "the trace is too large"));
        }
        Ok((inspector, result.map_err(failed)?))
    }
}
