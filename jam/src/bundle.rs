//! Bundles: a package with everything that is needed to compute it.
//!
//! `package ++ extrinsics ++ imported segments ++ proofs`: the package says how long each part is, so there are no
//! lengths in between, except before each proof.

use crate::{
    Params, WorkPackage,
    codec::{Decode, DecodeError, Decoder, Encode, Malformed},
    hash::{Hash, PackageHash, SegmentRoot, blake2b},
    merkle::segment_proves,
    package::ImportRoot,
    params::SEGMENT_BYTES,
};
use alloc::{collections::BTreeMap, vec::Vec};
use alloy_primitives::Bytes;

/// An imported segment with the proof that it is the one the package names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The segment, [`SEGMENT_BYTES`] long.
    pub segment: Bytes,
    /// The sibling hashes from the root down.
    pub proof: Vec<Hash>,
}

/// A package with its data. Large parts are shared, not copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bundle {
    /// The package.
    pub package: WorkPackage,
    /// The blobs that its items name, in order.
    pub extrinsics: Vec<Bytes>,
    /// The segments that its items import, in order.
    pub imports: Vec<Import>,
}

/// Why a bundle does not hold what its package promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BundleError {
    /// Not the encoding of a bundle.
    #[error("not a bundle: {0}")]
    Malformed(#[from] DecodeError),
    /// A blob is not the one that the package names, or one is missing.
    #[error("extrinsic {0} is not the one that the package names")]
    Extrinsic(usize),
    /// An import is not the one that the package names, or one is missing.
    #[error("import {0} is not the one that the package names")]
    Import(usize),
}

impl Encode for Bundle {
    fn encode_to(&self, out: &mut Vec<u8>) {
        let blobs = self.extrinsics.iter().map(|blob| blob.len()).sum::<usize>();
        out.reserve(blobs + self.imports.len() * (SEGMENT_BYTES + 400) + 1024);
        self.package.encode_to(out);
        self.extrinsics.iter().for_each(|blob| out.extend_from_slice(blob));
        self.imports.iter().for_each(|import| out.extend_from_slice(&import.segment));
        self.imports.iter().for_each(|import| import.proof.encode_to(out));
    }
}

impl Bundle {
    /// Reads a bundle. The blobs and segments are slices of `bytes`; nothing large is copied. The hashes are not
    /// looked at; [`Bundle::check`] does that.
    pub fn decode(bytes: &Bytes, params: &Params) -> Result<Self, DecodeError> {
        let mut input = Decoder::new(bytes, params);
        let package = WorkPackage::decode_from(&mut input)?;
        // All lengths are known now; that they fit is checked before anything is reserved for them.
        let blobs = package.extrinsics().map(|blob| u64::from(blob.len)).sum::<u64>();
        let segments = package.imports().count();
        let needed = blobs + segments as u64 * (SEGMENT_BYTES as u64 + 1);
        if needed > input.left() as u64 {
            return Err(input.error(Malformed::Inconsistent("shorter than its package says")));
        }
        let extrinsics = package
            .extrinsics()
            .map(|blob| Ok(bytes.slice_ref(input.take(blob.len as usize)?)))
            .collect::<Result<_, _>>()?;
        let segments = (0..segments)
            .map(|_| Ok(bytes.slice_ref(input.take(SEGMENT_BYTES)?)))
            .collect::<Result<Vec<_>, _>>()?;
        let imports = segments
            .into_iter()
            .map(|segment| Ok(Import { segment, proof: input.at_most(16)? }))
            .collect::<Result<_, _>>()?;
        input.finish()?;
        Ok(Self { package, extrinsics, imports })
    }

    /// That blobs and segments are the ones that the package names. `segment_roots` tells the roots of trees that the
    /// package names by the package that exported them.
    pub fn check(&self, segment_roots: &BTreeMap<PackageHash, SegmentRoot>) -> Result<(), BundleError> {
        let specs = self.package.extrinsics();
        if let Some(at) = first_difference(specs, &self.extrinsics, |spec, blob| {
            spec.len as usize == blob.len() && spec.hash == blake2b(&[blob])
        }) {
            return Err(BundleError::Extrinsic(at));
        }
        let mismatch = first_difference(self.package.imports(), &self.imports, |spec, import| {
            let root = match spec.root {
                ImportRoot::Segments(root) => Some(root),
                ImportRoot::Package(package) => segment_roots.get(&package).copied(),
            };
            let fits = import.segment.len() == SEGMENT_BYTES;
            fits && root.is_some_and(|root| {
                segment_proves(root, usize::from(spec.index), &import.segment, &import.proof)
            })
        });
        mismatch.map_or(Ok(()), |at| Err(BundleError::Import(at)))
    }
}

/// Where two sequences first do not belong together, the end of the shorter one included.
fn first_difference<A, B>(
    specs: impl Iterator<Item = A>,
    values: &[B],
    fits: impl Fn(A, &B) -> bool,
) -> Option<usize> {
    let mut count = 0;
    for spec in specs {
        match values.get(count) {
            Some(value) if fits(spec, value) => count += 1,
            _ => return Some(count),
        }
    }
    (count < values.len()).then_some(count)
}
