//! What fuzzing runs, over its seeds, over everything that was ever found, and over bytes close to them.

use fuzz_targets::{Mutator, TARGETS, Target, folder, target};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Bytes close to each seed and finding that are tried.
const NEIGHBOURS: u64 = 24;

/// The files of a folder by name; none if there is no such folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return BTreeMap::new(),
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let read =
        |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap());
    paths.map(read).collect()
}

fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let kinds = ["seeds", "findings"].into_iter();
    let all = kinds.flat_map(|kind| {
        let named = move |(name, bytes): (String, Vec<u8>)| (format!("{kind}/{}/{name}", target.name), bytes);
        files(&folder(kind, target.name)).into_iter().map(named)
    });
    all.collect()
}

/// The seeds are what their makers make; every input keeps the promises, and so does what is close to it.
fn holds(name: &str) {
    let target = target(name).unwrap();
    seeds_are_current(target);
    let inputs = inputs(target);
    for (place, bytes) in &inputs {
        println!("{place}");
        (target.run)(bytes);
    }
    for (number, (place, bytes)) in (0..).zip(&inputs) {
        let mut mutator = Mutator::new(number);
        let other = &inputs[(number as usize + 1) % inputs.len()].1;
        for step in 0..NEIGHBOURS {
            let close = mutator.mutate(bytes, other);
            println!("{place}, neighbour {step}: {}", hex::encode(&close));
            (target.run)(&close);
        }
    }
}

fn seeds_are_current(target: &Target) {
    let folder = folder("seeds", target.name);
    let made = (target.seeds)().into_iter().collect::<BTreeMap<_, _>>();
    assert!(!made.is_empty());
    if std::env::var_os("PECTIN_BLESS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        made.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
    }
    let kept = files(&folder);
    let differ = made.keys().chain(kept.keys()).filter(|name| made.get(*name) != kept.get(*name));
    let differ = differ.collect::<std::collections::BTreeSet<_>>();
    assert!(
        differ.is_empty(),
        "seeds of {} that differ (PECTIN_BLESS=1 rewrites them): {differ:?}",
        target.name
    );
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_target_has_a_test_a_program_and_a_promise() {
            let named = [$(stringify!($name)),*];
            let root = folder("..", "");
            let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
            let page = fs::read_to_string(root.join("fuzz/README.md")).unwrap();
            let programs = files(&root.join("fuzz/fuzz_targets"));
            assert_eq!(programs.len(), TARGETS.len());
            for target in TARGETS {
                let name = target.name;
                assert!(named.contains(&name), "{name} is not tested");
                assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
                assert!(page.contains(&format!("| `{name}` |")), "{name} promises nothing");
                let program = String::from_utf8(programs[&format!("{name}.rs")].clone()).unwrap();
                assert!(program.contains(&format!("fuzz::target!(\"{name}\")")), "{name}");
            }
        }
    };
}

targets! {
    block_import bundle_refine chain_spec codec config_file hints journal message precompiles queue_ops raw_transaction
    rpc signatures txpool_ops witness
}
