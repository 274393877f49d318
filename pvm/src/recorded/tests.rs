//! Accumulation against other implementations: public vectors and traces with real services in them.

use super::{Verdict, judge_step as judge_entries, judge_vector};
use crate::{EngineKind, Entries, Machines};
use jam::{
    Block, Hash, Params,
    codec::{Bytes, Decode, DecodeError, Decoder},
    rules::{assurances, epoch::ValidatorSet},
    state::{PendingReports, StateIndex, Validators, state_part},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use tempfile::TempDir;

/// Unpacks the recorded files; `None` where there are none.
fn unpacked() -> Option<TempDir> {
    let fixtures = std::env::var_os("PECTIN_FIXTURES")?;
    let packed = Path::new(&fixtures).join("vectors/jam-pvm.tar.xz");
    let directory = tempfile::tempdir().unwrap();
    let done = Command::new("tar").arg("xJf").arg(packed).arg("-C").arg(directory.path()).status();
    done.is_ok_and(|status| status.success()).then_some(directory)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files =
        entries.filter(|path| path.extension().is_some_and(|end| end == "bin")).collect::<Vec<_>>();
    files.sort();
    files
}

fn judge(names: &[PathBuf], machines: &Machines, judge: impl Fn(&[u8]) -> Verdict) {
    let judged = names.iter().map(|name| (name, judge(&std::fs::read(name).unwrap())));
    let bad = judged.filter_map(|(name, verdict)| Some(format!("{}: {}", name.display(), verdict.err()?)));
    let bad = bad.collect::<Vec<_>>();
    println!("{}: {} recorded, {} differ", machines.kind(), names.len(), bad.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// The interpreter, and the recompiler where it can be had.
fn engines() -> Vec<Machines> {
    let recompiler = Machines::new(EngineKind::Compiler).map(Machines::recompiling_all);
    Machines::new(EngineKind::Interpreter).into_iter().chain(recompiler).collect()
}

#[test]
fn vectors_of_accumulate_come_out_the_same() {
    let Some(directory) = unpacked() else { return println!("skipped: no PECTIN_FIXTURES") };
    let names = files(&directory.path().join("jam/stf/accumulate/tiny"));
    assert!(!names.is_empty());
    for machines in engines() {
        judge(&names, &machines, |bytes| judge_vector(&machines, bytes, &Params::TINY));
    }
}

/// A recorded step: state, block, state.
struct Step(Hash, Entries, Block, Hash, Entries);

impl Decode for Step {
    const MIN_BYTES: usize = 0;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let state = |input: &mut Decoder<'_>| {
            let root = Hash::decode_from(input)?;
            let entries = Vec::<(jam::spec::StateKey, Bytes)>::decode_from(input)?;
            Ok((root, entries.into_iter().collect()))
        };
        let (before, entries) = state(input)?;
        let block = Block::decode_from(input)?;
        let (after, changed) = state(input)?;
        Ok(Self(before, entries, block, after, changed))
    }
}

fn judge_step(machines: &Machines, bytes: &[u8]) -> Verdict {
    let step = Step::decode(bytes, &Params::TINY).map_err(|error| error.to_string())?;
    let Step(root, before, block, root_after, after) = step;
    // A block that is refused changes nothing.
    if root == root_after {
        return Ok(());
    }
    let pending: PendingReports = state_part(&before, StateIndex::PendingReports, &Params::TINY).unwrap();
    let mut pending = pending.cores.into_iter().map(|waiting| waiting.map(Arc::new)).collect();
    let validators: Validators = state_part(&before, StateIndex::Validators, &Params::TINY).unwrap();
    let (header, given) = (&block.header, &block.extrinsic.assurances);
    let validators: Arc<ValidatorSet> = (&validators).into();
    let available =
        assurances::apply(&Params::TINY, &mut pending, &validators, given, header.parent, header.slot)
            .unwrap();
    judge_entries(machines, &Params::TINY, &block, available.reports().collect(), &before, &after)
}

#[test]
fn traces_accumulate_the_same() {
    let Some(directory) = unpacked() else { return println!("skipped: no PECTIN_FIXTURES") };
    for trace in ["storage_light", "preimages_light", "fuzzy_light", "safrole"] {
        let names = files(&directory.path().join("jam/traces").join(trace));
        let names = names.into_iter().filter(|name| !name.ends_with("genesis.bin")).collect::<Vec<_>>();
        assert!(!names.is_empty());
        for machines in engines() {
            judge(&names, &machines, |bytes| judge_step(&machines, bytes));
        }
    }
}
