//! Packages, bundles and reports: CE 133, CE 134, CE 135, CE 146.

use super::{Payload, Rules, one};
use crate::{
    error::StreamError,
    frame::{Input, Message},
    kind::{REPORT_BYTES_MAX, SEGMENT_PROOF_MAX},
};
use bytes::Bytes;
use jam::{
    Bundle, Guarantee, PackageHash, Params, ReportHash, SegmentRoot, Signature, WorkPackage,
    bundle::Import,
    codec::{self, DecodeError, Decoder, Encode},
    params::SEGMENT_BYTES,
};
use std::collections::BTreeMap;

/// Roots of trees that a package names by the package that exported them.
pub type SegmentRoots = BTreeMap<PackageHash, SegmentRoot>;

/// A package with its blobs, for a core (CE 133).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageSubmission {
    /// The core.
    pub core: u16,
    /// The package.
    pub package: WorkPackage,
    /// Its blobs, in order.
    pub extrinsics: Vec<codec::Bytes>,
}

/// The blobs that a package names, cut out of one message.
pub(crate) fn cut_extrinsics(package: &WorkPackage, bytes: &Bytes) -> Result<Vec<codec::Bytes>, StreamError> {
    let named = package.extrinsics().map(|blob| u64::from(blob.len)).sum::<u64>();
    if named != bytes.len() as u64 {
        return Err(StreamError::Wrong("the extrinsics are not as long as the package says"));
    }
    let mut rest = bytes.clone();
    Ok(package.extrinsics().map(|blob| rest.split_to(blob.len as usize).into()).collect())
}

fn pieces(blobs: &[codec::Bytes]) -> Message {
    blobs.iter().map(|blob| blob.0.clone()).collect()
}

impl PackageSubmission {
    pub(crate) fn messages(core: u16, package: &WorkPackage, extrinsics: &[codec::Bytes]) -> Vec<Message> {
        let mut head = core.encode();
        package.encode_to(&mut head);
        vec![vec![head.into()], pieces(extrinsics)]
    }
}

/// A bundle for a core, with what its imports are called (CE 146).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundleSubmission {
    /// The core.
    pub core: u16,
    /// Roots of trees that the package names by package.
    pub segment_roots: SegmentRoots,
    /// The bundle.
    pub bundle: Bundle,
}

impl BundleSubmission {
    pub(crate) fn messages(core: u16, segment_roots: &SegmentRoots, bundle: &Bundle) -> Vec<Message> {
        let segments = bundle.imports.iter().map(|import| import.segment.0.clone()).collect();
        vec![
            vec![(core, segment_roots.clone()).encode().into()],
            vec![bundle.package.encode().into()],
            pieces(&bundle.extrinsics),
            segments,
            vec![proofs(&bundle.imports)],
        ]
    }
}

pub(super) fn proofs(imports: &[Import]) -> Bytes {
    let mut out = vec![];
    imports.iter().for_each(|import| import.proof.encode_to(&mut out));
    out.into()
}

/// `count` segments with their proofs, from two messages.
pub(crate) async fn read_imports(
    input: &mut Input,
    rules: &Rules,
    count: usize,
) -> Result<Vec<Import>, StreamError> {
    let mut segments = input.message(rules.sizes.segments.min(count * SEGMENT_BYTES)).await?;
    if segments.len() != count * SEGMENT_BYTES {
        return Err(StreamError::Wrong("another number of segments than was named"));
    }
    let proofs = input.message(rules.sizes.proofs).await?;
    let mut proofs = Decoder::new(&proofs, &rules.params);
    let imports = (0..count)
        .map(|_| {
            let segment = segments.split_to(SEGMENT_BYTES).into();
            Ok(Import { segment, proof: proofs.at_most(SEGMENT_PROOF_MAX)? })
        })
        .collect::<Result<_, DecodeError>>()?;
    proofs.finish()?;
    Ok(imports)
}

/// A bundle as one guarantor gives it to another (CE 134).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedBundle {
    /// The core.
    pub core: u16,
    /// Roots of trees that the package names by package.
    pub segment_roots: SegmentRoots,
    /// The bundle as it is to be made available.
    pub bytes: Bytes,
    /// The same, read; its blobs are slices of `bytes`.
    pub bundle: Bundle,
}

impl SharedBundle {
    /// Reads the bundle.
    pub fn new(
        core: u16,
        segment_roots: SegmentRoots,
        bytes: Bytes,
        params: &Params,
    ) -> Result<Self, DecodeError> {
        let bundle = Bundle::decode(&bytes.clone().into(), params)?;
        Ok(Self { core, segment_roots, bytes, bundle })
    }
}

impl Payload for SharedBundle {
    fn write(&self) -> Vec<Message> {
        vec![vec![(self.core, self.segment_roots.clone()).encode().into()], vec![self.bytes.clone()]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (core, segment_roots) = rules.decode(&input.message(rules.sizes.mappings).await?)?;
        let bytes = input.message(rules.sizes.bundle).await?;
        Ok(Self::new(core, segment_roots, bytes, &rules.params)?)
    }
}

/// A guarantor's answer to a shared bundle: the report it came to, signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedReport {
    /// The report.
    pub report: ReportHash,
    /// The guarantor's signature, for a guarantee.
    pub signature: Signature,
}

impl Payload for SharedReport {
    fn write(&self) -> Vec<Message> {
        one(&(self.report, self.signature))
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (report, signature) = rules.decode(&input.message(96).await?)?;
        Ok(Self { report, signature })
    }
}

impl Payload for Guarantee {
    fn write(&self) -> Vec<Message> {
        one(self)
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        rules.decode(&input.message(REPORT_BYTES_MAX).await?)
    }
}
