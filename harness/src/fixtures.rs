//! Where the shared specification data lives, if it is here at all.

use std::path::PathBuf;

/// The environment variable that names the folder with `vectors/`, `rpc-compat/` and so on.
pub const VARIABLE: &str = "PECTIN_FIXTURES";

/// The folder `name` of the fixtures, or `None` when there are none.
///
/// A test that gets `None` returns; the skip is said here, on standard error, in words that the test script counts.
pub fn folder(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os(VARIABLE) else {
        eprintln!("skipped: no {VARIABLE}");
        return None;
    };
    let folder = PathBuf::from(root).join(name);
    assert!(folder.is_dir(), "{VARIABLE} is set, but {} is not a folder", folder.display());
    Some(folder)
}
