//! `eth_call` and its relatives.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    call::{BlockOverrides, Request, Simulator, StateOverrides, access_list, estimate, outcome},
    reading::{At, AtAny},
};
use alloy_primitives::U64;
use serde_json::json;
use std::time::Instant;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_call", Method::Apart(call)),
    ("eth_estimateGas", Method::Apart(estimate_gas)),
    ("eth_createAccessList", Method::Apart(create_access_list)),
];

impl Api {
    /// A simulator on the state that the parameter at `index` names; after it come overrides.
    fn simulator(&self, params: &Params, index: usize) -> Result<Simulator, Error> {
        params.at_most(index + 3)?;
        let AtAny(at) = params.optional(index)?.unwrap_or_default();
        let state = params.optional::<StateOverrides>(index + 1)?;
        let block = params.optional::<BlockOverrides>(index + 2)?;
        let mut simulator = self.simulator_at(at)?;
        simulator.pretend(state, block)?;
        Ok(simulator)
    }

    pub(crate) fn simulator_at(&self, at: At) -> Result<Simulator, Error> {
        let (header, state) = self.reading().state(at)?;
        let deadline = Instant::now() + self.config.limits.call_timeout;
        Ok(Simulator::new(&self.chain, &header, state, deadline))
    }

    fn request(&self, params: &Params) -> Result<Request, Error> {
        let request = params.object::<Request>(0)?;
        request.check(self.chain.chain_id)?;
        Ok(request)
    }

    pub(crate) fn call_gas(&self, request: &Request) -> u64 {
        let max = self.config.limits.call_gas_max;
        request.gas.map_or(max, |gas| gas.min(max))
    }
}

fn call(api: &Api, params: &Params) -> Result<Json, Error> {
    let request = api.request(params)?;
    let done = api.simulator(params, 1)?.run(&request, api.call_gas(&request))?;
    api.reply(&outcome(&done.result)?)
}

fn estimate_gas(api: &Api, params: &Params) -> Result<Json, Error> {
    let request = api.request(params)?;
    let mut simulator = api.simulator(params, 1)?;
    let gas = estimate(&mut simulator, &request, api.config.limits.call_gas_max)?;
    api.reply(&U64::from(gas))
}

fn create_access_list(api: &Api, params: &Params) -> Result<Json, Error> {
    let mut request = api.request(params)?;
    let mut simulator = api.simulator(params, 1)?;
    if request.nonce.is_none() {
        request.nonce = Some(simulator.account(request.from.unwrap_or_default())?.nonce);
    }
    let accessed = access_list(&mut simulator, &request, api.call_gas(&request))?;
    let mut answer = json!({ "accessList": accessed.list, "gasUsed": U64::from(accessed.gas_used) });
    if let Some(error) = accessed.error {
        answer["error"] = json!(error);
    }
    api.reply(&answer)
}
