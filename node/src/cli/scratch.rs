//! A directory for data that is not kept: `pectin dev` without `--data-dir` has its blocks there and not in memory.
//!
//! It is removed when the process ends. A process that is killed leaves it behind; so each start removes those of processes
//! that are gone, which is known by a lock that the system takes away with the process.

use super::Failure;
use std::{
    fs::{self, DirBuilder, File},
    io,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

/// How the names of these directories begin.
const PREFIX: &str = "pectin-dev-";
/// The file that is locked as long as the process lives.
const LOCK: &str = "lock";
/// A directory that is younger may be one whose process has not locked it yet.
const MADE_WITHIN: Duration = Duration::from_secs(60);

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one below the system's directory for temporary files (`TMPDIR`), and removes what dead processes left there.
    pub(super) fn make() -> Result<Self, Failure> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> Result<Self, Failure> {
        remove_stale(parent, SystemTime::now());
        let failed = |path: &Path, why: io::Error| {
            Failure::Data(format!("{}: {why}; name a --data-dir, or another TMPDIR", path.display()))
        };
        for attempt in 0..100 {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", process::id()));
            match make_private(&path) {
                Ok(()) => {
                    let lock = lock(&path).map_err(|why| failed(&path, why))?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(failed(&path, why)),
            }
        }
        Err(failed(parent, io::Error::other("a hundred directories of this process are there already")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(why) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %why, "temporary data was not removed");
        }
    }
}

/// Only its owner can read it.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn lock(directory: &Path) -> io::Result<File> {
    let file = File::create(directory.join(LOCK))?;
    file.try_lock()?;
    Ok(file)
}

/// Removes directories whose process is gone. One that cannot be removed belongs to another user.
fn remove_stale(parent: &Path, now: SystemTime) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let made = entry.metadata().ok().filter(fs::Metadata::is_dir).and_then(|found| found.modified().ok());
        let is_old = made.and_then(|made| now.duration_since(made).ok()).is_some_and(|age| age > MADE_WITHIN);
        if is_ours && is_old && is_abandoned(&entry.path()) && fs::remove_dir_all(entry.path()).is_ok() {
            tracing::info!(path = %entry.path().display(), "removed what a process that is gone left");
        }
    }
}

/// Whether no process holds the lock.
fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join(LOCK)) {
        Ok(file) => file.try_lock().is_ok(),
        // It died before it made the file.
        Err(why) => why.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_when_it_is_not_needed_any_more() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::make_in(parent.path()).unwrap();
        let second = Scratch::make_in(parent.path()).unwrap();
        let path = scratch.path().to_path_buf();
        fs::write(path.join("data"), "x").unwrap();
        assert_ne!(path, second.path());
        drop(scratch);
        assert!(!path.exists() && second.path().exists());
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::make_in(parent.path()).unwrap();
        let [dead, foreign] = ["pectin-dev-1-0", "unrelated"].map(|name| parent.path().join(name));
        for directory in [&dead, &foreign] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join(LOCK), "").unwrap();
        }
        remove_stale(parent.path(), SystemTime::now());
        assert!(dead.exists(), "it may have been made this moment");
        remove_stale(parent.path(), SystemTime::now() + 2 * MADE_WITHIN);
        assert!(!dead.exists() && foreign.exists() && living.path().exists());
    }
}
