//! `debug_trace*` and `trace_*`: how transactions were executed.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    call::{BlockOverrides, Request, StateOverrides, Traced, Tracer},
    reading::{At, AtAny, Found},
};
use alloy_primitives::B256;
use alloy_rpc_types_trace::geth::{GethDebugTracingOptions, GethTrace};
use serde::{Deserialize, Serialize};
use std::time::Instant;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("debug_traceTransaction", Method::Apart(trace_transaction)),
    ("debug_traceBlockByNumber", Method::Apart(|api, params| trace_block(api, params, params.hex(0)?))),
    (
        "debug_traceBlockByHash",
        Method::Apart(|api, params| trace_block(api, params, At::Hash(params.hex(0)?))),
    ),
    ("debug_traceCall", Method::Apart(trace_call)),
    ("trace_transaction", Method::Apart(calls_of_transaction)),
    ("trace_block", Method::Apart(calls_of_block)),
];

fn options(params: &Params, index: usize) -> Result<GethDebugTracingOptions, Error> {
    match params.raw(index) {
        Some(_) => params.object(index),
        None => Ok(GethDebugTracingOptions::default()),
    }
}

impl Api {
    fn deadline(&self) -> Instant {
        Instant::now() + self.config.limits.call_timeout
    }

    /// A tracer at the first transaction of a block.
    fn tracer(&self, found: &Found) -> Result<Tracer, Error> {
        let header = found.header();
        if header.number == self.chain.genesis.number {
            return Err(Error::other("genesis is not traceable"));
        }
        let (_, before) = self.reading().state(At::Number(header.number - 1))?;
        let mut tracer = Tracer::new(&self.chain, header, before, self.deadline());
        tracer.begin(header)?;
        Ok(tracer)
    }

    /// The block of a transaction, its place there, and a tracer at it.
    fn tracer_at(&self, hash: &B256) -> Result<(Found, usize, Tracer), Error> {
        let found = self.reading().transaction(hash)?;
        let (found, index) = found.ok_or_else(|| Error::other("transaction not found"))?;
        let mut tracer = self.tracer(&found)?;
        found.transactions()[..index].iter().try_for_each(|tx| tracer.pass(tx))?;
        Ok((found, index, tracer))
    }
}

fn traced(found: &Found, index: usize) -> Traced {
    let hash = Some(found.transactions()[index].hash());
    Traced { block: found.hash(), number: found.header().number, index: Some(index), hash }
}

fn trace_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(2)?;
    let options = options(params, 1)?;
    let (found, index, mut tracer) = api.tracer_at(&params.hex(0)?)?;
    api.reply(&tracer.trace(&found.transactions()[index], traced(&found, index), &options)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfBlock {
    tx_hash: B256,
    result: GethTrace,
}

fn block(api: &Api, at: At) -> Result<Found, Error> {
    let found = match at {
        At::Pending => None,
        at => api.reading().block(at)?,
    };
    found.ok_or_else(|| match at {
        At::Hash(hash) => Error::other(format!("block {hash} not found")),
        At::Number(number) => Error::other(format!("block #{number} not found")),
        _ => Error::other("block not found"),
    })
}

fn trace_block(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(2)?;
    let options = options(params, 1)?;
    let found = block(api, at)?;
    let mut tracer = api.tracer(&found)?;
    let mut traces = Vec::with_capacity(found.transactions().len());
    for (index, tx) in found.transactions().iter().enumerate() {
        let result = tracer.trace(tx, traced(&found, index), &options)?;
        traces.push(OfBlock { tx_hash: tx.hash(), result });
    }
    api.reply(&traces)
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CallOverrides {
    state_overrides: Option<StateOverrides>,
    block_overrides: Option<BlockOverrides>,
}

fn trace_call(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(3)?;
    let request = params.object::<Request>(0)?;
    request.check(api.chain.chain_id)?;
    let AtAny(at) = params.optional(1)?.unwrap_or_default();
    let options = options(params, 2)?;
    let overrides = params.optional::<CallOverrides>(2)?.unwrap_or_default();
    let (header, state) = api.reading().state(at)?;
    let mut simulator = api.simulator_at(at)?;
    simulator.pretend(overrides.state_overrides, overrides.block_overrides)?;
    let nonce = simulator.account(request.from.unwrap_or_default())?.nonce;
    let mut tracer = Tracer::new(&api.chain, &header, state, api.deadline());
    (tracer.db, tracer.env, tracer.cfg) = (simulator.db, simulator.block, simulator.cfg);
    if !request.is_priced() {
        tracer.cfg.disable_base_fee = true;
        tracer.env.basefee = 0;
    }
    let tx = request.environment(api.call_gas(&request), nonce, api.chain.chain_id);
    let traced = Traced { number: header.number, ..Traced::default() };
    let (trace, _) = tracer.trace_env(&tx, traced, &options)?;
    api.reply(&trace)
}

fn calls_of_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex(0)?;
    if api.reading().transaction(&hash)?.is_none() {
        return api.reply(&());
    }
    let (found, index, mut tracer) = api.tracer_at(&hash)?;
    api.reply(&tracer.calls(&found.transactions()[index], traced(&found, index))?)
}

fn calls_of_block(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let Some(found) = api.reading().block(at)? else { return api.reply(&()) };
    if found.header().number == api.chain.genesis.number {
        return api.reply(&[(); 0]);
    }
    let mut tracer = api.tracer(&found)?;
    let mut traces = Vec::new();
    for (index, tx) in found.transactions().iter().enumerate() {
        traces.extend(tracer.calls(tx, traced(&found, index))?);
    }
    api.reply(&traces)
}
