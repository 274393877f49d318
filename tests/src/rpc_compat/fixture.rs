//! The files: requests and the answers that were recorded.

use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// A file with requests and their answers.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// `method/name`, without the ending.
    pub name: String,
    /// The folder, which is the method that is tried.
    pub method: String,
    /// Whether only the schema counts.
    pub spec_only: bool,
    /// Requests as they are sent, with the recorded answers.
    pub exchanges: Vec<(String, Value)>,
}

/// All files below a folder, in order.
pub fn fixtures(folder: &Path) -> io::Result<Vec<Fixture>> {
    let mut paths = vec![];
    collect(folder, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| Fixture::read(folder, path)).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|ending| ending == "io") {
            into.push(path);
        }
    }
    Ok(())
}

impl Fixture {
    fn read(folder: &Path, path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let relative = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        let name = relative.to_string_lossy().into_owned();
        let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
        let method = parent.to_string_lossy().into_owned();
        let mut fixture = Self { name, method, spec_only: false, exchanges: vec![] };
        let mut request = None;
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix("//") {
                fixture.spec_only |= comment.trim().starts_with("speconly:");
            } else if let Some(sent) = line.strip_prefix(">>") {
                request = Some(sent.trim().to_owned());
            } else if let Some(answer) = line.strip_prefix("<<")
                && let Some(request) = request.take()
            {
                let answer = serde_json::from_str(answer).map_err(io::Error::other)?;
                fixture.exchanges.push((request, answer));
            }
        }
        Ok(fixture)
    }
}
