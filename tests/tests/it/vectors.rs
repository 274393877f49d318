//! The specification's vectors, through the judge that operators run.
//!
//! `tests/vectors` holds small vectors of our own, so that a bare clone tries the codec too: values from fixed seeds,
//! in the layout of the public vectors. They were written by this program (`PECTIN_BLESS=1`) and agreed with the
//! reference implementation at that time; from then on they hold the encoding still.

use harness::fixtures;
use jam::{
    ErasureCode, Params,
    block::{Assurance, Block, Disputes, Extrinsic, Guarantee, Header, Preimage, Ticket},
    codec::Encode,
    package::{RefineContext, WorkItem, WorkPackage},
    report::{WorkDigest, WorkReport},
    sample::{Sample, Source},
};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use tests::vectors::Report;

#[test]
fn every_vector_in_the_fixtures_passes() {
    let Some(dir) = fixtures::folder("vectors") else { return };
    let report = Report::of(&dir).unwrap();
    println!("{report}");
    assert_eq!(report.failed(), 0, "{report}");
    for family in ["codec/tiny", "erasure/tiny", "shuffle"] {
        assert!(report.passed_in(family) > 0, "no case of {family} was run\n{report}");
    }
}

#[test]
fn recorded_services_accumulate_the_same() {
    let Some(dir) = fixtures::folder("vectors") else { return };
    let unpacked = tempfile::tempdir().unwrap();
    let packed = dir.join("jam-pvm.tar.xz");
    let tar = Command::new("tar").arg("xJf").arg(&packed).arg("-C").arg(unpacked.path()).status();
    assert!(tar.unwrap().success(), "{} cannot be unpacked", packed.display());
    let report = Report::of(unpacked.path()).unwrap();
    assert_eq!(report.failed(), 0, "{report}");
    for family in ["stf/accumulate/tiny", "traces/storage_light", "traces/fuzzy_light"] {
        assert!(report.passed_in(family) > 0, "no case of {family} was run\n{report}");
    }
}

#[test]
fn our_own_vectors_pass() {
    let report = Report::of(&own()).unwrap();
    assert_eq!(report.failed(), 0, "{report}");
    assert_eq!((report.passed_in("codec/tiny"), report.passed_in("codec/full")), (13, 13), "{report}");
    assert_eq!((report.passed_in("erasure/tiny"), report.passed_in("erasure/full")), (1, 1), "{report}");
}

#[test]
fn our_own_vectors_are_what_the_seeds_give() {
    for (spec, params) in [("tiny", Params::TINY), ("full", Params::FULL)] {
        for (name, bytes) in values(&params) {
            compare(&own().join("codec").join(spec).join(format!("{name}.bin")), &bytes);
        }
        let data = Source::new(&params, 5).bytes(2000);
        let shards = ErasureCode::new(&params).encode(&data).unwrap();
        let shards = shards.iter().map(hex::encode).collect::<Vec<_>>();
        let case = json!({ "data": hex::encode(data), "shards": shards }).to_string();
        compare(&own().join("erasure").join(spec).join("ec-2000.json"), case.as_bytes());
    }
}

#[test]
fn a_wrong_vector_is_counted_as_failed() {
    let dir = tempfile::tempdir().unwrap();
    let codec = dir.path().join("codec/tiny");
    std::fs::create_dir_all(&codec).unwrap();
    std::fs::write(codec.join("header_0.bin"), [1, 2, 3]).unwrap();
    std::fs::write(codec.join("nonsense.bin"), [1]).unwrap();
    std::fs::create_dir_all(dir.path().join("shuffle")).unwrap();
    std::fs::write(dir.path().join("shuffle/a.json"), r#"[{"input":2,"entropy":"00","output":[0,1]}]"#)
        .unwrap();
    let report = Report::of(dir.path()).unwrap();
    assert_eq!((report.passed(), report.failed()), (0, 3), "{report}");
    assert!(report.to_string().ends_with("vectors: 0 passed, 3 failed"));
}

#[test]
fn files_of_an_unknown_family_are_counted_even_in_pairs() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    for (folder, stem) in [(folder("stf/unheard_of/tiny"), "a"), (folder("codec/tiny"), "header_0")] {
        for ending in ["json", "bin"] {
            std::fs::write(folder.join(stem).with_extension(ending), [1]).unwrap();
        }
    }
    // The pair of the unknown family is two unknown files; the header's readable twin is none.
    let report = Report::of(dir.path()).unwrap().to_string();
    assert!(report.contains("not vectors of a known family: 2 files"), "{report}");
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// One value of every kind, small enough to keep.
fn values(params: &Params) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("assurances_extrinsic", small::<Vec<Assurance>>(params)),
        ("block", small::<Block>(params)),
        ("disputes_extrinsic", small::<Disputes>(params)),
        ("extrinsic", small::<Extrinsic>(params)),
        ("guarantees_extrinsic", small::<Vec<Guarantee>>(params)),
        ("header", small::<Header>(params)),
        ("preimages_extrinsic", small::<Vec<Preimage>>(params)),
        ("refine_context", small::<RefineContext>(params)),
        ("tickets_extrinsic", small::<Vec<Ticket>>(params)),
        ("work_item", small::<WorkItem>(params)),
        ("work_package", small::<WorkPackage>(params)),
        ("work_report", small::<WorkReport>(params)),
        ("work_result", small::<WorkDigest>(params)),
    ]
}

/// The first value that is neither trivial nor large.
fn small<T: Sample + Encode>(params: &Params) -> Vec<u8> {
    (0..)
        .map(|seed| T::sample(&mut Source::new(params, seed)).encode())
        .find(|bytes| (40..12_000).contains(&bytes.len()))
        .expect("some seed gives such a value")
}

fn compare(path: &Path, bytes: &[u8]) {
    if std::env::var_os("PECTIN_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let kept = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(kept, bytes, "{} is not what its seed gives", path.display());
}
