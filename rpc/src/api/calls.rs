//! `eth_call` and its relatives.

use super::{Api, Json, Method};
use crate::{
    Error, Params, State,
    call::{BlockOverrides, Request, Simulator, StateOverrides, access_list, estimate, outcome},
    reading::{At, AtAny},
};
use alloy_consensus::Header;
use alloy_primitives::U64;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A snapshot of what was accepted is waited for no longer than this.
const REFRESH_MAX: Duration = Duration::from_secs(1);

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
        if at == At::Pending {
            self.refresh();
        }
        let (header, state) = self.reading().state(at)?;
        Ok(self.simulator_of(&header, state))
    }

    fn simulator_of(&self, header: &Header, state: Arc<dyn State>) -> Simulator {
        let deadline = Instant::now() + self.config.limits.call_timeout;
        Simulator::new(&self.chain, header, state, deadline)
    }

    /// Waits for a snapshot that shows what was accepted so far. Snapshots of the open block alone are throttled, and a
    /// client that has just heard of its transaction's acceptance relies on it in its next call.
    fn refresh(&self) {
        if self.feed.snapshot().insight.accepted < self.pool.accepted_count() {
            // A driver that does not answer in time has trouble that other calls tell of.
            let _ = self.backend.refresh().recv_timeout(REFRESH_MAX);
        }
    }

    /// A simulator of what a transaction will meet that is sent now: the open block, or the block that would be opened.
    /// With `latest` that is a block on the newest one, not the newest one itself: its time may be long past.
    fn next_simulator(&self, params: &Params) -> Result<Simulator, Error> {
        params.at_most(4)?;
        let mut simulator = match params.optional(1)? {
            None | Some(AtAny(At::Pending)) => self.simulator_at(At::Pending)?,
            Some(AtAny(At::Latest)) => {
                let next = self.reading().next()?;
                self.simulator_of(&next.header, next.state.clone())
            }
            Some(AtAny(at)) => self.simulator_at(at)?,
        };
        simulator.pretend(params.optional(2)?, params.optional(3)?)?;
        Ok(simulator)
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
    let mut simulator = api.next_simulator(params)?;
    let gas = estimate(&mut simulator, &request, &api.config.limits)?;
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
