//! How large a block may become, and how large a run of them.

use core::fmt;
use jam::Params;
use service::Config;

/// What a block must not exceed, so that a package can carry it alone. Looked at before each transaction, so no block has to be
/// taken apart again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Gas of all transactions.
    pub gas_max: u64,
    /// Transactions.
    pub transactions_max: usize,
    /// Bytes of witness, codes, transactions and payload.
    pub bundle_bytes_max: usize,
    /// Segments that block and receipts are exported as.
    pub export_segments_max: usize,
    /// Gas of all blocks that one package carries; one block may have more.
    pub run_gas_max: u64,
    /// Gas of JAM's virtual machine that refining one package may take, as it is estimated ([`Work`](crate::Work)).
    pub refine_gas_max: u64,
}

/// Bytes of a bundle by default: what JAM allows, less a reserve for the package itself.
pub const BUNDLE_BYTES_MAX: usize = 12_000_000;
/// Transactions of a block by default: as many transfers as the gas of a block pays for.
pub const TRANSACTIONS_MAX: usize = 1_714;
/// Gas of the blocks of one package by default. A guarantor has a few seconds to refine it; this is one or two on one core.
pub const RUN_GAS_MAX: u64 = 300_000_000;

/// One part of so many of a package's refine gas is left free.
const REFINE_GAS_RESERVE: u64 = 50;

const _: () = assert!(BUNDLE_BYTES_MAX < Params::FULL.bundle_bytes_max as usize);
const _: () = assert!(service::config::GAS_LIMIT / 21_000 == TRANSACTIONS_MAX as u64);

impl Limits {
    /// The most that both the service and the chain allow.
    pub fn new(config: &Config, params: &Params) -> Self {
        Self {
            gas_max: config.gas_limit.min(params.refine_gas_max),
            transactions_max: TRANSACTIONS_MAX,
            bundle_bytes_max: BUNDLE_BYTES_MAX.min(params.bundle_bytes_max as usize),
            export_segments_max: params.exports_max as usize,
            run_gas_max: RUN_GAS_MAX.min(params.refine_gas_max),
            refine_gas_max: Self::refine_gas_max(params),
        }
    }
}

impl Limits {
    /// The refine gas of a package, less a reserve.
    pub const fn refine_gas_max(params: &Params) -> u64 {
        params.refine_gas_max - params.refine_gas_max / REFINE_GAS_RESERVE
    }
}

/// A limit that a transaction would exceed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// [`Limits::gas_max`], or the block's gas limit.
    Gas {
        /// The block would need.
        needed: u64,
        /// There is.
        max: u64,
    },
    /// [`Limits::transactions_max`].
    Transactions {
        /// There is.
        max: usize,
    },
    /// [`Limits::bundle_bytes_max`].
    BundleBytes {
        /// The block would need.
        needed: usize,
        /// There is.
        max: usize,
    },
    /// [`Limits::refine_gas_max`].
    RefineGas {
        /// The block would need.
        needed: u64,
        /// There is.
        max: u64,
    },
    /// [`Limits::export_segments_max`].
    ExportSegments {
        /// The block would need.
        needed: usize,
        /// There is.
        max: usize,
    },
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gas { needed, max } => write!(f, "{needed} gas needed, a block has {max}"),
            Self::Transactions { max } => write!(f, "a block has at most {max} transactions"),
            Self::BundleBytes { needed, max } => write!(f, "{needed} bytes needed, a bundle has {max}"),
            Self::RefineGas { needed, max } => {
                write!(f, "{needed} gas needed to refine it, a package has {max}")
            }
            Self::ExportSegments { needed, max } => {
                write!(f, "{needed} segments needed, a block exports at most {max}")
            }
        }
    }
}
