//! Engines, and programs that are ready to run.

use crate::program::{BadProgram, Layout};
use alloy_primitives::Bytes;
use jam::Hash;
use parking_lot::Mutex;
use polkavm::{
    BackendKind, Config, CostModel, CostModelKind, Engine, GasMeteringKind, Module, ModuleConfig, ProgramBlob,
};
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

/// Programs that are kept compiled.
const PROGRAMS_KEPT_MAX: usize = 16;
/// Bytes of arguments that a program can be given (Z_I).
pub(crate) const ARGUMENT_BYTES_MAX: u32 = 1 << 24;

/// How code is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EngineKind {
    /// By the recompiler where it works, by the interpreter elsewhere.
    #[default]
    Auto,
    /// By the recompiler, in a sandbox of its own process: 2 to 3 G gas per second, on Linux with x86-64.
    Compiler,
    /// By the interpreter: 40 to 80 M gas per second, everywhere.
    Interpreter,
}

impl EngineKind {
    /// The names that settings use.
    pub const NAMES: [&'static str; 3] = ["auto", "compiler", "interpreter"];

    /// The kind with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "compiler" => Some(Self::Compiler),
            "interpreter" => Some(Self::Interpreter),
            _ => None,
        }
    }
}

/// Why there is no engine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EngineError {
    /// The recompiler was asked for, and its sandbox cannot be had.
    #[error("the recompiler does not run here: {0}; use the interpreter")]
    Compiler(String),
    /// The interpreter cannot be had.
    #[error("the interpreter does not run here: {0}")]
    Interpreter(String),
}

/// Runs programs. Cheap to share; one for each process is enough, since it keeps compiled programs.
///
/// Refinement is what takes long, so the recompiler does that. Authorization and accumulation have little gas, and accumulation is
/// decided by every validator's state, so they are interpreted, with gas counted instruction by instruction.
pub struct Machines {
    compiler: Option<Engine>,
    interpreter: Engine,
    /// What accumulation is run by.
    pub(crate) accumulating: Speed,
    programs: Mutex<VecDeque<(Hash, Arc<Program>)>>,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Machines({})", self.kind())
    }
}

impl Machines {
    /// Starts the engines.
    pub fn new(kind: EngineKind) -> Result<Self, EngineError> {
        let compiler = match (kind, engine(BackendKind::Compiler)) {
            (EngineKind::Interpreter, _) => None,
            (EngineKind::Auto, compiler) => compiler.ok(),
            (EngineKind::Compiler, compiler) => Some(compiler.map_err(EngineError::Compiler)?),
        };
        let interpreter = engine(BackendKind::Interpreter).map_err(EngineError::Interpreter)?;
        let accumulating = Speed::Exact;
        Ok(Self { compiler, interpreter, accumulating, programs: Mutex::new(VecDeque::new()) })
    }

    /// The same engines, but accumulation is recompiled too, to show that the gas is the same.
    #[cfg(feature = "recorded")]
    #[must_use]
    pub fn recompiling_all(mut self) -> Self {
        self.accumulating = Speed::Fast;
        self
    }

    /// What refinement is done by.
    pub const fn kind(&self) -> &'static str {
        match self.compiler {
            Some(_) => "compiler",
            None => "interpreter",
        }
    }

    /// The program with a hash; it is read once. The caller says the hash, since what stands on chain is named by it.
    pub fn program(&self, hash: Hash, code: &Bytes) -> Result<Arc<Program>, BadProgram> {
        let mut programs = self.programs.lock();
        if let Some((_, program)) = programs.iter().find(|(known, _)| *known == hash) {
            return Ok(Arc::clone(program));
        }
        let program = Arc::new(Program::new(Layout::read(code)?.blob()?));
        programs.push_back((hash, Arc::clone(&program)));
        if programs.len() > PROGRAMS_KEPT_MAX {
            programs.pop_front();
        }
        Ok(program)
    }

    /// Makes a program ready to refine, so that its first run need not wait until it is compiled.
    pub fn prepare(&self, hash: Hash, code: &Bytes) -> Result<(), BadProgram> {
        let program = self.program(hash, code)?;
        self.module(&program, Speed::Fast).map(drop)
    }

    /// Whether refinement is recompiled.
    pub const fn is_compiling(&self) -> bool {
        self.compiler.is_some()
    }

    /// A program as one of the engines takes it; compiling takes a hundred milliseconds for a large one, once.
    ///
    /// Gives whether it counts gas by instruction.
    pub(crate) fn module(&self, program: &Program, speed: Speed) -> Result<(Module, bool), BadProgram> {
        let (engine, place, exact) = match (speed, &self.compiler) {
            (Speed::Fast, Some(compiler)) => (compiler, &program.fast, false),
            (Speed::Fast, None) | (Speed::Exact, _) => (&self.interpreter, &program.exact, true),
        };
        let compiled = place.get_or_init(|| {
            let mut config = module_config();
            config.set_aux_data_size(ARGUMENT_BYTES_MAX);
            config.set_per_instruction_metering(exact);
            Module::from_blob(engine, &config, program.blob.clone())
                .map_err(|error| BadProgram::Memory(error.to_string()))
        });
        compiled.clone().map(|module| (module, exact))
    }

    /// A machine within a machine: interpreted, with memory that is made page by page.
    pub(crate) fn inner(&self, blob: ProgramBlob) -> Result<Module, BadProgram> {
        let mut config = module_config();
        config.set_dynamic_paging(true);
        config.set_per_instruction_metering(true);
        Module::from_blob(&self.interpreter, &config, blob)
            .map_err(|error| BadProgram::Memory(error.to_string()))
    }
}

/// Which engine a run takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speed {
    /// The recompiler where it can be had.
    Fast,
    /// The interpreter, which counts gas by instruction.
    Exact,
}

/// A program that was read.
pub struct Program {
    pub(crate) blob: ProgramBlob,
    fast: OnceLock<Result<Module, BadProgram>>,
    exact: OnceLock<Result<Module, BadProgram>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({} bytes of code)", self.blob.code().len())
    }
}

impl Program {
    const fn new(blob: ProgramBlob) -> Self {
        Self { blob, fast: OnceLock::new(), exact: OnceLock::new() }
    }
}

fn engine(backend: BackendKind) -> Result<Engine, String> {
    let mut config = Config::new();
    config.set_backend(Some(backend));
    // Only the interpreter has machines within machines.
    config.set_allow_dynamic_paging(backend == BackendKind::Interpreter);
    Engine::new(&config).map_err(|error| error.to_string())
}

/// One gas for each instruction.
fn module_config() -> ModuleConfig {
    let mut config = ModuleConfig::new();
    config.set_page_size(crate::program::PAGE_BYTES);
    config.set_gas_metering(Some(GasMeteringKind::Sync));
    config.set_cost_model(Some(CostModelKind::Simple(CostModel::naive_ref())));
    config
}
