//! How validators of a development network run services: flags that `dev` and `validator` share.

use clap::{Args, ValueEnum};
use devnet::execution::{SERVICES, Services};
use pvm::EngineKind;

/// How services are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Args)]
pub(super) struct ExecutionArgs {
    /// How packages are refined and accumulated: by the code on chain, as a network of others does it, or natively, which is
    /// for measurements. Validators of one network must all do the same.
    #[arg(long, value_enum, default_value_t = Refine::of(SERVICES), value_name = "HOW", help_heading = "Chain")]
    refine: Refine,
    /// What runs the code of services and authorizers: the recompiler where it works, or one of the two.
    #[arg(long, value_enum, default_value_t = Pvm::Auto, value_name = "ENGINE", help_heading = "Chain")]
    pvm: Pvm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Refine {
    /// By the code on chain
    Code,
    /// By this program
    Native,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Pvm {
    Auto,
    Compiler,
    Interpreter,
}

impl Refine {
    const fn of(services: Services) -> Self {
        match services {
            Services::Code => Self::Code,
            Services::Native => Self::Native,
        }
    }
}

impl ExecutionArgs {
    /// How services are run.
    pub(super) const fn services(self) -> Services {
        match self.refine {
            Refine::Code => Services::Code,
            Refine::Native => Services::Native,
        }
    }

    /// What runs code.
    pub(super) const fn engine(self) -> EngineKind {
        match self.pvm {
            Pvm::Auto => EngineKind::Auto,
            Pvm::Compiler => EngineKind::Compiler,
            Pvm::Interpreter => EngineKind::Interpreter,
        }
    }
}
