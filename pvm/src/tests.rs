//! Small programs, run by both engines.

use super::*;
use alloy_primitives::Bytes;
use jam::{
    Hash, Params, RefineContext, WorkError, WorkItem, WorkPackage, WorkResult, codec::Encode, hash::blake2b,
};
use polkavm::{
    ProgramParts,
    program::{InstructionSetKind, assemble},
};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering},
};

const SERVICE: u32 = 7;

/// Where data that a program can change begins, if it has none that it can only read.
const SEGMENT_EXPORT: &str = "a0 = 0x20000\na1 = 8\necalli 7\n";

fn parts(code: &str) -> ProgramParts {
    let blob =
        assemble(Some(InstructionSetKind::JamV1), &format!("%rw_data_size = 4096\npub @main:\n{code}"));
    ProgramParts::from_bytes(blob.unwrap().into()).unwrap()
}

/// A program as it stands on chain, with a page of memory at 0x20000.
fn program(code: &str) -> Bytes {
    let parts = parts(code);
    let mut out = vec![3];
    out.extend_from_slice(b"tst");
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&1_u16.to_le_bytes());
    out.extend_from_slice(&[0, 16, 0]);
    out.extend_from_slice(&(parts.code_and_jump_table.len() as u32).to_le_bytes());
    out.extend_from_slice(&parts.code_and_jump_table);
    out.into()
}

fn package(code: &Bytes, payload: &[u8], refine_gas: u64) -> WorkPackage {
    let item = WorkItem {
        service: SERVICE,
        code_hash: blake2b(&[code]),
        refine_gas,
        accumulate_gas: 0,
        export_count: 1,
        payload: payload.to_vec().into(),
        imports: vec![],
        extrinsics: vec![],
    };
    WorkPackage {
        auth_code_host: 0,
        auth_code_hash: blake2b(&[code]),
        context: RefineContext {
            anchor: jam::HeaderHash(Hash::ZERO),
            state_root: Hash::ZERO,
            beefy_root: Hash::ZERO,
            lookup_anchor: jam::HeaderHash(Hash::ZERO),
            lookup_anchor_slot: 5,
            prerequisites: BTreeSet::new(),
        },
        authorization: Bytes::from_static(b"token"),
        authorizer_config: Bytes::from_static(b"config"),
        items: vec![item],
    }
}

fn engines() -> Vec<Machines> {
    let kinds = [EngineKind::Interpreter, EngineKind::Compiler];
    kinds.into_iter().filter_map(|kind| Machines::new(kind).ok()).collect()
}

fn refine_within(
    machines: &Machines,
    code: &Bytes,
    payload: &[u8],
    gas: u64,
    limits: Limits<'_>,
) -> Result<Refined, Fault> {
    machines.refine(&RefineInput {
        params: &Params::TINY,
        core: 0,
        package: &package(code, payload, gas),
        item: 0,
        trace: b"trace",
        extrinsics: &[vec![]],
        imports: &[vec![]],
        export_offset: 0,
        output_bytes_max: 100,
        lookup: &|service, hash| (service == SERVICE && hash == blake2b(&[code])).then(|| code.clone()),
        limits,
    })
}

/// What a program comes to, with both engines.
fn refined(code: &str, payload: &[u8], gas: u64) -> Refined {
    let code = program(code);
    let mut all = engines()
        .into_iter()
        .map(|machines| refine_within(&machines, &code, payload, gas, Limits::NONE).unwrap());
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first));
    first
}

fn failed(code: &str, gas: u64) -> (WorkError, u64) {
    match refined(code, b"", gas) {
        Refined { result: WorkResult::Failed(why), gas_used, exports } if exports.is_empty() => {
            (why, gas_used)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_authorizer_sees_the_package() {
    let code = program("a0 = 0x20000\na1 = 0\na2 = 64\na3 = 9\necalli 1\na1 = a0\na0 = 0x20000\nret");
    for machines in engines() {
        let package = package(&code, b"", 0);
        let run = |params: &Params, code: Option<&Bytes>| {
            machines.authorize(params, &package, 0, code, Limits::NONE).unwrap()
        };
        let seen = run(&Params::TINY, Some(&code));
        assert_eq!(seen, Authorized { trace: Ok(package.authorization.clone()), gas_used: 8 + 10 });
        assert_eq!(run(&Params::TINY, None).trace, Err(WorkError::BadCode));
        let small = Params { authorizer_code_bytes_max: 5, ..Params::TINY };
        assert_eq!(run(&small, Some(&code)).trace, Err(WorkError::CodeOversize));
        let poor = Params { authorize_gas_max: 17, ..Params::TINY };
        assert_eq!(run(&poor, Some(&code)), Authorized { trace: Err(WorkError::OutOfGas), gas_used: 17 });
    }
}

#[test]
fn gas_is_counted_by_instruction_also_where_a_program_panics() {
    // A load from address 1 in the middle of a block, and a host call with unreadable memory.
    let load = "a0 = 1\na1 = u64 [a0 + 0]\na2 = 3\na3 = 4\nret";
    assert_eq!(failed(load, 1000), (WorkError::Panic, 2));
    let export = "a0 = 1\na1 = 8\necalli 7\na2 = 3\na3 = 4\nret";
    assert_eq!(failed(export, 1000), (WorkError::Panic, 3 + 10));
    assert_eq!(failed("a0 = 1\ntrap", 1000), (WorkError::Panic, 2));
    // The counter as the program sees it, before the rest of its block.
    let gas = "ecalli 0\na1 = 0x20000\nu64 [a1] = a0\na0 = 0x20000\na1 = 8\nret";
    let seen = refined(gas, b"", 1000);
    assert_eq!(seen.result, WorkResult::Output(989_u64.encode().into()));
    assert_eq!(seen.gas_used, 6 + 10);
}

#[test]
fn the_gas_runs_out() {
    assert_eq!(failed("@loop:\na0 = a0 + 1\njump @loop", 1001), (WorkError::OutOfGas, 1001));
    // More than is run at a time.
    assert_eq!(failed("@loop:\na0 = a0 + 1\njump @loop", 50_000_001), (WorkError::OutOfGas, 50_000_001));
    assert_eq!(failed("a0 = 1\necalli 7\nret", 10), (WorkError::OutOfGas, 10));
    assert_eq!(failed("ret", 0), (WorkError::OutOfGas, 0));
}

#[test]
fn this_machine_has_limits_of_its_own() {
    let endless = program("@loop:\na0 = a0 + 1\njump @loop");
    // The assembler does not know `sbrk`, which differs from a move in its number alone.
    let mut hungry = program("a0 = 0x1000000\na0 = a0\n@loop:\njump @loop").to_vec();
    let at = hungry.windows(2).position(|bytes| bytes == [100, 0x77]).unwrap();
    hungry[at] = 101;
    let hungry = Bytes::from(hungry);
    for machines in engines() {
        let looks = AtomicU32::new(0);
        let is_late = || looks.fetch_add(1, Ordering::Relaxed) == 2;
        let late = Limits { is_late: &is_late, ..Limits::NONE };
        assert_eq!(refine_within(&machines, &endless, b"", u64::MAX, late), Err(Fault::Late));
        let small = Limits { heap_bytes_max: 1 << 20, ..Limits::NONE };
        assert_eq!(refine_within(&machines, &hungry, b"", u64::MAX, small), Err(Fault::Memory(1 << 20)));
    }
}

#[test]
fn exports_and_unknown_calls_are_answered() {
    let code = format!("{SEGMENT_EXPORT}ecalli 99\na1 = 0x20000\nu64 [a1] = a0\na0 = 0x20000\na1 = 8\nret");
    let seen = refined(&code, b"", 1000);
    assert_eq!(seen.exports, vec![Bytes::from(vec![0; 4104])]);
    assert_eq!(seen.result, WorkResult::Output((u64::MAX - 1).encode().into()));
    // An output that cannot be read is empty; one that is too long is none.
    assert_eq!(refined("a0 = 16\na1 = 8\nret", b"", 1000).result, WorkResult::Output(Bytes::new()));
    assert_eq!(failed("a0 = 0x20000\na1 = 101\nret", 1000), (WorkError::OutputOversize, 3));
}

#[test]
fn bytes_that_are_no_program_panic_for_nothing() {
    for code in [Bytes::from_static(b""), Bytes::from_static(b"\x01x\xff\xff\xff"), Bytes::from(vec![0; 300])]
    {
        for machines in engines() {
            let seen = refine_within(&machines, &code, b"", 1000, Limits::NONE).unwrap();
            assert_eq!((seen.result, seen.gas_used), (WorkResult::Failed(WorkError::Panic), 0), "{code}");
        }
    }
    let other = package(&program("ret"), b"", 5);
    assert!(Layout::read(&other.encode()).is_err());
}

#[test]
fn a_machine_runs_in_a_machine() {
    let inner = parts("a0 = 5\necalli 42\nret").code_and_jump_table.to_vec();
    // The payload follows core, item, service and its own length.
    let make = format!("s0 = a0 + 4\na0 = s0\na1 = {}\na2 = 0\necalli 8\n", inner.len());
    let invoke = "a1 = 0x20000\na2 = 1000\nu64 [a1] = a2\necalli 12\n";
    // Memory is gas, registers; what it stopped with is put behind.
    let tell = "s1 = 0x20000\nu64 [s1 + 112] = a0\nu64 [s1 + 120] = a1\na0 = s1\na1 = 64\nret";
    let seen = refined(&format!("{make}{invoke}{tell}"), &inner, 1000);
    let WorkResult::Output(output) = seen.result else { panic!("{seen:?}") };
    // Two instructions were executed, and register 7 has the value.
    assert_eq!(output[..8], 998_u64.to_le_bytes());
    let stopped =
        refined(&format!("{make}{invoke}{}", tell.replace("a0 = s1", "a0 = 0x20070")), &inner, 1000);
    let WorkResult::Output(output) = stopped.result else { panic!("{stopped:?}") };
    assert_eq!((output[..8].to_vec(), output[8..16].to_vec()), (3_u64.encode(), 42_u64.encode()));
}
