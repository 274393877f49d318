//! The kinds of streams, and how long their messages may be. A declared length is compared with these before anything
//! is allocated.

use jam::{ErasureCode, Params, params::PACKAGE_BYTES_MAX, params::SEGMENT_BYTES};

/// What a stream is for: its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// UP 0: block announcements.
    Announcements = 0,
    /// CE 128: blocks.
    Blocks = 128,
    /// CE 129: a range of a state.
    State = 129,
    /// CE 133: a package for a guarantor.
    Package = 133,
    /// CE 134: a bundle among guarantors.
    Share = 134,
    /// CE 135: a guaranteed report.
    Report = 135,
    /// CE 137: an assurer's shards.
    Shard = 137,
    /// CE 141: an assurance.
    Assurance = 141,
    /// CE 146: a bundle for a guarantor.
    Bundle = 146,
    /// CE 148: segments.
    Segments = 148,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Announcements,
        Self::Blocks,
        Self::State,
        Self::Package,
        Self::Share,
        Self::Report,
        Self::Shard,
        Self::Assurance,
        Self::Bundle,
        Self::Segments,
    ];

    /// The kind that a stream's first byte means.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Bytes of the message that begins UP 0: final block and leaves.
pub const HANDSHAKE_BYTES_MAX: usize = 64 << 10;
/// Bytes of an announced header. The longest has an epoch mark and a tickets mark of the full chain.
pub const ANNOUNCEMENT_BYTES_MAX: usize = 128 << 10;
/// Bytes of an answer with blocks. A block of the full chain with a report on every core fits.
pub const BLOCKS_BYTES_MAX: usize = 32 << 20;
/// Blocks that are asked for at once.
pub const BLOCKS_MAX: u32 = 256;
/// Bytes of the nodes of a state trie along two paths.
pub const BOUNDARY_BYTES_MAX: usize = 64 << 10;
/// Bytes of keys and values of a state. The largest value is a service's code.
pub const STATE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a guaranteed report.
pub const REPORT_BYTES_MAX: usize = 256 << 10;
/// Bytes of a justification.
pub const JUSTIFICATION_BYTES_MAX: usize = 4 << 10;
/// Hashes in a proof of a segment.
pub const SEGMENT_PROOF_MAX: usize = 16;

/// The limits that follow from a chain's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) package: usize,
    pub(crate) mappings: usize,
    pub(crate) extrinsics: usize,
    pub(crate) bundle: usize,
    pub(crate) segments: usize,
    pub(crate) proofs: usize,
    pub(crate) segment_request: usize,
    pub(crate) bundle_shard: usize,
    pub(crate) segment_shard: usize,
    pub(crate) segment_shards: usize,
    pub(crate) assurance: usize,
}

impl Sizes {
    pub(crate) fn new(params: &Params) -> Self {
        let (imports, exports) = (params.imports_max as usize, params.exports_max as usize);
        let code = ErasureCode::new(params);
        let bundle = params.bundle_bytes_max as usize + PACKAGE_BYTES_MAX;
        let segment_shard = code.shard_len(SEGMENT_BYTES);
        Self {
            package: PACKAGE_BYTES_MAX,
            mappings: 16 + 64 * imports,
            extrinsics: params.bundle_bytes_max as usize,
            bundle,
            segments: imports * SEGMENT_BYTES,
            proofs: imports * (1 + 32 * SEGMENT_PROOF_MAX),
            segment_request: imports * 40,
            bundle_shard: code.shard_len(bundle),
            segment_shard,
            // Exported segments, and a page of proofs for every 64 of them.
            segment_shards: (exports + exports.div_ceil(64)) * segment_shard,
            assurance: 32 + usize::from(params.cores.div_ceil(8)) + 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_their_bytes() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_byte(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_byte(1), None);
        assert_eq!(Kind::from_byte(255), None);
    }

    #[test]
    fn a_full_bundle_fits_on_both_chains() {
        for params in [Params::TINY, Params::FULL] {
            let sizes = Sizes::new(&params);
            assert!(sizes.extrinsics >= 12 << 20 && sizes.bundle >= sizes.extrinsics + sizes.package);
            assert!(sizes.segments >= 3072 * SEGMENT_BYTES);
        }
        assert_eq!(Sizes::new(&Params::FULL).segment_shard, 12);
    }
}
