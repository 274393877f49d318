//! Whether a request would work, as one provider says: on its newest state, or on top of others that are not mined
//! (`eth_simulateV1`), where the provider can do that.

use super::{
    Chain,
    ask::{Call, RpcError},
    read,
};
use alloy_primitives::Address;
use sender_model::{
    Intent, Simulation,
    providers::{Failed, Question},
};
use serde_json::{Value, json};

/// What a transaction may need more than it used when it was simulated with plenty: a fifth may have been refunded, and calls
/// get 63 of 64 parts. In percent.
const USED_GAS_PERCENT: u64 = 150;

impl Chain {
    pub(super) async fn simulate_at(
        &self,
        index: usize,
        from: Address,
        intent: &Intent,
        before: &[Intent],
    ) -> Result<Simulation, Failed> {
        self.recognise(index).await?;
        if !before.is_empty()
            && let Some(simulated) = self.simulate_on_top(index, from, intent, before).await?
        {
            return Ok(simulated);
        }
        let call = read::call_object(from, intent);
        let call = match intent.gas {
            Some(_) => Call::new("eth_call", json!([call, "latest"])),
            None => Call::new("eth_estimateGas", json!([call])),
        };
        let answer = self.call(index, vec![call]).await?.pop().unwrap_or(Ok(Value::Null));
        match (answer, intent.gas) {
            (Ok(_), Some(gas)) => Ok(Simulation::Gas(gas)),
            (Ok(answer), None) => match read::number(&answer).filter(|gas| *gas >= intent.intrinsic_gas()) {
                Some(gas) => Ok(Simulation::Gas(gas)),
                None => Err(self.implausible(index, format!("a gas estimate of {answer}"))),
            },
            (Err(RpcError { code, message, data }), _) => {
                let error = RpcError { code, message, data };
                match error.trouble(Question::Simulate) {
                    Some(trouble) => Err(trouble.into()),
                    None => Ok(super::read_refusal(error.code, &error.message, error.data.as_ref())),
                }
            }
        }
    }

    /// The same on top of other transactions of the account; none if the provider cannot do that.
    async fn simulate_on_top(
        &self,
        index: usize,
        from: Address,
        intent: &Intent,
        before: &[Intent],
    ) -> Result<Option<Simulation>, Failed> {
        if self.providers[index].seen().no_simulations {
            return Ok(None);
        }
        let call = Call::new("eth_simulateV1", on_top_params(from, intent, before));
        let answer = match self.ask(index, call, Question::Optional).await {
            Ok(answer) => answer,
            Err(failed) if failed.trouble.is_a_lack() => {
                self.providers[index].seen().no_simulations = true;
                return Ok(None);
            }
            Err(failed) => return Err(failed),
        };
        match read_on_top(&answer, intent, before) {
            Some(simulated) => Ok(Some(simulated)),
            None => Err(self.implausible(index, "an answer to eth_simulateV1")),
        }
    }
}

/// A request on top of others, as `eth_simulateV1` takes it.
pub fn on_top_params(from: Address, intent: &Intent, before: &[Intent]) -> Value {
    let calls: Vec<Value> =
        before.iter().chain([intent]).map(|intent| read::call_object(from, intent)).collect();
    json!([{ "blockStateCalls": [{ "calls": calls }], "validation": false }, "latest"])
}

/// What `eth_simulateV1` says of a request on top of others; none if it makes no sense.
pub fn read_on_top(answer: &Value, intent: &Intent, before: &[Intent]) -> Option<Simulation> {
    let calls = answer.get(0)?.get("calls")?.as_array().filter(|calls| calls.len() == before.len() + 1)?;
    let result = calls.last()?;
    if read::quantity(result.get("status")?)? == 1 {
        let used = read::number(result.get("gasUsed")?).filter(|used| *used >= intent.intrinsic_gas())?;
        let gas = used.saturating_mul(USED_GAS_PERCENT) / 100;
        return Some(Simulation::Gas(intent.gas.unwrap_or(gas)));
    }
    let error = result.get("error");
    let message = error.and_then(|error| error.get("message")?.as_str()).unwrap_or("execution reverted");
    let data = error.and_then(|error| error.get("data")).or_else(|| result.get("returnData"));
    let reason = message.chars().take(512).collect();
    Some(Simulation::Reverted { reason, data: read::revert_data(data), on_top: true })
}
