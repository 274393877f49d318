//! Is this package allowed on a core? (Ψ_I, appendix B.2)

use crate::{
    calls::{Call, WHAT},
    fetch::{self, Wanted},
    machine::{Machines, Speed},
    run::{End, Fault, Flow, Guest, Host, Invocation, Limits},
};
use alloy_primitives::Bytes;
use jam::{Params, WorkError, WorkPackage, codec::Encode};

/// What an authorizer said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authorized {
    /// Its trace; the error if it does not let the package pass.
    pub trace: Result<Bytes, WorkError>,
    /// The gas that it used.
    pub gas_used: u64,
}

impl Authorized {
    const fn refused(why: WorkError) -> Self {
        Self { trace: Err(why), gas_used: 0 }
    }
}

impl Machines {
    /// Runs an authorizer's code, of which `code` is what stands on chain.
    pub fn authorize(
        &self,
        params: &Params,
        package: &WorkPackage,
        core: u16,
        code: Option<&Bytes>,
        limits: Limits<'_>,
    ) -> Result<Authorized, Fault> {
        let Some(code) = code else { return Ok(Authorized::refused(WorkError::BadCode)) };
        if code.len() > params.authorizer_code_bytes_max as usize {
            return Ok(Authorized::refused(WorkError::CodeOversize));
        }
        let Ok(program) = self.program(package.auth_code_hash, code) else {
            return Ok(Authorized::refused(WorkError::Panic));
        };
        let invocation = Invocation {
            speed: Speed::Exact,
            entry: 0,
            gas: params.authorize_gas_max,
            arguments: &core.encode(),
            output_bytes_max: params.report_output_bytes_max as usize,
            limits,
        };
        let (end, gas_used) = self.run(&program, &invocation, &mut Asking { params, package })?;
        let trace = match end {
            End::Halt(trace) => Ok(trace),
            End::Oversize => Err(WorkError::OutputOversize),
            End::Panic => Err(WorkError::Panic),
            End::OutOfGas => Err(WorkError::OutOfGas),
        };
        Ok(Authorized { trace, gas_used })
    }
}

/// What an authorizer can ask for.
struct Asking<'a> {
    params: &'a Params,
    package: &'a WorkPackage,
}

impl Host for Asking<'_> {
    fn call(&mut self, call: Call, guest: &mut Guest<'_>) -> Result<Flow, Fault> {
        Ok(match call {
            Call::Gas => Flow::Answer(guest.exact_gas().max(0) as u64),
            Call::Fetch => {
                let wanted = Wanted::of(guest);
                let value = wanted.parameters(self.params).or_else(|| wanted.package(self.package));
                fetch::answer(guest, value.as_ref())
            }
            _ => Flow::Answer(WHAT),
        })
    }
}
