//! Work reports: what guarantors say a package came to.

use crate::{
    Hash, RefineContext,
    codec::{AtMost, Decode, DecodeError, Decoder, Encode, Malformed, Natural, wire},
    hash::{PackageHash, ReportHash, SegmentRoot, hash_of},
};
use alloc::{collections::BTreeMap, vec::Vec};
use alloy_primitives::Bytes;

wire! {
    /// What must be made available, and how to check it.
    pub struct AvailabilitySpec {
        /// The package.
        pub package: PackageHash,
        /// Bytes of its bundle.
        pub bundle_len: u32,
        /// Root over the shards of bundle and segments.
        pub erasure_root: Hash,
        /// Root over the exported segments.
        pub exports_root: SegmentRoot,
        /// Exported segments.
        pub exports_count: u16,
    }

    /// What refining one item took.
    pub struct RefineLoad {
        /// Gas used.
        pub gas_used: u64 => Natural,
        /// Segments imported.
        pub imports: u16 => Natural,
        /// Extrinsics read.
        pub extrinsic_count: u16 => Natural,
        /// Bytes of extrinsics.
        pub extrinsic_bytes: u32 => Natural,
        /// Segments exported.
        pub exports: u16 => Natural,
    }

    /// The result of one work item.
    pub struct WorkDigest {
        /// The service.
        pub service: u32,
        /// The service's code.
        pub code_hash: Hash,
        /// Hash of the item's payload.
        pub payload_hash: Hash,
        /// Gas to accumulate it.
        pub accumulate_gas: u64,
        /// What refining gave.
        pub result: WorkResult,
        /// What refining took.
        pub load: RefineLoad,
    }

    /// What guarantors sign.
    pub struct WorkReport {
        /// The package and its data.
        pub spec: AvailabilitySpec,
        /// The view of the chain it was computed against.
        pub context: RefineContext,
        /// The core it was computed on.
        pub core: u16 => Natural,
        /// The authorizer that let it pass.
        pub authorizer: Hash,
        /// Gas that authorizing took.
        pub auth_gas_used: u64 => Natural,
        /// What the authorizer said.
        pub auth_output: Bytes,
        /// Segment roots of packages that this one imports from by package hash.
        pub segment_roots: BTreeMap<PackageHash, SegmentRoot>,
        /// The results, one per work item.
        pub digests: Vec<WorkDigest> => AtMost<16>,
    }
}

/// What refining a work item gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkResult {
    /// An output for the service.
    Output(Bytes),
    /// Nothing, for a reason.
    Failed(WorkError),
}

/// Why refining a work item gave nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(u8)]
pub enum WorkError {
    /// The gas ran out.
    #[error("out of gas")]
    OutOfGas = 1,
    /// The code stopped unexpectedly.
    #[error("panic")]
    Panic = 2,
    /// Another number of exports than declared.
    #[error("wrong number of exports")]
    BadExports = 3,
    /// The outputs are too large for a report.
    #[error("output too large")]
    OutputOversize = 4,
    /// The service or its code is not known.
    #[error("service code not available")]
    BadCode = 5,
    /// The service's code is too large.
    #[error("service code too large")]
    CodeOversize = 6,
}

impl WorkError {
    const ALL: [Self; 6] = [
        Self::OutOfGas,
        Self::Panic,
        Self::BadExports,
        Self::OutputOversize,
        Self::BadCode,
        Self::CodeOversize,
    ];
}

impl Encode for WorkResult {
    fn encode_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Output(output) => {
                out.push(0);
                output.encode_to(out);
            }
            Self::Failed(error) => out.push(*error as u8),
        }
    }
}

impl Decode for WorkResult {
    const MIN_BYTES: usize = 1;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.clone();
        match input.byte()? {
            0 => Bytes::decode_from(input).map(Self::Output),
            tag => WorkError::ALL
                .get(usize::from(tag) - 1)
                .map(|error| Self::Failed(*error))
                .ok_or_else(|| start.error(Malformed::Tag { tag })),
        }
    }
}

impl WorkResult {
    /// The bytes that count against the report's limit.
    pub fn output_len(&self) -> usize {
        match self {
            Self::Output(output) => output.len(),
            Self::Failed(_) => 0,
        }
    }
}

impl WorkReport {
    /// BLAKE2b-256 of the encoding: what guarantors sign.
    pub fn hash(&self) -> ReportHash {
        ReportHash(hash_of(self))
    }

    /// The package that this reports.
    pub fn package(&self) -> PackageHash {
        self.spec.package
    }

    /// The packages that must have been accumulated before.
    pub fn dependencies(&self) -> impl Iterator<Item = PackageHash> {
        self.context.prerequisites.iter().chain(self.segment_roots.keys()).copied()
    }

    /// Bytes of all outputs.
    pub fn output_bytes(&self) -> usize {
        self.auth_output.len() + self.digests.iter().map(|digest| digest.result.output_len()).sum::<usize>()
    }

    /// Gas to accumulate all results.
    pub fn accumulate_gas(&self) -> u64 {
        self.digests.iter().map(|digest| digest.accumulate_gas).fold(0, u64::saturating_add)
    }
}
