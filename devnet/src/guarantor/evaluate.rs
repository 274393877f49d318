//! From a bundle to a report.

use super::PackageRefusal;
use crate::chain::Rules;
use alloy_primitives::Bytes;
use jam::{
    Bundle, ErasureCode, Shards, WorkDigest, WorkReport, WorkResult,
    hash::blake2b,
    merkle::SegmentTree,
    report::{AvailabilitySpec, RefineLoad},
};
use service::refine::refine_bundle;
use std::collections::BTreeMap;

/// What a bundle came to. Every guarantor gets the same.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// What guarantors sign.
    pub report: WorkReport,
    /// What is to be made available.
    pub shards: Shards,
    /// The exported segments.
    pub exports: Vec<Bytes>,
}

/// Refines a bundle and codes it. `bytes` are its encoding.
pub fn evaluate(
    rules: &Rules,
    core: u16,
    bundle: &Bundle,
    bytes: &[u8],
) -> Result<Evaluated, PackageRefusal> {
    let output = refine_bundle(bundle, &rules.service, &rules.params)?;
    let package = &bundle.package;
    let tree = SegmentTree::new(&output.exports);
    let pages = tree.pages().into_iter().map(Bytes::from);
    let segments = output.exports.iter().cloned().chain(pages).collect::<Vec<_>>();
    let shards = Shards::new(ErasureCode::new(&rules.params), bytes, &segments)?;
    let digest = |item: &jam::WorkItem| WorkDigest {
        service: item.service,
        code_hash: item.code_hash,
        payload_hash: blake2b(&[&item.payload]),
        accumulate_gas: item.accumulate_gas,
        result: WorkResult::Output(output.claim.encode().to_vec().into()),
        load: RefineLoad {
            gas_used: output.claim.gas_used,
            imports: item.imports.len() as u16,
            extrinsic_count: item.extrinsics.len() as u16,
            extrinsic_bytes: item.extrinsics.iter().fold(0, |sum: u32, blob| sum.saturating_add(blob.len)),
            exports: output.exports.len() as u16,
        },
    };
    let token = String::from_utf8_lossy(&package.authorization);
    let report = WorkReport {
        spec: AvailabilitySpec {
            package: package.hash(),
            bundle_len: bytes.len() as u32,
            erasure_root: shards.root,
            exports_root: tree.root(),
            exports_count: output.exports.len() as u16,
        },
        context: package.context.clone(),
        core,
        authorizer: package.authorizer_hash(),
        auth_gas_used: 0,
        auth_output: format!("Auth=<{token}>").into_bytes().into(),
        segment_roots: BTreeMap::new(),
        digests: package.items.iter().map(digest).collect(),
    };
    Ok(Evaluated { report, shards, exports: output.exports })
}
