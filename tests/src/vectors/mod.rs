//! Walks a folder and runs every specification vector whose family it knows.
//!
//! A family is recognised by the path: `…/codec/tiny/header_0.bin` is the family `codec/tiny`. The folder may be
//! given at any level (`vectors`, `vectors/jam`, `vectors/jam/codec/full`), because the whole path is looked at. A
//! panic while a case runs is a failure of that case, not of the program.

mod codec;
mod erasure;
mod shuffle;
mod stf;
mod traces;
pub mod ubt;

use jam::Params;
use std::{
    collections::BTreeMap,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// What became of one case: nothing to say, or what was expected and what came.
pub type Verdict = Result<(), String>;

/// The cases of one file: their names and verdicts.
pub type Cases = Vec<(String, Verdict)>;

/// One kind of vectors.
pub struct Family {
    /// Says under which name a file is counted, or `None` if it is not of this family.
    pub claims: fn(&File<'_>) -> Option<String>,
    /// Runs all cases in a file that was claimed.
    pub run: fn(&File<'_>) -> Cases,
}

/// A file found below the folder.
pub struct File<'a> {
    /// Where it is.
    pub path: &'a Path,
    parts: Vec<&'a str>,
}

impl<'a> File<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, parts: path.iter().filter_map(|part| part.to_str()).collect() }
    }

    /// The file's name.
    pub fn name(&self) -> &'a str {
        self.parts.last().copied().unwrap_or_default()
    }

    /// Whether the name ends in `.ending`.
    pub fn ends_in(&self, ending: &str) -> bool {
        self.path.extension().is_some_and(|found| found == ending)
    }

    /// The name without its ending.
    pub fn stem(&self) -> &'a str {
        self.name().rsplit_once('.').map_or(self.name(), |(stem, _)| stem)
    }

    /// What follows the folders `at` in the path: `after(&["stf", "reports"])` of `x/stf/reports/tiny/a.bin` is
    /// `["tiny", "a.bin"]`.
    pub fn after(&self, at: &[&str]) -> Option<&[&'a str]> {
        let start = self.parts.windows(at.len()).rposition(|window| window == at)?;
        Some(&self.parts[start + at.len()..])
    }

    /// Whether it only explains another file: a schema, or the twin of a file that a family claims.
    fn is_companion(&self, families: &[Family]) -> bool {
        let explains = ["asn", "md", "py", "sh", "txt"].iter().any(|ending| self.ends_in(ending));
        let is_twin = |own: &str, other: &str| {
            let twin = self.path.with_extension(other);
            self.ends_in(own)
                && twin.is_file()
                && families.iter().any(|family| (family.claims)(&File::new(&twin)).is_some())
        };
        explains || is_twin("json", "bin") || is_twin("bin", "json")
    }

    /// The file's bytes, or why they cannot be had.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(self.path).map_err(|e| e.to_string())
    }

    /// The file as JSON, or why it is none.
    pub fn json(&self) -> Result<serde_json::Value, String> {
        serde_json::from_slice(&self.bytes()?).map_err(|e| e.to_string())
    }
}

/// Every family, in the order of the report.
pub fn families() -> Vec<Family> {
    vec![codec::FAMILY, erasure::FAMILY, shuffle::FAMILY, stf::FAMILY, traces::FAMILY, ubt::FAMILY]
}

/// The parameters that a folder's name stands for.
fn chain(name: &str) -> Option<Params> {
    match name {
        "tiny" => Some(Params::TINY),
        "full" => Some(Params::FULL),
        _ => None,
    }
}

/// The bytes of a hexadecimal string, with or without `0x`.
fn hex_field(value: &serde_json::Value) -> Result<Vec<u8>, String> {
    let text = value.as_str().ok_or("a hexadecimal string is missing")?;
    hex::decode(text.strip_prefix("0x").unwrap_or(text)).map_err(|e| e.to_string())
}

/// What a whole folder gave.
#[derive(Default)]
pub struct Report {
    families: BTreeMap<String, (usize, Vec<String>)>,
    unknown: usize,
}

impl Report {
    /// Runs everything below `dir`.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        walk(&dir.canonicalize()?, &mut files)?;
        let families = families();
        let mut report = Self::default();
        for path in &files {
            report.judge(&families, &File::new(path));
        }
        Ok(report)
    }

    fn judge(&mut self, families: &[Family], file: &File<'_>) {
        let Some((family, name)) = families.iter().find_map(|f| Some((f, (f.claims)(file)?))) else {
            self.unknown += usize::from(!file.is_companion(families));
            return;
        };
        let cases = catch_unwind(AssertUnwindSafe(|| (family.run)(file)))
            .unwrap_or_else(|_| vec![(String::new(), Err("panicked".into()))]);
        let (passed, failures) = self.families.entry(name).or_default();
        for (case, verdict) in cases {
            match verdict {
                Ok(()) => *passed += 1,
                Err(why) => failures.push(format!("{} {case}: {why}", file.path.display())),
            }
        }
    }

    /// How many cases passed.
    pub fn passed(&self) -> usize {
        self.families.values().map(|(passed, _)| passed).sum()
    }

    /// How many cases failed.
    pub fn failed(&self) -> usize {
        self.families.values().map(|(_, failures)| failures.len()).sum()
    }

    /// How many cases of a family passed.
    pub fn passed_in(&self, family: &str) -> usize {
        self.families.get(family).map_or(0, |(passed, _)| *passed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in self.families.values().flat_map(|(_, failures)| failures) {
            writeln!(f, "FAILED {failure}")?;
        }
        for (family, (passed, failures)) in &self.families {
            writeln!(f, "{family}: {passed} passed, {} failed", failures.len())?;
        }
        if self.unknown > 0 {
            writeln!(f, "not vectors of a known family: {} files", self.unknown)?;
        }
        write!(f, "vectors: {} passed, {} failed", self.passed(), self.failed())
    }
}

/// All files below a folder, in a fixed order.
fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(dir)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() { walk(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
