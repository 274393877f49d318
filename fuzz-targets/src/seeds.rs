//! Where the inputs are.

use std::path::PathBuf;

/// The folder with the inputs of a kind (`seeds`, `findings`) of a target.
pub fn folder(kind: &str, target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "fuzz", kind, target].iter().collect()
}
