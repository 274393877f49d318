//! `debug_trace*` and `trace_*`: how transactions were executed.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    call::{BlockOverrides, Request, StateOverrides, Traced, Tracer},
    hex::Hex,
    reading::{At, AtAny, Found, Reading},
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

    /// A tracer at the transaction of a block with this index. The block was found by the same reading: between two
    /// readings it may have been given up, and the state before it be another one.
    fn tracer(&self, reading: &Reading<'_>, found: &Found, index: usize) -> Result<Tracer, Error> {
        let header = found.header();
        if header.number == self.chain.genesis.number {
            return Err(Error::other("genesis is not traceable"));
        }
        let (_, before) = reading.state(At::Number(header.number - 1))?;
        let mut tracer = Tracer::new(&self.chain, header, before, self.deadline());
        tracer.begin(header)?;
        found.transactions()[..index].iter().try_for_each(|tx| tracer.pass(tx))?;
        Ok(tracer)
    }
}

fn traced(found: &Found, index: usize) -> Traced {
    let hash = Some(found.transactions()[index].hash());
    Traced { block: found.hash(), number: found.header().number, index: Some(index), hash }
}

fn trace_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(2)?;
    let options = options(params, 1)?;
    let reading = api.reading();
    let found = reading.transaction(&params.hex(0)?)?;
    let (found, index) = found.ok_or_else(|| Error::other("transaction not found"))?;
    let mut tracer = api.tracer(&reading, &found, index)?;
    api.reply(&tracer.trace(&found.transactions()[index], traced(&found, index), &options)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfBlock {
    tx_hash: B256,
    result: GethTrace,
}

fn block(reading: &Reading<'_>, at: At) -> Result<Found, Error> {
    let found = match at {
        At::Pending => None,
        at => reading.block(at)?,
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
    let reading = api.reading();
    let found = block(&reading, at)?;
    let mut tracer = api.tracer(&reading, &found, 0)?;
    let mut traces = Vec::with_capacity(found.transactions().len());
    for (index, tx) in found.transactions().iter().enumerate() {
        let result = tracer.trace(tx, traced(&found, index), &options)?;
        traces.push(OfBlock { tx_hash: tx.hash(), result });
    }
    api.reply(&traces)
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CallOptions {
    state_overrides: Option<StateOverrides>,
    block_overrides: Option<BlockOverrides>,
    /// The call takes the place of this transaction of the block; without it, it comes after all of them.
    tx_index: Option<Hex<u64>>,
}

fn trace_call(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(3)?;
    let request = params.object::<Request>(0)?;
    request.check(api.chain.chain_id)?;
    let AtAny(at) = params.optional(1)?.unwrap_or_default();
    let options = options(params, 2)?;
    let CallOptions { state_overrides, block_overrides, tx_index } = match params.raw(2) {
        Some(_) => params.object(2)?,
        None => CallOptions::default(),
    };
    let reading = api.reading();
    let (header, mut tracer) = match tx_index {
        None => {
            let (header, state) = reading.state(at)?;
            let tracer = Tracer::new(&api.chain, &header, state, api.deadline());
            (header, tracer)
        }
        Some(Hex(index)) => {
            let found = block(&reading, at)?;
            let index = place(&found, index)?;
            (found.header().clone(), api.tracer(&reading, &found, index)?)
        }
    };
    let call = (&request, api.call_gas(&request));
    let pretended = (state_overrides, block_overrides);
    api.reply(&tracer.trace_call((&api.chain, &header), call, pretended, &options)?)
}

/// The place before a transaction of a block; an empty block has one place too.
fn place(found: &Found, index: u64) -> Result<usize, Error> {
    let places = found.transactions().len().max(1);
    usize::try_from(index).ok().filter(|index| *index < places).ok_or_else(|| {
        let hash = found.hash().unwrap_or_default();
        Error::other(format!("transaction index {index} out of range for block {hash}"))
    })
}

fn calls_of_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let reading = api.reading();
    let Some((found, index)) = reading.transaction(&params.hex(0)?)? else { return api.reply(&()) };
    let mut tracer = api.tracer(&reading, &found, index)?;
    api.reply(&tracer.calls(&found.transactions()[index], traced(&found, index))?)
}

fn calls_of_block(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let reading = api.reading();
    let Some(found) = reading.block(at)? else { return api.reply(&()) };
    if found.header().number == api.chain.genesis.number {
        return api.reply(&[(); 0]);
    }
    let mut tracer = api.tracer(&reading, &found, 0)?;
    let mut traces = Vec::new();
    for (index, tx) in found.transactions().iter().enumerate() {
        traces.extend(tracer.calls(tx, traced(&found, index))?);
    }
    api.reply(&traces)
}
