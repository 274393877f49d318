//! `eth_simulateV1`.

use super::{Api, Json, Method};
use crate::{
    Error, Foreign, LogEntry, Params,
    call::{Simulated, Simulation, SimulationRequest, outcome},
    error,
    reading::{AtAny, Found},
    view::{BlockView, LogView},
};
use alloy_primitives::{Bytes, U64};
use revm::context::result::ExecutionResult;
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};

pub(super) const METHODS: &[(&str, Method)] = &[("eth_simulateV1", Method::Apart(simulate))];

/// What stopped without a revert.
const VM_ERROR: i32 = -32015;

fn simulate(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(2)?;
    let request = params.object::<SimulationRequest>(0)?;
    let AtAny(at) = params.optional(1)?.unwrap_or_default();
    let reading = api.reading();
    let (header, state) = reading.state(at)?;
    let hash = reading.existing(at)?.hash().unwrap_or_else(|| header.hash_slow());
    let limits = &api.config.limits;
    let deadline = Instant::now() + limits.call_timeout;
    let full = request.return_full_transactions;
    let simulation = Simulation::new(&api.chain, (header, hash), state, deadline, limits.call_gas_max);
    let blocks = simulation.run(request)?;
    let shown = blocks.into_iter().map(|block| shown(block, full)).collect::<Result<Vec<_>, _>>()?;
    api.reply(&shown)
}

fn shown(simulated: Simulated, full: bool) -> Result<Value, Error> {
    let Simulated { block, withdrawals, calls } = simulated;
    let (id, timestamp) = (block.block.id(), block.block.header().timestamp);
    let mut index = 0;
    let mut all = Vec::with_capacity(calls.len());
    for (transaction_index, (tx, call)) in block.block.transactions().iter().zip(calls).enumerate() {
        let logs = call.logs.into_iter().map(|log| {
            index += 1;
            let entry = LogEntry {
                log,
                block: id,
                timestamp,
                transaction: tx.hash(),
                transaction_index,
                log_index: index - 1,
            };
            LogView::new(&entry, false)
        });
        let logs = logs.collect::<Vec<_>>();
        all.push(shown_call(&call.result, &logs));
    }
    let foreign = Foreign { withdrawals, ..Foreign::default() };
    let found = Found::Sealed { block, foreign: Some(Arc::new(foreign)) };
    let mut value = serde_json::to_value(BlockView::new(&found, full)).map_err(Error::internal)?;
    value["calls"] = json!(all);
    Ok(value)
}

fn shown_call(result: &ExecutionResult, logs: &[LogView]) -> Value {
    let output = result.output().cloned().unwrap_or_default();
    let mut value = json!({
        "returnData": output,
        "logs": logs,
        "gasUsed": U64::from(result.tx_gas_used()),
        "maxUsedGas": U64::from(result.gas().total_gas_spent().max(result.tx_gas_used())),
        "status": U64::from(u64::from(result.is_success())),
    });
    if let Err(failed) = outcome(result) {
        value["error"] = match failed.code {
            error::REVERTED => json!({ "message": failed.message, "code": failed.code, "data": output }),
            _ => json!({ "message": failed.message, "code": VM_ERROR }),
        };
        if failed.code != error::REVERTED {
            value["returnData"] = json!(Bytes::new());
        }
    }
    value
}
