//! From a bundle to a report.

use super::PackageRefusal;
use crate::{
    chain::{Entries, Rules},
    execution::Services,
};
use alloy_primitives::Bytes;
use jam::{
    Bundle, ErasureCode, Shards, WorkDigest, WorkReport, WorkResult,
    hash::blake2b,
    merkle::SegmentTree,
    report::{AvailabilitySpec, RefineLoad},
};
use pvm::{Accounts, Evaluation, Limits, NoReport};
use service::{answer::decode_refusal, refine::refine_bundle};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Memory that the code of a service may ask for.
const HEAP_BYTES_MAX: u32 = 1 << 30;
/// How long code may run. The most gas that a real network allows takes a recompiler three seconds.
const TIME_MAX: Duration = Duration::from_secs(120);

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

/// Authorizes and refines a bundle, whose blobs must have been checked, and codes it. `bytes` are its encoding, `services` the entries of services in a state that is not
/// older than the package's lookup anchor.
pub fn evaluate(
    rules: &Rules,
    services: &Entries,
    core: u16,
    bundle: &Bundle,
    bytes: &[u8],
) -> Result<Evaluated, PackageRefusal> {
    let began = Instant::now();
    let limits = Limits { heap_bytes_max: HEAP_BYTES_MAX, is_late: &|| began.elapsed() > TIME_MAX };
    let accounts = Accounts::new(&rules.params, services);
    let anchor = bundle.package.context.lookup_anchor_slot;
    let lookup = |service, hash| accounts.historical(service, anchor, hash);
    let evaluation = Evaluation { params: &rules.params, core, bundle, lookup: &lookup, limits };
    let refined = match rules.execution.services() {
        Services::Code => by_code(rules, &evaluation)?,
        Services::Native => natively(rules, &evaluation)?,
    };
    let package = &bundle.package;
    let tree = SegmentTree::new(&refined.exports);
    let pages = tree.pages().into_iter().map(Bytes::from);
    let segments = refined.exports.iter().cloned().chain(pages).collect::<Vec<_>>();
    let shards = Shards::new(ErasureCode::new(&rules.params), bytes, &segments)?;
    let report = WorkReport {
        spec: AvailabilitySpec {
            package: package.hash(),
            bundle_len: bytes.len() as u32,
            erasure_root: shards.root,
            exports_root: tree.root(),
            exports_count: refined.exports.len() as u16,
        },
        context: package.context.clone(),
        core,
        authorizer: package.authorizer_hash(),
        auth_gas_used: refined.auth_gas_used,
        auth_output: refined.trace,
        segment_roots: BTreeMap::new(),
        digests: refined.digests,
    };
    Ok(Evaluated { report, shards, exports: refined.exports })
}

/// By the code on chain. A report of a failure would cost the core a slot and help no user, so it is a refusal.
fn by_code(rules: &Rules, evaluation: &Evaluation<'_>) -> Result<pvm::Evaluated, PackageRefusal> {
    evaluation.bundle.package.check(&rules.params)?;
    let evaluated = rules.execution.machines().evaluate(evaluation).map_err(refused)?;
    for (digest, answer) in evaluated.digests.iter().zip(&evaluated.answers) {
        if let Some((code, why)) = decode_refusal(answer).filter(|_| digest.service == rules.service.service)
        {
            return Err(PackageRefusal::Answer { code, why: why.to_owned() });
        }
        if let WorkResult::Failed(why) = digest.result {
            return Err(PackageRefusal::Failed(why));
        }
    }
    Ok(evaluated)
}

fn refused(why: NoReport) -> PackageRefusal {
    match why {
        NoReport::Unauthorized(why) => PackageRefusal::Unauthorized(why),
        NoReport::Fault(fault) => PackageRefusal::Machine(fault),
    }
}

/// Our service natively. Authorizers are always code.
fn natively(rules: &Rules, evaluation: &Evaluation<'_>) -> Result<pvm::Evaluated, PackageRefusal> {
    let bundle = evaluation.bundle;
    let (trace, auth_gas_used) = rules.execution.machines().authorize_package(evaluation).map_err(refused)?;
    let output = refine_bundle(bundle, &rules.service, &rules.params)?;
    let package = &bundle.package;
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
    Ok(pvm::Evaluated {
        trace,
        auth_gas_used,
        digests: package.items.iter().map(digest).collect(),
        exports: output.exports,
        answers: vec![],
    })
}
