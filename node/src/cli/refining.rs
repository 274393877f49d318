//! The service's program, run by the builder when it packs a run: what it takes exactly.

use alloy_primitives::Bytes;
use bundler::Bundler;
use driver::Program;
use jam::{Bundle, Hash, WorkError, WorkResult};
use parking_lot::Mutex;
use pvm::{EngineKind, Limits, Machines, RefineInput};
use service::Config;
use std::sync::{Arc, OnceLock};

/// Runs the program. Until it is compiled, runs are packed by the estimate of their gas alone, so that no window waits for that.
#[derive(Debug, Default)]
pub(super) struct ServiceProgram {
    machines: Arc<OnceLock<Arc<Machines>>>,
    /// The code that was wanted last; `None` if it is another one than this program's.
    code: Mutex<Option<(Hash, Option<Bytes>)>>,
}

impl ServiceProgram {
    /// Starts to compile the program, with the machines of this process if it has some.
    pub(super) fn start(config: Config, machines: Option<Arc<Machines>>) -> Self {
        let program = Self::default();
        let place = Arc::clone(&program.machines);
        let compile = move || match compiled(&config, machines) {
            // Nothing else sets it.
            Ok(machines) => drop(place.set(machines)),
            Err(why) => {
                tracing::info!(target: "service", %why, "runs are packed by the estimate of their gas alone");
            }
        };
        if let Err(why) = std::thread::Builder::new().name("compile".to_owned()).spawn(compile) {
            tracing::warn!(target: "service", %why, "the service's program cannot be compiled");
        }
        program
    }

    /// The service's code, if it is this program's.
    fn code(&self, config: &Config) -> Option<Bytes> {
        let mut known = self.code.lock();
        match &*known {
            Some((hash, code)) if *hash == config.code_hash => code.clone(),
            _ => {
                let code = Some(config.code()).filter(|code| jam::hash::blake2b(&[code]) == config.code_hash);
                *known = Some((config.code_hash, code.clone()));
                code
            }
        }
    }
}

/// The recompiler with the program: the interpreter would take a minute for a full package.
fn compiled(config: &Config, machines: Option<Arc<Machines>>) -> Result<Arc<Machines>, String> {
    let machines = match machines.filter(|machines| machines.is_compiling()) {
        Some(machines) => machines,
        None => Arc::new(Machines::new(EngineKind::Compiler).map_err(|why| why.to_string())?),
    };
    machines.prepare(config.code_hash, &config.code()).map_err(|why| why.to_string())?;
    Ok(machines)
}

impl Program for ServiceProgram {
    fn refine_gas(&self, bundle: &Bundle, bundler: &Bundler) -> Option<u64> {
        let (config, params) = (&bundler.config, &bundler.params);
        let machines = self.machines.get()?;
        // If another code than this program's is on chain, what it takes is not known here.
        let code = self.code(config)?;
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
