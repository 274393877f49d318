//! Work packages: what a builder asks the network to compute.

use crate::{
    Hash, Params,
    codec::{AtMost, Decode, DecodeError, Decoder, Encode, wire},
    hash::{HeaderHash, PackageHash, SegmentRoot, blake2b, hash_of},
    params::IMPORT_BYTES,
};
use alloc::{collections::BTreeSet, vec::Vec};
use alloy_primitives::Bytes;

wire! {
    /// The view of the chain that a package is computed against.
    pub struct RefineContext {
        /// A recent block; the package can be reported while it is among the last ones.
        pub anchor: HeaderHash,
        /// The state root after the anchor.
        pub state_root: Hash,
        /// The root of the accumulation-output log after the anchor.
        pub beefy_root: Hash,
        /// A final block, whose preimages are looked up.
        pub lookup_anchor: HeaderHash,
        /// The slot of the lookup anchor.
        pub lookup_anchor_slot: u32,
        /// Packages that must be reported before or together with this one.
        pub prerequisites: BTreeSet<PackageHash>,
    }

    /// A blob that comes beside the package.
    pub struct ExtrinsicSpec {
        /// BLAKE2b-256 of the blob.
        pub hash: Hash,
        /// Its length in bytes.
        pub len: u32,
    }

    /// One unit of work for one service.
    pub struct WorkItem {
        /// The service.
        pub service: u32,
        /// The service's code.
        pub code_hash: Hash,
        /// Gas to refine it.
        pub refine_gas: u64,
        /// Gas to accumulate it.
        pub accumulate_gas: u64,
        /// Segments it exports.
        pub export_count: u16,
        /// What the service is told.
        pub payload: Bytes,
        /// Segments it imports.
        pub imports: Vec<ImportSpec> => AtMost<{ 1 << 15 }>,
        /// Blobs that come with it.
        pub extrinsics: Vec<ExtrinsicSpec> => AtMost<128>,
    }

    /// What a builder submits. Its hash is its identity on the chain.
    pub struct WorkPackage {
        /// The service that keeps the authorizer's code.
        pub auth_code_host: u32,
        /// The authorizer's code.
        pub auth_code_hash: Hash,
        /// The view of the chain.
        pub context: RefineContext,
        /// What convinces the authorizer.
        pub authorization: Bytes,
        /// What the authorizer was set up with.
        pub authorizer_config: Bytes,
        /// The work.
        pub items: Vec<WorkItem> => AtMost<16>,
    }
}

/// How an import names the tree of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportRoot {
    /// By its root.
    Segments(SegmentRoot),
    /// By the package that exported it.
    Package(PackageHash),
}

/// One imported segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImportSpec {
    /// The tree of segments.
    pub root: ImportRoot,
    /// The segment's place in the tree, below 2^15.
    pub index: u16,
}

const BY_PACKAGE: u16 = 1 << 15;

impl Encode for ImportSpec {
    fn encode_to(&self, out: &mut Vec<u8>) {
        let (hash, flag) = match self.root {
            ImportRoot::Segments(root) => (root.0, 0),
            ImportRoot::Package(package) => (package.0, BY_PACKAGE),
        };
        hash.encode_to(out);
        (self.index & !BY_PACKAGE | flag).encode_to(out);
    }
}

impl Decode for ImportSpec {
    const MIN_BYTES: usize = 34;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (hash, index) = <(Hash, u16)>::decode_from(input)?;
        let root = match index & BY_PACKAGE {
            0 => ImportRoot::Segments(SegmentRoot(hash)),
            _ => ImportRoot::Package(PackageHash(hash)),
        };
        Ok(Self { root, index: index & !BY_PACKAGE })
    }
}

/// Why a package cannot be processed by any validator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackageLimit {
    /// No item, or too many.
    #[error("{found} work items, 1 to {max} allowed")]
    Items {
        /// Items in the package.
        found: usize,
        /// Items allowed.
        max: usize,
    },
    /// More of something than the chain's parameters allow.
    #[error("{found} {what}, at most {max} allowed")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// In the package.
        found: u64,
        /// Allowed.
        max: u64,
    },
}

impl WorkPackage {
    /// BLAKE2b-256 of the encoding.
    pub fn hash(&self) -> PackageHash {
        PackageHash(hash_of(self))
    }

    /// The authorizer that must be in the core's pool.
    pub fn authorizer_hash(&self) -> Hash {
        blake2b(&[self.auth_code_hash.as_slice(), &self.authorizer_config])
    }

    /// All blobs beside the package, in order.
    pub fn extrinsics(&self) -> impl Iterator<Item = &ExtrinsicSpec> {
        self.items.iter().flat_map(|item| &item.extrinsics)
    }

    /// All imports, in order.
    pub fn imports(&self) -> impl Iterator<Item = &ImportSpec> {
        self.items.iter().flat_map(|item| &item.imports)
    }

    /// What counts against the bundle limit: token, configuration, payloads, imports with proofs, and blobs.
    pub fn input_bytes(&self) -> u64 {
        let payloads = self.items.iter().map(|item| item.payload.len() as u64).sum::<u64>();
        let blobs = self.extrinsics().map(|blob| u64::from(blob.len)).sum::<u64>();
        let imports = self.imports().count() as u64 * IMPORT_BYTES as u64;
        (self.authorization.len() + self.authorizer_config.len()) as u64 + payloads + blobs + imports
    }

    /// That the package keeps to the chain's limits.
    pub fn check(&self, params: &Params) -> Result<(), PackageLimit> {
        let max = usize::from(params.work_items_max);
        if self.items.is_empty() || self.items.len() > max {
            return Err(PackageLimit::Items { found: self.items.len(), max });
        }
        let sum = |field: fn(&WorkItem) -> u64| self.items.iter().map(field).fold(0, u64::saturating_add);
        let limits = [
            ("imports", self.imports().count() as u64, u64::from(params.imports_max)),
            ("exports", sum(|item| item.export_count.into()), u64::from(params.exports_max)),
            ("extrinsics", self.extrinsics().count() as u64, u64::from(params.extrinsics_max)),
            ("bytes in the bundle", self.input_bytes(), u64::from(params.bundle_bytes_max)),
            ("gas to refine", sum(|item| item.refine_gas), params.refine_gas_max),
            ("gas to accumulate", sum(|item| item.accumulate_gas), params.accumulate_gas_max),
        ];
        match limits.into_iter().find(|(_, found, max)| found > max) {
            Some((what, found, max)) => Err(PackageLimit::TooMuch { what, found, max }),
            None => Ok(()),
        }
    }
}
