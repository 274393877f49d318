//! The service's program, run by the builder when it packs a run: what it takes exactly.

use bundler::Bundler;
use driver::Program;
use jam::{Bundle, WorkError, WorkResult};
use pvm::{EngineKind, Limits, Machines, RefineInput};
use std::sync::OnceLock;

/// Runs the program, with an engine that is started when it is first needed.
#[derive(Debug, Default)]
pub(super) struct ServiceProgram(OnceLock<Option<Machines>>);

impl ServiceProgram {
    /// The recompiler: the interpreter would take a minute for a full package.
    fn machines(&self) -> Option<&Machines> {
        let machines = || match Machines::new(EngineKind::Compiler) {
            Ok(machines) => Some(machines),
            Err(why) => {
                tracing::info!(target: "service", %why, "runs are packed by the estimate of their gas alone");
                None
            }
        };
        self.0.get_or_init(machines).as_ref()
    }
}

impl Program for ServiceProgram {
    fn refine_gas(&self, bundle: &Bundle, bundler: &Bundler) -> Option<u64> {
        let (config, params) = (&bundler.config, &bundler.params);
        let code = config.code();
        // Another code than this program's is on chain: what it takes is not known here.
        let machines = self.machines().filter(|_| jam::hash::blake2b(&[&code]) == config.code_hash)?;
        let input = RefineInput {
            params,
            core: 0,
            package: &bundle.package,
            item: 0,
            trace: &[],
            extrinsics: std::slice::from_ref(&bundle.extrinsics),
            imports: &[vec![]],
            export_offset: 0,
            output_bytes_max: params.report_output_bytes_max as usize,
            lookup: &|service, hash| {
                (service == config.service && hash == config.code_hash).then(|| code.clone())
            },
            limits: Limits::NONE,
        };
        let refined = machines.refine(&input).ok()?;
        match refined.result {
            WorkResult::Failed(WorkError::OutOfGas) => Some(params.refine_gas_max.saturating_add(1)),
            WorkResult::Failed(_) => None,
            WorkResult::Output(_) => Some(refined.gas_used),
        }
    }
}
