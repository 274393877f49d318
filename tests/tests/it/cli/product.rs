//! The binary that the other tests run is the one that ships.

use super::{repository, run};
use std::{collections::BTreeSet, fs};

/// Features that the product has too, and those of crates that are no part of it.
const NOT_FOR_TESTS: [&str; 15] = [
    "ecrecover/default",
    "ecrecover/std",
    "harness/sample",
    "jam/default",
    "jam/std",
    "sender-model/openapi",
    "sender/openapi",
    "service/default",
    "service/std",
    "signatures/bugs",
    "state/default",
    "state/revm",
    "state/std",
    "types/default",
    "types/std",
];

#[test]
fn the_binary_under_test_has_no_features_for_tests() {
    assert_eq!(run(&["version", "--features"]).good(), "");
    assert!(run(&["version"]).good().starts_with("pectin 0.1.0 ("));
}

/// Tests are compiled with all of them, so the same code in this process names all: it would notice one in the binary.
#[test]
fn every_feature_for_tests_is_named() {
    let mut declared = BTreeSet::new();
    for folder in fs::read_dir(repository()).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let section = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
        let section = section.take_while(|line| !line.starts_with('['));
        let names =
            section.filter_map(|line| Some(line.split_once(" = ")?.0)).filter(|name| !name.starts_with('#'));
        let folder = folder.file_name().unwrap().to_str().unwrap().to_owned();
        declared.extend(names.map(|name| format!("{folder}/{name}")));
    }
    assert!(NOT_FOR_TESTS.iter().all(|name| declared.remove(*name)), "{declared:?}");
    let named = node::features::test_features().map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(!named.is_empty());
    assert_eq!(named, declared);
}

/// Whether an ELF file has a table of symbols (a section of type 2).
fn has_symbols(file: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (sections, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    (0..count).any(|section| number(sections + section * size + 4, 4) == 2)
}

/// Images and packages ship the profile `dist`: without symbols it is a fifth smaller.
#[test]
fn what_ships_is_stripped() {
    let binary = harness::product::binary().unwrap();
    let file = fs::read(&binary).unwrap();
    let is_dist = binary.parent().is_some_and(|folder| folder.ends_with("dist"));
    if !is_dist || file.get(..5) != Some(b"\x7fELF\x02") {
        println!("skipped: {} is not an ELF file of the profile dist", binary.display());
        return;
    }
    assert!(!has_symbols(&file), "{} has symbols", binary.display());
    // This test itself has some, so they would be seen.
    assert!(has_symbols(&fs::read(std::env::current_exe().unwrap()).unwrap()));
}
