//! The service's program in the virtual machine, beside the native service: what one answers, the other must.

use alloy_primitives::Bytes;
use jam::{Bundle, Params, WorkResult};
use pvm::{EngineKind, Limits, Machines, RefineInput, Refined};
use service::{
    Config,
    answer::Answer,
    refine::{self, RefineError},
};
use std::sync::LazyLock;

/// Gas that is more than any test needs, while blocks are small.
const PLENTY: u64 = 1 << 50;

static MACHINES: LazyLock<Machines> =
    LazyLock::new(|| Machines::new(EngineKind::Auto).expect("the interpreter runs everywhere"));

/// What the program answers to a bundle whose data is checked. `preimages` are what the service has at the lookup anchor, beside its
/// code.
pub fn refined(
    bundle: &Bundle,
    config: &Config,
    params: &Params,
    preimages: &[(jam::Hash, Bytes)],
) -> Refined {
    let code = config.code();
    let lookup = |_, hash| match hash == config.code_hash {
        true => Some(code.clone()),
        false => preimages.iter().find(|(known, _)| *known == hash).map(|(_, bytes)| bytes.clone()),
    };
    let input = RefineInput {
        params,
        core: 0,
        package: &bundle.package,
        item: 0,
        trace: &[],
        extrinsics: std::slice::from_ref(&bundle.extrinsics),
        imports: &[vec![]],
        export_offset: 0,
        output_bytes_max: params.report_output_bytes_max as usize,
        lookup: &lookup,
        limits: Limits::NONE,
    };
    MACHINES.refine(&input).expect("a test meets no limit of the machine")
}

/// Compares what the native service and the program answer to a bundle, and gives the gas that the program used. Nothing is compared
/// where a JAM node would not run the program at all.
///
/// The item declares gas for the machine here, more than it needs: a bundle of a test that has another purpose declares less.
pub fn compare(bundle: &Bundle, config: &Config, params: &Params) -> Option<u64> {
    let params = Params { refine_gas_max: u64::MAX, ..*params };
    let mut bundle = bundle.clone();
    bundle.package.items.iter_mut().for_each(|item| item.refine_gas = PLENTY);
    let native = refine::answer(&bundle, config, &params, |_| None);
    if let Answer::Refused(
        RefineError::Bundle(_) | RefineError::Package(_) | RefineError::Code | RefineError::Service(_),
    ) = native
    {
        return None;
    }
    let program = refined(&bundle, config, &params, &[]);
    let exports = match &native {
        Answer::Run(output) => &output.exports[..],
        _ => &[],
    };
    assert_eq!(program.result, WorkResult::Output(native.encode().into()), "natively {native:?}");
    assert_eq!(program.exports, exports);
    Some(program.gas_used)
}
