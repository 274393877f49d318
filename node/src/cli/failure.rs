//! What went wrong, in one sentence and an exit code.

use devnet::validator::StartError;
use std::{fmt, process::ExitCode};

/// What went wrong. Each kind has its exit code, for scripts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A flag, a configuration file or a genesis is wrong (exit code 2, as for flags that do not exist).
    Usage(String),
    /// A port is taken or an address is not ours (3).
    Port(String),
    /// The data cannot be used (4).
    Data(String),
    /// Something failed while running (1).
    Runtime(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Runtime(_) => 1,
            Self::Usage(_) => 2,
            Self::Port(_) => 3,
            Self::Data(_) => 4,
        })
    }

    /// From anything that says what is wrong with what the user gave.
    pub fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// From anything that says what failed.
    pub fn runtime(why: impl fmt::Display) -> Self {
        Self::Runtime(why.to_string())
    }
}

impl From<StartError> for Failure {
    fn from(why: StartError) -> Self {
        match why {
            StartError::Store(why) => Self::Data(why.to_string()),
            StartError::Bind(why) => Self::Port(why.to_string()),
            why => Self::usage(why),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::Port(why) | Self::Data(why) | Self::Runtime(why) => f.write_str(why),
        }
    }
}
