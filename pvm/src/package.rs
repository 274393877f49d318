//! What does a package come to? (Ξ without its availability, section 14.4)

use crate::{
    machine::Machines,
    refine::{Lookup, RefineInput, Refined},
    run::{Fault, Limits},
};
use alloy_primitives::Bytes;
use jam::{
    Bundle, Params, WorkDigest, WorkError, WorkItem, WorkResult, hash::blake2b, params::SEGMENT_BYTES,
    report::RefineLoad,
};

/// A package to evaluate. Its extrinsics and imports must have been checked.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The chain's parameters.
    pub params: &'a Params,
    /// The core.
    pub core: u16,
    /// The package with its data.
    pub bundle: &'a Bundle,
    /// Preimages at its lookup anchor.
    pub lookup: Lookup<'a>,
    /// What this machine gives.
    pub limits: Limits<'a>,
}

/// What a package came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evaluated {
    /// What the authorizer said.
    pub trace: Bytes,
    /// The gas that it used.
    pub auth_gas_used: u64,
    /// The results, one for each item.
    pub digests: Vec<WorkDigest>,
    /// All exported segments.
    pub exports: Vec<Bytes>,
    /// What the code answered for each item. An item that exports another number of segments than it declares, as one that is refused does,
    /// has an error in its digest instead.
    pub answers: Vec<Bytes>,
}

/// Why a package has no report.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoReport {
    /// The authorizer does not let it pass.
    #[error("unauthorized: {0}")]
    Unauthorized(WorkError),
    /// This machine cannot say.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Machines {
    /// Authorizes a package. Gives the authorizer's trace and the gas that it used.
    pub fn authorize_package(&self, evaluation: &Evaluation<'_>) -> Result<(Bytes, u64), NoReport> {
        let Evaluation { params, core, bundle, lookup, limits } = *evaluation;
        let package = &bundle.package;
        let code = lookup(package.auth_code_host, package.auth_code_hash);
        let authorized = self.authorize(params, package, core, code.as_ref(), limits)?;
        let trace = authorized.trace.map_err(NoReport::Unauthorized)?;
        Ok((trace, authorized.gas_used))
    }

    /// Authorizes a package and refines its items, all by code.
    pub fn evaluate(&self, evaluation: &Evaluation<'_>) -> Result<Evaluated, NoReport> {
        let Evaluation { params, core, bundle, lookup, limits } = *evaluation;
        let package = &bundle.package;
        let (trace, auth_gas_used) = self.authorize_package(evaluation)?;
        let extrinsics = by_item(bundle, |item| item.extrinsics.len(), &bundle.extrinsics);
        let segments = bundle.imports.iter().map(|import| import.segment.clone()).collect::<Vec<_>>();
        let imports = by_item(bundle, |item| item.imports.len(), &segments);
        let mut out = Evaluated { trace, auth_gas_used, digests: vec![], exports: vec![], answers: vec![] };
        let mut left = (params.report_output_bytes_max as usize).saturating_sub(out.trace.len());
        for (item, declared) in package.items.iter().enumerate() {
            let refined = self.refine(&RefineInput {
                params,
                core,
                package,
                item,
                trace: &out.trace,
                extrinsics: &extrinsics,
                imports: &imports,
                export_offset: out.exports.len(),
                output_bytes_max: left,
                lookup,
                limits,
            })?;
            out.answers.push(match &refined.result {
                WorkResult::Output(answer) => answer.clone(),
                WorkResult::Failed(_) => Bytes::new(),
            });
            let refined = settle(declared, refined);
            left = left.saturating_sub(refined.result.output_len());
            out.digests.push(digest(declared, refined.result, refined.gas_used));
            out.exports.extend(refined.exports);
        }
        Ok(out)
    }
}

/// The parts of a bundle that belong to each item.
fn by_item(bundle: &Bundle, count: impl Fn(&WorkItem) -> usize, all: &[Bytes]) -> Vec<Vec<Bytes>> {
    let mut rest = all.iter();
    bundle.package.items.iter().map(|item| rest.by_ref().take(count(item)).cloned().collect()).collect()
}

/// An item exports as many segments as it declares, or none of its own: then they are zeros.
fn settle(item: &WorkItem, refined: Refined) -> Refined {
    let declared = usize::from(item.export_count);
    let Refined { result, gas_used, exports } = refined;
    let result = match result {
        WorkResult::Failed(WorkError::OutputOversize) => result,
        _ if exports.len() != declared => WorkResult::Failed(WorkError::BadExports),
        other => other,
    };
    let exports = match result {
        WorkResult::Output(_) => exports,
        WorkResult::Failed(_) => vec![Bytes::from_static(&[0; SEGMENT_BYTES]); declared],
    };
    Refined { result, gas_used, exports }
}

fn digest(item: &WorkItem, result: WorkResult, gas_used: u64) -> WorkDigest {
    WorkDigest {
        service: item.service,
        code_hash: item.code_hash,
        payload_hash: blake2b(&[&item.payload]),
        accumulate_gas: item.accumulate_gas,
        result,
        load: RefineLoad {
            gas_used,
            imports: item.imports.len() as u16,
            extrinsic_count: item.extrinsics.len() as u16,
            extrinsic_bytes: item.extrinsics.iter().fold(0, |sum: u32, blob| sum.saturating_add(blob.len)),
            exports: item.export_count,
        },
    }
}
